#include "distances.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "parallel.hpp"
#include "simd.hpp"

namespace treemeans {
namespace {

constexpr std::int64_t kRows = DensePoints::kTileRows, kStride = DensePoints::kTileStride;
constexpr std::int32_t kColumns = DensePoints::kTileColumns;

// sums[c][i] += (tile[f][i] - center[c][f])^2 for the tile's columns, in their order.
TM_CLONES void add_squares(const double* TM_RESTRICT tile, std::int64_t m, std::int32_t width,
                           const double* TM_RESTRICT centers, std::int64_t center_stride,
                           std::int64_t k, double* TM_RESTRICT sums) {
  for (std::int64_t c = 0; c < k; ++c) {
    const double* center = centers + c * center_stride;
    double* sum = sums + c * kRows;
    std::int32_t f = 0;
    for (; f + 4 <= width; f += 4) {
      const double *x0 = tile + f * kStride, *x1 = x0 + kStride, *x2 = x1 + kStride,
                   *x3 = x2 + kStride;
      const double c0 = center[f], c1 = center[f + 1], c2 = center[f + 2], c3 = center[f + 3];
#pragma omp simd
      for (std::int64_t i = 0; i < m; ++i) {
        const double a = x0[i] - c0, b = x1[i] - c1, d = x2[i] - c2, e = x3[i] - c3;
        sum[i] = (((sum[i] + a * a) + b * b) + d * d) + e * e;
      }
    }
    for (; f < width; ++f) {
      const double *x = tile + f * kStride, at = center[f];
#pragma omp simd
      for (std::int64_t i = 0; i < m; ++i) sum[i] += (x[i] - at) * (x[i] - at);
    }
  }
}

// sums[c][i] += |tile[f][i] - center[c][f]| for the tile's columns, in their order.
TM_CLONES void add_absolutes(const double* TM_RESTRICT tile, std::int64_t m, std::int32_t width,
                             const double* TM_RESTRICT centers, std::int64_t center_stride,
                             std::int64_t k, double* TM_RESTRICT sums) {
  for (std::int64_t c = 0; c < k; ++c) {
    const double* center = centers + c * center_stride;
    double* sum = sums + c * kRows;
    for (std::int32_t f = 0; f < width; ++f) {
      const double *x = tile + f * kStride, at = center[f];
#pragma omp simd
      for (std::int64_t i = 0; i < m; ++i) sum[i] += std::abs(x[i] - at);
    }
  }
}

// Costs of n rows, costs[c * stride + i * step], become the regrets of rows from r0 on.
TM_CLONES void write_rows(const double* TM_RESTRICT costs, std::int64_t stride, std::int64_t step,
                          std::int64_t n, std::int64_t r0, const Regrets& out) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double* cost = costs + i * step;
    std::int32_t nearest = 0;
    double least = cost[0];
    for (std::int64_t c = 1; c < out.k; ++c) {
      const double at = cost[c * stride];
      nearest = at < least ? static_cast<std::int32_t>(c) : nearest;
      least = at < least ? at : least;
    }
    out.nearest[r0 + i] = nearest;
    out.base[r0 + i] = least;
    if (!out.regret) continue;
    double* TM_RESTRICT regret = out.regret + (r0 + i) * out.k;
    for (std::int64_t c = 0; c < out.k; ++c) regret[c] = cost[c * stride] - least;
  }
}

TM_CLONES void add_weighted(const double* TM_RESTRICT regret, const double* TM_RESTRICT weights,
                            std::int64_t begin, std::int64_t end, std::int64_t k,
                            double* TM_RESTRICT sums) {
  for (std::int64_t r = begin; r < end; ++r) {
    const double weight = weights ? weights[r] : 1.0;
#pragma omp simd
    for (std::int64_t c = 0; c < k; ++c) sums[c] += weight * regret[r * k + c];
  }
}

// In place: the integers take the doubles' room.
TM_CLONES void round_all(double* values, std::int64_t n, double factor, std::int64_t copies) {
  constexpr double most = 0x1p+62;  // beyond any total; a NaN becomes -most: casts are defined
  for (std::int64_t i = 0; i < n; ++i) {
    const double scaled = std::nearbyint(values[i] * factor);
    const double above = scaled > -most ? scaled : -most;
    const double fitting = above < most ? above : most;
    values[i] = std::bit_cast<double>(static_cast<std::int64_t>(fitting) * copies);
  }
}

#if defined(__GNUC__)
// Rows whose values lie side by side need not be turned: a few of them take a few centers at a
// time, whose sums all stay in registers. Every sum runs over the features in their order, as
// above, so it is the same number.
constexpr int kLanes = 4;            // centers in a vector
constexpr int kRowsAtOnce = kLanes;  // rows that share what is loaded of the centers
typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double)), aligned(8)));

