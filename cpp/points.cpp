#include "points.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <type_traits>
#include <vector>

#include "parallel.hpp"
#include "simd.hpp"

namespace treemeans {
namespace {

constexpr std::int64_t kRowBlock = sized(128, 4);
constexpr std::int64_t kColumnBlock = sized(256, 2);
template <class T>
TM_CLONES void widen(const T* TM_RESTRICT in, std::int64_t n, double* TM_RESTRICT out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<double>(in[i]);
}

// Asks for the rows that come next: each lies on a page of its own, where no prefetcher follows.
template <int R, class T>
TM_INLINE void fetch_rows(const T* rows, std::int64_t row_stride, std::int32_t width) {
#if defined(__GNUC__)
  for (int i = 0; i < R; ++i)
    for (std::int64_t byte = 0; byte < width * std::int64_t{sizeof(T)}; byte += 64)
      __builtin_prefetch(reinterpret_cast<const char*>(rows + i * row_stride) + byte);
#endif
}

// `R` rows become R neighbours in each column of a tile.
template <int R, class T>
TM_INLINE void turn_rows(const T* TM_RESTRICT rows, std::int64_t row_stride,
                         std::int64_t column_stride, std::int32_t width, double* TM_RESTRICT out) {
  for (std::int32_t f = 0; f < width; ++f)
    for (int i = 0; i < R; ++i)
      out[f * DensePoints::kTileStride + i] =
          static_cast<double>(rows[i * row_stride + f * column_stride]);
}

// x * 0 is NaN for an infinity or a NaN, and so is any sum that holds it.
template <class T>
TM_CLONES bool run_is_finite(const T* TM_RESTRICT in, std::int64_t n) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += in[i] * T(0);
  return sum == T(0);
}

bool any_infinite(const double* values, std::int64_t n) {
  return std::any_of(values, values + n, [](double value) { return std::isinf(value); });
}

// A weight of 1 changes no product, so rows without weights need none.
template <bool Weighted, class T>
TM_CLONES void add_run(const T* TM_RESTRICT in, const double* TM_RESTRICT shift, std::int64_t n,
                       double weight, double* TM_RESTRICT out) {
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) {
    const double away = static_cast<double>(in[j]) - shift[j];
    out[j] += Weighted ? weight * away : away;
  }
}

// The same, and the squares, in one walk.
template <bool Weighted, class T>
TM_CLONES void add_run_and_squares(const T* TM_RESTRICT in, const double* TM_RESTRICT shift,
                                   std::int64_t n, double weight, double* TM_RESTRICT out,
                                   double* TM_RESTRICT squares) {
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) {
    const double away = static_cast<double>(in[j]) - shift[j];
    const double weighted = Weighted ? weight * away : away;
    out[j] += weighted;
    squares[j] += weighted * away;
  }
}

template <bool Weighted, class T>
void add_row(const T* row, const double* shift, std::int64_t n, double weight, double* out,
             double* squares) {
  if (squares) {
    add_run_and_squares<Weighted>(row, shift, n, weight, out, squares);
  } else {
    add_run<Weighted>(row, shift, n, weight, out);
  }
}

void join(const Margin& other, Margin& margin) {
  margin.below = std::max(margin.below, other.below);
  margin.above = std::min(margin.above, other.above);
  margin.lowest = std::min(margin.lowest, other.lowest);
  margin.highest = std::max(margin.highest, other.highest);
  margin.broken = margin.broken || other.broken;
}

// Rows in blocks: large enough that a thread's buffers are worth it.
constexpr std::int64_t kWalkBlock = sized(4096, 4);

// The extremes of all rows are those of the blocks, in any order.
template <class Rows, class Splits>
std::vector<Margin> find_margins(const Rows& points, const TreeView& tree, const Splits& splits,
                                 int threads) {
  std::vector<Margin> found(tree.n_nodes);
  parallel_for((points.n_rows + kWalkBlock - 1) / kWalkBlock, 1, threads,
               [&] { return std::vector<Margin>(tree.n_nodes); },
               [&](std::vector<Margin>& mine, std::int64_t block) {
                 const std::int64_t end = std::min((block + 1) * kWalkBlock, points.n_rows);
                 points.each_row(block * kWalkBlock, end, [&](std::int64_t, auto value) {
                   for (std::int32_t node = 0; tree.feature[node] >= 0;) {
                     const double x = value(tree.feature[node]);
                     const auto split = splits(node);
                     const bool left = split.goes_left(x);
                     if (!std::isnan(x)) mine[node].take_in(x, left, split.by_threshold());
                     node = left ? tree.left[node] : tree.right[node];
                   }
                 });
               },
               [&](const std::vector<Margin>& mine) {
                 for (std::int32_t i = 0; i < tree.n_nodes; ++i) join(mine[i], found[i]);
               });
  return found;
}

