#include "annealing_tree.hpp"

#include <algorithm>
#include <limits>

#include "annealing_leaf_cut.hpp"
#include "simd.hpp"

namespace treemeans::annealing {

AnnealingTree::AnnealingTree(const Problem& problem, std::shared_ptr<const Prices> prices,
                             const Rows& rows)
    : problem_(problem), prices_(std::move(prices)), labels_(problem.table->n_rows, 0) {
  nodes_.add(-1, rows);
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
  for (std::int32_t node = 0; node < nodes_.size(); ++node) {
    const Node& leaf = nodes_[node];
    if (!leaf.rows || !leaf.is_leaf()) continue;
    const auto least = std::min_element(leaf.totals.begin(), leaf.totals.end());
    if (*least < leaf.totals[leaf.label])
      relabel(node, static_cast<std::int32_t>(least - leaf.totals.begin()));
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
    nodes_.replace_by(node, first.empty() ? right : left);
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
  nodes_.add_children(leaf, std::move(first), std::move(second));
  Node& node = nodes_[leaf];
  set_cut(node, cut);
  node.is_optimal = false;
  node.gains.reset();
  node.weights.reset();
  Node& smaller = nodes_[left_is_smaller ? node.left : node.right];
  Node& larger = nodes_[left_is_smaller ? node.right : node.left];
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
  nodes_.remove_children(node);
  Node& leaf = nodes_[node];
  leaf.cut = BinCut();
  leaf.gains.reset();
  leaf.weights.reset();
  leaf.totals = std::move(totals);
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
  nodes_[node].gains.reset();
  if (adopt(node, lower)) return true;
  if (before) {
    const std::int64_t steps = steps_;
    *this = std::move(*before);
    steps_ = steps;
  }
  return false;
}

// ---- growth -------------------------------------------------------------------------------------

BinCut AnnealingTree::search(std::int32_t leaf, const std::vector<std::int32_t>& slots,
                             std::int64_t max_rows) {
  const Node& node = nodes_[leaf];
  if (!problem_.limits.permits_depth(node.depth)) return BinCut();
  const LeafCut found = search_leaf_cut(*problem_.table, problem_.limits, *prices_, *node.rows,
                                        node.label, slots, max_rows);
  steps_ += found.steps;
  return found.cut;
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

void AnnealingTree::grow(std::int32_t n_leaves, AnnealingTree* origin) {
  std::vector<std::pair<std::int64_t, std::int32_t>> leaves;  // the costliest first
  while (this->n_leaves() < n_leaves) {
    leaves.clear();
    for (std::int32_t node = 0; node < nodes_.size(); ++node)
      if (nodes_[node].rows && nodes_[node].is_leaf()) leaves.emplace_back(-regret(node), node);
    std::sort(leaves.begin(), leaves.end());
    std::int32_t chosen = -1;
    std::int64_t most = 0;
    for (const auto& [saved, node] : leaves) {
      if (-saved <= most) break;  // no cut saves more than the leaf costs
      Node& leaf = nodes_[node];
      if (!leaf.is_searched && origin && node < origin->nodes_.size() &&
          origin->prices_ == prices_ && origin->nodes_[node].rows == leaf.rows &&
          origin->nodes_[node].is_leaf() && origin->nodes_[node].label == leaf.label) {
        leaf.best = origin->best_cut(node);
        leaf.is_searched = true;
      }
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

}  // namespace treemeans::annealing
