#include "annealing_tree.hpp"

#include <algorithm>
#include <deque>
#include <limits>

#include "score.hpp"
#include "simd.hpp"

namespace treemeans::annealing {
namespace {

constexpr std::int64_t kMoveSteps = 4;  // a row that is sent to a side takes about as long
constexpr int kMaxBins = 256;
constexpr int kCenters = 8;  // of a leaf, that its best cut is searched with
constexpr std::int64_t kPad = std::int64_t{1} << 60;  // in place of a center: no minimum sees it

// The rows of a leaf with their regrets of the centers that matter there.
struct LeafStats {
  std::vector<Row> rows;
  std::vector<std::int32_t> regrets;  // rows x kCenters
  std::int64_t totals[kCenters], start[kCenters];
};

// The best cut of one slot; best has that of the slots before. sums: bins x kCenters, all zero.
TM_CLONES void search_slot(const LeafStats& leaf, const BinTable& table, std::int32_t slot,
                           const Limits& limits, std::int64_t price, std::int64_t* TM_RESTRICT sums,
                           std::int64_t* TM_RESTRICT weights, BinCut& best) {
  const auto n = static_cast<std::int64_t>(leaf.rows.size());
  const std::int32_t n_values = table.n_values[slot];
  std::uint8_t touched[kMaxBins] = {};  // bytes: bits would wait for each other
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint8_t bin = table.row(leaf.rows[i])[slot];
    touched[bin] = 1;
    const std::int32_t* TM_RESTRICT from = leaf.regrets.data() + i * kCenters;
    std::int64_t* TM_RESTRICT to = sums + std::int64_t{bin} * kCenters;
#pragma omp simd
    for (int c = 0; c < kCenters; ++c) to[c] += from[c];
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
    std::int64_t before[kCenters];
    std::int64_t weight = 0;
    for (int c = 0; c < kCenters; ++c) before[c] = leaf.start[c];
    if (side == 1) {
      for (int c = 0; c < kCenters; ++c) before[c] += sums[n_values * kCenters + c];
      weight = weights[n_values];
    }
    for (int word = 0; word < 4; ++word) {
      for (std::uint64_t bits = occupied.bits[word]; bits; bits &= bits - 1) {
        const std::int32_t bin = word * 64 + __builtin_ctzll(bits);
        if (bin >= n_values) break;
        std::int64_t low = kNoCost, high = kNoCost;
#pragma omp simd reduction(min : low, high)
        for (int c = 0; c < kCenters; ++c) {
          before[c] += sums[bin * kCenters + c];
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
      std::fill(sums + bin * kCenters, sums + (bin + 1) * kCenters, std::int64_t{0});
      weights[bin] = 0;
    }
  }
}

}  // namespace

AnnealingTree::AnnealingTree(const Problem& problem, std::shared_ptr<const Prices> prices,
                             const Rows& rows)
    : problem_(problem), prices_(std::move(prices)), labels_(problem.table->n_rows, 0) {
  add(-1, rows);
  sum_leaf(nodes_[0]);
}

std::int64_t AnnealingTree::price_of(std::int32_t slot) const {
  return std::max<std::int64_t>(problem_.limits.price(slot), 0);
}

std::int64_t AnnealingTree::cost() const {
  std::int64_t sum = 0;
  for (const Node& node : nodes_)
    if (node.rows) sum += node.is_leaf() ? node.totals[node.label] : price_of(node.cut.slot);
  return sum;
}

// ---- nodes --------------------------------------------------------------------------------------

std::int32_t AnnealingTree::add(std::int32_t parent, Rows rows) {
  auto node = static_cast<std::int32_t>(nodes_.size());
  if (free_.empty()) {
    nodes_.emplace_back();
  } else {
    node = free_.back();
    free_.pop_back();
    nodes_[node] = Node();
  }
  nodes_[node].parent = parent;
  nodes_[node].depth = parent < 0 ? 0 : nodes_[parent].depth + 1;
  nodes_[node].rows = std::make_shared<const Rows>(std::move(rows));
  ++n_leaves_;
  return node;
}

void AnnealingTree::set_cut(Node& node, const BinCut& cut) {
  node.cut = cut;
  node.goes_left = problem_.table->left_of(cut);
}

void AnnealingTree::label_leaf(Node& leaf) {
  leaf.label = static_cast<std::int32_t>(std::min_element(leaf.totals.begin(), leaf.totals.end()) -
                                         leaf.totals.begin());
  leaf.is_searched = false;
  for (const Row row : *leaf.rows) labels_[row] = leaf.label;
}

TM_CLONES void sum_regrets_of(const Rows& rows, const std::int32_t* TM_RESTRICT regrets,
                              std::int64_t k, std::int64_t* TM_RESTRICT sums) {
  for (const Row row : rows) {
    const std::int32_t* TM_RESTRICT own = regrets + row * k;
    for (std::int64_t c = 0; c < k; ++c) sums[c] += own[c];
  }
}

void AnnealingTree::sum_leaf(Node& leaf) {
  leaf.totals.assign(prices_->k, 0);
  sum_regrets_of(*leaf.rows, prices_->regrets.data(), prices_->k, leaf.totals.data());
  steps_ += static_cast<std::int64_t>(leaf.rows->size()) * prices_->k / 2;
  label_leaf(leaf);
}

void AnnealingTree::relabel(std::int32_t leaf, std::int32_t label) {
  const Change change = begin_change(leaf);
  nodes_[leaf].label = label;
  for (const Row row : *nodes_[leaf].rows) labels_[row] = label;
  end_change(change, -1);
}

void AnnealingTree::relabel_cheapest() {
  for (std::int32_t node = 0; node < static_cast<std::int32_t>(nodes_.size()); ++node) {
    const Node& leaf = nodes_[node];
    if (!leaf.rows || !leaf.is_leaf()) continue;
    const auto least = std::min_element(leaf.totals.begin(), leaf.totals.end());
    if (*least < leaf.totals[leaf.label])
      relabel(node, static_cast<std::int32_t>(least - leaf.totals.begin()));
  }
}

void AnnealingTree::discard(std::int32_t node) {
  if (nodes_[node].is_leaf()) {
    --n_leaves_;
  } else {
    discard(nodes_[node].left);
    discard(nodes_[node].right);
  }
  nodes_[node] = Node();
  free_.push_back(node);
}

// Puts a child in the place, and under the number, of its parent. The other one has been removed.
void AnnealingTree::replace(std::int32_t node, std::int32_t child) {
  const std::int32_t parent = nodes_[node].parent;
  nodes_[node] = std::move(nodes_[child]);
  nodes_[node].parent = parent;
  nodes_[child] = Node();
  free_.push_back(child);
  std::deque<std::int32_t> queue{node};
  for (; !queue.empty(); queue.pop_front()) {
    Node& at = nodes_[queue.front()];
    at.depth = at.parent < 0 ? 0 : nodes_[at.parent].depth + 1;
    if (at.is_leaf()) continue;
    for (const std::int32_t next : {at.left, at.right}) {
      nodes_[next].parent = queue.front();
      queue.push_back(next);
    }
  }
}

bool AnnealingTree::may_hold(const Rows& rows) const {
  if (!problem_.limits.asks_for_weight()) return !rows.empty();
  std::int64_t weight = 0;
  for (const Row row : rows) weight += problem_.limits.weight(row);
  return problem_.limits.permits_side(weight);
}

std::pair<Rows, Rows> AnnealingTree::partition(const Rows& rows, const Node& node) {
  std::pair<Rows, Rows> sides;
  const std::size_t n = rows.size();
  sides.first.resize(n + 1);  // one more, so that both can be written and one kept
  sides.second.resize(n + 1);
  std::size_t left = 0, right = 0;
  const std::int32_t slot = node.cut.slot;
  const BinSet goes_left = node.goes_left;
  for (const Row row : rows) {
    const bool is_left = goes_left.has(problem_.table->row(row)[slot]);
    sides.first[left] = sides.second[right] = row;
    left += is_left ? 1 : 0;
    right += is_left ? 0 : 1;
  }
  sides.first.resize(left);
  sides.second.resize(right);
  steps_ += static_cast<std::int64_t>(n) * kMoveSteps;
  return sides;
}

// Sends rows down a subtree; what comes to a node as before is left alone. A cut with an empty side
// is dropped. False where a leaf is too light; the tree is then not to be used.
bool AnnealingTree::fill(std::int32_t node, std::shared_ptr<const Rows> rows) {
  nodes_[node].elsewhere.reset();
  if (*nodes_[node].rows == *rows) return true;
  nodes_[node].rows = rows;
  nodes_[node].is_optimal = false;
  if (nodes_[node].is_leaf()) {
    sum_leaf(nodes_[node]);
    return may_hold(*rows);
  }
  nodes_[node].gains.reset();
  nodes_[node].weights.reset();
  const std::int32_t left = nodes_[node].left, right = nodes_[node].right;
  auto [first, second] = partition(*rows, nodes_[node]);
  if (first.empty() || second.empty()) {
    discard(first.empty() ? left : right);
    replace(node, first.empty() ? right : left);
    return fill(node, std::move(rows));
  }
  return fill(left, std::make_shared<const Rows>(std::move(first))) &&
         fill(right, std::make_shared<const Rows>(std::move(second)));
}

// ---- moves --------------------------------------------------------------------------------------

void AnnealingTree::reprice(std::shared_ptr<const Prices> prices) {
  prices_ = std::move(prices);
  for (Node& node : nodes_) {
    if (!node.rows) continue;
    node.is_optimal = false;
    node.gains.reset();
    if (node.is_leaf()) sum_leaf(node);
  }
}

bool AnnealingTree::split(std::int32_t leaf, const BinCut& cut) {
  if (cut.slot < 0 || !problem_.limits.permits_depth(nodes_[leaf].depth)) return false;
  Node probe;
  set_cut(probe, cut);
  auto [first, second] = partition(*nodes_[leaf].rows, probe);
  if (!may_hold(first) || !may_hold(second)) return false;
  const bool left_is_smaller = first.size() <= second.size();
  const std::int32_t left = add(leaf, std::move(first)), right = add(leaf, std::move(second));
  --n_leaves_;
  Node& node = nodes_[leaf];
  set_cut(node, cut);
  node.left = left, node.right = right;
  node.is_optimal = false;
  node.gains.reset();
  node.weights.reset();
  Node& smaller = nodes_[left_is_smaller ? left : right];
  Node& larger = nodes_[left_is_smaller ? right : left];
  sum_leaf(smaller);
  larger.totals = std::move(node.totals);
  for (std::int64_t c = 0; c < prices_->k; ++c) larger.totals[c] -= smaller.totals[c];
  label_leaf(larger);
  return true;
}

void AnnealingTree::collapse(std::int32_t node) {
  if (nodes_[node].is_leaf()) return;
  Sums totals(prices_->k, 0);
  std::vector<std::int32_t> open{node};
  while (!open.empty()) {
    const Node& at = nodes_[open.back()];
    open.pop_back();
    if (at.is_leaf()) {
      for (std::int64_t c = 0; c < prices_->k; ++c) totals[c] += at.totals[c];
    } else {
      open.push_back(at.left);
      open.push_back(at.right);
    }
  }
  discard(nodes_[node].left);
  discard(nodes_[node].right);
  Node& leaf = nodes_[node];
  leaf.cut = BinCut();
  leaf.left = leaf.right = -1;
  leaf.gains.reset();
  leaf.weights.reset();
  leaf.totals = std::move(totals);
  ++n_leaves_;
  label_leaf(leaf);
}

bool AnnealingTree::replace_cut(std::int32_t node, const std::vector<std::int32_t>& slots) {
  const BinCut cut = best_replacement(node, &slots);
  return cut.slot >= 0 && adopt(node, cut);
}

bool AnnealingTree::exchange(std::int32_t node, std::int32_t child) {
  std::optional<AnnealingTree> before;
  if (problem_.limits.asks_for_weight()) before.emplace(*this);
  const BinCut upper = nodes_[node].cut, lower = nodes_[child].cut;
  set_cut(nodes_[child], upper);
  nodes_[child].rows = std::make_shared<const Rows>();  // so that it is filled again
  nodes_[child].gains.reset();
  nodes_[child].weights.reset();
  if (adopt(node, lower)) return true;
  if (before) {
    const std::int64_t steps = steps_;
    *this = std::move(*before);
    steps_ = steps;
  }
  return false;
}

// ---- the best cut of a leaf ---------------------------------------------------------------------

// Only the centers that are the nearest of costly rows are looked at: others are hardly ever the
// cheapest of a side.
BinCut AnnealingTree::search(std::int32_t leaf, const std::vector<std::int32_t>& slots,
                             std::int64_t max_rows) {
  const Node& node = nodes_[leaf];
  BinCut best;
  if (!problem_.limits.permits_depth(node.depth)) return best;
  const Prices& prices = *prices_;
  const auto n = static_cast<std::int64_t>(node.rows->size());
  const std::int64_t stride = std::max<std::int64_t>(1, (n + max_rows - 1) / max_rows);
  thread_local LeafStats stats;
  thread_local std::vector<std::int64_t> sums, weights, score;
  thread_local std::vector<std::int32_t> order;
  stats.rows.clear();
  score.assign(prices.k, 0);
  for (std::int64_t i = 0; i < n; i += stride) {
    const Row row = (*node.rows)[i];
    stats.rows.push_back(row);
    score[prices.nearest[row]] += prices.regret(row, node.label);
  }
  order.clear();
  for (std::int32_t c = 0; c < prices.k; ++c)
    if (c != node.label && score[c] > 0) order.push_back(c);
  if (order.empty() && stride == 1) return best;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return score[a] > score[b]; });
  order.insert(order.begin(), node.label);
  const int width = std::min<int>(kCenters, static_cast<int>(order.size()));
  const auto n_used = static_cast<std::int64_t>(stats.rows.size());
  stats.regrets.assign(n_used * kCenters, 0);
  for (int c = 0; c < kCenters; ++c) {
    stats.start[c] = c < width ? 0 : kPad;
    stats.totals[c] = c < width ? 0 : 2 * kPad;
  }
  for (std::int64_t i = 0; i < n_used; ++i) {
    const std::int32_t* own = prices.regrets.data() + stats.rows[i] * prices.k;
    for (int c = 0; c < width; ++c) {
      stats.regrets[i * kCenters + c] = own[order[c]];
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
    if (!problem_.limits.open(slot)) continue;
    const auto price = static_cast<std::int64_t>(static_cast<double>(price_of(slot)) * share);
    search_slot(stats, *problem_.table, slot, problem_.limits, price, sums.data(), weights.data(),
                best);
  }
  steps_ += n_used * static_cast<std::int64_t>(slots.size()) * 3 + n_used * kCenters;
  return best;
}

const BinCut& AnnealingTree::best_cut(std::int32_t leaf) {
  if (!nodes_[leaf].is_searched) {
    std::vector<std::int32_t> slots(problem_.table->n_slots);
    for (std::int32_t slot = 0; slot < problem_.table->n_slots; ++slot) slots[slot] = slot;
    nodes_[leaf].best = search(leaf, slots, std::numeric_limits<std::int32_t>::max());
    nodes_[leaf].is_searched = true;
  }
  return nodes_[leaf].best;
}

void AnnealingTree::grow(std::int32_t n_leaves) {
  while (n_leaves_ < n_leaves) {
    std::int32_t chosen = -1;
    std::int64_t most = 0;
    for (std::int32_t node = 0; node < static_cast<std::int32_t>(nodes_.size()); ++node) {
      if (!nodes_[node].rows || !nodes_[node].is_leaf() || regret(node) <= most) continue;
      const BinCut& cut = best_cut(node);
      if (cut.slot >= 0 && regret(node) - cut.cost > most)
        most = regret(node) - cut.cost, chosen = node;
    }
    if (chosen < 0) return;
    const Change change = begin_change(chosen);
    const BinCut cut = nodes_[chosen].best;
    if (!split(chosen, cut)) {
      nodes_[chosen].best.slot = -1;
      continue;
    }
    end_change(change, -1);
  }
}

// ---- sums ---------------------------------------------------------------------------------------

std::int32_t AnnealingTree::leaf_of(std::int32_t node, Row row) const {
  const std::uint8_t* codes = problem_.table->row(row);
  while (!nodes_[node].is_leaf()) {
    const Node& at = nodes_[node];
    node = at.goes_left.has(codes[at.cut.slot]) ? at.left : at.right;
  }
  return node;
}

void AnnealingTree::route(std::int32_t child, std::int32_t sibling) {
  if (nodes_[child].elsewhere) return;
  const Rows& rows = *nodes_[child].rows;
  auto found = std::make_shared<std::vector<std::int32_t>>(rows.size());
  if (nodes_[sibling].is_leaf()) {
    std::fill(found->begin(), found->end(), sibling);
  } else {
    for (std::size_t i = 0; i < rows.size(); ++i) (*found)[i] = leaf_of(sibling, rows[i]);
    steps_ += static_cast<std::int64_t>(rows.size()) * 3 * kMoveSteps;
  }
  nodes_[child].elsewhere = std::move(found);
}

TM_INLINE void AnnealingTree::add_row(Sums& sums, Row row, std::int64_t value) const {
  const std::uint8_t* codes = problem_.table->row(row);
  const std::uint32_t* first = problem_.table->first.data();
  std::int64_t* to = sums.data();
  const std::int32_t n = problem_.table->n_slots;
  for (std::int32_t slot = 0; slot < n; ++slot) to[first[slot] + codes[slot]] += value;
}

void AnnealingTree::sum_gains(std::int32_t node) {
  const std::int32_t left = nodes_[node].left, right = nodes_[node].right;
  route(left, right);
  route(right, left);
  if (nodes_[node].gains) return;
  auto sums = std::make_shared<Sums>(problem_.table->first.back(), 0);
  std::int64_t now = 0, all_right = 0, n_added = 0;
  for (const std::int32_t child : {left, right}) {
    const Rows& rows = *nodes_[child].rows;
    const std::vector<std::int32_t>& elsewhere = *nodes_[child].elsewhere;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int32_t* regrets = prices_->regrets.data() + rows[i] * prices_->k;
      const std::int64_t own = regrets[labels_[rows[i]]];
      const std::int64_t other = regrets[nodes_[elsewhere[i]].label];
      now += own;
      all_right += child == left ? other : own;
      if (own == other) continue;
      add_row(*sums, rows[i], child == left ? own - other : other - own);
      ++n_added;
    }
  }
  steps_ += n_added * problem_.table->n_slots +
            static_cast<std::int64_t>(nodes_[node].rows->size()) * kMoveSteps;
  nodes_[node].now = now;
  nodes_[node].all_right = all_right;
  nodes_[node].gains = std::move(sums);
}

