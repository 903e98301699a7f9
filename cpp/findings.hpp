// What a search finds while it walks the bins: the best cut so far, and the wide bins that may hold
// a better one.
#pragma once

#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "score.hpp"
#include "simd.hpp"

namespace treemeans {

// A cut: thresholds from `at` on, up to the next value; of a column of categories, the best one. Of
// equal costs the lowest feature wins, then the lowest value, then missing values on the right.
template <class Cost>
struct Candidate {
  Cost cost = worst_cost<Cost>();
  std::int32_t feature = std::numeric_limits<std::int32_t>::max();
  std::int32_t slot = -1;  // none found
  double at = 0.0;
  double next = std::numeric_limits<double>::quiet_NaN();  // value of the node, if it is known
  std::int8_t missing_left = 0;

  TM_INLINE void offer(const Candidate& other) {
    if (other.cost < cost ||
        (other.cost == cost && std::tie(other.feature, other.at, other.missing_left) <
                                   std::tie(feature, at, missing_left)))
      *this = other;
  }
};

// A bin of several values in which no cut costs less than `bound`, nor lies below `low`.
template <class Cost>
struct WideBin {
  Cost bound;
  std::int32_t feature, slot;
  std::int64_t bin;  // of the slot
  double low;
  std::size_t kept;  // where sums are kept that the look inside starts from
  std::int8_t missing_left = 0;

  bool can_beat(const Candidate<Cost>& best) const {
    return std::tie(bound, feature, low) <= std::tie(best.cost, best.feature, best.at);
  }
};

template <class Cost>
struct Findings {
  Candidate<Cost> best;
  std::vector<WideBin<Cost>> wide;
  std::vector<std::int64_t> kept;

  void merge(const Findings& other) {
    best.offer(other.best);
    for (WideBin<Cost> bin : other.wide) {
      bin.kept += kept.size();
      wide.push_back(bin);
    }
    kept.insert(kept.end(), other.kept.begin(), other.kept.end());
  }
};

}  // namespace treemeans
