// A cut carried out: the node's rows, those that go left first, each side in its old order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "points.hpp"
#include "split.hpp"

namespace treemeans {

// Returns how many rows go left.
template <class AnySplit>
std::int64_t partition(const Points& points, Row* rows, std::int64_t n, std::int32_t feature,
                       const AnySplit& split, int n_threads) {
  std::vector<double> values(n);
  points.column(feature, rows, n, values.data(), n_threads);
  std::vector<Row> right(n);
  std::int64_t n_left = 0, n_right = 0;
  for (std::int64_t i = 0; i < n; ++i) {  // both written, one advanced: no branch to mispredict
    const Row row = rows[i];
    const bool goes_left = split.goes_left(values[i]);
    rows[n_left] = row;
    right[n_right] = row;
    n_left += goes_left ? 1 : 0;
    n_right += goes_left ? 0 : 1;
  }
  std::copy(right.begin(), right.begin() + n_right, rows + n_left);
  return n_left;
}

}  // namespace treemeans
