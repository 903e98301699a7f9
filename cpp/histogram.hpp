// Sums per bin: each row's statistics (a line of integers), added to the bin the row falls in.
#pragma once

#include <cstdint>

#include "points.hpp"
#include "simd.hpp"

namespace treemeans {

// A node's rows, each with a line of K integers: one regret for every center that matters there,
// then a 1 that counts the row, then zeros up to K.
struct RowStats {
  const Row* rows;
  std::int64_t n;
  int width;               // K
  const std::int64_t* at;  // n x K
};

// W is the width where it is known at compile time, or 0.

// Adds C columns at a time: their chains of additions are independent, and a line is loaded once.
// histograms: one of 256 x K for each column, one behind the other.
template <int W, int C>
TM_CLONES void sum_columns(const RowStats& row_stats, const std::uint8_t* const* codes,
                           std::int64_t* TM_RESTRICT histograms) {
  const int K = W ? W : row_stats.width;
  const Row* TM_RESTRICT rows = row_stats.rows;
  const std::int64_t* TM_RESTRICT line = row_stats.at;
  for (std::int64_t i = 0; i < row_stats.n; ++i, line += K) {
    const Row row = rows[i];
    for (int j = 0; j < C; ++j) {
      std::int64_t* TM_RESTRICT bin = histograms + std::int64_t{j * 256 + codes[j][row]} * K;
#pragma omp simd
      for (int c = 0; c < K; ++c) bin[c] += line[c];
    }
  }
}

// Adds one column, of any number of codes.
template <int W, class Code>
TM_CLONES void sum_column(const RowStats& row_stats, const Code* TM_RESTRICT codes,
                          std::int64_t* TM_RESTRICT histogram) {
  const int K = W ? W : row_stats.width;
  const std::int64_t* TM_RESTRICT line = row_stats.at;
  for (std::int64_t i = 0; i < row_stats.n; ++i, line += K) {
    std::int64_t* TM_RESTRICT bin = histogram + std::int64_t{codes[row_stats.rows[i]]} * K;
#pragma omp simd
    for (int c = 0; c < K; ++c) bin[c] += line[c];
  }
}

// Adds the sparse entries that lie in bins [from, to). histogram starts at bin `from`.
template <int W>
TM_CLONES void sum_entries(const RowStats& row_stats, const std::int64_t* TM_RESTRICT indptr,
                           const std::uint32_t* TM_RESTRICT entries, std::uint32_t from,
                           std::uint32_t to, std::int64_t* TM_RESTRICT histogram) {
  const int K = W ? W : row_stats.width;
  const std::int64_t* TM_RESTRICT line = row_stats.at;
  for (std::int64_t i = 0; i < row_stats.n; ++i, line += K) {
    const std::uint32_t* entry = entries + indptr[row_stats.rows[i]];
    const std::uint32_t* last = entries + indptr[row_stats.rows[i] + 1];
    for (; entry != last; ++entry) {
      if (*entry < from) continue;
      if (*entry >= to) break;
      std::int64_t* TM_RESTRICT bin = histogram + std::int64_t{*entry - from} * K;
#pragma omp simd
      for (int c = 0; c < K; ++c) bin[c] += line[c];
    }
  }
}

}  // namespace treemeans
