// The search for scores of prefixes (see score.hpp): add up the rows' statistics per bin, walk the
// bins of every slot, then look inside the wide bins that can still hold the best cut.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "binning.hpp"
#include "cut.hpp"
#include "histogram.hpp"
#include "limits.hpp"
#include "points.hpp"
#include "score.hpp"
#include "search.hpp"
#include "simd.hpp"

namespace treemeans::scan {

constexpr std::int64_t kGroup = 16;  // bins passed over together where they can be
constexpr int kTogether = 4;         // columns summed in one walk over the rows

// A node's row_stats, their sums, and the sums a walk over the bins starts with (not always zero: a
// column that is to be passed over starts with a huge number).
struct Node {
  RowStats row_stats;
  int counter;  // the column that weighs rows
  const std::int64_t* sums;
  const std::int64_t* start;
  Limits limits;

  std::int64_t weight() const { return sums[counter]; }
  // What lies left of a cut, from the sums there.
  std::int64_t weight_of(const std::int64_t* left) const { return left[counter] - start[counter]; }
  bool permits(const std::int64_t* left) const {
    const std::int64_t w = weight_of(left);
    return limits.permits(w, weight() - w);
  }
};

// Walks bins [begin, end) of one slot, from sums `before`, which it takes along.
template <class Score>
TM_CLONES void scan_bins(const Score& score, const Node& node, const Bins& bins, std::int32_t slot,
                         const std::int64_t* TM_RESTRICT histogram, std::int64_t begin,
                         std::int64_t end, std::int64_t* TM_RESTRICT before,
                         std::int64_t* TM_RESTRICT after, Findings<std::int64_t>& found) {
  const int K = Score::kWidth ? Score::kWidth : node.row_stats.width;
  const std::int64_t first = bins.first[slot], price = node.limits.price(slot);
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
        found.wide.push_back(
            {bound, bins.feature[slot], slot, b, bins.low[first + b], found.kept.size()});
        found.kept.insert(found.kept.end(), before, before + K);
      }
    }
    for (int c = 0; c < K; ++c) before[c] = after[c];
    if (node.weight_of(after) == node.weight()) return;
    if (!node.permits(after)) continue;
    const std::int64_t cost = score.cost(after) + price;
    if (cost <= found.best.cost)
      found.best.offer({cost, bins.feature[slot], slot, bins.high[first + b]});
  }
}

