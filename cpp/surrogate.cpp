#include "surrogate.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <tuple>
#include <vector>

#include "histogram.hpp"
#include "inside.hpp"
#include "parallel.hpp"
#include "simd.hpp"

namespace treemeans {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kPad = std::int64_t{1} << 62;  // no sum of regrets reaches half of it
constexpr std::int64_t kGroup = 16;                   // bins passed over together where they can be
constexpr int kTogether = 4;                          // columns summed in one walk over the rows

// A cut between two bins of a slot: after `bin`.
struct Boundary {
  std::int64_t cost = kNever;
  std::int32_t feature = std::numeric_limits<std::int32_t>::max();
  std::int32_t slot = -1;
  std::int64_t bin = 0;

  bool operator<(const Boundary& other) const {
    return std::tie(cost, feature, bin) < std::tie(other.cost, other.feature, other.bin);
  }
};

// A wide bin that may hold a better cut than any boundary: none inside costs less than `bound`.
struct Suspect {
  std::int64_t bound;
  std::int32_t feature, slot;
  std::int64_t bin;
  std::size_t prefix;  // where the sums before the bin are kept
};

struct Findings {
  Boundary best;
  std::vector<Suspect> suspects;
  std::vector<std::int64_t> prefixes;
};

// The leaf's lines and their sums. `before` and `after` are what a walk over the bins starts and
// ends with: they differ by `sums`, but are so large in the columns that are no center's that no
// minimum sees those.
struct Node {
  Lines lines;
  int counter;  // the column that counts rows
  const std::int64_t* sums;
  const std::int64_t* before;
  const std::int64_t* after;
  std::int64_t unsplit;  // the cost of the leaf as it is
};

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

// The least that any cut costs whose left side holds at least `before` and at most `after`. With
// one center on both sides it saves nothing, so two different ones must be the cheapest.
TM_INLINE std::int64_t least_between(const Node& node, const std::int64_t* before,
                                     const std::int64_t* after, int K) {
  struct Two {  // the least value, where it is, and the next
    std::int64_t first = kNever, second = kNever;
    int at = -1;
    void add(std::int64_t value, int c) {
      if (value < first) {
        second = first, first = value, at = c;
      } else if (value < second) {
        second = value;
      }
    }
  } left, right;
  for (int c = 0; c < K; ++c) left.add(before[c], c);
  for (int c = 0; c < K; ++c) right.add(node.after[c] - after[c], c);
  if (left.at != right.at) return left.first + right.first;
  return std::min({node.unsplit, left.first + right.second, left.second + right.first});
}

// Walks bins [begin, end) of one slot, from sums `before`, which it takes along.
template <int W>
TM_CLONES void scan_bins(const Node& node, const Bins& bins, std::int32_t slot,
                         const std::int64_t* TM_RESTRICT histogram, std::int64_t begin,
                         std::int64_t end, std::int64_t* TM_RESTRICT before,
                         std::int64_t* TM_RESTRICT after, Findings& found) {
  const int K = W ? W : node.lines.width;
  const std::int64_t first = bins.first[slot];
  std::int64_t left = least(before, K);
  for (std::int64_t b = begin; b < end; ++b) {
    const std::int64_t* TM_RESTRICT bin = histogram + b * K;
    const std::int64_t count = bin[node.counter];
    if (count == 0) continue;
#pragma omp simd
    for (int c = 0; c < K; ++c) after[c] = before[c] + bin[c];
    const std::int64_t right = least_rest(node.after, after, K);
    if (count > 1 && bins.wide(first + b) && left + right <= found.best.cost) {
      const std::int64_t bound = least_between(node, before, after, K);
      if (bound <= found.best.cost) {
        found.suspects.push_back(
            {bound, bins.feature[slot], slot, first + b, found.prefixes.size()});
        found.prefixes.insert(found.prefixes.end(), before, before + K);
      }
    }
    left = least(after, K);
    for (int c = 0; c < K; ++c) before[c] = after[c];
    if (before[node.counter] - node.before[node.counter] == node.lines.n) return;
    const Boundary boundary{left + right, bins.feature[slot], slot, first + b};
    if (boundary < found.best) found.best = boundary;
  }
}

// Walks a slot in groups of bins and leaves the histogram zeroed. Sums only grow, so no cut within
// a group costs less than the cheapest center before it and the cheapest after it together: few
// groups need be looked into. scratch: 3 K integers.
template <int W>
TM_CLONES void scan_slot(const Node& node, const Bins& bins, std::int32_t slot,
                         std::int64_t* TM_RESTRICT histogram, std::int64_t* TM_RESTRICT scratch,
                         Findings& found) {
  const int K = W ? W : node.lines.width;
  const std::int64_t n_bins = bins.first[slot + 1] - bins.first[slot];
  std::int64_t* TM_RESTRICT before = scratch;
  std::int64_t* TM_RESTRICT after = scratch + K;
  for (int c = 0; c < K; ++c) before[c] = node.before[c];
  for (std::int64_t begin = 0; begin < n_bins; begin += kGroup) {
    const std::int64_t end = std::min(begin + kGroup, n_bins);
    for (int c = 0; c < K; ++c) after[c] = before[c];
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int64_t* TM_RESTRICT bin = histogram + b * K;
#pragma omp simd
      for (int c = 0; c < K; ++c) after[c] += bin[c];
    }
    if (after[node.counter] == before[node.counter]) continue;
    if (least(before, K) + least_rest(node.after, after, K) <= found.best.cost &&
        least_between(node, before, after, K) <= found.best.cost)
      scan_bins<W>(node, bins, slot, histogram, begin, end, before, scratch + 2 * K, found);
    for (int c = 0; c < K; ++c) before[c] = after[c];
    std::fill(histogram + begin * K, histogram + end * K, std::int64_t{0});
  }
}

