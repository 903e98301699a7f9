// A cut carried out: the node's rows, those that go left first, each side in its old order.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "bin_contents.hpp"
#include "binning.hpp"
#include "points.hpp"
#include "simd.hpp"
#include "split.hpp"

namespace treemeans {

// What comes to a cut by a threshold, in one vectorised walk. Every comparison with a NaN is false.
TM_CLONES inline void take_in(const double* TM_RESTRICT values, std::int64_t n, double threshold,
                              Margin& margin) {
  double below = margin.below, above = margin.above;
  double lowest = margin.lowest, highest = margin.highest;
  std::int64_t broken = 0;
#pragma omp simd reduction(max : below, highest) reduction(min : above, lowest) \
    reduction(| : broken)
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = values[i];
    const double left = x <= threshold ? x : -std::numeric_limits<double>::infinity();
    const double right = x > threshold ? x : std::numeric_limits<double>::infinity();
    below = left > below ? left : below;
    above = right < above ? right : above;
    lowest = x < lowest ? x : lowest;
    highest = x > highest ? x : highest;
    broken |= (x < std::floor(x) || x > std::floor(x)) ? 1 : 0;
  }
  margin.below = below, margin.above = above;
  margin.lowest = lowest, margin.highest = highest;
  margin.broken = margin.broken || broken != 0;
}

inline void take_in(const double* values, std::int64_t n, const ThresholdSplit& split,
                    Margin& margin) {
  take_in(values, n, split.threshold, margin);
}

// The same for splits that part categories, or send missing values to a side.
inline void take_in(const double* values, std::int64_t n, const Split& split, Margin& margin) {
  for (std::int64_t i = 0; i < n; ++i)
    if (!std::isnan(values[i]))
      margin.take_in(values[i], split.goes_left(values[i]), split.by_threshold());
}

// The same as partition() below, with a buffer for the rows of the smaller side only.
template <class AnySplit>
std::int64_t partition_in_place(const Points& points, Row* rows, std::int64_t n,
                                std::int32_t feature, const AnySplit& split, int n_threads,
                                Margin& margin) {
  constexpr std::int64_t block = sized(1 << 14, 4);
  std::vector<double> values(std::min(n, block));
  std::vector<bool> left(n);
  std::int64_t n_left = 0;
  for (std::int64_t begin = 0; begin < n; begin += block) {
    const std::int64_t m = std::min(block, n - begin);
    points.column(feature, rows + begin, m, values.data(), n_threads);
    take_in(values.data(), m, split, margin);
    for (std::int64_t i = 0; i < m; ++i) {
      const bool goes_left = split.goes_left(values[i]);
      left[begin + i] = goes_left;
      n_left += goes_left ? 1 : 0;
    }
  }
  const std::int64_t n_right = n - n_left;
  const std::unique_ptr<Row[]> others(new Row[std::min(n_left, n_right) + 1]);
  std::int64_t here = 0, there = 0;
  if (n_right <= n_left) {
    for (std::int64_t i = 0; i < n; ++i) (left[i] ? rows[here++] : others[there++]) = rows[i];
    std::copy(others.get(), others.get() + n_right, rows + n_left);
  } else {  // from the end, where the rows of the larger side stay
    for (std::int64_t i = n - 1; i >= 0; --i)
      (left[i] ? others[there++] : rows[n - ++here]) = rows[i];
    std::reverse_copy(others.get(), others.get() + n_left, rows);
  }
  return n_left;
}