// sums[i][c] of R rows and V * kLanes centers, which lie feature by feature in `by_feature`.
template <int R, int V, class T>
TM_CLONES void add_row_squares(const T* TM_RESTRICT rows, std::int64_t row_stride, std::int32_t d,
                               const double* TM_RESTRICT by_feature, double* TM_RESTRICT sums,
                               std::int64_t sum_stride) {
  Lanes sum[R][V] = {};
  for (std::int32_t f = 0; f < d; ++f) {
    const Lanes* at = reinterpret_cast<const Lanes*>(by_feature + std::int64_t{f} * V * kLanes);
    for (int i = 0; i < R; ++i) {
      const double x = static_cast<double>(rows[i * row_stride + f]);
      for (int v = 0; v < V; ++v) {
        const Lanes away = x - at[v];
        sum[i][v] += away * away;
      }
    }
  }
  for (int i = 0; i < R; ++i)
    for (int v = 0; v < V; ++v)
      for (int lane = 0; lane < kLanes; ++lane)
        sums[i * sum_stride + v * kLanes + lane] = sum[i][v][lane];
}

typedef long long LaneMask __attribute__((vector_size(kLanes * sizeof(double)), aligned(8)));

// The cheapest center of kLanes rows, whose costs lie side by side, and what it costs: four centers
// at a time are turned, so that a vector holds what one center costs the rows.
TM_CLONES void cheapest_of_rows(const double* TM_RESTRICT costs, std::int64_t width, std::int64_t k,
                                double* TM_RESTRICT least, std::int32_t* TM_RESTRICT nearest) {
  static_assert(kLanes == 4);
  Lanes lowest = {costs[0], costs[width], costs[2 * width], costs[3 * width]};
  LaneMask place = {};
  for (std::int64_t c = 0; c < k; c += kLanes) {  // the width is a multiple of kLanes
    Lanes row[kLanes];
    for (int i = 0; i < kLanes; ++i)
      row[i] = *reinterpret_cast<const Lanes*>(costs + i * width + c);
    const Lanes low01 = __builtin_shuffle(row[0], row[1], LaneMask{0, 4, 2, 6});
    const Lanes high01 = __builtin_shuffle(row[0], row[1], LaneMask{1, 5, 3, 7});
    const Lanes low23 = __builtin_shuffle(row[2], row[3], LaneMask{0, 4, 2, 6});
    const Lanes high23 = __builtin_shuffle(row[2], row[3], LaneMask{1, 5, 3, 7});
    const Lanes at[kLanes] = {__builtin_shuffle(low01, low23, LaneMask{0, 1, 4, 5}),
                              __builtin_shuffle(high01, high23, LaneMask{0, 1, 4, 5}),
                              __builtin_shuffle(low01, low23, LaneMask{2, 3, 6, 7}),
                              __builtin_shuffle(high01, high23, LaneMask{2, 3, 6, 7})};
    for (int j = 0; j < kLanes && c + j < k; ++j) {
      const LaneMask lower = at[j] < lowest, here = place * 0 + (c + j);
      lowest = lower ? at[j] : lowest;
      place = lower ? here : place;
    }
  }
  for (int i = 0; i < kLanes; ++i) {
    least[i] = lowest[i];
    nearest[i] = static_cast<std::int32_t>(place[i]);
  }
}

TM_CLONES void write_regrets(const double* TM_RESTRICT costs, std::int64_t k, double least,
                             double* TM_RESTRICT regret) {
#pragma omp simd
  for (std::int64_t c = 0; c < k; ++c) regret[c] = costs[c] - least;
}

// The centers in groups of one or two vectors, each feature by feature; the last one filled up.
class CenterGroups {
 public:
  CenterGroups(const double* centers, std::int64_t k, std::int32_t d) : d_(d) {
    for (std::int64_t c = 0; c < k; c += groups_.back().width) {
      const std::int64_t width = k - c > kLanes ? 2 * kLanes : kLanes;
      groups_.push_back({c, width, std::vector<double>(d * width, 0.0)});
      for (std::int64_t lane = 0; lane < std::min(width, k - c); ++lane)
        for (std::int32_t f = 0; f < d; ++f)
          groups_.back().by_feature[f * width + lane] = centers[(c + lane) * d + f];
    }
  }
  std::int64_t width() const { return groups_.back().first + groups_.back().width; }

  // sums: width() numbers for each of R rows.
  template <int R, class T>
  void price(const T* rows, std::int64_t row_stride, double* sums) const {
    for (const Group& group : groups_) {
      const auto add = group.width == kLanes ? add_row_squares<R, 1, T> : add_row_squares<R, 2, T>;
      add(rows, row_stride, d_, group.by_feature.data(), sums + group.first, width());
    }
  }

 private:
  struct Group {
    std::int64_t first, width;
    std::vector<double> by_feature;
  };
  std::int32_t d_;
  std::vector<Group> groups_;
};

