#include "vectors.hpp"

#include <algorithm>
#include <cmath>

#include "simd.hpp"

namespace treemeans {
namespace {

constexpr int kStrip = 16;  // coordinates that lie together: two cache lines, four registers

// Halves are added to each other, so that the order does not depend on the width of a register.
TM_INLINE double fold(double* TM_RESTRICT parts) {
  for (int half = kStrip / 2; half > 0; half /= 2)
    for (int j = 0; j < half; ++j) parts[j] += parts[j + half];
  return parts[0];
}

TM_CLONES void add_strips(const double* TM_RESTRICT strip, const Position* at, std::int64_t count,
                          double* TM_RESTRICT sum) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double* TM_RESTRICT x = strip + std::int64_t{at[i]} * kStrip;
    for (int j = 0; j < kStrip; ++j) sum[j] += x[j];
  }
}

TM_CLONES void strip_dots(const double* TM_RESTRICT strip, std::int64_t begin, std::int64_t end,
                          const double* TM_RESTRICT other, double* TM_RESTRICT out,
                          std::int64_t stride) {
  for (std::int64_t i = begin; i < end; ++i) {
    double parts[kStrip];
    for (int j = 0; j < kStrip; ++j) parts[j] = strip[i * kStrip + j] * other[j];
    out[i * stride] += fold(parts);
  }
}

TM_CLONES void strip_lengths(const double* TM_RESTRICT strip, const Position* TM_RESTRICT path,
                             std::int64_t count, const std::uint8_t* TM_RESTRICT wanted,
                             double* TM_RESTRICT lengths) {
  double sum[kStrip] = {};
  for (std::int64_t i = 0; i < count; ++i) {
    const double* TM_RESTRICT x = strip + std::int64_t{path[i]} * kStrip;
    for (int j = 0; j < kStrip; ++j) sum[j] += x[j];
    if (!wanted[i]) continue;
    double parts[kStrip];
    for (int j = 0; j < kStrip; ++j) parts[j] = sum[j] * sum[j];
    lengths[i] += fold(parts);
  }
}

TM_CLONES double squared_length(const double* TM_RESTRICT vector, std::int64_t n) {
  double parts[kStrip] = {};
  std::int64_t i = 0;
  for (; i + kStrip <= n; i += kStrip)
    for (int j = 0; j < kStrip; ++j) parts[j] += vector[i + j] * vector[i + j];
  for (; i < n; ++i) parts[0] += vector[i] * vector[i];
  return fold(parts);
}

// Strip after strip of 16 coordinates, each of all vectors: a strip stays in cache while paths in
// any order run over it.
class DenseVectors final : public Vectors {
 public:
  DenseVectors(Position n, std::int32_t dimension)
      : Vectors(n, dimension),
        n_strips_((dimension + kStrip - 1) / kStrip),
        data_(std::int64_t{n} * n_strips_ * kStrip, 0.0) {}

  double& at(Position i, std::int32_t j) {
    return data_[(std::int64_t{j / kStrip} * n + i) * kStrip + j % kStrip];
  }

  std::int64_t n_values(Position /*i*/) const override { return dimension; }
  std::int64_t n_values() const override { return std::int64_t{n} * dimension; }

  void sum(const Position* at, std::int64_t count, double* out) const override {
    for (std::int32_t s = 0; s < n_strips_; ++s) {
      double sum[kStrip] = {};
      add_strips(strip(s), at, count, sum);
      std::copy(sum, sum + std::min(kStrip, dimension - s * kStrip), out + s * kStrip);
    }
  }

