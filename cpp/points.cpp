#include "points.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "parallel.hpp"
#include "simd.hpp"

namespace treemeans {
namespace {

constexpr std::int64_t kRowBlock = 128;
constexpr std::int64_t kColumnBlock = 256;
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

template <class T>
TM_CLONES void add_run(const T* TM_RESTRICT in, const double* TM_RESTRICT shift, std::int64_t n,
                       double weight, double* TM_RESTRICT out) {
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) out[j] += weight * (static_cast<double>(in[j]) - shift[j]);
}

template <class T>
TM_CLONES void add_squares(const T* TM_RESTRICT in, const double* TM_RESTRICT shift, std::int64_t n,
                           double weight, double* TM_RESTRICT out) {
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) {
    const double away = static_cast<double>(in[j]) - shift[j];
    out[j] += weight * away * away;
  }
}

void take_in(double x, bool left, Margin& margin) {
  double& nearest = left ? margin.below : margin.above;
  nearest = left ? std::max(nearest, x) : std::min(nearest, x);
  margin.lowest = std::min(margin.lowest, x);
  margin.highest = std::max(margin.highest, x);
  margin.broken = margin.broken || x != std::floor(x);
}

void join(const Margin& other, Margin& margin) {
  margin.below = std::max(margin.below, other.below);
  margin.above = std::min(margin.above, other.above);
  margin.lowest = std::min(margin.lowest, other.lowest);
  margin.highest = std::max(margin.highest, other.highest);
  margin.broken = margin.broken || other.broken;
}

// Each thread looks at its rows; the extremes of all are those of the table, in any order.
template <class Look>
std::vector<Margin> look_and_join(const TreeView& tree, int threads, Look look) {
  std::vector<Margin> found(tree.n_nodes);
#pragma omp parallel num_threads(threads)
  {
    std::vector<Margin> mine(tree.n_nodes);
    look(mine);
#pragma omp critical
    for (std::int32_t i = 0; i < tree.n_nodes; ++i) join(mine[i], found[i]);
  }
  return found;
}

// A row walks down: value(feature) of it.
template <class Value>
TM_INLINE void walk(const TreeView& tree, Value value, std::vector<Margin>& margins) {
  for (std::int32_t node = 0; tree.feature[node] >= 0;) {
    const double x = value(tree.feature[node]);
    const bool left = x <= tree.threshold[node];
    take_in(x, left, margins[node]);
    node = left ? tree.left[node] : tree.right[node];
  }
}

// Rows [r0, r1) in blocks of about this many bytes: read once, then used while in cache.
constexpr std::int64_t kBlockBytes = 1 << 19;

}  // namespace

void Points::column(std::int32_t feature, const Row* rows, std::int64_t n, double* out,
                    int n_threads) const {
  constexpr std::int64_t block = 1 << 14;
#pragma omp parallel for schedule(static) num_threads(threads_for(4 * n, n_threads))
  for (std::int64_t i = 0; i < n; i += block)
    column(feature, rows + i, std::min(block, n - i), out + i);
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
  const Descent descent(tree);
  constexpr std::int64_t together = Descent::kTogether;
  const std::int64_t row_bytes = n_features * std::int64_t{sizeof(T)};
  const std::int64_t block = std::max(together, kBlockBytes / row_bytes / together * together);
  bool all_finite = true;
#pragma omp parallel for schedule(static) reduction(&& : all_finite) \
    num_threads(threads_for(n_rows* n_features, n_threads))
  for (std::int64_t r0 = 0; r0 < n_rows; r0 += block) {
    const std::int64_t r1 = std::min(r0 + block, n_rows);
    all_finite = finite(r0, r1) && all_finite;
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
  }
  return all_finite;
}

