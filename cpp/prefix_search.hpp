// The search for scores of prefixes (see score.hpp): add up the rows' statistics per bin, walk the
// bins of every slot, then look inside the wide bins that can still hold the best cut.
#pragma once

#include <algorithm>
#include <cmath>
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
#include "subset_search.hpp"

namespace treemeans::scan {

constexpr std::int64_t kGroup = sized(16, 2);  // bins passed over together where they can be
constexpr int kTogether = 4;                   // columns summed in one walk over the rows

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

// A slot, and the side of its missing values in a walk over its bins.
struct SlotWalk {
  SlotView slot;
  std::int8_t missing_left = 0;
  bool last = true;  // the histogram is to be left zeroed
};

// Walks bins [begin, end) of one slot, from sums `before`, which it takes along.
template <class Score>
TM_CLONES void scan_bins(const Score& score, const Node& node, const SlotWalk& walk,
                         const std::int64_t* TM_RESTRICT histogram, std::int64_t begin,
                         std::int64_t end, std::int64_t* TM_RESTRICT before,
                         std::int64_t* TM_RESTRICT after, Findings<std::int64_t>& found) {
  const int K = Score::kWidth ? Score::kWidth : node.row_stats.width;
  const SlotView& slot = walk.slot;
  const std::int64_t price = node.limits.price(slot.slot);
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  for (std::int64_t b = begin; b < end; ++b) {
    const std::int64_t* TM_RESTRICT bin = histogram + b * K;
    const std::int64_t weight = bin[node.counter];
    if (weight == 0) continue;
#pragma omp simd
    for (int c = 0; c < K; ++c) after[c] = before[c] + bin[c];
    if (weight > 1 && slot.wide(b) && score.quick_bound(before, after) + price <= found.best.cost) {
      const std::int64_t bound = score.bound(before, after) + price;
      if (bound <= found.best.cost) {
        found.wide.push_back(
            {bound, slot.feature, slot.slot, b, slot.low[b], found.kept.size(), walk.missing_left});
        found.kept.insert(found.kept.end(), before, before + K);
      }
    }
    for (int c = 0; c < K; ++c) before[c] = after[c];
    if (node.weight_of(after) == node.weight()) return;
    if (!node.permits(after)) continue;
    const std::int64_t cost = score.cost(after) + price;
    if (cost <= found.best.cost)
      found.best.offer({cost, slot.feature, slot.slot, slot.high[b], unknown, walk.missing_left});
  }
}

// Walks a slot in groups of bins. Few groups need be looked into. scratch: 3 K integers, of which
// the first K are the sums left of all bins.
template <class Score>
TM_CLONES void scan_slot(const Score& score, const Node& node, const SlotWalk& walk,
                         std::int64_t* TM_RESTRICT histogram, std::int64_t* TM_RESTRICT scratch,
                         Findings<std::int64_t>& found) {
  const int K = Score::kWidth ? Score::kWidth : node.row_stats.width;
  const std::int64_t price = node.limits.price(walk.slot.slot);
  std::int64_t* TM_RESTRICT before = scratch;
  std::int64_t* TM_RESTRICT after = scratch + K;
  for (std::int64_t begin = 0; begin < walk.slot.n_bins; begin += kGroup) {
    const std::int64_t end = std::min(begin + kGroup, walk.slot.n_bins);
    for (int c = 0; c < K; ++c) after[c] = before[c];
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int64_t* TM_RESTRICT bin = histogram + b * K;
#pragma omp simd
      for (int c = 0; c < K; ++c) after[c] += bin[c];
    }
    if (after[node.counter] == before[node.counter]) continue;
    if (score.quick_bound(before, after) + price <= found.best.cost &&
        score.bound(before, after) + price <= found.best.cost)
      scan_bins(score, node, walk, histogram, begin, end, before, scratch + 2 * K, found);
    for (int c = 0; c < K; ++c) before[c] = after[c];
    if (walk.last) std::fill(histogram + begin * K, histogram + end * K, std::int64_t{0});
  }
}

// Finds the cuts of a slot from its histogram, which is left zeroed. Missing values are one more
// bin, which goes left of all others in one walk and right of them in another; where all values go
// left and only they go right, "is missing" is the cut.
template <class Score>
void search_slot(const Score& score, const Node& node, const Bins& bins, std::int32_t slot,
                 std::int64_t* histogram, std::int64_t* scratch, Findings<std::int64_t>& found) {
  const int K = node.row_stats.width;
  const MixedSlot* mixed = bins.is_mixed(slot) ? &bins.mixed_at(slot) : nullptr;
  const SlotView view = bins.view(slot);
  if (mixed && mixed->categorical) {
    const Groups groups =
        Groups::of(histogram, mixed->n_values, mixed->has_missing, K, node.counter);
    const Subset subset = SubsetSearch(score, groups, node.limits, node.start).run();
    if (subset.cost < kNoCost)
      found.best.offer({subset.cost + node.limits.price(slot), mixed->feature, slot});
    std::fill(histogram, histogram + std::int64_t{mixed->n_groups()} * K, std::int64_t{0});
    return;
  }
  std::int64_t* missing = histogram + view.n_bins * K;
  const bool any_missing = mixed && missing[node.counter] > 0;
  std::copy(node.start, node.start + K, scratch);
  scan_slot(score, node, {view, 0, !any_missing}, histogram, scratch, found);
  if (!any_missing) return;
  for (int c = 0; c < K; ++c) scratch[c] = node.start[c] + missing[c];
  std::fill(missing, missing + K, std::int64_t{0});
  scan_slot(score, node, {view, 1, true}, histogram, scratch, found);
}

