// IMM's search: the cut of a node that parts the fewest points from their center.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "binning.hpp"
#include "points.hpp"
#include "surrogate.hpp"

namespace treemeans {

// What every row is to IMM: its nearest center and its weight (null: all 1). A row once parted
// from its center is dead: it still falls through the tree, but counts no more.
struct Membership {
  const std::int32_t* nearest;
  const std::int64_t* weights;
  std::uint8_t* alive;
};

// Weight per bin and center of the rows that are alive, for all features. A cut leaves every
// center's rows together except those that die, so one pass over the data serves the whole tree.
class MistakeCounts {
 public:
  MistakeCounts(const Bins& bins, std::int64_t k, const Membership& rows, int n_threads);

  // Rows that went to the side that the centers in `here` (k flags) went to: those whose center is
  // not among them die, and leave the counts.
  void bury(const Row* rows, std::int64_t n, const Membership& membership, const std::uint8_t* here,
            int n_threads);

  // A node under construction: all rows that fall into it (ascending), the centers (k x
  // n_features) and which of them are the node's.
  struct Node {
    const Row* rows;
    std::int64_t n;
    Membership membership;
    const double* centers;
    std::vector<std::int32_t> members;
  };

  // The cut with the fewest mistakes that leaves one of the node's centers on either side; ties go
  // to the lowest feature, then the lowest threshold. None where the members coincide.
  std::optional<Cut> least_mistakes_cut(const Points& points, const Node& node, int n_threads) const;

  // A threshold just above the value `at`.
  struct Place {
    std::int64_t mistakes = std::numeric_limits<std::int64_t>::max();
    std::int32_t feature = std::numeric_limits<std::int32_t>::max();
    double at = 0.0;

    bool operator<(const Place& other) const {
      return std::tie(mistakes, feature, at) < std::tie(other.mistakes, other.feature, other.at);
    }
  };

  // A wide bin in which no threshold makes fewer mistakes than `bound`.
  struct Suspect {
    std::int64_t bound;
    std::int32_t feature, slot;
    std::int64_t bin;
    double low;
  };

 private:
  void add(const Row* rows, std::int64_t n, const Membership& membership, std::int64_t sign,
           int n_threads);
  void refine(const Points& points, const Node& node, const Suspect& suspect, Place& best) const;
  Cut close_gap(const Points& points, const Node& node, const Place& place) const;

  const Bins& bins_;
  std::int64_t k_;
  std::vector<std::int64_t> counts_;  // n_bins x k
  std::vector<std::int64_t> totals_;  // k
};

}  // namespace treemeans