// Copies of the tree have these sums from it, and need not make them again.
void AnnealingTree::prepare() {
  for (std::int32_t node = 0; node < static_cast<std::int32_t>(nodes_.size()); ++node) {
    if (!nodes_[node].rows) continue;
    if (nodes_[node].is_leaf()) {
      best_cut(node);
    } else {
      sum_gains(node);
    }
  }
}

void AnnealingTree::sum_weights(std::int32_t node) {
  if (nodes_[node].weights) return;
  auto sums = std::make_shared<Sums>(problem_.table->first.back(), 0);
  for (const Row row : *nodes_[node].rows) add_row(*sums, row, problem_.limits.weight(row));
  nodes_[node].weights = std::move(sums);
}

AnnealingTree::Change AnnealingTree::begin_change(std::int32_t node) const {
  Change change;
  change.node = node;
  change.labels.reserve(nodes_[node].rows->size());
  for (const Row row : *nodes_[node].rows) change.labels.push_back(labels_[row]);
  std::vector<std::int32_t> open{node};
  while (!open.empty()) {
    const std::int32_t at = open.back();
    open.pop_back();
    if (nodes_[at].is_leaf()) {
      change.leaves.emplace_back(at, nodes_[at].label);
    } else {
      open.push_back(nodes_[at].left);
      open.push_back(nodes_[at].right);
    }
  }
  return change;
}