  void dots(const double* other, double* out, std::int64_t stride, int n_threads) const override {
    std::vector<double> padded(n_strips_ * kStrip, 0.0);
    std::copy(other, other + dimension, padded.begin());
    parallel_blocks(n, 256, threads_for_many(std::int64_t{n} * dimension, n_threads),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t i = begin; i < end; ++i) out[i * stride] = 0.0;
                      for (std::int32_t s = 0; s < n_strips_; ++s)
                        strip_dots(strip(s), begin, end, padded.data() + s * kStrip, out, stride);
                    });
  }

  void path_lengths(const Position* path, std::int64_t count, const std::uint8_t* wanted,
                    double* lengths, std::vector<double>& /*scratch*/) const override {
    std::fill(lengths, lengths + count, 0.0);
    for (std::int32_t s = 0; s < n_strips_; ++s)
      strip_lengths(strip(s), path, count, wanted, lengths);
  }

 private:
  const double* strip(std::int32_t s) const { return data_.data() + std::int64_t{s} * n * kStrip; }

  std::int32_t n_strips_;
  std::vector<double> data_;
};

class SparseVectors final : public Vectors {
 public:
  SparseVectors(Position n, std::int32_t dimension) : Vectors(n, dimension), indptr_{0} {}

  // shift: of every coordinate, zero where not all vectors have a stored value.
  void add(const std::int32_t* indices, const double* values, std::int64_t count, double weight,
           const double* shift) {
    for (std::int64_t e = 0; e < count; ++e) {
      indices_.push_back(indices[e]);
      values_.push_back(weight * (values[e] - shift[indices[e]]));
    }
    indptr_.push_back(static_cast<std::int64_t>(indices_.size()));
  }

  std::int64_t n_values(Position i) const override { return indptr_[i + 1] - indptr_[i]; }
  std::int64_t n_values() const override { return indptr_[n]; }

  void sum(const Position* at, std::int64_t count, double* out) const override {
    std::fill(out, out + dimension, 0.0);
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t e = indptr_[at[i]]; e < indptr_[at[i] + 1]; ++e)
        out[indices_[e]] += values_[e];
  }

  void dots(const double* other, double* out, std::int64_t stride, int n_threads) const override {
    parallel_for(n, 256, threads_for_many(indptr_[n], n_threads), [&](std::int64_t i) {
      double dot = 0.0;
      for (std::int64_t e = indptr_[i]; e < indptr_[i + 1]; ++e)
        dot += values_[e] * other[indices_[e]];
      out[i * stride] = dot;
    });
  }

  void path_lengths(const Position* path, std::int64_t count, const std::uint8_t* wanted,
                    double* lengths, std::vector<double>& scratch) const override {
    scratch.assign(dimension, 0.0);
    std::int64_t n_entries = 0;
    for (std::int64_t i = 0; i < count; ++i) n_entries += indptr_[path[i] + 1] - indptr_[path[i]];
    if (std::count(wanted, wanted + count, 1) * dimension < 4 * n_entries) {
      add_then_measure(path, count, wanted, lengths, scratch.data());
    } else {
      measure_while_adding(path, count, lengths, scratch.data());
    }
  }

 private:
  // Where few lengths are wanted: additions that wait for nothing.
  void add_then_measure(const Position* path, std::int64_t count, const std::uint8_t* wanted,
                        double* lengths, double* TM_RESTRICT sum) const {
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t e = indptr_[path[i]]; e < indptr_[path[i] + 1]; ++e)
        sum[indices_[e]] += values_[e];
      if (wanted[i]) lengths[i] = squared_length(sum, dimension);
    }
  }

  void measure_while_adding(const Position* path, std::int64_t count, double* lengths,
                            double* TM_RESTRICT sum) const {
    double length = 0.0;
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t e = indptr_[path[i]]; e < indptr_[path[i] + 1]; ++e) {
        double& at = sum[indices_[e]];
        length += values_[e] * (2.0 * at + values_[e]);
        at += values_[e];
      }
      lengths[i] = length;
    }
  }

  std::vector<std::int64_t> indptr_;
  std::vector<std::int32_t> indices_;
  std::vector<double> values_;
};

double mean_of(const std::vector<double>& values, const Row* rows, const double* weights) {
  double sum = 0.0, weight = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double w = weights ? weights[rows[i]] : 1.0;
    sum += w * values[i];
    weight += w;
  }
  return sum / weight;
}

