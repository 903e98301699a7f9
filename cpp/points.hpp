// Points: the user's table as it is, dense with any strides and number type, or
// sparse. The only code that reads it; everything downstream sees doubles, bins or sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "assign.hpp"
#include "block_size.hpp"

namespace treemeans {

using Row = std::int32_t;

// Which sum every row is added to, how often (null: once), and what is first taken off each value
// (null: nothing), so that a large common offset costs no digits.
struct Grouping {
  const std::int32_t* groups;
  const double* weights;
  const double* shift;
};

// The values that come to a cut: the largest that goes left and the smallest that goes right, the
// extremes of all, and whether one of them is no integer.
struct Margin {
  double below = -std::numeric_limits<double>::infinity();
  double above = std::numeric_limits<double>::infinity();
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -std::numeric_limits<double>::infinity();
  bool broken = false;

  void take_in(double x, bool left, bool by_threshold) {
    double& nearest = left ? below : above;
    if (by_threshold) nearest = left ? std::max(nearest, x) : std::min(nearest, x);
    lowest = std::min(lowest, x);
    highest = std::max(highest, x);
    broken = broken || x != std::floor(x);
  }
};

class Points {
 public:
  Points(std::int64_t n_rows, std::int32_t n_features) : n_rows(n_rows), n_features(n_features) {}
  virtual ~Points() = default;

  // out[i] = value of `feature` in rows[i]; rows ascend.
  virtual void column(std::int32_t feature, const Row* rows, std::int64_t n, double* out) const = 0;
  // The same, shared out among threads.
  void column(std::int32_t feature, const Row* rows, std::int64_t n, double* out,
              int n_threads) const;
  // out[i] = outcome of row i. Looks for values that are not accepted on the way; false if there is
  // one: an infinity anywhere, a NaN anywhere or, in a tree with sides for missing values, a NaN
  // that comes to a split without one.
  virtual bool apply(const TreeView& tree, std::int32_t* out, int n_threads) const = 0;
  // What comes to each cut of a tree. A NaN is left out, and so is where categories part.
  virtual std::vector<Margin> margins(const TreeView& tree, int n_threads) const = 0;
  // out[groups[i]] += weights[i] * (row i - shift), over all rows; out is n_groups x n_features.
  // squares (null: not wanted), n_features: the same of the squares, over all groups.
  virtual void add_rows(const Grouping& grouping, double* out, double* squares,
                        int n_threads) const = 0;
  virtual bool all_finite(int n_threads) const = 0;

  const std::int64_t n_rows;
  const std::int32_t n_features;
  bool accepts_missing = false;  // a NaN is a missing value: refused only at a split without a side
};

// A rectangle of a dense table at a time, as doubles.
class DensePoints : public Points {
 public:
  using Points::Points;
  static constexpr std::int64_t kTileRows = sized(128, 4);
  // Columns of a tile lie this far apart; not a power of two, or they would compete for cache
  // lines.
  static constexpr std::int64_t kTileStride = kTileRows + 8;
  static constexpr std::int32_t kTileColumns = sized(32, 2);
  // At most kTileRows rows: out[(f - f0) * kTileStride + (r - r0)].
  virtual void tile(std::int64_t r0, std::int64_t r1, std::int32_t f0, std::int32_t f1,
                    double* out) const = 0;
};

template <class T>
class StridedPoints final : public DensePoints {
 public:
  StridedPoints(const T* data, std::int64_t n_rows, std::int32_t n_features,
                std::int64_t row_stride, std::int64_t column_stride)
      : DensePoints(n_rows, n_features),
        data_(data),
        row_stride_(row_stride),
        column_stride_(column_stride) {}

  using Points::column;
  void column(std::int32_t feature, const Row* rows, std::int64_t n, double* out) const override;
  bool apply(const TreeView& tree, std::int32_t* out, int n_threads) const override;
  std::vector<Margin> margins(const TreeView& tree, int n_threads) const override;
  void add_rows(const Grouping& grouping, double* out, double* squares,
                int n_threads) const override;
  bool all_finite(int n_threads) const override;
  void tile(std::int64_t r0, std::int64_t r1, std::int32_t f0, std::int32_t f1,
            double* out) const override;
  // The values of a row, side by side; null where they are apart.
  const T* row(std::int64_t r) const {
    return column_stride_ == 1 ? data_ + r * row_stride_ : nullptr;
  }
  // Calls visit(r, value) for rows [r0, r1), where value(f) is what the row has in feature f.
  template <class Visit>
  void each_row(std::int64_t r0, std::int64_t r1, Visit visit) const {
    for (std::int64_t r = r0; r < r1; ++r) {
      const T* row = data_ + r * row_stride_;
      visit(r, [&](std::int64_t f) { return static_cast<double>(row[f * column_stride_]); });
    }
  }

 private:
  bool finite(std::int64_t r0, std::int64_t r1) const;
  bool no_infinity(int threads) const;

  const T* data_;
  std::int64_t row_stride_, column_stride_;
};

// One orientation of a compressed sparse matrix: lines are rows (CSR) or columns (CSC). Indices
// ascend within a line and are unique.
struct Compressed {
  const std::int64_t* indptr = nullptr;
  const std::int32_t* indices = nullptr;
  const double* data = nullptr;
};

// `by_column` may be empty where only rows are read (apply). A shift of the sums must be zero in
// every column that is not full: values that are not stored are not visited.
class SparsePoints final : public Points {
 public:
  SparsePoints(std::int64_t n_rows, std::int32_t n_features, Compressed by_row,
               Compressed by_column)
      : Points(n_rows, n_features), by_row(by_row), by_column(by_column) {}

  using Points::column;
  void column(std::int32_t feature, const Row* rows, std::int64_t n, double* out) const override;
  bool apply(const TreeView& tree, std::int32_t* out, int n_threads) const override;
  std::vector<Margin> margins(const TreeView& tree, int n_threads) const override;
  void add_rows(const Grouping& grouping, double* out, double* squares,
                int n_threads) const override;
  bool all_finite(int n_threads) const override;
  template <class Visit>
  void each_row(std::int64_t r0, std::int64_t r1, Visit visit) const {
    std::vector<double> row(n_features, 0.0);
    for (std::int64_t r = r0; r < r1; ++r) {
      const std::int64_t first = by_row.indptr[r], last = by_row.indptr[r + 1];
      for (std::int64_t e = first; e < last; ++e) row[by_row.indices[e]] = by_row.data[e];
      visit(r, [&](std::int64_t f) { return row[f]; });
      for (std::int64_t e = first; e < last; ++e) row[by_row.indices[e]] = 0.0;
    }
  }
  // For each column, whether every row has a stored value there.
  std::vector<std::uint8_t> full_columns() const;

  const Compressed by_row, by_column;
};

}  // namespace treemeans
