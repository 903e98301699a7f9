// A tree that annealing changes: what its rows would save on the other side of a cut, and how
// cuts are chosen again.
#include <algorithm>
#include <deque>

#include "annealing_tree.hpp"
#include "score.hpp"
#include "simd.hpp"

namespace treemeans::annealing {

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
  std::int64_t* TM_RESTRICT to = sums.data();
  const std::int32_t n = problem_.table->n_slots;
  if (!problem_.table->places.empty()) {
    const std::uint16_t* TM_RESTRICT places = problem_.table->places.data() + std::int64_t{row} * n;
    for (std::int32_t slot = 0; slot < n; ++slot) to[places[slot]] += value;
    return;
  }
  const std::uint8_t* codes = problem_.table->row(row);
  const std::uint32_t* first = problem_.table->first.data();
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

void AnnealingTree::take_sums_above(std::int32_t node, AnnealingTree& origin) {
  for (std::int32_t at = nodes_[node].parent; at >= 0; at = nodes_[at].parent) {
    Node& own = nodes_[at];
    origin.sum_gains(at);
    const Node& from = origin.nodes_[at];
    own.gains = from.gains;
    own.weights = from.weights;
    own.now = from.now;
    own.all_right = from.all_right;
    nodes_[own.left].elsewhere = origin.nodes_[from.left].elsewhere;
    nodes_[own.right].elsewhere = origin.nodes_[from.right].elsewhere;
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
  change.leaves = labels_below(node);
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
  const auto n_nodes = static_cast<std::size_t>(nodes_.size());
  if (label_before.size() < n_nodes + 1) label_before.resize(2 * n_nodes + 1, 0);
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
  } else if (nodes_[node].gains) {  // these sums have no better cut
    nodes_[node].is_optimal = true;
  }
  if (max_looks > 0) reoptimize(node, max_looks);
  end_change(change, top);
  return true;
}

// More rows everywhere: no leaf gets lighter.
void AnnealingTree::drop(std::int32_t node, std::int32_t child) {
  const std::shared_ptr<const Rows> rows = nodes_[node].rows;
  auto elsewhere = nodes_[node].elsewhere;
  nodes_.replace_by(node, child);
  fill(node, rows);
  nodes_[node].elsewhere = std::move(elsewhere);
}

// The limit on a leaf's weight can be broken further down: then all is as it was.
bool AnnealingTree::adopt(std::int32_t node, const BinCut& cut) {
  std::optional<AnnealingTree> before;
  if (problem_.limits.asks_for_weight()) before.emplace(*this);
  const std::shared_ptr<const Rows> rows = nodes_[node].rows;
  auto elsewhere = nodes_[node].elsewhere;
  auto gains = nodes_[node].gains;
  auto weights = nodes_[node].weights;
  const std::int64_t all_right = nodes_[node].all_right;
  const auto leaves = labels_below(node);
  set_cut(nodes_[node], cut);
  nodes_[node].rows = std::make_shared<const Rows>();  // so that it is filled again
  if (!fill(node, rows)) {
    const std::int64_t steps = steps_;
    *this = std::move(*before);
    steps_ = steps;
    return false;
  }
  nodes_[node].elsewhere = std::move(elsewhere);
  if (gains && labels_below(node) == leaves) {
    // Where a row comes to on either side does not depend on the cut: the sums are as they were.
    nodes_[node].gains = std::move(gains);
    nodes_[node].weights = std::move(weights);
    nodes_[node].all_right = all_right;
    nodes_[node].now = cut.cost - price_of(cut.slot);
  }
  return true;
}

std::vector<std::pair<std::int32_t, std::int32_t>> AnnealingTree::labels_below(
    std::int32_t node) const {
  std::vector<std::pair<std::int32_t, std::int32_t>> leaves;
  std::vector<std::int32_t> open{node};
  while (!open.empty()) {
    const std::int32_t at = open.back();
    open.pop_back();
    if (nodes_[at].is_leaf()) {
      leaves.emplace_back(at, nodes_[at].label);
    } else {
      open.push_back(nodes_[at].left);
      open.push_back(nodes_[at].right);
    }
  }
  return leaves;
}

std::vector<std::int32_t> AnnealingTree::leaves_below(std::int32_t node) const {
  std::vector<std::int32_t> leaves;
  for (const auto& [leaf, label] : labels_below(node)) leaves.push_back(leaf);
  return leaves;
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
