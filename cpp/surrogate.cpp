#include "surrogate.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "parallel.hpp"
#include "scan.hpp"
#include "simd.hpp"

namespace treemeans {
namespace {

constexpr std::int64_t kPad = std::int64_t{1} << 62;  // no sum of regrets reaches half of it

TM_INLINE std::int64_t least(const std::int64_t* v, int K) {
  std::int64_t m = v[0];
  for (int c = 1; c < K; ++c) m = v[c] < m ? v[c] : m;
  return m;
}

TM_INLINE std::int64_t least_rest(const std::int64_t* all, const std::int64_t* v, int K) {
  std::int64_t m = all[0] - v[0];
  for (int c = 1; c < K; ++c) m = all[c] - v[c] < m ? all[c] - v[c] : m;
  return m;
}

// The sum of both sides' cheapest centers. Sums only grow from bin to bin, so no cut within a
// stretch costs less than the cheapest center before it and the cheapest after it together. In the
// columns that are no center's, sums start with kPad and `all` is larger still: no minimum sees
// those.
template <int W>
struct CheapestCenters {
  static constexpr int kWidth = W;
  int width;
  const std::int64_t* all;
  std::int64_t unsplit;  // the cost of the leaf as it is

  TM_INLINE int K() const { return W ? W : width; }
  TM_INLINE std::int64_t cost(const std::int64_t* left) const {
    return least(left, K()) + least_rest(all, left, K());
  }
  TM_INLINE std::int64_t quick_bound(const std::int64_t* before, const std::int64_t* after) const {
    return least(before, K()) + least_rest(all, after, K());
  }
  // With one center on both sides a cut saves nothing, so two different ones must be the cheapest.
  TM_INLINE std::int64_t bound(const std::int64_t* before, const std::int64_t* after) const {
    struct Two {  // the least value, where it is, and the next
      std::int64_t first = scan::kNever, second = scan::kNever;
      int at = -1;
      void add(std::int64_t value, int c) {
        if (value < first) {
          second = first, first = value, at = c;
        } else if (value < second) {
          second = value;
        }
      }
    } left, right;
    for (int c = 0; c < K(); ++c) left.add(before[c], c);
    for (int c = 0; c < K(); ++c) right.add(all[c] - after[c], c);
    if (left.at != right.at) return left.first + right.first;
    return std::min({unsplit, left.first + right.second, left.second + right.first});
  }
};

// beyond[c] ends up negative where center c is cheaper than the label for some row.
TM_CLONES void compare(const std::int64_t* TM_RESTRICT regrets, std::int64_t k,
                       const Row* TM_RESTRICT rows, std::int64_t n, std::int64_t label,
                       std::int64_t* TM_RESTRICT beyond) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t* TM_RESTRICT regret = regrets + rows[i] * k;
    const std::int64_t own = regret[label];
#pragma omp simd
    for (std::int64_t c = 0; c < k; ++c) beyond[c] |= regret[c] - own;  // keeps any sign bit
  }
}

TM_CLONES void add_lines(const std::int64_t* TM_RESTRICT regrets, std::int64_t k,
                         const Row* TM_RESTRICT rows, std::int64_t n,
                         std::int64_t* TM_RESTRICT sums) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t* TM_RESTRICT regret = regrets + rows[i] * k;
#pragma omp simd
    for (std::int64_t c = 0; c < k; ++c) sums[c] += regret[c];
  }
}

TM_CLONES void gather_lines(const Leaf& leaf, const std::int64_t* TM_RESTRICT centers, int counter,
                            int K, std::int64_t begin, std::int64_t end,
                            std::int64_t* TM_RESTRICT lines) {
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t* TM_RESTRICT regret = leaf.regrets + leaf.rows[i] * leaf.k;
    std::int64_t* TM_RESTRICT line = lines + i * K;
    for (int j = 0; j < counter; ++j) line[j] = regret[centers[j]];
    for (int j = counter; j < K; ++j) line[j] = j == counter ? leaf.terms.weight(leaf.rows[i]) : 0;
  }
}

// Centers worth a column: the label, and those cheaper than it for some row. Another is at most as
// cheap as the label wherever a cut puts it.
std::vector<std::int64_t> contenders(const Leaf& leaf, int n_threads) {
  constexpr std::int64_t block = 4096;
  std::vector<std::int64_t> beyond(leaf.k, 0);
#pragma omp parallel num_threads(threads_for(leaf.n* leaf.k, n_threads))
  {
    std::vector<std::int64_t> mine(leaf.k, 0);
#pragma omp for schedule(static) nowait
    for (std::int64_t i = 0; i < leaf.n; i += block)
      compare(leaf.regrets, leaf.k, leaf.rows + i, std::min(block, leaf.n - i), leaf.label,
              mine.data());
#pragma omp critical
    for (std::int64_t c = 0; c < leaf.k; ++c) beyond[c] |= mine[c];
  }
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

template <int W>
std::optional<Cut> search(const scan::Node& node, const std::int64_t* all, std::int64_t unsplit,
                          const Points& points, const Bins& bins, int n_threads) {
  const CheapestCenters<W> score{node.lines.width, all, unsplit};
  return scan::least_cut(score, points, node, bins, n_threads);
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
  for (std::int64_t i = 0; i < leaf.n; ++i) sums[counter] += leaf.terms.weight(leaf.rows[i]);
  // Uninitialised on purpose: every element is written below.
  const std::unique_ptr<std::int64_t[]> lines(new std::int64_t[leaf.n * K]);
  n_threads = threads_for(leaf.n * bins.n_slots(), n_threads);
  constexpr std::int64_t block = 1024;
#pragma omp parallel for schedule(static) num_threads(n_threads)
  for (std::int64_t i = 0; i < leaf.n; i += block)
    gather_lines(leaf, centers.data(), counter, K, i, std::min(i + block, leaf.n), lines.get());
  const scan::Node node{
      {leaf.rows, leaf.n, K, lines.get()}, counter, sums.data(), start.data(), leaf.terms};
  const auto run = [&](auto search) {
    return search(node, all.data(), leaf.totals[leaf.label], points, bins, n_threads);
  };
  switch (K) {
    case 4:
      return run(search<4>);
    case 8:
      return run(search<8>);
    case 12:
      return run(search<12>);
    case 16:
      return run(search<16>);
    case 24:
      return run(search<24>);
    case 32:
      return run(search<32>);
    default:
      return run(search<0>);
  }
}

void sum_regrets(const std::int64_t* regrets, std::int64_t k, const Row* rows, std::int64_t n,
                 std::int64_t* sums, int n_threads) {
  constexpr std::int64_t block = 4096;
  std::fill(sums, sums + k, std::int64_t{0});
#pragma omp parallel num_threads(threads_for(n* k, n_threads))
  {
    std::vector<std::int64_t> mine(k, 0);
#pragma omp for schedule(static) nowait
    for (std::int64_t i = 0; i < n; i += block)
      add_lines(regrets, k, rows + i, std::min(block, n - i), mine.data());
#pragma omp critical
    for (std::int64_t c = 0; c < k; ++c) sums[c] += mine[c];
  }
}

}  // namespace treemeans
