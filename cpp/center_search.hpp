// Costs that k-means++ and exchanges of centers compare (reference/center_search.py).
#pragma once

#include <cstdint>

namespace treemeans {

// Rows that are tried as centers: m of them, the same number for each start, one start after the
// other. Products of all rows with them become what the rows cost once they are centers.
template <class Value>
struct TriedCenters {
  std::int64_t m, n;   // of all n rows
  Value* products;     // m x n, scalar products; overwritten by squared distances or less
  const Value* norms;  // n: squared lengths of the rows
  const Value* tried;  // m: those of the rows that are tried
  const Value* least;  // n_starts x n: what the rows cost before; null for no centers yet
  std::int64_t n_starts;
  const double* weights;  // n
};

// sums[j]: weights times costs with the j-th center.
template <class Value>
void price_tried(const TriedCenters<Value>& centers, double* sums);

// upto[s * n + i]: the sum over the rows up to i of weights times costs, of each start s.
template <class Value>
void add_up(const Value* costs, const double* weights, std::int64_t n_starts, std::int64_t n,
            double* upto);

// second[i]: the second least of k values of row i, of equals the same.
void second_least(const double* values, std::int64_t n, std::int64_t k, double* second);

}  // namespace treemeans