// What a thread works with: histograms of kTogether columns, all zero between uses.
struct Workspace {
  std::vector<std::int64_t> histograms, scratch;
  Findings found;
};

// Sums and scans the dense slots [slot, slot + C).
template <int W, int C>
void search_columns(const Node& node, const Bins& bins, std::int32_t slot, Workspace& work) {
  const std::uint8_t* codes[C];
  const std::int64_t size = std::int64_t{Bins::kMax} * node.lines.width;
  for (int j = 0; j < C; ++j) codes[j] = bins.codes[slot + j].get();
  sum_columns<W, C>(node.lines, codes, work.histograms.data());
  for (int j = 0; j < C; ++j)
    scan_slot<W>(node, bins, slot + j, work.histograms.data() + j * size, work.scratch.data(),
                 work.found);
}

template <int W>
void search_dense(const Node& node, const Bins& bins, std::int32_t slot, Workspace& work) {
  const std::size_t size = std::size_t{kTogether} * Bins::kMax * node.lines.width;
  if (work.histograms.size() < size) work.histograms.resize(size, 0);
  switch (std::min(kTogether, bins.n_dense - slot)) {
    case 1:
      return search_columns<W, 1>(node, bins, slot, work);
    case 2:
      return search_columns<W, 2>(node, bins, slot, work);
    case 3:
      return search_columns<W, 3>(node, bins, slot, work);
    default:
      return search_columns<W, kTogether>(node, bins, slot, work);
  }
}

// Sums and scans the sparse slots [begin, end); rows without an entry are the total less the rest.
template <int W>
void search_sparse(const Node& node, const Bins& bins, std::int32_t begin, std::int32_t end,
                   Workspace& work) {
  const int K = node.lines.width;
  const std::int64_t base = bins.sparse_begin(), from = bins.first[begin], to = bins.first[end];
  std::vector<std::int64_t> histogram((to - from) * K, 0);
  sum_entries<W>(node.lines, bins.indptr.data(), bins.entries.data(),
                 static_cast<std::uint32_t>(from - base), static_cast<std::uint32_t>(to - base),
                 histogram.data());
  for (std::int32_t slot = begin; slot < end; ++slot) {
    std::int64_t* first = histogram.data() + (bins.first[slot] - from) * K;
    std::int64_t* missing = first + bins.default_bin[slot - bins.n_dense] * K;
    std::copy(node.sums, node.sums + K, missing);
    for (std::int64_t b = 0; b < bins.first[slot + 1] - bins.first[slot]; ++b) {
      if (first + b * K == missing) continue;
      for (int c = 0; c < K; ++c) missing[c] -= first[b * K + c];
    }
    scan_slot<W>(node, bins, slot, first, work.scratch.data(), work.found);
  }
}

