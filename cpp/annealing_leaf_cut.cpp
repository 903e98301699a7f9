#include "annealing_leaf_cut.hpp"

#include <algorithm>

#include "score.hpp"
#include "simd.hpp"

namespace treemeans::annealing {
namespace {

constexpr int kMaxBins = 256;
constexpr int kCenters = 8;               // of a leaf, that its best cut is searched with
constexpr std::int64_t kLeastShare = 20;  // centers whose rows cost less than 1 / 20 do not matter
constexpr std::int64_t kPad = std::int64_t{1} << 60;  // in place of a center: no minimum sees it

// The rows of a leaf with their regrets of the centers that matter there: as many columns as
// `search_slot` is compiled for.
struct LeafStats {
  std::vector<Row> rows;
  std::vector<std::int32_t> regrets;  // rows x columns
  std::int64_t totals[kCenters], start[kCenters];
};

// The best cut of one slot; best has that of the slots before. sums: bins x kColumns, all zero.
template <int kColumns>
TM_INLINE void search_slot(const LeafStats& leaf, const BinTable& table, std::int32_t slot,
                           const Limits& limits, std::int64_t price, std::int64_t* TM_RESTRICT sums,
                           std::int64_t* TM_RESTRICT weights, BinCut& best) {
  const auto n = static_cast<std::int64_t>(leaf.rows.size());
  const std::int32_t n_values = table.n_values[slot];
  std::uint8_t touched[kMaxBins] = {};  // bytes: bits would wait for each other
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint8_t bin = table.row(leaf.rows[i])[slot];
    touched[bin] = 1;
    const std::int32_t* TM_RESTRICT from = leaf.regrets.data() + i * kColumns;
    std::int64_t* TM_RESTRICT to = sums + std::int64_t{bin} * kColumns;
#pragma omp simd
    for (int c = 0; c < kColumns; ++c) to[c] += from[c];
  }
  BinSet occupied;
  for (std::int32_t bin = 0; bin < kMaxBins; ++bin)
    if (touched[bin]) occupied.add(bin);
  if (limits.asks_for_weight())
    for (const Row row : leaf.rows) weights[table.row(row)[slot]] += limits.weight(row);
  const bool any_missing =
      table.has_missing[slot] && occupied.has(static_cast<std::uint8_t>(n_values));
  std::int64_t all_weight = 0;
  for (int word = 0; word < 4; ++word)
    for (std::uint64_t bits = occupied.bits[word]; bits; bits &= bits - 1)
      all_weight += weights[word * 64 + __builtin_ctzll(bits)];
  for (std::int8_t side = 0; side <= (any_missing ? 1 : 0); ++side) {
    std::int64_t before[kColumns];
    std::int64_t weight = 0;
    for (int c = 0; c < kColumns; ++c) before[c] = leaf.start[c];
    if (side == 1) {
      for (int c = 0; c < kColumns; ++c) before[c] += sums[n_values * kColumns + c];
      weight = weights[n_values];
    }
    for (int word = 0; word < 4; ++word) {
      for (std::uint64_t bits = occupied.bits[word]; bits; bits &= bits - 1) {
        const std::int32_t bin = word * 64 + __builtin_ctzll(bits);
        if (bin >= n_values) break;
        std::int64_t low = kNoCost, high = kNoCost;
#pragma omp simd reduction(min : low, high)
        for (int c = 0; c < kColumns; ++c) {
          before[c] += sums[bin * kColumns + c];
          const std::int64_t rest = leaf.totals[c] - before[c];
          low = before[c] < low ? before[c] : low;
          high = rest < high ? rest : high;
        }
        weight += weights[bin];
        const std::int64_t cost = low + high + price;
        if (cost >= best.cost) continue;
        if (limits.asks_for_weight() && !limits.permits(weight, all_weight - weight)) continue;
        best = {slot, bin, any_missing ? side : std::int8_t{-1}, cost};
      }
    }
  }
  for (int word = 0; word < 4; ++word) {
    for (std::uint64_t bits = occupied.bits[word]; bits; bits &= bits - 1) {
      const std::int64_t bin = word * 64 + __builtin_ctzll(bits);
      std::fill(sums + bin * kColumns, sums + (bin + 1) * kColumns, std::int64_t{0});
      weights[bin] = 0;
    }
  }
}

TM_CLONES void search_two(const LeafStats& leaf, const BinTable& table, std::int32_t slot,
                          const Limits& limits, std::int64_t price, std::int64_t* sums,
                          std::int64_t* weights, BinCut& best) {
  search_slot<2>(leaf, table, slot, limits, price, sums, weights, best);
}

TM_CLONES void search_four(const LeafStats& leaf, const BinTable& table, std::int32_t slot,
                           const Limits& limits, std::int64_t price, std::int64_t* sums,
                           std::int64_t* weights, BinCut& best) {
  search_slot<4>(leaf, table, slot, limits, price, sums, weights, best);
}

TM_CLONES void search_eight(const LeafStats& leaf, const BinTable& table, std::int32_t slot,
                            const Limits& limits, std::int64_t price, std::int64_t* sums,
                            std::int64_t* weights, BinCut& best) {
  search_slot<8>(leaf, table, slot, limits, price, sums, weights, best);
}

// How many of the centers matter, those of the costliest rows first.
int n_centers(const std::vector<std::int32_t>& order, const std::vector<std::int64_t>& score) {
  std::int64_t left = 0;
  for (const std::int32_t c : order) left += score[c];
  const std::int64_t least = left / kLeastShare;
  int n = 1;
  for (; n < std::min<int>(kCenters, static_cast<int>(order.size())) && left > least; ++n)
    left -= score[order[n]];
  return n;
}

}  // namespace