// A row's price changed on one side of every node above the change: for the rows that are there,
// and for those on the other side that would come there.
void AnnealingTree::end_change(const Change& change, std::int32_t top) {
  struct Priced {
    Row row;
    std::int64_t more;
  };
  thread_local std::vector<Priced> own, sent;
  thread_local std::vector<std::int32_t> label_before;  // of the old leaves, and 1 more
  own.clear();
  const Rows& rows = *nodes_[change.node].rows;
  std::int64_t own_more = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int32_t label = labels_[rows[i]];
    if (label == change.labels[i]) continue;
    const std::int64_t more =
        prices_->regret(rows[i], label) - prices_->regret(rows[i], change.labels[i]);
    if (more == 0) continue;
    own.push_back({rows[i], more});
    own_more += more;
  }
  steps_ += static_cast<std::int64_t>(rows.size());
  if (label_before.size() < nodes_.size() + 1) label_before.resize(2 * nodes_.size() + 1, 0);
  for (const auto& [leaf, label] : change.leaves) {
    if (static_cast<std::size_t>(leaf) >= label_before.size()) label_before.resize(leaf + 1, 0);
    label_before[leaf] = label + 1;
  }
  for (std::int32_t at = change.node; at != top && nodes_[at].parent >= 0; at = nodes_[at].parent) {
    Node& parent = nodes_[nodes_[at].parent];
    const bool is_left = parent.left == at;
    Node& sibling = nodes_[is_left ? parent.right : parent.left];
    parent.is_optimal = false;
    if (!parent.gains || !sibling.elsewhere) {
      sibling.elsewhere.reset();
      parent.gains.reset();
      continue;
    }
    sent.clear();
    std::int64_t sent_more = 0;
    std::shared_ptr<std::vector<std::int32_t>> elsewhere;
    const std::vector<std::int32_t>& before = *sibling.elsewhere;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (label_before[before[i]] == 0) continue;
      if (!elsewhere) elsewhere = std::make_shared<std::vector<std::int32_t>>(before);
      const Row row = (*sibling.rows)[i];
      const std::int32_t leaf = leaf_of(change.node, row);
      (*elsewhere)[i] = leaf;
      const std::int32_t label = nodes_[leaf].label, old = label_before[before[i]] - 1;
      if (label == old) continue;
      const std::int64_t more = prices_->regret(row, label) - prices_->regret(row, old);
      sent_more += more;
      if (more != 0) sent.push_back({row, more});
    }
    steps_ += static_cast<std::int64_t>(before.size());
    if (elsewhere) sibling.elsewhere = std::move(elsewhere);
    if (own.empty() && sent.empty()) continue;
    auto sums = std::make_shared<Sums>(*parent.gains);
    for (const Priced& row : own) add_row(*sums, row.row, is_left ? row.more : -row.more);
    for (const Priced& row : sent) add_row(*sums, row.row, is_left ? row.more : -row.more);
    steps_ += static_cast<std::int64_t>(own.size() + sent.size()) * problem_.table->n_slots;
    parent.gains = std::move(sums);
    parent.now += own_more;
    if (!is_left) parent.all_right += own_more + sent_more;
  }
  for (const auto& [leaf, label] : change.leaves) label_before[leaf] = 0;
}

