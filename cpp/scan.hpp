// The one shape of a search: add up a line of integers per bin over a node's rows, walk the bins of
// every slot, then look inside the wide bins that can still hold the best cut.
//
// A Score says what a cut costs, from the sums of the lines on its left (K integers):
//   kWidth                      K where it is known at compile time, or 0
//   cost(left)                  of a cut
//   quick_bound(before, after)  no cut costs less whose left side is between these two
//   bound(before, after)        the same; closer, and dearer to compute
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "binning.hpp"
#include "cut.hpp"
#include "histogram.hpp"
#include "inside.hpp"
#include "points.hpp"
#include "simd.hpp"
#include "terms.hpp"

namespace treemeans::scan {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kGroup = 16;  // bins passed over together where they can be
constexpr int kTogether = 4;         // columns summed in one walk over the rows

// A node's lines, their sums, and the sums a walk over the bins starts with (not always zero: a
// column that is to be passed over starts with a huge number).
struct Node {
  Lines lines;
  int counter;  // the column that weighs rows
  const std::int64_t* sums;
  const std::int64_t* start;
  Terms terms;

  std::int64_t weight() const { return sums[counter]; }
  // What lies left of a cut, from the sums there.
  std::int64_t weight_of(const std::int64_t* left) const { return left[counter] - start[counter]; }
  bool permits(const std::int64_t* left) const {
    const std::int64_t w = weight_of(left);
    return w >= terms.min_weight && weight() - w >= terms.min_weight;
  }
};

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

// Walks bins [begin, end) of one slot, from sums `before`, which it takes along.
template <class Score>
TM_CLONES void scan_bins(const Score& score, const Node& node, const Bins& bins, std::int32_t slot,
                         const std::int64_t* TM_RESTRICT histogram, std::int64_t begin,
                         std::int64_t end, std::int64_t* TM_RESTRICT before,
                         std::int64_t* TM_RESTRICT after, Findings& found) {
  const int K = Score::kWidth ? Score::kWidth : node.lines.width;
  const std::int64_t first = bins.first[slot], price = node.terms.price(slot);
  for (std::int64_t b = begin; b < end; ++b) {
    const std::int64_t* TM_RESTRICT bin = histogram + b * K;
    const std::int64_t weight = bin[node.counter];
    if (weight == 0) continue;
#pragma omp simd
    for (int c = 0; c < K; ++c) after[c] = before[c] + bin[c];
    if (weight > 1 && bins.wide(first + b) &&
        score.quick_bound(before, after) + price <= found.best.cost) {
      const std::int64_t bound = score.bound(before, after) + price;
      if (bound <= found.best.cost) {
        found.suspects.push_back(
            {bound, bins.feature[slot], slot, first + b, found.prefixes.size()});
        found.prefixes.insert(found.prefixes.end(), before, before + K);
      }
    }
    for (int c = 0; c < K; ++c) before[c] = after[c];
    if (node.weight_of(after) == node.weight()) return;
    if (!node.permits(after)) continue;
    const Boundary boundary{score.cost(after) + price, bins.feature[slot], slot, first + b};
    if (boundary < found.best) found.best = boundary;
  }
}

// Walks a slot in groups of bins and leaves the histogram zeroed. Few groups need be looked into.
// scratch: 3 K integers.
template <class Score>
TM_CLONES void scan_slot(const Score& score, const Node& node, const Bins& bins, std::int32_t slot,
                         std::int64_t* TM_RESTRICT histogram, std::int64_t* TM_RESTRICT scratch,
                         Findings& found) {
  const int K = Score::kWidth ? Score::kWidth : node.lines.width;
  const std::int64_t n_bins = bins.first[slot + 1] - bins.first[slot];
  const std::int64_t price = node.terms.price(slot);
  std::int64_t* TM_RESTRICT before = scratch;
  std::int64_t* TM_RESTRICT after = scratch + K;
  for (int c = 0; c < K; ++c) before[c] = node.start[c];
  for (std::int64_t begin = 0; begin < n_bins; begin += kGroup) {
    const std::int64_t end = std::min(begin + kGroup, n_bins);
    for (int c = 0; c < K; ++c) after[c] = before[c];
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int64_t* TM_RESTRICT bin = histogram + b * K;
#pragma omp simd
      for (int c = 0; c < K; ++c) after[c] += bin[c];
    }
    if (after[node.counter] == before[node.counter]) continue;
    if (score.quick_bound(before, after) + price <= found.best.cost &&
        score.bound(before, after) + price <= found.best.cost)
      scan_bins(score, node, bins, slot, histogram, begin, end, before, scratch + 2 * K, found);
    for (int c = 0; c < K; ++c) before[c] = after[c];
    std::fill(histogram + begin * K, histogram + end * K, std::int64_t{0});
  }
}

