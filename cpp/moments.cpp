#include "moments.hpp"

#include <algorithm>
#include <vector>

#include "compensated_sum.hpp"
#include "parallel.hpp"

namespace treemeans {
namespace {

constexpr std::int64_t kRows = DensePoints::kTileRows, kStride = DensePoints::kTileStride;
constexpr std::int32_t kColumns = DensePoints::kTileColumns;

// Threads share out columns, so every sum runs over the rows in their order.
void add_dense(const DensePoints& points, const std::int32_t* groups, const double* weights,
               const double* origins, double* sums, double* squares, int n_threads) {
  const std::int64_t n = points.n_rows;
  const std::int32_t d = points.n_features;
  parallel_for((d + kColumns - 1) / kColumns, 1, threads_for(n * d, n_threads),
               [&] { return std::vector<double>(kStride * kColumns); },
               [&](std::vector<double>& tile, std::int64_t block) {
                 const auto f0 = static_cast<std::int32_t>(block * kColumns);
                 const std::int32_t f1 = std::min(f0 + kColumns, d);
                 for (std::int64_t r0 = 0; r0 < n; r0 += kRows) {
                   const std::int64_t r1 = std::min(r0 + kRows, n);
                   points.tile(r0, r1, f0, f1, tile.data());
                   for (std::int64_t r = r0; r < r1; ++r) {
                     const double weight = weights ? weights[r] : 1.0;
                     if (weight == 0.0) continue;
                     const std::int64_t line = groups[r] * std::int64_t{d};
                     for (std::int32_t f = f0; f < f1; ++f) {
                       const double away = tile[(f - f0) * kStride + (r - r0)] - origins[line + f];
                       sums[line + f] += weight * away;
                       squares[line + f] += weight * away * away;
                     }
                   }
                 }
               },
               [](std::vector<double>&) {});
}

// Values that are not stored are zeros: they add the weight of their rows times minus the origin.
// Where all rows of a group have a stored value, that weight is zero, since both of its sums run
// over the same numbers in the same order.
void add_sparse(const SparsePoints& points, const std::int32_t* groups, std::int64_t n_groups,
                const double* weights, const double* origins, double* sums, double* squares) {
  const std::int64_t d = points.n_features;
  std::vector<CompensatedSum> stored(n_groups * d), total(n_groups);
  const Compressed& rows = points.by_row;
  for (std::int64_t r = 0; r < points.n_rows; ++r) {
    const double weight = weights ? weights[r] : 1.0;
    if (weight == 0.0) continue;
    const std::int64_t line = groups[r] * d;
    total[groups[r]].add(weight);
    for (std::int64_t e = rows.indptr[r]; e < rows.indptr[r + 1]; ++e) {
      const std::int64_t at = line + rows.indices[e];
      const double away = rows.data[e] - origins[at];
      stored[at].add(weight);
      sums[at] += weight * away;
      squares[at] += weight * away * away;
    }
  }
  for (std::int64_t g = 0; g < n_groups; ++g) {
    for (std::int64_t at = g * d; at < (g + 1) * d; ++at) {
      const double weight = std::max(0.0, total[g].minus(stored[at]));
      sums[at] -= weight * origins[at];
      squares[at] += weight * origins[at] * origins[at];
    }
  }
}

}  // namespace

void add_moments(const Points& points, const std::int32_t* groups, std::int64_t n_groups,
                 const double* weights, const double* origins, double* sums, double* squares,
                 int n_threads) {
  if (const auto* sparse = dynamic_cast<const SparsePoints*>(&points)) {
    add_sparse(*sparse, groups, n_groups, weights, origins, sums, squares);
  } else {
    add_dense(dynamic_cast<const DensePoints&>(points), groups, weights, origins, sums, squares,
              n_threads);
  }
}

}  // namespace treemeans