template <class Rows>
std::vector<Margin> margins_of(const Rows& points, const TreeView& tree, int threads) {
  if (tree.thresholds_only()) {
    const auto split = [&](std::int32_t node) { return ThresholdSplit{tree.threshold[node]}; };
    return find_margins(points, tree, split, threads);
  }
  const TreeSplits splits(tree);
  return find_margins(
      points, tree, [&](std::int32_t node) -> const Split& { return splits[node]; }, threads);
}

// Trees with categories or sides for missing values: row by row.
template <class Rows>
bool apply_splits(const Rows& points, const TreeView& tree, std::int32_t* out, int threads) {
  const TreeSplits splits(tree);
  std::atomic<bool> accepted{true};
  parallel_blocks(points.n_rows, kWalkBlock, threads, [&](std::int64_t begin, std::int64_t end) {
    points.each_row(begin, end, [&](std::int64_t row, auto value) {
      std::int32_t node = 0;
      while (tree.feature[node] >= 0) {
        const double x = value(tree.feature[node]);
        if (!splits[node].accepts(x)) accepted = false;
        node = splits[node].goes_left(x) ? tree.left[node] : tree.right[node];
      }
      out[row] = tree.outcome[node];
    });
  });
  return accepted;
}

// Rows [r0, r1) in blocks of about this many bytes: read once, then used while in cache.
constexpr std::int64_t kBlockBytes = sized(1 << 19, 1 << 6);

}  // namespace

void Points::column(std::int32_t feature, const Row* rows, std::int64_t n, double* out,
                    int n_threads) const {
  parallel_blocks(n, 1 << 14, threads_for(4 * n, n_threads),
                  [&](std::int64_t begin, std::int64_t end) {
                    column(feature, rows + begin, end - begin, out + begin);
                  });
}

template <class T>
void StridedPoints<T>::column(std::int32_t feature, const Row* rows, std::int64_t n,
                              double* out) const {
  const T* column = data_ + feature * column_stride_;
  if (row_stride_ == 1) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<double>(column[rows[i]]);
    return;
  }
  constexpr std::int64_t ahead = 24;  // rows of a wide table lie a page apart
  for (std::int64_t i = 0; i < n; ++i) {
#if defined(__GNUC__)
    if (i + ahead < n) __builtin_prefetch(column + rows[i + ahead] * row_stride_);
#endif
    out[i] = static_cast<double>(column[rows[i] * row_stride_]);
  }
}

template <class T>
void StridedPoints<T>::tile(std::int64_t r0, std::int64_t r1, std::int32_t f0, std::int32_t f1,
                            double* out) const {
  const std::int64_t m = r1 - r0;
  if (row_stride_ == 1) {
    for (std::int32_t f = f0; f < f1; ++f)
      widen(data_ + f * column_stride_ + r0, m, out + (f - f0) * kTileStride);
    return;
  }
  // Eight rows at a time: eight streams to read, whole cache lines to write.
  std::int64_t i = 0;
  for (; i + 8 <= m; i += 8) {
    const T* rows = data_ + (r0 + i) * row_stride_ + f0 * column_stride_;
    if (r0 + i + 16 <= n_rows) fetch_rows<8>(rows + 8 * row_stride_, row_stride_, f1 - f0);
    turn_rows<8>(rows, row_stride_, column_stride_, f1 - f0, out + i);
  }
  for (; i < m; ++i)
    turn_rows<1>(data_ + (r0 + i) * row_stride_ + f0 * column_stride_, row_stride_, column_stride_,
                 f1 - f0, out + i);
}

template <class T>
bool StridedPoints<T>::apply(const TreeView& tree, std::int32_t* out, int n_threads) const {
  const int threads = threads_for(n_rows * n_features, n_threads);
  if (tree.missing_left || accepts_missing)
    return no_infinity(threads) && apply_splits(*this, tree, out, threads);
  if (!tree.thresholds_only())
    return all_finite(n_threads) && apply_splits(*this, tree, out, threads);
  const Descent descent(tree);
  constexpr std::int64_t together = Descent::kTogether;
  const std::int64_t row_bytes = n_features * std::int64_t{sizeof(T)};
  const std::int64_t block = std::max(together, kBlockBytes / row_bytes / together * together);
  std::atomic<bool> is_finite{true};
  parallel_blocks(n_rows, block, threads, [&](std::int64_t r0, std::int64_t r1) {
    if (!finite(r0, r1)) is_finite = false;
    for (std::int64_t r = r0; r < r1; r += together) {
      const T* rows = data_ + r * row_stride_;
      const std::int32_t* features = descent.features().data();
      const auto value = [&](int i, std::int32_t column) {
        return static_cast<double>(rows[i * row_stride_ + features[column] * column_stride_]);
      };
      if (r + together <= r1) {
        descent.run(together, value, out + r);
      } else {
        descent.run(static_cast<int>(r1 - r), value, out + r);
      }
    }
  });
  return is_finite;
}

