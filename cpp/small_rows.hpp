// A few dense rows; where most values are zero (words of texts, say), pricing passes over these.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "distances.hpp"
#include "points.hpp"

namespace treemeans {

// The rows are borrowed.
class SmallRows {
 public:
  SmallRows(const double* rows, std::int64_t n, std::int32_t d) : dense_(rows, n, d, d, 1) {
    const std::int64_t n_values = n * d;
    const std::int64_t stored = n_values - std::count(rows, rows + n_values, 0.0);
    if (stored > n_values / kSparseShare) return;
    indptr_.reserve(n + 1);
    indices_.reserve(stored);
    data_.reserve(stored);
    indptr_.push_back(0);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int32_t f = 0; f < d; ++f) {
        if (rows[i * d + f] == 0.0) continue;
        indices_.push_back(f);
        data_.push_back(rows[i * d + f]);
      }
      indptr_.push_back(static_cast<std::int64_t>(data_.size()));
    }
    sparse_.emplace(n, d, Compressed{indptr_.data(), indices_.data(), data_.data()}, Compressed{});
  }
  SmallRows(const SmallRows&) = delete;  // `sparse_` points into the vectors

  std::int64_t n_rows() const { return dense_.n_rows; }
  std::int32_t n_features() const { return dense_.n_features; }
  const double* row(std::int64_t i) const { return dense_.row(i); }

  void price(const double* centers, const Regrets& out) const {
    if (sparse_)
      treemeans::price(*sparse_, centers, out, 1);
    else
      treemeans::price(dense_, centers, out, 1);
  }

  // About what it takes to price the rows at k centers and to move these, in tenths of a
  // nanosecond. It is counted, not measured, so that a budget of work ends at the same place on
  // every machine.
  double work(std::int64_t k) const {
    const double n = static_cast<double>(n_rows()), d = n_features(), m = static_cast<double>(k);
    if (!sparse_) return n * (d * m + kRowWork);
    return kStoredWork * static_cast<double>(data_.size()) * m + kSparseCenterWork * d * m +
           n * kRowWork;
  }

  // sums += weight * row i
  void add_row(std::int64_t i, double weight, double* sums) const;

 private:
  static constexpr std::int64_t kSparseShare = 8;
  static constexpr double kRowWork = 45.0, kStoredWork = 3.0, kSparseCenterWork = 20.0;

  const StridedPoints<double> dense_;
  std::vector<std::int64_t> indptr_;
  std::vector<std::int32_t> indices_;
  std::vector<double> data_;
  std::optional<SparsePoints> sparse_;
};

}  // namespace treemeans
