// ExGreedy's search: the cut of a node whose rows, each given to the cheapest of the centers on its
// own side, cost least.
#pragma once

#include <cstdint>
#include <optional>

#include "binning.hpp"
#include "center_node.hpp"
#include "cut.hpp"
#include "points.hpp"
#include "threshold_range.hpp"

namespace treemeans {

struct GreedyNode : CenterNode {
  const std::int64_t* regrets;  // the whole table's, n x k, in fixed point
};

// Leaves one of the node's centers on either side; ties go to the lowest feature, then the lowest
// threshold. None where the members coincide or the limits leave no range. The cut's cost is what
// it adds to the cost of the node's rows with all its centers at hand, and the price.
std::optional<Cut> least_greedy_cut(const Bins& bins, const Points& points, const GreedyNode& node,
                                    const Limits& limits, int n_threads);

}  // namespace treemeans