// ---- re-optimisation ----------------------------------------------------------------------------

BinCut AnnealingTree::best_replacement(std::int32_t node, const std::vector<std::int32_t>* slots) {
  sum_gains(node);
  const Limits& limits = problem_.limits;
  if (limits.asks_for_weight()) sum_weights(node);
  const Node& at = nodes_[node];
  const BinTable& table = *problem_.table;
  BinCut best;
  best.cost = kNoCost;
  const std::int32_t n = slots ? static_cast<std::int32_t>(slots->size()) : table.n_slots;
  std::int64_t all_weight = 0;
  if (limits.asks_for_weight())
    for (std::uint32_t b = 0; b < table.first[1]; ++b) all_weight += (*at.weights)[b];
  for (std::int32_t i = 0; i < n; ++i) {
    const std::int32_t slot = slots ? (*slots)[i] : i;
    if (!limits.open(slot)) continue;
    const std::int64_t* gains = at.gains->data() + table.first[slot];
    const std::int64_t* weights =
        limits.asks_for_weight() ? at.weights->data() + table.first[slot] : nullptr;
    const std::int32_t n_values = table.n_values[slot];
    const std::int64_t base = at.all_right + price_of(slot);
    const bool has_missing = table.has_missing[slot] != 0;
    for (std::int8_t side = 0; side <= (has_missing ? 1 : 0); ++side) {
      std::int64_t sum = base + (side == 1 ? gains[n_values] : 0);
      std::int64_t weight = side == 1 && weights ? weights[n_values] : 0;
      // Without missing values all going left is no cut.
      const std::int32_t end = has_missing ? n_values : n_values - 1;
      for (std::int32_t b = 0; b < end; ++b) {
        sum += gains[b];
        if (weights) weight += weights[b];
        if (sum >= best.cost) continue;
        if (weights && !limits.permits(weight, all_weight - weight)) continue;
        best = {slot, b, has_missing ? side : std::int8_t{-1}, sum};
      }
    }
  }
  steps_ += table.first.back();
  return best;
}