// False where the rows are of another type, or their values are apart.
template <class T>
bool price_rows(const DensePoints& points, const double* centers, const Regrets& out,
                int n_threads) {
  const auto* rows = dynamic_cast<const StridedPoints<T>*>(&points);
  if (!rows || points.n_rows == 0 || !rows->row(0)) return false;
  const std::int64_t n = points.n_rows, stride = n > 1 ? rows->row(1) - rows->row(0) : 0;
  const CenterGroups groups(centers, out.k, points.n_features);
  const std::int64_t width = groups.width();
  parallel_for((n + kRows - 1) / kRows, 4, threads_for(n * points.n_features, n_threads),
               [&] { return std::vector<double>(kRowsAtOnce * width); },
               [&](std::vector<double>& sums, std::int64_t block) {
                 const std::int64_t r0 = block * kRows, r1 = std::min(r0 + kRows, n);
                 std::int64_t r = r0;
                 for (; r + kRowsAtOnce <= r1; r += kRowsAtOnce) {
                   groups.price<kRowsAtOnce>(rows->row(r), stride, sums.data());
                   cheapest_of_rows(sums.data(), width, out.k, out.base + r, out.nearest + r);
                   for (int i = 0; out.regret && i < kRowsAtOnce; ++i)
                     write_regrets(sums.data() + i * width, out.k, out.base[r + i],
                                   out.regret + (r + i) * out.k);
                 }
                 for (; r < r1; ++r) {
                   groups.price<1>(rows->row(r), stride, sums.data());
                   write_rows(sums.data(), 1, width, 1, r, out);
                 }
               },
               [](std::vector<double>&) {});
  return true;
}
#endif

template <class Add>
void price_by(const DensePoints& points, const double* centers, const Regrets& out, int n_threads,
              Add add) {
  const std::int64_t n = points.n_rows;
  const std::int32_t d = points.n_features;
  struct Scratch {
    std::vector<double> tile, sums;
  };
  parallel_for(
      (n + kRows - 1) / kRows, 4, threads_for(n * d, n_threads),
      [&] {
        return Scratch{std::vector<double>(kStride * kColumns), std::vector<double>(out.k * kRows)};
      },
      [&](Scratch& scratch, std::int64_t block) {
        const std::int64_t r0 = block * kRows, r1 = std::min(r0 + kRows, n);
        std::fill(scratch.sums.begin(), scratch.sums.end(), 0.0);
        for (std::int32_t f0 = 0; f0 < d; f0 += kColumns) {
          const std::int32_t f1 = std::min(f0 + kColumns, d);
          points.tile(r0, r1, f0, f1, scratch.tile.data());
          add(scratch.tile.data(), r1 - r0, f1 - f0, centers + f0, d, out.k, scratch.sums.data());
        }
        write_rows(scratch.sums.data(), kRows, 1, r1 - r0, r0, out);
      },
      [](Scratch&) {});
}

}  // namespace

void price(const DensePoints& points, const double* centers, const Regrets& out, int n_threads) {
#if defined(__GNUC__)
  if (price_rows<double>(points, centers, out, n_threads) ||
      price_rows<float>(points, centers, out, n_threads))
    return;
#endif
  price_by(points, centers, out, n_threads, add_squares);
}

void price_absolute(const DensePoints& points, const double* centers, const Regrets& out,
                    int n_threads) {
  price_by(points, centers, out, n_threads, add_absolutes);
}