// Returns how many rows go left; `margin` learns which values come to the cut.
template <class AnySplit>
std::int64_t partition(const Points& points, Row* rows, std::int64_t n, std::int32_t feature,
                       const AnySplit& split, int n_threads, Margin& margin) {
  if (!std::is_same_v<AnySplit, ThresholdSplit> && n >= sized(1 << 17, 8))
    return partition_in_place(points, rows, n, feature, split, n_threads, margin);
  // One thread reads a block of values at a time, which stays in the nearest cache.
  const std::int64_t block = n_threads > 1 ? std::max<std::int64_t>(n, 1) : sized(2048, 4);
  std::vector<double> values(std::min(n, block));
  const std::unique_ptr<Row[]> right(new Row[n]);  // uninitialised: written before it is read
  std::int64_t n_left = 0, n_right = 0;
  for (std::int64_t begin = 0; begin < n; begin += block) {
    const std::int64_t m = std::min(block, n - begin);
    points.column(feature, rows + begin, m, values.data(), n_threads);
    take_in(values.data(), m, split, margin);
    for (std::int64_t i = 0; i < m; ++i) {  // both written, one advanced: no branch to mispredict
      const Row row = rows[begin + i];
      const bool goes_left = split.goes_left(values[i]);
      rows[n_left] = row;
      right[n_right] = row;
      n_left += goes_left ? 1 : 0;
      n_right += goes_left ? 0 : 1;
    }
  }
  std::copy(right.get(), right.get() + n_right, rows + n_left);
  return n_left;
}

// The same for a threshold, by the codes of the rows: the values in the bin that the threshold is
// in are read, and those next to it and at the ends. False where that does not do: whether all
// values are integers is then not known.
inline bool partition_by_codes(const Points& points, const Bins& bins, Row* rows, std::int64_t n,
                               std::int32_t feature, double threshold, std::int64_t& n_left,
                               Margin& margin) {
  const std::int32_t slot = bins.dense_slot(feature);
  if (slot < 0) return false;
  const SlotView view = bins.view(slot);
  if (!worth_coding(points, view, n)) return false;
  if (!bins.whole[slot]) {
    std::array<double, 16> some;
    const std::int64_t m = std::min<std::int64_t>(n, some.size());
    points.column(feature, rows, m, some.data());
    margin.broken = std::any_of(some.begin(), some.begin() + m,
                                [](double value) { return value != std::floor(value); });
    if (!margin.broken) return false;
  }
  const NodeBins node(points, view, rows, n, EveryRow());
  margin.below = node.greatest_up_to(threshold);
  margin.above = node.least_above(threshold);
  margin.lowest = node.least_above(-std::numeric_limits<double>::infinity());
  margin.highest = node.greatest_up_to(std::numeric_limits<double>::infinity());
  std::array<std::uint8_t, Bins::kMax> right{};  // of each bin, whether it goes right; 2: both ways
  std::vector<double> between;
  for (std::int64_t b = 0; b < view.n_bins; ++b) {
    right[b] = view.low[b] > threshold ? 1 : 0;
    if (view.low[b] > threshold || view.high[b] <= threshold) continue;
    right[b] = 2;
    between = node.values_in(b);
  }
  const std::unique_ptr<Row[]> others(new Row[n]);  // uninitialised: written before it is read
  const double* value = between.data();
  std::int64_t n_right = 0;
  n_left = 0;
  for (std::int64_t i = 0; i < n; ++i) {  // both written, one advanced
    const Row row = rows[i];
    std::int64_t goes_right = right[node.code(i)];
    if (goes_right == 2) goes_right = *value++ <= threshold ? 0 : 1;
    rows[n_left] = row;
    others[n_right] = row;
    n_left += 1 - goes_right;
    n_right += goes_right;
  }
  std::copy(others.get(), others.get() + n_right, rows + n_left);
  return true;
}

// The rows of a node parted by any rule; by codes, where that is faster.
inline std::int64_t partition(const Points& points, const Bins& bins, Row* rows, std::int64_t n,
                              std::int32_t feature, const SplitRule& rule, int n_threads,
                              Margin& margin) {
  std::int64_t n_left = 0;
  if (rule.categories.empty() && rule.missing_left < 0 &&
      partition_by_codes(points, bins, rows, n, feature, rule.threshold, n_left, margin))
    return n_left;
  margin = Margin();
  return rule.visit([&](const auto& split) {
    return partition(points, rows, n, feature, split, n_threads, margin);
  });
}

}  // namespace treemeans
