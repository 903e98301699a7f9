// For scores of prefixes (see score.hpp): the rows' statistics added up per bin, and a walk over
// the bins of every slot, which prices the cuts between them and keeps the wide bins that may
// matter.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "binning.hpp"
#include "findings.hpp"
#include "histogram.hpp"
#include "limits.hpp"
#include "points.hpp"
#include "score.hpp"
#include "simd.hpp"
#include "subset_search.hpp"

namespace treemeans::scan {

constexpr std::int64_t kGroup = sized(16, 2);  // bins passed over together where they can be
constexpr int kTogether = 4;                   // columns summed in one walk over the rows

// The statistics of a node's rows, where they are not all in memory at once.
class StatsSource {
 public:
  virtual ~StatsSource() = default;
  // Those of rows [begin, end) of the node.
  virtual void read(std::int64_t begin, std::int64_t end, std::int64_t* row_stats) const = 0;
};

// A node's row_stats, their sums, and the sums a walk over the bins starts with (not always zero: a
// column that is to be passed over starts with a huge number).
struct Node {
  RowStats row_stats;
  int counter;  // the column that weighs rows
  const std::int64_t* sums;
  const std::int64_t* start;
  Limits limits;
  const StatsSource* source = nullptr;  // if row_stats.at is null

  // Calls visit(row_stats) for all rows, or a block at a time, which is read into `lines`.
  template <class Visit>
  void each_block(std::vector<std::int64_t>& lines, Visit visit) const {
    constexpr std::int64_t block = sized(1024, 4);
    if (!source) return visit(row_stats);
    lines.resize(block * row_stats.width);
    for (std::int64_t begin = 0; begin < row_stats.n; begin += block) {
      const std::int64_t end = std::min(begin + block, row_stats.n);
      source->read(begin, end, lines.data());
      visit(RowStats{row_stats.rows + begin, end - begin, row_stats.width, lines.data()});
    }
  }
  // The statistics of one row. scratch: room for them.
  const std::int64_t* line(std::int64_t position, std::int64_t* scratch) const {
    if (!source) return row_stats.at + position * row_stats.width;
    source->read(position, position + 1, scratch);
    return scratch;
  }

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
  node.each_block(buffers.row_stats, [&](const RowStats& rows) {
    sum_columns<Score::kWidth, C>(rows, codes, histograms);
  });
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
  node.each_block(buffers.row_stats, [&](const RowStats& rows) {
    sum_column<Score::kWidth>(rows, mixed.wide_codes.get(), buffers.groups.data());
  });
  search_slot(score, node, bins, slot, buffers.groups.data(), buffers.sums.data(), found);
}

// Sums and scans the sparse slots [begin, end); rows without an entry are the total less the rest.
template <class Score>
void search_sparse(const Score& score, const Node& node, const Bins& bins, std::int32_t begin,
                   std::int32_t end, SearchBuffers& buffers, Findings<std::int64_t>& found) {
  const int K = node.row_stats.width;
  const std::int64_t base = bins.sparse_begin(), from = bins.first[begin], to = bins.first[end];
  std::vector<std::int64_t> histogram((to - from) * K, 0);
  node.each_block(buffers.row_stats, [&](const RowStats& rows) {
    sum_entries<Score::kWidth>(rows, bins.indptr.data(), bins.entries.data(),
                               static_cast<std::uint32_t>(from - base),
                               static_cast<std::uint32_t>(to - base), histogram.data());
  });
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

}  // namespace treemeans::scan
