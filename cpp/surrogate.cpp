#include "surrogate.hpp"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "parallel.hpp"
#include "prefix_search.hpp"
#include "score.hpp"
#include "simd.hpp"

namespace treemeans {
namespace {

constexpr std::int64_t kPad = std::int64_t{1} << 62;  // no sum of regrets reaches half of it

constexpr std::int64_t kAhead = 8;  // rows; those of a leaf lie apart, where no prefetcher follows

// Asks for the regrets of a row that comes soon.
TM_INLINE void fetch_ahead(const std::int64_t* regrets, std::int64_t k, const Row* rows,
                           std::int64_t i, std::int64_t n) {
#if defined(__GNUC__)
  if (i + kAhead >= n) return;
  const std::int64_t* next = regrets + rows[i + kAhead] * k;
  for (std::int64_t c = 0; c < std::min<std::int64_t>(k, 32); c += 8) __builtin_prefetch(next + c);
#endif
}

// beyond[c] ends up negative where center c is cheaper than the label for some row.
TM_CLONES void compare(const std::int64_t* TM_RESTRICT regrets, std::int64_t k,
                       const Row* TM_RESTRICT rows, std::int64_t n, std::int64_t label,
                       std::int64_t* TM_RESTRICT beyond) {
  for (std::int64_t i = 0; i < n; ++i) {
    fetch_ahead(regrets, k, rows, i, n);
    const std::int64_t* TM_RESTRICT regret = regrets + rows[i] * k;
    const std::int64_t own = regret[label];
#pragma omp simd
    for (std::int64_t c = 0; c < k; ++c) beyond[c] |= regret[c] - own;  // keeps any sign bit
  }
}

TM_CLONES void add_regrets(const std::int64_t* TM_RESTRICT regrets, std::int64_t k,
                           const Row* TM_RESTRICT rows, std::int64_t n,
                           std::int64_t* TM_RESTRICT sums) {
  for (std::int64_t i = 0; i < n; ++i) {
    fetch_ahead(regrets, k, rows, i, n);
    const std::int64_t* TM_RESTRICT regret = regrets + rows[i] * k;
#pragma omp simd
    for (std::int64_t c = 0; c < k; ++c) sums[c] += regret[c];
  }
}

TM_CLONES void gather_row_stats(const Leaf& leaf, const std::int64_t* TM_RESTRICT centers,
                                int counter, int K, std::int64_t begin, std::int64_t end,
                                std::int64_t* TM_RESTRICT row_stats) {
  for (std::int64_t i = begin; i < end; ++i) {
    fetch_ahead(leaf.regrets, leaf.k, leaf.rows, i, leaf.n);
    const std::int64_t* TM_RESTRICT regret = leaf.regrets + leaf.rows[i] * leaf.k;
    std::int64_t* TM_RESTRICT line = row_stats + i * K;
    for (int j = 0; j < counter; ++j) line[j] = regret[centers[j]];
    for (int j = counter; j < K; ++j) line[j] = j == counter ? leaf.limits.weight(leaf.rows[i]) : 0;
  }
}

// Centers worth a column: the label, and those cheaper than it for some row. Another is at most as
// cheap as the label wherever a cut puts it.
std::vector<std::int64_t> contenders(const Leaf& leaf, int n_threads) {
  constexpr std::int64_t block = sized(4096, 8);
  std::vector<std::int64_t> beyond(leaf.k, 0);
  using Flags = std::vector<std::int64_t>;
  parallel_for((leaf.n + block - 1) / block, 1, threads_for(leaf.n * leaf.k, n_threads),
               [&] { return Flags(leaf.k, 0); },
               [&](Flags& mine, std::int64_t b) {
                 const std::int64_t i = b * block;
                 compare(leaf.regrets, leaf.k, leaf.rows + i, std::min(block, leaf.n - i),
                         leaf.label, mine.data());
               },
               [&](const Flags& mine) {
                 for (std::int64_t c = 0; c < leaf.k; ++c) beyond[c] |= mine[c];
               });
  std::vector<std::int64_t> centers;
  for (std::int64_t c = 0; c < leaf.k; ++c)
    if (beyond[c] < 0 || c == leaf.label) centers.push_back(c);
  return centers;
}

// Widths known at compile time are much faster; 0 is any other.
int padded(std::size_t n_centers) {
  const int wanted = static_cast<int>(n_centers) + 1;
  for (int width : {4, 8, 12, 16, 24, 32})
    if (wanted <= width) return width;
  return (wanted + 7) / 8 * 8;
}

}  // namespace

std::optional<Cut> least_surrogate_cut(const Bins& bins, const Points& points, const Leaf& leaf,
                                       int n_threads) {
  const std::vector<std::int64_t> centers = contenders(leaf, n_threads);
  const int K = padded(centers.size());
  const int counter = static_cast<int>(centers.size());
  std::vector<std::int64_t> sums(K, 0), start(K, kPad), all(K, kPad + (kPad - 1));
  for (int j = 0; j < counter; ++j) {
    sums[j] = all[j] = leaf.totals[centers[j]];
    start[j] = 0;
  }
  for (std::int64_t i = 0; i < leaf.n; ++i) sums[counter] += leaf.limits.weight(leaf.rows[i]);
  // Kept from search to search: fresh memory of this size costs the system as much as the sums.
  std::unique_ptr<SearchBuffers> buffers = bins.buffers.take();
  if (static_cast<std::int64_t>(buffers->row_stats.size()) < leaf.n * K)
    buffers->row_stats = std::vector<std::int64_t>(leaf.n * K);
  std::int64_t* row_stats = buffers->row_stats.data();
  n_threads = threads_for(leaf.n * bins.n_slots(), n_threads);
  parallel_blocks(leaf.n, 1024, n_threads, [&](std::int64_t begin, std::int64_t end) {
    gather_row_stats(leaf, centers.data(), counter, K, begin, end, row_stats);
  });
  const scan::Node node{
      {leaf.rows, leaf.n, K, row_stats}, counter, sums.data(), start.data(), leaf.limits};
  const auto run = [&](auto width) {
    const CheapestCenters<width> score{K, counter, all.data(), leaf.totals[leaf.label]};
    const auto found = scan::least_cut(score, points, node, bins, n_threads);
    bins.buffers.give_back(std::move(buffers));
    return found;
  };
  switch (K) {
    case 4:
      return run(std::integral_constant<int, 4>());
    case 8:
      return run(std::integral_constant<int, 8>());
    case 12:
      return run(std::integral_constant<int, 12>());
    case 16:
      return run(std::integral_constant<int, 16>());
    case 24:
      return run(std::integral_constant<int, 24>());
    case 32:
      return run(std::integral_constant<int, 32>());
    default:
      return run(std::integral_constant<int, 0>());
  }
}

void sum_regrets(const std::int64_t* regrets, std::int64_t k, const Row* rows, std::int64_t n,
                 std::int64_t* sums, int n_threads) {
  constexpr std::int64_t block = sized(4096, 8);
  std::fill(sums, sums + k, std::int64_t{0});
  using Sums = std::vector<std::int64_t>;
  parallel_for(
      (n + block - 1) / block, 1, threads_for(n * k, n_threads), [&] { return Sums(k, 0); },
      [&](Sums& mine, std::int64_t b) {
        add_regrets(regrets, k, rows + b * block, std::min(block, n - b * block), mine.data());
      },
      [&](const Sums& mine) {
        for (std::int64_t c = 0; c < k; ++c) sums[c] += mine[c];
      });
}

}  // namespace treemeans
