// What limits leave of a node's thresholds: a stretch of each feature, and a price for its use.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "binning.hpp"
#include "members.hpp"
#include "points.hpp"

namespace treemeans {

// least: weight that must lie on either side of a cut (0: none need); weights: of every row (null:
// all 1); prices: added to the score of a cut, by feature (null: all free).
struct CutLimits {
  std::int64_t least;
  const std::int64_t* weights;
  const std::int64_t* prices;

  std::int64_t price(std::int32_t feature) const { return prices ? prices[feature] : 0; }
};

// Thresholds from `low` up to, not including, `high` leave enough weight on both sides.
struct Room {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool admits(double at) const { return low <= at && at < high; }
  // Whether some threshold from `from` up to, not including, `to` is admitted.
  bool meets(double from, double to) const { return from < high && low < to; }
};

// The room on every slot, exact wherever the node's centers are: `low` is then the least value of
// the node's rows that may be the last one on the left.
std::vector<Room> find_room(const Bins& bins, const Points& points, const CenterNode& node,
                            const CutLimits& limits, int n_threads);

}  // namespace treemeans
