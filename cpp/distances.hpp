// The cost table: squared distances to the reference centers, or sums of absolute differences, as
// regrets. r(x, c) is the cost of center c less that of x's cheapest center, so every regret is
// >= 0 and one of each row is 0.
#pragma once

#include <cstdint>

#include "points.hpp"

namespace treemeans {

// Of n rows and k centers; the arrays are the caller's.
struct Regrets {
  std::int64_t k;
  double* base;           // n: cost of the cheapest center
  std::int32_t* nearest;  // n: which one it is, the lowest index among equals
  double* regret;         // n x k; null where nobody asks for it
};

// centers: k x n_features, row by row.
void price(const DensePoints& points, const double* centers, const Regrets& out, int n_threads);
void price(const SparsePoints& points, const double* centers, const Regrets& out, int n_threads);
// The same for sums of absolute differences (k-medians).
void price_absolute(const DensePoints& points, const double* centers, const Regrets& out,
                    int n_threads);
void price_absolute(const SparsePoints& points, const double* centers, const Regrets& out,
                    int n_threads);

// totals[c] += sum over rows of weights * regret[., c]; the same for every number of threads, and
// for rows that come in parts of whole blocks of 4,096.
void total_regrets(const double* regret, const double* weights, std::int64_t n, std::int64_t k,
                   double* totals, int n_threads);

// Rewrites doubles as integers, in place: the nearest to value * weight * scale. A whole-numbered
// weight multiplies the rounded value, so that it equals that many copies of the row.
void to_fixed(double* values, const double* weights, bool whole_weights, double scale,
              std::int64_t n, std::int64_t k, int n_threads);

}  // namespace treemeans