// `top`: as in end_change.
bool AnnealingTree::improve(std::int32_t node, std::int32_t top, std::int64_t max_looks) {
  const BinCut cut = best_replacement(node, nullptr);
  const Node& at = nodes_[node];
  const std::int64_t now = at.now + price_of(at.cut.slot);
  std::int64_t all_left = at.all_right;
  for (std::uint32_t b = 0; b < problem_.table->first[1]; ++b) all_left += (*at.gains)[b];
  const std::int64_t uncut = std::min(all_left, at.all_right);
  const bool is_needless = uncut <= now && (cut.slot < 0 || uncut <= cut.cost);
  if (!is_needless && (cut.slot < 0 || cut.cost >= now)) {
    nodes_[node].is_optimal = true;
    return false;
  }
  const Change change = begin_change(node);
  if (is_needless) {
    drop(node, all_left <= at.all_right ? at.left : at.right);
  } else if (!adopt(node, cut)) {
    nodes_[node].is_optimal = true;
    return false;
  }
  if (max_looks > 0) reoptimize(node, max_looks);
  end_change(change, top);
  return true;
}

// More rows everywhere: no leaf gets lighter.
void AnnealingTree::drop(std::int32_t node, std::int32_t child) {
  const std::shared_ptr<const Rows> rows = nodes_[node].rows;
  auto elsewhere = nodes_[node].elsewhere;
  discard(child == nodes_[node].left ? nodes_[node].right : nodes_[node].left);
  replace(node, child);
  fill(node, rows);
  nodes_[node].elsewhere = std::move(elsewhere);
}