// |x - c|^2 = |x|^2 - 2 x.c + |c|^2, of which only the non-zeros of x are touched. The terms cancel
// where x is near c and far from zero, so two kinds of values are priced by their difference:
// columns in which every row has a value, which are where a common offset would be; and whole rows
// whose cheapest cost is a small share of the terms it was made from.
void price(const SparsePoints& points, const double* centers, const Regrets& out, int n_threads) {
  const std::int64_t n = points.n_rows, d = points.n_features, k = out.k;
  constexpr double least_share = 1e-5;  // of the terms; ten digits of the cost are then left
  const std::vector<std::uint8_t> full = points.full_columns();
  std::vector<double> by_feature(d * k), norms(k, 0.0);
  for (std::int64_t c = 0; c < k; ++c) {
    for (std::int64_t f = 0; f < d; ++f) {
      const double at = centers[c * d + f];
      by_feature[f * k + c] = full[f] ? at : -2.0 * at;
      if (!full[f]) norms[c] += at * at;
    }
  }
  const Compressed& rows = points.by_row;
  struct Scratch {
    std::vector<double> costs, row;
  };
  parallel_for(
      n, sized(256, 4), threads_for(rows.indptr[n] * k, n_threads),
      [&] { return Scratch{std::vector<double>(k), std::vector<double>(d, 0.0)}; },
      [&](Scratch& scratch, std::int64_t r) {
        const std::int64_t first = rows.indptr[r], last = rows.indptr[r + 1];
        double* cost = scratch.costs.data();
        std::copy(norms.begin(), norms.end(), cost);
        double norm = 0.0;
        for (std::int64_t e = first; e < last; ++e) {
          const double value = rows.data[e];
          const double* at = by_feature.data() + rows.indices[e] * k;
          if (full[rows.indices[e]]) {
#pragma omp simd
            for (std::int64_t c = 0; c < k; ++c) cost[c] += (value - at[c]) * (value - at[c]);
          } else {
            norm += value * value;
#pragma omp simd
            for (std::int64_t c = 0; c < k; ++c) cost[c] += value * at[c];
          }
        }
        write_rows(cost, 1, 1, 1, r, out);
        out.base[r] += norm;
        if (out.base[r] >= least_share * (norm + norms[out.nearest[r]])) return;
        double* row = scratch.row.data();
        for (std::int64_t e = first; e < last; ++e) row[rows.indices[e]] = rows.data[e];
        for (std::int64_t c = 0; c < k; ++c) {
          const double* at = centers + c * d;
          cost[c] = 0.0;
          for (std::int64_t f = 0; f < d; ++f) cost[c] += (row[f] - at[f]) * (row[f] - at[f]);
        }
        for (std::int64_t e = first; e < last; ++e) row[rows.indices[e]] = 0.0;
        write_rows(cost, 1, 1, 1, r, out);
      },
      [](Scratch&) {});
}

// |x - c| = |c| + (|x - c| - |c|) by column, of which only the non-zeros of x are touched.
void price_absolute(const SparsePoints& points, const double* centers, const Regrets& out,
                    int n_threads) {
  const std::int64_t n = points.n_rows, d = points.n_features, k = out.k;
  std::vector<double> by_feature(d * k), norms(k, 0.0);
  for (std::int64_t c = 0; c < k; ++c) {
    for (std::int64_t f = 0; f < d; ++f) {
      by_feature[f * k + c] = centers[c * d + f];
      norms[c] += std::abs(centers[c * d + f]);
    }
  }
  const Compressed& rows = points.by_row;
  parallel_for(
      n, sized(256, 4), threads_for(rows.indptr[n] * k, n_threads),
      [&] { return std::vector<double>(k); },
      [&](std::vector<double>& costs, std::int64_t r) {
        double* cost = costs.data();
        std::copy(norms.begin(), norms.end(), cost);
        for (std::int64_t e = rows.indptr[r]; e < rows.indptr[r + 1]; ++e) {
          const double value = rows.data[e];
          const double* at = by_feature.data() + rows.indices[e] * k;
#pragma omp simd
          for (std::int64_t c = 0; c < k; ++c) cost[c] += std::abs(value - at[c]) - std::abs(at[c]);
        }
        for (std::int64_t c = 0; c < k; ++c) cost[c] = cost[c] > 0 ? cost[c] : 0;  // rounding
        write_rows(cost, 1, 1, 1, r, out);
      },
      [](std::vector<double>&) {});
}

void total_regrets(const double* regret, const double* weights, std::int64_t n, std::int64_t k,
                   double* totals, int n_threads) {
  constexpr std::int64_t block = sized(4096, 8);
  const std::int64_t n_blocks = (n + block - 1) / block;
  std::vector<double> partial(n_blocks * k, 0.0);
  parallel_for(n_blocks, 1, threads_for(n * k, n_threads), [&](std::int64_t b) {
    add_weighted(regret, weights, b * block, std::min((b + 1) * block, n), k,
                 partial.data() + b * k);
  });
  for (std::int64_t b = 0; b < n_blocks; ++b)
    for (std::int64_t c = 0; c < k; ++c) totals[c] += partial[b * k + c];
}

void to_fixed(double* values, const double* weights, bool whole_weights, double scale,
              std::int64_t n, std::int64_t k, int n_threads) {
  parallel_blocks(n, 4096, threads_for(n * k, n_threads), [&](std::int64_t r0, std::int64_t r1) {
    if (!weights) return round_all(values + r0 * k, (r1 - r0) * k, scale, 1);
    for (std::int64_t r = r0; r < r1; ++r) {
      if (whole_weights) {
        round_all(values + r * k, k, scale, static_cast<std::int64_t>(weights[r]));
      } else {
        // A scale for tiny costs times a large weight can overflow, and infinity times a regret
        // of 0 is no number: then the scale is applied in two steps.
        double factor = scale * weights[r];
        if (!std::isfinite(factor)) {
          for (std::int64_t c = r * k; c < (r + 1) * k; ++c) values[c] *= weights[r];
          factor = scale;
        }
        round_all(values + r * k, k, factor, 1);
      }
    }
  });
}

}  // namespace treemeans
