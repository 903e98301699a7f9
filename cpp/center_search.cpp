#include "center_search.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "block_size.hpp"
#include "simd.hpp"

namespace treemeans {
namespace {

template <class Value>
TM_CLONES void price_block(Value* TM_RESTRICT products, const Value* TM_RESTRICT norms, Value own,
                           std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const Value distance = products[i] * Value{-2} + norms[i] + own;
    products[i] = distance > Value{0} ? distance : Value{0};
  }
}

template <class Value>
TM_CLONES void take_least(Value* TM_RESTRICT costs, const Value* TM_RESTRICT least,
                          std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) costs[i] = costs[i] < least[i] ? costs[i] : least[i];
}

constexpr int kLanes = 8;  // sums side by side, in the same order on every machine

template <class Value>
TM_CLONES void add_weighted(const Value* TM_RESTRICT costs, const double* TM_RESTRICT weights,
                            std::int64_t n, double* TM_RESTRICT sums) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
#pragma omp simd
    for (int lane = 0; lane < kLanes; ++lane)
      sums[lane] += static_cast<double>(costs[i + lane]) * weights[i + lane];
  for (; i < n; ++i) sums[i % kLanes] += static_cast<double>(costs[i]) * weights[i];
}

// Sums of Starts starts side by side: each waits for its last addition.
template <int Starts, class Value>
void add_up_together(const Value* TM_RESTRICT costs, const double* TM_RESTRICT weights,
                     std::int64_t n, double* TM_RESTRICT upto) {
  double sums[Starts] = {};
  for (std::int64_t i = 0; i < n; ++i)
    for (int s = 0; s < Starts; ++s)
      upto[s * n + i] = sums[s] += static_cast<double>(costs[s * n + i]) * weights[i];
}

}  // namespace

template <class Value>
void price_tried(const TriedCenters<Value>& centers, double* sums) {
  constexpr std::int64_t block = sized(1024, 8);  // which stays in the nearest cache
  const std::int64_t n = centers.n, of_each = centers.m / centers.n_starts;
  for (std::int64_t j = 0; j < centers.m; ++j) {
    std::array<double, kLanes> lanes{};
    for (std::int64_t i = 0; i < n; i += block) {
      const std::int64_t size = std::min(block, n - i);
      Value* costs = centers.products + j * n + i;
      price_block(costs, centers.norms + i, centers.tried[j], size);
      if (centers.least) take_least(costs, centers.least + j / of_each * n + i, size);
      add_weighted(costs, centers.weights + i, size, lanes.data());
    }
    sums[j] = 0.0;
    for (double lane : lanes) sums[j] += lane;
  }
}

template void price_tried(const TriedCenters<float>& centers, double* sums);
template void price_tried(const TriedCenters<double>& centers, double* sums);

template <class Value>
void add_up(const Value* costs, const double* weights, std::int64_t n_starts, std::int64_t n,
            double* upto) {
  constexpr int together = 5;
  std::int64_t s = 0;
  for (; s + together <= n_starts; s += together)
    add_up_together<together>(costs + s * n, weights, n, upto + s * n);
  for (; s < n_starts; ++s) add_up_together<1>(costs + s * n, weights, n, upto + s * n);
}

template void add_up(const float* costs, const double* weights, std::int64_t n_starts,
                     std::int64_t n, double* upto);
template void add_up(const double* costs, const double* weights, std::int64_t n_starts,
                     std::int64_t n, double* upto);

void second_least(const double* values, std::int64_t n, std::int64_t k, double* second) {
  for (std::int64_t i = 0; i < n; ++i, values += k) {
    double first = std::numeric_limits<double>::infinity(), next = first;
    for (std::int64_t c = 0; c < k; ++c) {
      next = std::min(next, std::max(first, values[c]));
      first = std::min(first, values[c]);
    }
    second[i] = next;
  }
}

}  // namespace treemeans
