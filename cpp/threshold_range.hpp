// The thresholds of a node's features that leave enough weight on either side.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "binning.hpp"
#include "center_node.hpp"
#include "limits.hpp"
#include "points.hpp"

namespace treemeans {

// Thresholds from `low` up to, not including, `high` leave enough weight on both sides.
struct ThresholdRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool admits(double at) const { return low <= at && at < high; }
  // Whether some threshold from `from` up to, not including, `to` is admitted.
  bool meets(double from, double to) const { return from < high && low < to; }
};

// The range on every slot (all of it for a least weight of 0), exact wherever the node's centers
// are: `low` is then the least value of the node's rows that may be the last one on the left.
std::vector<ThresholdRange> find_threshold_ranges(const Bins& bins, const Points& points,
                                                  const CenterNode& node, const Limits& limits,
                                                  int n_threads);

}  // namespace treemeans
