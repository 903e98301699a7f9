// What a least weight on either side leaves of a node's thresholds: a stretch of each feature.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "binning.hpp"
#include "members.hpp"
#include "points.hpp"
#include "terms.hpp"

namespace treemeans {

// Thresholds from `low` up to, not including, `high` leave enough weight on both sides.
struct Room {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool admits(double at) const { return low <= at && at < high; }
  // Whether some threshold from `from` up to, not including, `to` is admitted.
  bool meets(double from, double to) const { return from < high && low < to; }
};

// The room on every slot (all of it for a least weight of 0), exact wherever the node's centers
// are: `low` is then the least value of the node's rows that may be the last one on the left.
std::vector<Room> find_room(const Bins& bins, const Points& points, const CenterNode& node,
                            const Terms& terms, int n_threads);

}  // namespace treemeans
