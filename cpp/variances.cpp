#include "variances.hpp"

#include <algorithm>
#include <vector>

#include "parallel.hpp"

namespace treemeans {
namespace {

double total(const double* weights, std::int64_t n) {
  if (!weights) return static_cast<double>(n);
  double sum = 0.0;
  for (std::int64_t i = 0; i < n; ++i) sum += weights[i];
  return sum;
}

// Deviations are taken from the first value, so that a large common offset costs no digits.
double variance(const double* values, const double* weights, std::int64_t n, double weight) {
  double first = 0.0, second = 0.0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double w = weights ? weights[i] : 1.0;
    first += w * (values[i] - values[0]);
  }
  const double mean = first / weight;
  for (std::int64_t i = 0; i < n; ++i) {
    const double w = weights ? weights[i] : 1.0;
    const double off = values[i] - values[0] - mean;
    second += w * off * off;
  }
  return second / weight;
}

void dense_variances(const Points& points, const Row* rows, std::int64_t n, const double* weights,
                     double weight, double* out, int n_threads) {
  parallel_for(
      points.n_features, 1, threads_for(n * points.n_features, n_threads),
      [&] { return std::vector<double>(n); },
      [&](std::vector<double>& values, std::int64_t f) {
        points.column(static_cast<std::int32_t>(f), rows, n, values.data());
        out[f] = variance(values.data(), weights, n, weight);
      },
      [](std::vector<double>&) {});
}

// Two walks over the rows' entries; values that are not stored are zeros. As in a dense table,
// deviations are taken from the first row's values.
void sparse_variances(const SparsePoints& points, const Row* rows, std::int64_t n,
                      const double* weights, double weight, double* out) {
  std::vector<double> first(points.n_features, 0.0), mean(points.n_features, 0.0),
      stored(points.n_features, 0.0);
  const Compressed& lines = points.by_row;
  if (n > 0)
    for (std::int64_t e = lines.indptr[rows[0]]; e < lines.indptr[rows[0] + 1]; ++e)
      first[lines.indices[e]] = lines.data[e];
  for (std::int64_t i = 0; i < n; ++i) {
    const double w = weights ? weights[i] : 1.0;
    for (std::int64_t e = lines.indptr[rows[i]]; e < lines.indptr[rows[i] + 1]; ++e) {
      const std::int32_t f = lines.indices[e];
      mean[f] += w * (lines.data[e] - first[f]);
      stored[f] += w;
    }
  }
  for (std::int32_t f = 0; f < points.n_features; ++f) {
    const double zeros = std::max(0.0, weight - stored[f]);
    mean[f] = (mean[f] - zeros * first[f]) / weight;  // less the first value
    out[f] = zeros * (first[f] + mean[f]) * (first[f] + mean[f]);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const double w = weights ? weights[i] : 1.0;
    for (std::int64_t e = lines.indptr[rows[i]]; e < lines.indptr[rows[i] + 1]; ++e) {
      const std::int32_t f = lines.indices[e];
      const double off = lines.data[e] - first[f] - mean[f];
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