// The limit on a leaf's weight can be broken further down: then all is as it was.
bool AnnealingTree::adopt(std::int32_t node, const BinCut& cut) {
  std::optional<AnnealingTree> before;
  if (problem_.limits.asks_for_weight()) before.emplace(*this);
  const std::shared_ptr<const Rows> rows = nodes_[node].rows;
  auto elsewhere = nodes_[node].elsewhere;
  set_cut(nodes_[node], cut);
  nodes_[node].rows = std::make_shared<const Rows>();  // so that it is filled again
  if (!fill(node, rows)) {
    const std::int64_t steps = steps_;
    *this = std::move(*before);
    steps_ = steps;
    return false;
  }
  nodes_[node].elsewhere = std::move(elsewhere);
  return true;
}

void AnnealingTree::reoptimize(std::int32_t root, std::int64_t max_looks) {
  for (bool changed = true; changed && max_looks > 0;) {
    changed = false;
    std::deque<std::int32_t> queue{root};
    for (; !queue.empty() && max_looks > 0; queue.pop_front()) {
      const std::int32_t node = queue.front();
      if (nodes_[node].is_leaf()) continue;
      if (!nodes_[node].is_optimal) {
        --max_looks;
        if (improve(node, root, 0)) changed = true;
      }
      if (nodes_[node].is_leaf()) continue;  // a drop can leave one
      queue.push_back(nodes_[node].left);
      queue.push_back(nodes_[node].right);
    }
  }
}

void AnnealingTree::climb(std::int32_t node, std::int64_t max_looks) {
  for (std::int32_t at = node; at >= 0; at = nodes_[at].parent) {
    if (!nodes_[at].is_leaf() && !nodes_[at].is_optimal) improve(at, -1, max_looks);
  }
}

}  // namespace treemeans::annealing