// Sparse slots in n_parts runs of about equal numbers of bins.
std::vector<std::int32_t> share_sparse(const Bins& bins, int n_parts) {
  std::vector<std::int32_t> parts{bins.n_dense};
  const std::int64_t begin = bins.sparse_begin(), all = bins.n_bins() - begin;
  for (int p = 1; p <= n_parts; ++p) {
    const auto at = std::lower_bound(bins.first.begin() + parts.back(), bins.first.end() - 1,
                                     begin + all * p / n_parts);
    parts.push_back(static_cast<std::int32_t>(at - bins.first.begin()));
  }
  parts.back() = bins.n_slots();
  return parts;
}

void merge(Findings& all, Findings& mine) {
  for (Suspect& suspect : mine.suspects) suspect.prefix += all.prefixes.size();
  all.best = std::min(all.best, mine.best);
  all.suspects.insert(all.suspects.end(), mine.suspects.begin(), mine.suspects.end());
  all.prefixes.insert(all.prefixes.end(), mine.prefixes.begin(), mine.prefixes.end());
}

template <int W>
Findings search_bins(const Node& node, const Bins& bins, int n_threads) {
  Findings all;
  const std::vector<std::int32_t> parts = share_sparse(bins, n_threads);
  const std::int32_t n_sparse = bins.n_slots() > bins.n_dense ? n_threads : 0;
  const std::int32_t n_dense = (bins.n_dense + kTogether - 1) / kTogether;
#pragma omp parallel num_threads(n_threads)
  {
    thread_local Workspace work;  // kept, so that the next leaf finds its histograms zero
    work.found = Findings();
    work.scratch.resize(3 * node.lines.width);
#pragma omp for schedule(dynamic) nowait
    for (std::int32_t task = 0; task < n_sparse + n_dense; ++task) {
      if (task < n_sparse) {
        search_sparse<W>(node, bins, parts[task], parts[task + 1], work);
      } else {
        search_dense<W>(node, bins, (task - n_sparse) * kTogether, work);
      }
    }
#pragma omp critical
    merge(all, work.found);
  }
  return all;
}

// ---- inside the bins that can still hold the best cut ------------------------------------------

bool earlier(const Cut& a, const Cut& b) {
  return std::tie(a.cost, a.feature, a.low) < std::tie(b.cost, b.feature, b.low);
}

// Every distinct value inside one bin, in order.
void scan_values(const Node& node, const std::vector<Inside>& inside, std::int32_t feature,
                 const std::int64_t* prefix, Cut& best) {
  const int K = node.lines.width;
  std::vector<std::int64_t> sums(prefix, prefix + K);
  for (std::size_t i = 0; i + 1 < inside.size(); ++i) {
    const std::int64_t* line = node.lines.at + inside[i].position * K;
    for (int c = 0; c < K; ++c) sums[c] += line[c];
    if (inside[i].value == inside[i + 1].value) continue;
    const Cut cut{least(sums.data(), K) + least_rest(node.after, sums.data(), K), feature,
                  inside[i].value, inside[i + 1].value};
    if (earlier(cut, best)) best = cut;
  }
}

// A slot's suspects that can still beat `best`: all collected in one walk over the rows.
void refine_slot(const Points& points, const Node& node, const Bins& bins, const Findings& found,
                 const Suspect* begin, const Suspect* end, Cut& best) {
  const auto hopeless = [&](const Suspect& s) {
    return std::tie(s.bound, s.feature) > std::tie(best.cost, best.feature);
  };
  std::vector<const Suspect*> suspects;
  std::vector<std::int64_t> wanted;
  for (const Suspect* s = begin; s != end; ++s) {
    if (hopeless(*s)) continue;
    suspects.push_back(s);
    wanted.push_back(s->bin - bins.first[s->slot]);
  }
  if (wanted.empty()) return;
  const auto inside = look_inside(points, bins, begin->slot, node.lines.rows, node.lines.n, wanted);
  for (std::size_t i = 0; i < suspects.size(); ++i)
    if (!hopeless(*suspects[i]))
      scan_values(node, inside[i], begin->feature, found.prefixes.data() + suspects[i]->prefix,
                  best);
}

