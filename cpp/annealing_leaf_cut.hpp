// The best cut of a leaf.
#pragma once

#include <cstdint>
#include <vector>

#include "annealing_table.hpp"

namespace treemeans::annealing {

struct LeafCut {
  BinCut cut;  // slot -1: no cut saves anything
  std::int64_t steps;
};

// The best cut of a leaf with these rows and this label on some slots, from at most `max_rows` of
// its rows.
LeafCut search_leaf_cut(const BinTable& table, const Limits& limits, const Prices& prices,
                        const std::vector<Row>& rows, std::int32_t label,
                        const std::vector<std::int32_t>& slots, std::int64_t max_rows);

}  // namespace treemeans::annealing
