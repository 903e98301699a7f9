#include "variances.hpp"

#include <algorithm>
#include <vector>

#include "compensated_sum.hpp"
#include "parallel.hpp"

namespace treemeans {
namespace {

double total(const double* weights, std::int64_t n) {
  if (!weights) return static_cast<double>(n);
  double sum = 0.0;
  for (std::int64_t i = 0; i < n; ++i) sum += weights[i];
  return sum;
}

// The row that deviations are taken from, so that a large common offset costs no digits. It is the
// heaviest: the mean lies near a row that outweighs the others, and far from any other row the
// difference to it would keep too few digits.
std::int64_t origin_row(const double* weights, std::int64_t n) {
  return weights ? std::max_element(weights, weights + n) - weights : 0;
}

double variance(const double* values, const double* weights, std::int64_t n, double weight,
                double origin) {
  double first = 0.0, second = 0.0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double w = weights ? weights[i] : 1.0;
    first += w * (values[i] - origin);
  }
  const double mean = first / weight;
  for (std::int64_t i = 0; i < n; ++i) {
    const double w = weights ? weights[i] : 1.0;
    const double off = values[i] - origin - mean;
    second += w * off * off;
  }
  return second / weight;
}

void dense_variances(const Points& points, const Row* rows, std::int64_t n, const double* weights,
                     double weight, double* out, int n_threads) {
  const std::int64_t origin = origin_row(weights, n);
  parallel_for(
      points.n_features, 1, threads_for(n * points.n_features, n_threads),
      [&] { return std::vector<double>(n); },
      [&](std::vector<double>& values, std::int64_t f) {
        points.column(static_cast<std::int32_t>(f), rows, n, values.data());
        out[f] = variance(values.data(), weights, n, weight, values[origin]);
      },
      [](std::vector<double>&) {});
}

// Two walks over the rows' entries; values that are not stored are zeros. As in a dense table,
// deviations are taken from the values of one row.
void sparse_variances(const SparsePoints& points, const Row* rows, std::int64_t n,
                      const double* weights, double weight, double* out) {
  std::vector<double> origin(points.n_features, 0.0), mean(points.n_features, 0.0);
  std::vector<CompensatedSum> stored(points.n_features);
  CompensatedSum all;
  const Compressed& lines = points.by_row;
  if (n > 0) {
    const Row row = rows[origin_row(weights, n)];
    for (std::int64_t e = lines.indptr[row]; e < lines.indptr[row + 1]; ++e)
      origin[lines.indices[e]] = lines.data[e];
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const double w = weights ? weights[i] : 1.0;
    all.add(w);
    for (std::int64_t e = lines.indptr[rows[i]]; e < lines.indptr[rows[i] + 1]; ++e) {
      const std::int32_t f = lines.indices[e];
      mean[f] += w * (lines.data[e] - origin[f]);
      stored[f].add(w);
    }
  }
  for (std::int32_t f = 0; f < points.n_features; ++f) {
    const double zeros = std::max(0.0, all.minus(stored[f]));
    mean[f] = (mean[f] - zeros * origin[f]) / weight;  // less the origin
    out[f] = zeros * (origin[f] + mean[f]) * (origin[f] + mean[f]);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const double w = weights ? weights[i] : 1.0;
    for (std::int64_t e = lines.indptr[rows[i]]; e < lines.indptr[rows[i] + 1]; ++e) {
      const std::int32_t f = lines.indices[e];
      const double off = lines.data[e] - origin[f] - mean[f];
      out[f] += w * off * off;
    }
  }
  for (std::int32_t f = 0; f < points.n_features; ++f) out[f] /= weight;
}

}  // namespace

void variances(const Points& points, const Row* rows, std::int64_t n, const double* weights,
               double* out, int n_threads) {
  const double weight = total(weights, n);
  if (const auto* sparse = dynamic_cast<const SparsePoints*>(&points)) {
    sparse_variances(*sparse, rows, n, weights, weight, out);
  } else {
    dense_variances(points, rows, n, weights, weight, out, n_threads);
  }
}

}  // namespace treemeans