// The two values next to a boundary that occur at the leaf.
Cut close_gap(const Points& points, const Node& node, const Bins& bins, const Boundary& boundary,
              int n_threads) {
  const double edge = bins.high[boundary.bin];
  Cut cut{boundary.cost, boundary.feature, -std::numeric_limits<double>::infinity(),
          std::numeric_limits<double>::infinity()};
  std::vector<double> values(node.lines.n);
  points.column(boundary.feature, node.lines.rows, node.lines.n, values.data(), n_threads);
  narrow(values.data(), static_cast<std::int64_t>(values.size()), edge, cut.low, cut.high);
  return cut;
}

std::optional<Cut> refine(const Points& points, const Node& node, const Bins& bins, Findings& found,
                          int n_threads) {
  Cut best{kNever, std::numeric_limits<std::int32_t>::max(), 0.0, 0.0};
  if (found.best.slot >= 0) best = close_gap(points, node, bins, found.best, n_threads);
  // Cuts inside a bin lie below the boundary after it, and so win a tie against it.
  std::erase_if(found.suspects, [&](const Suspect& s) {
    return std::tie(s.bound, s.feature, s.bin) >
           std::tie(found.best.cost, found.best.feature, found.best.bin);
  });
  std::sort(found.suspects.begin(), found.suspects.end(), [](const Suspect& a, const Suspect& b) {
    return std::tie(a.slot, a.bin) < std::tie(b.slot, b.bin);
  });
  std::vector<const Suspect*> starts;  // of each slot's suspects
  const Suspect* last = found.suspects.data() + found.suspects.size();
  for (const Suspect* s = found.suspects.data(); s != last; ++s)
    if (starts.empty() || starts.back()->slot != s->slot) starts.push_back(s);
  starts.push_back(last);
  const auto n_slots = static_cast<std::int64_t>(starts.size()) - 1;
#pragma omp parallel num_threads(n_slots < 2 ? 1 : n_threads)
  {
    Cut mine = best;
#pragma omp for schedule(dynamic) nowait
    for (std::int64_t i = 0; i < n_slots; ++i)
      refine_slot(points, node, bins, found, starts[i], starts[i + 1], mine);
#pragma omp critical
    if (earlier(mine, best)) best = mine;
  }
  if (best.cost == kNever) return std::nullopt;
  return best;
}

// ---- the leaf's lines
// ----------------------------------------------------------------------------

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
    for (int j = counter; j < K; ++j) line[j] = j == counter ? 1 : 0;
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

Findings search_bins(const Node& node, const Bins& bins, int n_threads) {
  switch (node.lines.width) {
    case 4:
      return search_bins<4>(node, bins, n_threads);
    case 8:
      return search_bins<8>(node, bins, n_threads);
    case 12:
      return search_bins<12>(node, bins, n_threads);
    case 16:
      return search_bins<16>(node, bins, n_threads);
    case 24:
      return search_bins<24>(node, bins, n_threads);
    case 32:
      return search_bins<32>(node, bins, n_threads);
    default:
      return search_bins<0>(node, bins, n_threads);
  }
}

}  // namespace

std::optional<Cut> least_surrogate_cut(const Bins& bins, const Points& points, const Leaf& leaf,
                                       int n_threads) {
  const std::vector<std::int64_t> centers = contenders(leaf, n_threads);
  const int K = padded(centers.size());
  const int counter = static_cast<int>(centers.size());
  std::vector<std::int64_t> sums(K, 0), before(K, kPad), after(K, kPad + (kPad - 1));
  for (int j = 0; j < counter; ++j) {
    sums[j] = after[j] = leaf.totals[centers[j]];
    before[j] = 0;
  }
  sums[counter] = leaf.n;
  // Uninitialised on purpose: every element is written below.
  const std::unique_ptr<std::int64_t[]> lines(new std::int64_t[leaf.n * K]);
  n_threads = threads_for(leaf.n * bins.n_slots(), n_threads);
  constexpr std::int64_t block = 1024;
#pragma omp parallel for schedule(static) num_threads(n_threads)
  for (std::int64_t i = 0; i < leaf.n; i += block)
    gather_lines(leaf, centers.data(), counter, K, i, std::min(i + block, leaf.n), lines.get());
  const Node node{{leaf.rows, leaf.n, K, lines.get()},
                  counter,
                  sums.data(),
                  before.data(),
                  after.data(),
                  leaf.totals[leaf.label]};
  Findings found = search_bins(node, bins, n_threads);
  return refine(points, node, bins, found, n_threads);
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
