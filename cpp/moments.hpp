// Sums and squares of rows about a point of each group's own: what the mean of a group, and the
// cost of its rows about that mean, are found from without losing digits to a common offset.
#pragma once

#include <cstdint>

#include "points.hpp"

namespace treemeans {

// `origins` is n_groups x n_features. Adds to `sums` and `squares`, of the same shape:
// weights[i] * (row i - origin of its group), and the same with the difference squared. The order
// of summation does not depend on the number of threads.
void add_moments(const Points& points, const std::int32_t* groups, std::int64_t n_groups,
                 const double* weights, const double* origins, double* sums, double* squares,
                 int n_threads);

}  // namespace treemeans