template <class T>
bool StridedPoints<T>::no_infinity(int threads) const {
  std::atomic<bool> found{false};
  if constexpr (std::is_floating_point_v<T>) {
    parallel_blocks(n_rows, kWalkBlock, threads, [&](std::int64_t r0, std::int64_t r1) {
      for (std::int64_t r = r0; r < r1; ++r)
        for (std::int32_t f = 0; f < n_features; ++f)
          if (std::isinf(data_[r * row_stride_ + f * column_stride_])) found = true;
    });
  }
  return !found;
}

template <class T>
std::vector<Margin> StridedPoints<T>::margins(const TreeView& tree, int n_threads) const {
  return margins_of(*this, tree, threads_for(8 * n_rows, n_threads));
}

// Threads share out columns, so every sum runs over the rows in their order.
template <class T>
void StridedPoints<T>::add_rows(const Grouping& grouping, double* out, double* squares,
                                int n_threads) const {
  const int threads = threads_for(n_rows * n_features, n_threads);
  const std::int64_t n_parts =
      std::max<std::int64_t>(threads, (n_features + kColumnBlock - 1) / kColumnBlock);
  const std::int64_t width = (n_features + n_parts - 1) / n_parts;
  const std::vector<double> none(grouping.shift ? 0 : n_features, 0.0);
  const double* shift = grouping.shift ? grouping.shift : none.data();
  parallel_for(
      n_parts, 1, threads,
      [&] { return std::vector<T>(column_stride_ == 1 ? 0 : kRowBlock * width); },
      [&](std::vector<T>& block, std::int64_t part) {
        const std::int64_t f0 = std::min<std::int64_t>(part * width, n_features);
        const std::int64_t f1 = std::min<std::int64_t>(f0 + width, n_features);
        for (std::int64_t r0 = 0; r0 < n_rows; r0 += kRowBlock) {
          const std::int64_t r1 = std::min(r0 + kRowBlock, n_rows);
          if (column_stride_ != 1) {  // turned into rows first
            for (std::int64_t f = f0; f < f1; ++f)
              for (std::int64_t r = r0; r < r1; ++r)
                block[(r - r0) * width + (f - f0)] = data_[r * row_stride_ + f * column_stride_];
          }
          for (std::int64_t r = r0; r < r1; ++r) {
            const T* row = column_stride_ == 1 ? data_ + r * row_stride_ + f0
                                               : block.data() + (r - r0) * width;
            double* sums = out + grouping.groups[r] * std::int64_t{n_features} + f0;
            double* own_squares = squares ? squares + f0 : nullptr;
            if (grouping.weights) {
              add_row<true>(row, shift + f0, f1 - f0, grouping.weights[r], sums, own_squares);
            } else {
              add_row<false>(row, shift + f0, f1 - f0, 1.0, sums, own_squares);
            }
          }
        }
      },
      [](std::vector<T>&) {});
}

template <class T>
bool StridedPoints<T>::finite(std::int64_t r0, std::int64_t r1) const {
  if constexpr (!std::is_floating_point_v<T>) {
    return true;
  } else {
    const T* start = data_ + r0 * row_stride_;
    bool found = true;
    if (column_stride_ == 1 && row_stride_ == n_features)
      return run_is_finite(start, (r1 - r0) * n_features);
    if (column_stride_ == 1) {
      for (std::int64_t r = r0; r < r1; ++r)
        found = run_is_finite(data_ + r * row_stride_, n_features) && found;
    } else if (row_stride_ == 1) {
      for (std::int32_t f = 0; f < n_features; ++f)
        found = run_is_finite(start + f * column_stride_, r1 - r0) && found;
    } else {
      for (std::int64_t r = r0; r < r1; ++r)
        for (std::int32_t f = 0; f < n_features; ++f)
          found = std::isfinite(data_[r * row_stride_ + f * column_stride_]) && found;
    }
    return found;
  }
}

template <class T>
bool StridedPoints<T>::all_finite(int n_threads) const {
  std::atomic<bool> found{true};
  parallel_blocks(n_rows, 1024, threads_for(n_rows * n_features, n_threads),
                  [&](std::int64_t r0, std::int64_t r1) {
                    if (!finite(r0, r1)) found = false;
                  });
  return found;
}