// What a thread works with: histograms of kTogether columns, all zero between uses.
struct Workspace {
  std::vector<std::int64_t> histograms, scratch;
  Findings found;
};

// Sums and scans C dense slots.
template <class Score, int C>
void search_columns(const Score& score, const Node& node, const Bins& bins,
                    const std::int32_t* slots, Workspace& work) {
  const std::uint8_t* codes[C];
  const std::int64_t size = std::int64_t{Bins::kMax} * node.lines.width;
  for (int j = 0; j < C; ++j) codes[j] = bins.codes[slots[j]].get();
  sum_columns<Score::kWidth, C>(node.lines, codes, work.histograms.data());
  for (int j = 0; j < C; ++j)
    scan_slot(score, node, bins, slots[j], work.histograms.data() + j * size, work.scratch.data(),
              work.found);
}

template <class Score>
void search_dense(const Score& score, const Node& node, const Bins& bins, const std::int32_t* slots,
                  std::int64_t n_slots, Workspace& work) {
  const std::size_t size = std::size_t{kTogether} * Bins::kMax * node.lines.width;
  if (work.histograms.size() < size) work.histograms.resize(size, 0);
  switch (std::min<std::int64_t>(kTogether, n_slots)) {
    case 1:
      return search_columns<Score, 1>(score, node, bins, slots, work);
    case 2:
      return search_columns<Score, 2>(score, node, bins, slots, work);
    case 3:
      return search_columns<Score, 3>(score, node, bins, slots, work);
    default:
      return search_columns<Score, kTogether>(score, node, bins, slots, work);
  }
}

// Sums and scans the sparse slots [begin, end); rows without an entry are the total less the rest.
template <class Score>
void search_sparse(const Score& score, const Node& node, const Bins& bins, std::int32_t begin,
                   std::int32_t end, Workspace& work) {
  const int K = node.lines.width;
  const std::int64_t base = bins.sparse_begin(), from = bins.first[begin], to = bins.first[end];
  std::vector<std::int64_t> histogram((to - from) * K, 0);
  sum_entries<Score::kWidth>(node.lines, bins.indptr.data(), bins.entries.data(),
                             static_cast<std::uint32_t>(from - base),
                             static_cast<std::uint32_t>(to - base), histogram.data());
  for (std::int32_t slot = begin; slot < end; ++slot) {
    if (!node.terms.open(slot)) continue;
    std::int64_t* first = histogram.data() + (bins.first[slot] - from) * K;
    std::int64_t* missing = first + bins.default_bin[slot - bins.n_dense] * K;
    std::copy(node.sums, node.sums + K, missing);
    for (std::int64_t b = 0; b < bins.first[slot + 1] - bins.first[slot]; ++b) {
      if (first + b * K == missing) continue;
      for (int c = 0; c < K; ++c) missing[c] -= first[b * K + c];
    }
    scan_slot(score, node, bins, slot, first, work.scratch.data(), work.found);
  }
}