// Walks a slot in groups of bins and leaves the histogram zeroed. Few groups need be looked into.
// scratch: 3 K integers.
template <class Score>
TM_CLONES void scan_slot(const Score& score, const Node& node, const Bins& bins, std::int32_t slot,
                         std::int64_t* TM_RESTRICT histogram, std::int64_t* TM_RESTRICT scratch,
                         Findings<std::int64_t>& found) {
  const int K = Score::kWidth ? Score::kWidth : node.row_stats.width;
  const std::int64_t n_bins = bins.first[slot + 1] - bins.first[slot];
  const std::int64_t price = node.limits.price(slot);
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

// Sums and scans C dense slots.
template <class Score, int C>
void search_columns(const Score& score, const Node& node, const Bins& bins,
                    const std::int32_t* slots, SearchBuffers& buffers,
                    Findings<std::int64_t>& found) {
  const std::uint8_t* codes[C];
  const std::int64_t size = std::int64_t{Bins::kMax} * node.row_stats.width;
  for (int j = 0; j < C; ++j) codes[j] = bins.codes[slots[j]].get();
  std::int64_t* histograms = buffers.histograms.data();
  sum_columns<Score::kWidth, C>(node.row_stats, codes, histograms);
  for (int j = 0; j < C; ++j)
    scan_slot(score, node, bins, slots[j], histograms + j * size, buffers.sums.data(), found);
}

template <class Score>
void search_dense(const Score& score, const Node& node, const Bins& bins, const std::int32_t* slots,
                  std::int64_t n_slots, SearchBuffers& buffers, Findings<std::int64_t>& found) {
  const std::size_t size = std::size_t{kTogether} * Bins::kMax * node.row_stats.width;
  if (buffers.histograms.size() < size) buffers.histograms.resize(size, 0);
  switch (std::min<std::int64_t>(kTogether, n_slots)) {
    case 1:
      return search_columns<Score, 1>(score, node, bins, slots, buffers, found);
    case 2:
      return search_columns<Score, 2>(score, node, bins, slots, buffers, found);
    case 3:
      return search_columns<Score, 3>(score, node, bins, slots, buffers, found);
    default:
      return search_columns<Score, kTogether>(score, node, bins, slots, buffers, found);
  }
}

// Sums and scans the sparse slots [begin, end); rows without an entry are the total less the rest.
template <class Score>
void search_sparse(const Score& score, const Node& node, const Bins& bins, std::int32_t begin,
                   std::int32_t end, SearchBuffers& buffers, Findings<std::int64_t>& found) {
  const int K = node.row_stats.width;
  const std::int64_t base = bins.sparse_begin(), from = bins.first[begin], to = bins.first[end];
  std::vector<std::int64_t> histogram((to - from) * K, 0);
  sum_entries<Score::kWidth>(node.row_stats, bins.indptr.data(), bins.entries.data(),
                             static_cast<std::uint32_t>(from - base),
                             static_cast<std::uint32_t>(to - base), histogram.data());
  for (std::int32_t slot = begin; slot < end; ++slot) {
    if (!node.limits.open(slot)) continue;
    std::int64_t* first = histogram.data() + (bins.first[slot] - from) * K;
    std::int64_t* missing = first + bins.default_bin[slot - bins.n_dense] * K;
    std::copy(node.sums, node.sums + K, missing);
    for (std::int64_t b = 0; b < bins.first[slot + 1] - bins.first[slot]; ++b) {
      if (first + b * K == missing) continue;
      for (int c = 0; c < K; ++c) missing[c] -= first[b * K + c];
    }
    scan_slot(score, node, bins, slot, first, buffers.sums.data(), found);
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

// See search.hpp.
template <class Score>
class PrefixSearch {
 public:
  using Cost = std::int64_t;
  using Worker = std::unique_ptr<SearchBuffers>;

  PrefixSearch(const Score& score, const Node& node, const Bins& bins, int n_threads)
      : score_(score), node_(node), bins_(bins), parts_(share_sparse(bins, n_threads)) {
    for (std::int32_t slot = 0; slot < bins.n_dense; ++slot)
      if (node.limits.open(slot)) dense_.push_back(slot);
    n_sparse_ = bins.n_slots() > bins.n_dense ? n_threads : 0;
  }

  Worker make_worker() const {
    Worker worker = bins_.buffers.take();
    worker->sums.resize(3 * node_.row_stats.width);
    return worker;
  }
  void finish(Worker& worker) const { bins_.buffers.give_back(std::move(worker)); }
  std::int64_t chunk() const { return 1; }
  std::int64_t n_tasks() const {
    return n_sparse_ + (static_cast<std::int64_t>(dense_.size()) + kTogether - 1) / kTogether;
  }

  void search_bins(Worker& worker, std::int64_t task, Findings<Cost>& found) const {
    if (task < n_sparse_) {
      search_sparse(score_, node_, bins_, parts_[task], parts_[task + 1], *worker, found);
    } else {
      const std::int64_t at = (task - n_sparse_) * kTogether;
      search_dense(score_, node_, bins_, dense_.data() + at,
                   static_cast<std::int64_t>(dense_.size()) - at, *worker, found);
    }
  }

  void open_slot(Worker&, std::int32_t) const {}

  // Every distinct value inside one bin, in order. Cuts inside a bin lie below the boundary after
  // it, and so win a tie against it.
  void search_inside(Worker&, const WideBin<Cost>& bin, const std::vector<BinValue>& inside,
                     const std::int64_t* prefix, Candidate<Cost>& best) const {
    const int K = node_.row_stats.width;
    const std::int64_t price = node_.limits.price(bin.slot);
    std::vector<std::int64_t> sums(prefix, prefix + K);
    for (std::size_t i = 0; i + 1 < inside.size(); ++i) {
      const std::int64_t* line = node_.row_stats.at + inside[i].position * K;
      for (int c = 0; c < K; ++c) sums[c] += line[c];
      if (inside[i].value == inside[i + 1].value || !node_.permits(sums.data())) continue;
      best.offer({score_.cost(sums.data()) + price, bin.feature, bin.slot, inside[i].value,
                  inside[i + 1].value});
    }
  }

 private:
  const Score& score_;
  const Node& node_;
  const Bins& bins_;
  std::vector<std::int32_t> dense_, parts_;
  std::int64_t n_sparse_ = 0;
};

// The cut of least cost that the limits permit; ties go to the lowest feature, then the lowest
// threshold. None where there is no such cut.
template <class Score>
std::optional<Cut> least_cut(const Score& score, const Points& points, const Node& node,
                             const Bins& bins, int n_threads) {
  const RowStats& stats = node.row_stats;
  const Candidate<std::int64_t> best = find_best(PrefixSearch<Score>(score, node, bins, n_threads),
                                                 bins, points, stats.rows, stats.n, n_threads);
  if (best.slot < 0) return std::nullopt;
  std::vector<double> values;
  if (std::isnan(best.next)) {
    values.resize(stats.n);
    points.column(best.feature, stats.rows, stats.n, values.data(), n_threads);
  }
  return close_gap(best, best.cost, values);
}

}  // namespace treemeans::scan