template class StridedPoints<double>;
template class StridedPoints<float>;
template class StridedPoints<std::int64_t>;
template class StridedPoints<std::int32_t>;
template class StridedPoints<std::int16_t>;
template class StridedPoints<std::int8_t>;
template class StridedPoints<std::uint32_t>;
template class StridedPoints<std::uint16_t>;
template class StridedPoints<std::uint8_t>;

// Both the rows asked for and the stored rows ascend: one walk along both.
void SparsePoints::column(std::int32_t feature, const Row* rows, std::int64_t n,
                          double* out) const {
  std::fill(out, out + n, 0.0);
  if (n == 0) return;
  const std::int32_t* last = by_column.indices + by_column.indptr[feature + 1];
  const std::int32_t* entry =
      std::lower_bound(by_column.indices + by_column.indptr[feature], last, rows[0]);
  const double* value = by_column.data + (entry - by_column.indices);
  std::int64_t i = 0;
  while (i < n && entry != last) {
    if (rows[i] < *entry) {
      ++i;
    } else {
      if (rows[i] == *entry) out[i++] = *value;
      ++entry, ++value;
    }
  }
}

// The values that matter are set out in a small dense block: one walk over a row's entries. Those
// of other features all go to a last column that nobody reads, which is cheaper than to ask.
bool SparsePoints::apply(const TreeView& tree, std::int32_t* out, int n_threads) const {
  const int threads = threads_for(by_row.indptr[n_rows], n_threads);
  if (tree.missing_left)
    return !any_infinite(by_row.data, by_row.indptr[n_rows]) &&
           apply_splits(*this, tree, out, threads);
  if (!tree.thresholds_only())
    return all_finite(n_threads) && apply_splits(*this, tree, out, threads);
  const Descent descent(tree);
  const auto n_columns = static_cast<std::int32_t>(descent.features().size());
  constexpr std::int64_t together = Descent::kTogether;
  std::vector<std::int32_t> place(n_features, n_columns * together);
  for (std::int32_t j = 0; j < n_columns; ++j) place[descent.features()[j]] = j * together;
  std::atomic<bool> is_finite{true};
  parallel_for((n_rows + together - 1) / together, 256, threads,
               [&] { return std::vector<double>((n_columns + 1) * together); },
               [&](std::vector<double>& columns, std::int64_t block) {
                 const std::int64_t r = block * together;
                 const int n = static_cast<int>(std::min(together, n_rows - r));
                 const std::int64_t first = by_row.indptr[r];
                 if (!run_is_finite(by_row.data + first, by_row.indptr[r + n] - first))
                   is_finite = false;
                 std::fill(columns.begin(), columns.end(), 0.0);
                 for (int i = 0; i < n; ++i) {
                   double* row = columns.data() + i;
                   for (std::int64_t e = by_row.indptr[r + i]; e < by_row.indptr[r + i + 1]; ++e)
                     row[place[by_row.indices[e]]] = by_row.data[e];
                 }
                 descent.run_columns(n, columns.data(), out + r);
               },
               [](std::vector<double>&) {});
  return is_finite;
}

std::vector<Margin> SparsePoints::margins(const TreeView& tree, int n_threads) const {
  return margins_of(*this, tree, threads_for(by_row.indptr[n_rows], n_threads));
}

void SparsePoints::add_rows(const Grouping& grouping, double* out, double* squares,
                            int /*n_threads*/) const {
  for (std::int64_t r = 0; r < n_rows; ++r) {
    const double weight = grouping.weights ? grouping.weights[r] : 1.0;
    double* sums = out + grouping.groups[r] * std::int64_t{n_features};
    for (std::int64_t e = by_row.indptr[r]; e < by_row.indptr[r + 1]; ++e) {
      const std::int32_t f = by_row.indices[e];
      const double x = by_row.data[e] - (grouping.shift ? grouping.shift[f] : 0.0);
      sums[f] += weight * x;
      if (squares) squares[f] += weight * x * x;
    }
  }
}

std::vector<std::uint8_t> SparsePoints::full_columns() const {
  std::vector<std::int64_t> stored(n_features, 0);
  for (std::int64_t e = 0; e < by_row.indptr[n_rows]; ++e) ++stored[by_row.indices[e]];
  std::vector<std::uint8_t> full(n_features);
  for (std::int32_t f = 0; f < n_features; ++f) full[f] = n_rows > 0 && stored[f] == n_rows;
  return full;
}

bool SparsePoints::all_finite(int /*n_threads*/) const {
  return run_is_finite(by_row.data, by_row.indptr[n_rows]);
}

}  // namespace treemeans
