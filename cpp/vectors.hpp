// Weighted vectors that are added up: sums of some of them, products with all of them, and lengths
// of sums that grow by one vector after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "parallel.hpp"
#include "points.hpp"

namespace treemeans {

using Position = std::int32_t;  // of a vector among all

// These loops are short and follow each other closely: a second thread that is not at once given a
// core, on a busy machine, costs more than it gives unless there is about a millisecond of work.
inline int threads_for_many(std::int64_t n_steps, int n_threads) {
  return threads_for(n_steps / 32, n_threads);
}

class Vectors {
 public:
  Vectors(Position n, std::int32_t dimension) : n(n), dimension(dimension) {}
  virtual ~Vectors() = default;

  // Numbers that are stored, of one vector and of all.
  virtual std::int64_t n_values(Position i) const = 0;
  virtual std::int64_t n_values() const = 0;
  // out = sum of the vectors at some positions.
  virtual void sum(const Position* at, std::int64_t count, double* out) const = 0;
  // out[i * stride] = vector i times `other`.
  virtual void dots(const double* other, double* out, std::int64_t stride, int n_threads) const = 0;
  // lengths[j] = squared length of the sum of the first j + 1 vectors of a path, where wanted.
  // scratch: one for each thread.
  virtual void path_lengths(const Position* path, std::int64_t count, const std::uint8_t* wanted,
                            double* lengths, std::vector<double>& scratch) const = 0;

  const Position n;
  const std::int32_t dimension;
  double unit = 1.0;  // the power of two that all coordinates were multiplied by
};

// The given rows of `points`, times their weights (one for every row of the table; null: all 1).
// The mean is first taken off dense ones: a common offset would only cost digits. Very large or
// very small coordinates are scaled by `unit`, so that neither a squared length of a sum overflows
// nor that of a row vanishes.
// squares[i] = weight times squared length of row i, in the scaled coordinates.
std::unique_ptr<Vectors> weighted_vectors(const Points& points, const Row* rows, std::int64_t n,
                                          const double* weights, std::vector<double>& squares,
                                          int n_threads);

}  // namespace treemeans