template <class T>
std::vector<Margin> StridedPoints<T>::margins(const TreeView& tree, int n_threads) const {
  return look_and_join(tree, threads_for(8 * n_rows, n_threads), [&](std::vector<Margin>& mine) {
#pragma omp for schedule(static)
    for (std::int64_t r = 0; r < n_rows; ++r) {
      const T* row = data_ + r * row_stride_;
      walk(
          tree, [&](std::int64_t f) { return static_cast<double>(row[f * column_stride_]); }, mine);
    }
  });
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
#pragma omp parallel num_threads(threads)
  {
    std::vector<T> block(column_stride_ == 1 ? 0 : kRowBlock * width);
#pragma omp for schedule(dynamic)
    for (std::int64_t part = 0; part < n_parts; ++part) {
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
          const T* row =
              column_stride_ == 1 ? data_ + r * row_stride_ + f0 : block.data() + (r - r0) * width;
          const double weight = grouping.weights ? grouping.weights[r] : 1.0;
          add_run(row, shift + f0, f1 - f0, weight,
                  out + grouping.groups[r] * std::int64_t{n_features} + f0);
          if (squares) add_squares(row, shift + f0, f1 - f0, weight, squares + f0);
        }
      }
    }
  }
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
  constexpr std::int64_t block = 1024;
  bool found = true;
#pragma omp parallel for schedule(static) reduction(&& : found) \
    num_threads(threads_for(n_rows* n_features, n_threads))
  for (std::int64_t r0 = 0; r0 < n_rows; r0 += block)
    found = finite(r0, std::min(r0 + block, n_rows)) && found;
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
  const Descent descent(tree);
  const auto n_columns = static_cast<std::int32_t>(descent.features().size());
  const std::int64_t width = n_columns + 1;
  std::vector<std::int32_t> column_of(n_features, n_columns);
  for (std::int32_t j = 0; j < n_columns; ++j) column_of[descent.features()[j]] = j;
  bool finite = true;
#pragma omp parallel reduction(&& : finite) \
    num_threads(threads_for(by_row.indptr[n_rows], n_threads))
  {
    std::vector<double> block(width * Descent::kTogether);
    const auto value = [&](int i, std::int32_t column) { return block[i * width + column]; };
#pragma omp for schedule(static)
    for (std::int64_t r = 0; r < n_rows; r += Descent::kTogether) {
      const int n = static_cast<int>(std::min<std::int64_t>(Descent::kTogether, n_rows - r));
      const std::int64_t first = by_row.indptr[r];
      finite = run_is_finite(by_row.data + first, by_row.indptr[r + n] - first) && finite;
      std::fill(block.begin(), block.end(), 0.0);
      for (int i = 0; i < n; ++i)
        for (std::int64_t e = by_row.indptr[r + i]; e < by_row.indptr[r + i + 1]; ++e)
          block[i * width + column_of[by_row.indices[e]]] = by_row.data[e];
      descent.run(n, value, out + r);
    }
  }
  return finite;
}

std::vector<Margin> SparsePoints::margins(const TreeView& tree, int n_threads) const {
  const int threads = threads_for(by_row.indptr[n_rows], n_threads);
  return look_and_join(tree, threads, [&](std::vector<Margin>& mine) {
    std::vector<double> row(n_features, 0.0);
#pragma omp for schedule(static)
    for (std::int64_t r = 0; r < n_rows; ++r) {
      const std::int64_t first = by_row.indptr[r], last = by_row.indptr[r + 1];
      for (std::int64_t e = first; e < last; ++e) row[by_row.indices[e]] = by_row.data[e];
      walk(tree, [&](std::int32_t f) { return row[f]; }, mine);
      for (std::int64_t e = first; e < last; ++e) row[by_row.indices[e]] = 0.0;
    }
  });
}

void SparsePoints::add_rows(const Grouping& grouping, double* out, double* squares,
                            int /*n_threads*/) const {
  for (std::int64_t r = 0; r < n_rows; ++r) {
    const double weight = grouping.weights ? grouping.weights[r] : 1.0;
    double* sums = out + grouping.groups[r] * std::int64_t{n_features};
    for (std::int64_t e = by_row.indptr[r]; e < by_row.indptr[r + 1]; ++e) {
      const double x = by_row.data[e];
      sums[by_row.indices[e]] += weight * x;
      if (squares) squares[by_row.indices[e]] += weight * x * x;
    }
  }
}

bool SparsePoints::all_finite(int /*n_threads*/) const {
  return run_is_finite(by_row.data, by_row.indptr[n_rows]);
}

}  // namespace treemeans
