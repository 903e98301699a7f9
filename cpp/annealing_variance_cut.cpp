#include "annealing_variance_cut.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simd.hpp"

namespace treemeans::annealing {
namespace {

constexpr int kMaxBins = 256;
constexpr int kWidth = ProjectedRows::kWidth;
constexpr double kDependent = 1e-6;  // of a vector's square that the others leave

double dot(const double* a, const double* b, std::int64_t m) {
  double sums[4] = {0.0, 0.0, 0.0, 0.0};  // as in Prices::price: a fixed order that is fast
  std::int64_t j = 0;
  for (; j + 4 <= m; j += 4)
    for (int i = 0; i < 4; ++i) sums[i] += a[j + i] * b[j + i];
  for (; j < m; ++j) sums[0] += a[j] * b[j];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Gram-Schmidt; at most kDirections vectors are left.
std::vector<double> orthonormal(const std::vector<double>& vectors, std::int64_t m) {
  std::vector<double> basis;
  std::int64_t n = 0;
  for (std::size_t v = 0; v * m < vectors.size() && n < ProjectedRows::kDirections; ++v) {
    std::vector<double> rest(vectors.begin() + v * m, vectors.begin() + (v + 1) * m);
    const double before = dot(rest.data(), rest.data(), m);
    for (std::int64_t b = 0; b < n; ++b) {
      const double along = dot(rest.data(), basis.data() + b * m, m);
      for (std::int64_t j = 0; j < m; ++j) rest[j] -= along * basis[b * m + j];
    }
    const double square = dot(rest.data(), rest.data(), m);
    if (!(square > kDependent * before)) continue;
    for (std::int64_t j = 0; j < m; ++j) basis.push_back(rest[j] / std::sqrt(square));
    ++n;
  }
  return basis;
}

TM_INLINE double between(const double* TM_RESTRICT sums) {
  double square = 0.0;
  for (int c = 0; c < ProjectedRows::kDirections; ++c) square += sums[c] * sums[c];
  return square / sums[ProjectedRows::kDirections];
}

TM_CLONES void add_rows(const std::vector<std::int32_t>& members, const std::vector<Row>& rows,
                        const double* TM_RESTRICT values, const BinTable& table, std::int32_t slot,
                        double* TM_RESTRICT sums, std::uint8_t* TM_RESTRICT touched) {
  for (const std::int32_t i : members) {
    const std::uint8_t bin = table.row(rows[i])[slot];
    touched[bin] = 1;
    const double* TM_RESTRICT from = values + std::int64_t{i} * kWidth;
    double* TM_RESTRICT to = sums + std::int64_t{bin} * kWidth;
#pragma omp simd
    for (int c = 0; c < kWidth; ++c) to[c] += from[c];
  }
}

}  // namespace

ProjectedRows::ProjectedRows(const Space& space, std::vector<Row> rows,
                             std::vector<double> directions)
    : rows_(std::move(rows)), values_(rows_.size() * kWidth, 0.0), sums_(kMaxBins * kWidth, 0.0) {
  const std::int64_t m = space.dimension;
  const bool whole = m <= kDirections;
  const std::vector<double> basis = whole ? std::vector<double>() : orthonormal(directions, m);
  const std::int64_t n = whole ? m : static_cast<std::int64_t>(basis.size()) / m;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const double* x = space.row(rows_[i]);
    const double w = space.weight(rows_[i]);
    double* to = values_.data() + i * kWidth;
    for (std::int64_t b = 0; b < n; ++b) to[b] = w * (whole ? x[b] : dot(x, &basis[b * m], m));
    to[kDirections] = w;
  }
  steps_ += static_cast<std::int64_t>(rows_.size()) * (whole ? kWidth : m * n / 4);
}

std::vector<std::int32_t> ProjectedRows::all() const {
  std::vector<std::int32_t> members(rows_.size());
  std::iota(members.begin(), members.end(), 0);
  return members;
}

ProjectedRows::Cut ProjectedRows::best_cut(const BinTable& table, const Limits& limits, double unit,
                                           double scale, const std::vector<std::int32_t>& members,
                                           const std::vector<std::int32_t>& slots) {
  Cut best;
  double totals[kWidth] = {};
  for (const std::int32_t i : members)
    for (int c = 0; c < kWidth; ++c) totals[c] += values_[i * kWidth + c];
  if (members.size() < 2 || totals[kDirections] <= 0.0) return best;
  const double uncut = between(totals);
  for (const std::int32_t slot : slots) {
    const double price = static_cast<double>(std::max<std::int64_t>(limits.price(slot), 0)) * unit;
    const std::int32_t n_values = table.n_values[slot];
    std::uint8_t touched[kMaxBins] = {};
    add_rows(members, rows_, values_.data(), table, slot, sums_.data(), touched);
    const bool any_missing = table.has_missing[slot] && touched[n_values];
    for (std::int8_t side = 0; side <= (any_missing ? 1 : 0); ++side) {
      double left[kWidth] = {}, right[kWidth];
      if (side == 1)
        for (int c = 0; c < kWidth; ++c) left[c] = sums_[n_values * kWidth + c];
      for (std::int32_t bin = 0; bin < n_values; ++bin) {
        if (!touched[bin]) continue;
        for (int c = 0; c < kWidth; ++c) {
          left[c] += sums_[bin * kWidth + c];
          right[c] = totals[c] - left[c];
        }
        // Of all rows on one side rounding can leave a little weight, but no share of it.
        if (right[kDirections] <= 1e-9 * totals[kDirections]) break;
        const double gain = (between(left) + between(right) - uncut) * scale - price;
        if (gain <= best.gain) continue;
        best.gain = gain;
        best.cut = {slot, bin, any_missing ? side : std::int8_t{-1}, 0};
      }
    }
    for (std::int32_t bin = 0; bin < kMaxBins; ++bin)
      if (touched[bin])
        std::fill(sums_.begin() + bin * kWidth, sums_.begin() + (bin + 1) * kWidth, 0.0);
  }
  steps_ += static_cast<std::int64_t>(members.size() * slots.size()) * kWidth / 2;
  return best;
}

void ProjectedRows::part(const BinTable& table, const BinCut& cut,
                         const std::vector<std::int32_t>& members, std::vector<std::int32_t>& left,
                         std::vector<std::int32_t>& right) const {
  const BinSet goes_left = table.left_of(cut);
  for (const std::int32_t i : members)
    (goes_left.has(table.row(rows_[i])[cut.slot]) ? left : right).push_back(i);
}

}  // namespace treemeans::annealing