// Sums and scans C dense slots.
template <class Score, int C>
void search_columns(const Score& score, const Node& node, const Bins& bins,
                    const std::int32_t* slots, SearchBuffers& buffers,
                    Findings<std::int64_t>& found) {
  const std::uint8_t* codes[C];
  const std::int64_t size = std::int64_t{Bins::kMax} * node.row_stats.width;
  for (int j = 0; j < C; ++j) codes[j] = bins.view(slots[j]).codes;
  std::int64_t* histograms = buffers.histograms.data();
  sum_columns<Score::kWidth, C>(node.row_stats, codes, histograms);
  for (int j = 0; j < C; ++j)
    search_slot(score, node, bins, slots[j], histograms + j * size, buffers.sums.data(), found);
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

// Sums and searches a column of more categories than a histogram has bins.
template <class Score>
void search_many_categories(const Score& score, const Node& node, const Bins& bins,
                            std::int32_t slot, SearchBuffers& buffers,
                            Findings<std::int64_t>& found) {
  const MixedSlot& mixed = bins.mixed_at(slot);
  const auto size = static_cast<std::size_t>(mixed.n_groups()) * node.row_stats.width;
  if (buffers.groups.size() < size) buffers.groups.resize(size, 0);
  sum_column<Score::kWidth>(node.row_stats, mixed.wide_codes.get(), buffers.groups.data());
  search_slot(score, node, bins, slot, buffers.groups.data(), buffers.sums.data(), found);
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
    search_slot(score, node, bins, slot, first, buffers.sums.data(), found);
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
    for (std::size_t i = 0; i < bins.mixed.size(); ++i) {
      const auto slot = static_cast<std::int32_t>(bins.n_slots() + i);
      if (node.limits.open(slot)) (bins.mixed[i].codes ? dense_ : many_).push_back(slot);
    }
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
    return n_sparse_ + static_cast<std::int64_t>(many_.size()) +
           (static_cast<std::int64_t>(dense_.size()) + kTogether - 1) / kTogether;
  }

  void search_bins(Worker& worker, std::int64_t task, Findings<Cost>& found) const {
    const auto n_many = static_cast<std::int64_t>(many_.size());
    if (task < n_sparse_) {
      search_sparse(score_, node_, bins_, parts_[task], parts_[task + 1], *worker, found);
    } else if (task < n_sparse_ + n_many) {
      search_many_categories(score_, node_, bins_, many_[task - n_sparse_], *worker, found);
    } else {
      const std::int64_t at = (task - n_sparse_ - n_many) * kTogether;
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
                  inside[i + 1].value, bin.missing_left});
    }
  }

 private:
  const Score& score_;
  const Node& node_;
  const Bins& bins_;
  std::vector<std::int32_t> dense_, parts_, many_;
  std::int64_t n_sparse_ = 0;
};

// The categories of the best cut of a slot, found again: searches keep only what cuts cost.
template <class Score>
Cut find_categories(const Score& score, const Node& node, const Bins& bins, std::int32_t slot) {
  const MixedSlot& mixed = bins.mixed_at(slot);
  const int K = node.row_stats.width;
  std::vector<std::int64_t> histogram(std::size_t(mixed.n_groups()) * K, 0);
  if (mixed.codes) {
    sum_column<Score::kWidth>(node.row_stats, mixed.codes.get(), histogram.data());
  } else {
    sum_column<Score::kWidth>(node.row_stats, mixed.wide_codes.get(), histogram.data());
  }
  const Groups groups =
      Groups::of(histogram.data(), mixed.n_values, mixed.has_missing, K, node.counter);
  const Subset subset = SubsetSearch(score, groups, node.limits, node.start).run();
  return subset_cut(groups, subset, mixed.feature, mixed.has_missing, Score::kSymmetric);
}

// The side of missing values: the one that was found, or of a node without any the heavier one.
inline void set_missing_side(const Node& node, const std::vector<double>& values, bool found,
                             Cut& cut) {
  std::int64_t left = 0, right = 0;
  for (std::int64_t i = 0; i < node.row_stats.n; ++i) {
    if (std::isnan(values[i])) {
      cut.missing_left = found ? 1 : 0;
      return;
    }
    (values[i] <= cut.low ? left : right) += node.limits.weight(node.row_stats.rows[i]);
  }
  cut.missing_left = left > right ? 1 : 0;
}

// The cut of least cost that the limits permit; ties go to the lowest feature, then the lowest
// threshold, then missing values on the right. None where there is no such cut.
template <class Score>
std::optional<Cut> least_cut(const Score& score, const Points& points, const Node& node,
                             const Bins& bins, int n_threads) {
  const RowStats& stats = node.row_stats;
  const Candidate<std::int64_t> best = find_best(PrefixSearch<Score>(score, node, bins, n_threads),
                                                 bins, points, stats.rows, stats.n, n_threads);
  if (best.slot < 0) return std::nullopt;
  const bool mixed = bins.is_mixed(best.slot);
  if (mixed && bins.mixed_at(best.slot).categorical) {
    Cut cut = find_categories(score, node, bins, best.slot);
    cut.cost = best.cost;
    return cut;
  }
  std::vector<double> values;
  if (std::isnan(best.next) || mixed) {
    values.resize(stats.n);
    points.column(best.feature, stats.rows, stats.n, values.data(), n_threads);
  }
  Cut cut = close_gap(best, best.cost, values);
  if (mixed) set_missing_side(node, values, best.missing_left != 0, cut);
  return cut;
}

}  // namespace treemeans::scan
