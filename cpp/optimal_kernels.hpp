// Inner loops of the exact solver: sums over rows, and lower bounds from these sums.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simd.hpp"

namespace treemeans::optimal {

template <class Cost>
TM_CLONES void sum_rows(const Cost& cost, const typename Cost::Value* TM_RESTRICT columns,
                        std::int64_t n, typename Cost::Value* TM_RESTRICT sums) {
  const int K = cost.K();
  for (std::int64_t i = 0; i < n; ++i, columns += K)
    for (int c = 0; c < K; ++c) sums[c] += columns[c];
}

// Adds the rows order[begin:end] to the bin of their code, or takes them away; without codes there
// is one bin.
template <int Sign, class Cost>
TM_CLONES void add_rows(const Cost& cost, const typename Cost::Value* TM_RESTRICT columns,
                        const std::uint32_t* TM_RESTRICT order, std::uint32_t begin,
                        std::uint32_t end, const std::uint8_t* TM_RESTRICT codes,
                        typename Cost::Value* TM_RESTRICT bins) {
  const int K = cost.K();
  for (std::uint32_t i = begin; i < end; ++i) {
    const typename Cost::Value* TM_RESTRICT row = columns + std::int64_t{order[i]} * K;
    typename Cost::Value* TM_RESTRICT bin = bins + (codes ? codes[order[i]] : 0) * K;
    for (int c = 0; c < K; ++c) bin[c] += Sign * row[c];
  }
}

// A histogram by two codes at once.
template <class Cost>
TM_CLONES void sum_cells(const Cost& cost, const typename Cost::Value* TM_RESTRICT columns,
                         const std::uint8_t* TM_RESTRICT rows, const std::uint8_t* TM_RESTRICT cols,
                         int n_cols, std::int64_t n, typename Cost::Value* TM_RESTRICT histogram) {
  const int K = cost.K();
  for (std::int64_t i = 0; i < n; ++i, columns += K) {
    typename Cost::Value* TM_RESTRICT cell = histogram + (rows[i] * n_cols + cols[i]) * K;
    for (int c = 0; c < K; ++c) cell[c] += columns[c];
  }
}

// Sums of each bin and all before it, and what both sides of a cut there cost as leaves. Bins are
// those of `bins`, or what is left of `totals` without them.
template <class Cost>
TM_CLONES void price_side(const Cost& cost, const typename Cost::Value* TM_RESTRICT bins,
                          const typename Cost::Value* TM_RESTRICT totals,
                          const typename Cost::Value* TM_RESTRICT all, std::int64_t n,
                          typename Cost::Value* TM_RESTRICT prefixes,
                          typename Cost::Value* TM_RESTRICT before,
                          typename Cost::Value* TM_RESTRICT after) {
  const int K = cost.K();
  for (int c = 0; c < K; ++c) prefixes[c] = totals ? totals[c] - bins[c] : bins[c];
  for (std::int64_t i = K; i < n * K; ++i)
    prefixes[i] = prefixes[i - K] + (totals ? totals[i] - bins[i] : bins[i]);
  for (std::int64_t i = 0; i < n; ++i, prefixes += K) {
    before[i] = cost.leaf(prefixes);
    after[i] = cost.rest(all, prefixes);
  }
}

// The rows of one side of a position in sorted order, added to `sums` one after the other: what
// both sides of a cut cost as leaves, at each of some ends.
template <class Cost>
TM_CLONES void price_inside(const Cost& cost, const typename Cost::Value* TM_RESTRICT columns,
                            const std::uint32_t* TM_RESTRICT order,
                            const std::uint32_t* TM_RESTRICT place, std::uint32_t position,
                            bool is_left, std::uint32_t begin,
                            const std::uint32_t* TM_RESTRICT ends, std::int64_t n_ends,
                            const typename Cost::Value* TM_RESTRICT all,
                            typename Cost::Value* TM_RESTRICT sums,
                            typename Cost::Value* TM_RESTRICT costs) {
  const int K = cost.K();
  typename Cost::Value last = cost.leaf(sums) + cost.rest(all, sums);
  for (std::int64_t p = 0; p < n_ends; ++p) {
    bool any = false;
    for (; begin < ends[p]; ++begin) {
      if ((place[order[begin]] <= position) != is_left) continue;
      const typename Cost::Value* TM_RESTRICT row = columns + std::int64_t{order[begin]} * K;
      for (int c = 0; c < K; ++c) sums[c] += row[c];
      any = true;
    }
    if (any) last = cost.leaf(sums) + cost.rest(all, sums);
    costs[p] = last;
  }
}

// The rows in sorted order, added up one after the other; at each end of a run of equal values,
// what both sides cost as leaves.
template <class Cost>
TM_CLONES void price_sorted(const Cost& cost, const typename Cost::Value* TM_RESTRICT columns,
                            const std::uint32_t* TM_RESTRICT order,
                            const std::uint32_t* TM_RESTRICT ends, std::int64_t n_ends,
                            const typename Cost::Value* TM_RESTRICT all,
                            typename Cost::Value* TM_RESTRICT sums,
                            typename Cost::Value* TM_RESTRICT before,
                            typename Cost::Value* TM_RESTRICT after) {
  const int K = cost.K();
  std::uint32_t i = 0;
  for (std::int64_t p = 0; p < n_ends; ++p) {
    for (; i < ends[p]; ++i) {
      const typename Cost::Value* TM_RESTRICT row = columns + std::int64_t{order[i]} * K;
      for (int c = 0; c < K; ++c) sums[c] += row[c];
    }
    before[p] = cost.leaf(sums);
    after[p] = cost.rest(all, sums);
  }
}

// Sums of the cells of two features: cell (i, j) is at i * root_stride + j * child_stride.
struct Grid {
  int n_roots, root_stride, n_children, child_stride;
};

// For a root cut after each bin of one feature: no less than what is best on its left (and on its
// right) with one cut of the other feature.
//
// With A_j the rows left of the root cut in the first j + 1 bins of the child and T all rows left
// of it, a child cut inside bin j costs at least leaf(A_{j-1}) + leaf(T - A_j): the rows of the bin
// are left out (sandwich). A cut between two bins costs just what it costs.
template <class Cost>
TM_CLONES void bound_children(const Cost& cost, const Grid& grid,
                              const typename Cost::Value* TM_RESTRICT cells,
                              const std::uint8_t* TM_RESTRICT divisible,  // bins of the child
                              typename Cost::Value price, typename Cost::Value* TM_RESTRICT scratch,
                              typename Cost::Value* TM_RESTRICT left,
                              typename Cost::Value* TM_RESTRICT right) {
  using Value = typename Cost::Value;
  const int K = cost.K(), n = grid.n_children;
  Value* TM_RESTRICT column = scratch;         // left of the root cut, by bin of the child
  Value* TM_RESTRICT totals = column + n * K;  // all rows, by bin of the child
  Value* TM_RESTRICT all = totals + n * K;     // of each side
  Value* TM_RESTRICT upto = all + 2 * K;       // A_j of each side
  std::fill(scratch, scratch + (2 * n + 4) * K, Value{0});
  for (int i = 0; i < grid.n_roots; ++i)
    for (int j = 0; j < n; ++j) {
      const Value* cell = cells + i * grid.root_stride + j * grid.child_stride;
      for (int c = 0; c < K; ++c) totals[j * K + c] += cell[c];
    }
  Value* TM_RESTRICT everything = all + K;
  for (int j = 0; j < n; ++j)
    for (int c = 0; c < K; ++c) everything[c] += totals[j * K + c];
  std::vector<Value> whole(everything, everything + K);
  for (int i = 0; i + 1 < grid.n_roots; ++i) {
    for (int j = 0; j < n; ++j) {
      const Value* cell = cells + i * grid.root_stride + j * grid.child_stride;
      for (int c = 0; c < K; ++c) column[j * K + c] += cell[c], all[c] += cell[c];
    }
    for (int c = 0; c < K; ++c) everything[c] = whole[c] - all[c], upto[c] = upto[K + c] = 0;
    Value least[2] = {cost.leaf(all), cost.leaf(everything)};
    Value before[2] = {0, 0};  // leaf(A_{j-1})
    for (int j = 0; j < n; ++j) {
      for (int c = 0; c < K; ++c) {
        const Value in_left = column[j * K + c];
        upto[c] += in_left;
        upto[K + c] += totals[j * K + c] - in_left;
      }
      for (int side = 0; side < 2; ++side) {
        const Value at = cost.leaf(upto + side * K);
        const Value after = cost.rest(all + side * K, upto + side * K);
        if (divisible[j]) least[side] = std::min(least[side], before[side] + after + price);
        if (j + 1 < n) least[side] = std::min(least[side], at + after + price);
        before[side] = at;
      }
    }
    left[i] = least[0];
    right[i] = least[1];
  }
}

}  // namespace treemeans::optimal
