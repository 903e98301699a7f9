// A cut: the gap between two values that it lies in, or the categories that go left.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "simd.hpp"
#include "split.hpp"

namespace treemeans {

// Half way, so on neither value; the lower one where no float lies between them.
inline double threshold_between(double low, double high) {
  const double middle = low / 2 + high / 2;
  return low <= middle && middle < high ? middle : low;
}

// Any threshold in [low, high) makes this cut: two values of the feature that occur at the node,
// with none between them. Where only missing values go right, `high` is infinite; where categories
// go left, both are NaN.
struct Cut {
  std::int64_t cost;
  std::int32_t feature;
  double low, high;
  std::int8_t missing_left = -1;           // as in Split
  std::vector<std::int32_t> categories{};  // codes that go left, ascending

  double threshold() const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return high == infinity ? infinity : threshold_between(low, high);
  }
  SplitRule rule() const { return {threshold(), missing_left, categories}; }
  bool operator==(const Cut& other) const {
    return cost == other.cost && feature == other.feature && missing_left == other.missing_left &&
           categories == other.categories &&
           (!categories.empty() || (low == other.low && high == other.high));
  }
};

// Raises `low` to the greatest value up to `edge`, lowers `high` to the least above it.
TM_CLONES inline void narrow(const double* TM_RESTRICT values, std::int64_t n, double edge,
                             double& low, double& high) {
  double below = low, above = high;
#pragma omp simd reduction(max : below) reduction(min : above)
  for (std::int64_t i = 0; i < n; ++i) {
    const double left = values[i] <= edge ? values[i] : below;
    const double right = values[i] <= edge ? above : values[i];
    below = left > below ? left : below;
    above = right < above ? right : above;
  }
  low = below;
  high = above;
}

}  // namespace treemeans