// Only the centers that are the nearest of costly rows are looked at: others are hardly ever the
// cheapest of a side.
LeafCut search_leaf_cut(const BinTable& table, const Limits& limits, const Prices& prices,
                        const std::vector<Row>& rows, std::int32_t label,
                        const std::vector<std::int32_t>& slots, std::int64_t max_rows) {
  BinCut best;
  const auto n = static_cast<std::int64_t>(rows.size());
  const std::int64_t stride = std::max<std::int64_t>(1, (n + max_rows - 1) / max_rows);
  thread_local LeafStats stats;
  thread_local std::vector<std::int64_t> sums, weights, score;
  thread_local std::vector<std::int32_t> order;
  stats.rows.clear();
  score.assign(prices.k, 0);
  for (std::int64_t i = 0; i < n; i += stride) {
    const Row row = rows[i];
    stats.rows.push_back(row);
    score[prices.nearest[row]] += prices.regret(row, label);
  }
  order.clear();
  for (std::int32_t c = 0; c < prices.k; ++c)
    if (c != label && score[c] > 0) order.push_back(c);
  if (order.empty() && stride == 1) return {best, 0};
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return score[a] > score[b]; });
  order.insert(order.begin(), label);
  const int width = n_centers(order, score);
  const int columns = width <= 2 ? 2 : width <= 4 ? 4 : kCenters;
  const auto search_slot = columns == 2 ? search_two : columns == 4 ? search_four : search_eight;
  const auto n_used = static_cast<std::int64_t>(stats.rows.size());
  stats.regrets.assign(n_used * columns, 0);
  for (int c = 0; c < kCenters; ++c) {
    stats.start[c] = c < width ? 0 : kPad;
    stats.totals[c] = c < width ? 0 : 2 * kPad;
  }
  for (std::int64_t i = 0; i < n_used; ++i) {
    const std::int32_t* own = prices.regrets.data() + stats.rows[i] * prices.k;
    for (int c = 0; c < width; ++c) {
      stats.regrets[i * columns + c] = own[order[c]];
      stats.totals[c] += own[order[c]];
    }
  }
  sums.resize(kMaxBins * kCenters, 0);
  weights.resize(kMaxBins, 0);
  std::int64_t uncut = stats.totals[0];
  for (int c = 1; c < width; ++c) uncut = std::min(uncut, stats.totals[c]);
  best.cost = uncut;  // a cut that saves nothing is none
  const double share = static_cast<double>(n_used) / static_cast<double>(n);
  for (const std::int32_t slot : slots) {
    if (!limits.open(slot)) continue;
    const auto price = static_cast<std::int64_t>(
        static_cast<double>(std::max<std::int64_t>(limits.price(slot), 0)) * share);
    search_slot(stats, table, slot, limits, price, sums.data(), weights.data(), best);
  }
  const auto n_slots = static_cast<std::int64_t>(slots.size());
  return {best, n_used * n_slots * (columns + 4) / 4 + n_used * columns};
}

}  // namespace treemeans::annealing
