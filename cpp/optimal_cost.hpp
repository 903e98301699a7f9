// What a leaf of an optimal tree costs, from sums over its rows. Both costs are monotone (fewer
// rows never cost more), which is all that the bounds of the exact solver rest on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "simd.hpp"

namespace treemeans {

// The cheapest center for all rows of the leaf. Columns are the regrets of the centers, in fixed
// point; to fill a width known at compile time, the last one is repeated, which changes no minimum.
template <int W>
struct RegretCost {
  using Value = std::int64_t;
  static constexpr int kWidth = W;
  static constexpr Value kNone = std::numeric_limits<Value>::max() / 4;
  int width;

  TM_INLINE int K() const { return W ? W : width; }
  TM_INLINE Value leaf(const Value* sums) const {
    Value least = sums[0];
    for (int c = 1; c < K(); ++c) least = sums[c] < least ? sums[c] : least;
    return least;
  }
  // Of the rows of `all` that are not in `sums`.
  TM_INLINE Value rest(const Value* all, const Value* sums) const {
    Value least = all[0] - sums[0];
    for (int c = 1; c < K(); ++c) least = all[c] - sums[c] < least ? all[c] - sums[c] : least;
    return least;
  }
  // Most that a row can add to the cost of any tree.
  TM_INLINE Value most(const Value* row) const {
    Value most = row[0];
    for (int c = 1; c < K(); ++c) most = row[c] > most ? row[c] : most;
    return most;
  }
};

// The squared deviation from the mean of the leaf. Columns are the weight, the weighted squared
// norm, and the weighted coordinates, all about a common origin; padded with zeros. Floating point:
// what is proven holds but for rounding.
struct SquaresCost {
  using Value = double;
  static constexpr int kWidth = 0;
  static constexpr Value kNone = std::numeric_limits<Value>::max() / 4;
  int width;

  TM_INLINE int K() const { return width; }
  TM_INLINE Value leaf(const Value* sums) const {
    // Four sums side by side, so that every instruction set adds in the same order.
    double part[4] = {0.0, 0.0, 0.0, 0.0};
    for (int c = 4; c < width; c += 4)
      for (int j = 0; j < 4; ++j) part[j] += sums[c + j] * sums[c + j];
    const double square = (part[0] + part[1]) + (part[2] + part[3]);
    return sums[0] > 0.0 ? std::max(sums[1] - square / sums[0], 0.0) : 0.0;
  }
  TM_INLINE Value rest(const Value* all, const Value* sums) const {
    double part[4] = {0.0, 0.0, 0.0, 0.0};
    for (int c = 4; c < width; c += 4)
      for (int j = 0; j < 4; ++j)
        part[j] += (all[c + j] - sums[c + j]) * (all[c + j] - sums[c + j]);
    const double square = (part[0] + part[1]) + (part[2] + part[3]);
    const double weight = all[0] - sums[0];
    return weight > 0.0 ? std::max(all[1] - sums[1] - square / weight, 0.0) : 0.0;
  }
};

}  // namespace treemeans