// Sparse slots in n_parts runs of about equal numbers of bins.
inline std::vector<std::int32_t> share_sparse(const Bins& bins, int n_parts) {
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

inline void merge(Findings& all, Findings& mine) {
  for (Suspect& suspect : mine.suspects) suspect.prefix += all.prefixes.size();
  all.best = std::min(all.best, mine.best);
  all.suspects.insert(all.suspects.end(), mine.suspects.begin(), mine.suspects.end());
  all.prefixes.insert(all.prefixes.end(), mine.prefixes.begin(), mine.prefixes.end());
}

template <class Score>
Findings search_bins(const Score& score, const Node& node, const Bins& bins, int n_threads) {
  Findings all;
  std::vector<std::int32_t> dense;
  for (std::int32_t slot = 0; slot < bins.n_dense; ++slot)
    if (node.terms.open(slot)) dense.push_back(slot);
  const std::vector<std::int32_t> parts = share_sparse(bins, n_threads);
  const std::int64_t n_sparse = bins.n_slots() > bins.n_dense ? n_threads : 0;
  const auto n_dense = static_cast<std::int64_t>(dense.size());
  const std::int64_t n_tasks = n_sparse + (n_dense + kTogether - 1) / kTogether;
#pragma omp parallel num_threads(n_threads)
  {
    thread_local Workspace work;  // kept, so that the next node finds its histograms zero
    work.found = Findings();
    work.scratch.resize(3 * node.lines.width);
#pragma omp for schedule(dynamic) nowait
    for (std::int64_t task = 0; task < n_tasks; ++task) {
      if (task < n_sparse) {
        search_sparse(score, node, bins, parts[task], parts[task + 1], work);
      } else {
        const std::int64_t at = (task - n_sparse) * kTogether;
        search_dense(score, node, bins, dense.data() + at, n_dense - at, work);
      }
    }
#pragma omp critical
    merge(all, work.found);
  }
  return all;
}

// ---- inside the bins that can still hold the best cut ------------------------------------------

inline bool earlier(const Cut& a, const Cut& b) {
  return std::tie(a.cost, a.feature, a.low) < std::tie(b.cost, b.feature, b.low);
}

// Every distinct value inside one bin, in order.
template <class Score>
void scan_values(const Score& score, const Node& node, const std::vector<Inside>& inside,
                 std::int32_t slot, std::int32_t feature, const std::int64_t* prefix, Cut& best) {
  const int K = node.lines.width;
  std::vector<std::int64_t> sums(prefix, prefix + K);
  for (std::size_t i = 0; i + 1 < inside.size(); ++i) {
    const std::int64_t* line = node.lines.at + inside[i].position * K;
    for (int c = 0; c < K; ++c) sums[c] += line[c];
    if (inside[i].value == inside[i + 1].value || !node.permits(sums.data())) continue;
    const Cut cut{score.cost(sums.data()) + node.terms.price(slot), feature, inside[i].value,
                  inside[i + 1].value};
    if (earlier(cut, best)) best = cut;
  }
}

// A slot's suspects that can still beat `best`: all collected in one walk over the rows.
template <class Score>
void refine_slot(const Score& score, const Points& points, const Node& node, const Bins& bins,
                 const Findings& found, const Suspect* begin, const Suspect* end, Cut& best) {
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
      scan_values(score, node, inside[i], begin->slot, begin->feature,
                  found.prefixes.data() + suspects[i]->prefix, best);
}

// The two values next to a boundary that occur at the node.
inline Cut close_gap(const Points& points, const Node& node, const Bins& bins,
                     const Boundary& boundary, int n_threads) {
  const double edge = bins.high[boundary.bin];
  Cut cut{boundary.cost, boundary.feature, -std::numeric_limits<double>::infinity(),
          std::numeric_limits<double>::infinity()};
  std::vector<double> values(node.lines.n);
  points.column(boundary.feature, node.lines.rows, node.lines.n, values.data(), n_threads);
  narrow(values.data(), static_cast<std::int64_t>(values.size()), edge, cut.low, cut.high);
  return cut;
}

template <class Score>
std::optional<Cut> refine(const Score& score, const Points& points, const Node& node,
                          const Bins& bins, Findings& found, int n_threads) {
  Cut best{kNever, std::numeric_limits<std::int32_t>::max(), 0.0, 0.0};
  if (found.best.slot >= 0) best = close_gap(points, node, bins, found.best, n_threads);
  // Cuts inside a bin lie below the boundary after it, and so win a tie against it.
  std::erase_if(found.suspects, [&](const Suspect& s) {
    return std::tie(s.bound, s.feature, s.bin) >
           std::tie(found.best.cost, found.best.feature, found.best.bin);
  });
  const std::vector<const Suspect*> starts = sort_by_slot(found.suspects);
  const auto n_slots = static_cast<std::int64_t>(starts.size()) - 1;
#pragma omp parallel num_threads(n_slots < 2 ? 1 : n_threads)
  {
    Cut mine = best;
#pragma omp for schedule(dynamic) nowait
    for (std::int64_t i = 0; i < n_slots; ++i)
      refine_slot(score, points, node, bins, found, starts[i], starts[i + 1], mine);
#pragma omp critical
    if (earlier(mine, best)) best = mine;
  }
  if (best.cost == kNever) return std::nullopt;
  return best;
}

// The cut of least cost that the terms permit; ties go to the lowest feature, then the lowest
// threshold. None where there is no such cut.
template <class Score>
std::optional<Cut> least_cut(const Score& score, const Points& points, const Node& node,
                             const Bins& bins, int n_threads) {
  Findings found = search_bins(score, node, bins, n_threads);
  return refine(score, points, node, bins, found, n_threads);
}

}  // namespace treemeans::scan
