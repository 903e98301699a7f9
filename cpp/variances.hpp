// How much each feature varies among some rows.
#pragma once

#include <cstdint>

#include "points.hpp"

namespace treemeans {

// out[f] = variance of feature f over the rows (ascending), weights[i] being that of rows[i] (null:
// all 1). The same for every number of threads.
void variances(const Points& points, const Row* rows, std::int64_t n, const double* weights,
               double* out, int n_threads);

}  // namespace treemeans