// What weighted_vectors fills: the vectors, their squares, and the largest coordinate that was met.
struct Filled {
  std::unique_ptr<Vectors> vectors;
  double largest = 0.0;
};

Filled from_dense(const Points& points, const Row* rows, std::int64_t n, const double* weights,
                  double unit, std::vector<double>& squares, int n_threads) {
  auto vectors = std::make_unique<DenseVectors>(static_cast<Position>(n), points.n_features);
  std::vector<double> values(n);
  double largest = 0.0;
  for (std::int32_t f = 0; f < points.n_features; ++f) {
    points.column(f, rows, n, values.data(), n_threads);
    if (unit != 1.0)
      for (double& value : values) value *= unit;
    const double mean = mean_of(values, rows, weights);
    for (std::int64_t i = 0; i < n; ++i) {
      const double w = weights ? weights[rows[i]] : 1.0, off = values[i] - mean;
      vectors->at(static_cast<Position>(i), f) = w * off;
      squares[i] += w * off * off;
      largest = std::max({largest, std::abs(off), std::abs(values[i])});
    }
  }
  return {std::move(vectors), largest};
}

// The mean of the rows in columns where every row has a stored value, which are where a common
// offset would be; zero in the others.
std::vector<double> full_column_means(const SparsePoints& points, const Row* rows, std::int64_t n,
                                      const double* weights) {
  const std::vector<std::uint8_t> full = points.full_columns();
  std::vector<double> sums(points.n_features, 0.0);
  const Compressed& lines = points.by_row;
  double weight = 0.0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double w = weights ? weights[rows[i]] : 1.0;
    weight += w;
    for (std::int64_t e = lines.indptr[rows[i]]; e < lines.indptr[rows[i] + 1]; ++e)
      if (full[lines.indices[e]]) sums[lines.indices[e]] += w * lines.data[e];
  }
  for (double& sum : sums) sum = weight > 0.0 ? sum / weight : 0.0;
  return sums;
}

Filled from_sparse(const SparsePoints& points, const Row* rows, std::int64_t n,
                   const double* weights, double unit, std::vector<double>& squares) {
  auto vectors = std::make_unique<SparseVectors>(static_cast<Position>(n), points.n_features);
  const Compressed& lines = points.by_row;
  const std::vector<double> shift = full_column_means(points, rows, n, weights);
  double largest = 0.0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t begin = lines.indptr[rows[i]], end = lines.indptr[rows[i] + 1];
    const double w = weights ? weights[rows[i]] : 1.0;
    vectors->add(lines.indices + begin, lines.data + begin, end - begin, w * unit, shift.data());
    for (std::int64_t e = begin; e < end; ++e) {
      const double value = unit * (lines.data[e] - shift[lines.indices[e]]);
      squares[i] += w * value * value;
      largest = std::max(largest, std::abs(lines.data[e]));
    }
  }
  return {std::move(vectors), largest};
}

}  // namespace

std::unique_ptr<Vectors> weighted_vectors(const Points& points, const Row* rows, std::int64_t n,
                                          const double* weights, std::vector<double>& squares,
                                          int n_threads) {
  const auto fill = [&](double unit) {
    squares.assign(n, 0.0);
    if (const auto* sparse = dynamic_cast<const SparsePoints*>(&points))
      return from_sparse(*sparse, rows, n, weights, unit, squares);
    return from_dense(points, rows, n, weights, unit, squares, n_threads);
  };
  Filled filled = fill(1.0);
  // Squares of sums of up to 2^31 such coordinates neither overflow nor vanish; beyond, once more.
  constexpr double most = 0x1p+300, least = 0x1p-300;
  if (filled.largest > most || (filled.largest < least && filled.largest > 0.0)) {
    const double unit = std::ldexp(1.0, std::clamp(-std::ilogb(filled.largest), -1000, 1000));
    filled = fill(unit);
    filled.vectors->unit = unit;
  }
  return std::move(filled.vectors);
}

}  // namespace treemeans
