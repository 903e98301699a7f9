// Medians of groups of rows, column by column: the best representatives for sums of absolute
// differences (k-medians), and what the rows cost at them.
#pragma once

#include <cstdint>

#include "points.hpp"

namespace treemeans {

// Of n_groups groups and the points' features; the arrays are the caller's. A group without weight
// gets no median: its place in `medians` is left as it is. Rows with a weight of 0 do not count.
// The median of an even number of rows is half way between the two in the middle.
void group_medians(const Points& points, const std::int32_t* groups, std::int64_t n_groups,
                   const double* weights, double* medians, double* costs, int n_threads);

}  // namespace treemeans
