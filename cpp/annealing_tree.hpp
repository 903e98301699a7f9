// A tree that annealing changes. Every node keeps, per bin, what its rows would save on the other
// side of its cut, so that after a change elsewhere only the rows whose price changed are added.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "annealing_table.hpp"
#include "node_list.hpp"

namespace treemeans::annealing {

using Rows = std::vector<Row>;
using Sums = std::vector<std::int64_t>;

// What all trees of a search read.
struct Problem {
  const BinTable* table;
  const Space* space;
  Limits limits;  // prices: of the slots, in units of the costs
};

constexpr std::int64_t kMoveSteps = 4;  // a row that is sent to a side takes about as long

struct Node {
  BinCut cut;  // slot -1: a leaf
  BinSet goes_left;
  std::int32_t left = -1, right = -1, parent = -1, depth = 0, label = 0;
  bool is_optimal = false;           // no other cut is cheaper, the rest being as it is
  std::shared_ptr<const Rows> rows;  // ascending; null: the node was removed
  // For each row, the leaf it would come to if it were sent to the sibling. Null: not known.
  std::shared_ptr<const std::vector<std::int32_t>> elsewhere;
  // By bin: price on the left less price on the right. Null: not known.
  std::shared_ptr<const Sums> gains;
  std::shared_ptr<const Sums> weights;  // by bin, where leaves must weigh something
  std::int64_t now = 0, all_right = 0;  // prices of all rows; good if `gains` is known
  Sums totals;                          // of a leaf: regrets by center
  bool is_searched = false;             // a leaf whose best cut is known: slot -1 for none
  BinCut best;

  bool is_leaf() const { return cut.slot < 0; }
};

class AnnealingTree {
 public:
  AnnealingTree(const Problem& problem, std::shared_ptr<const Prices> prices, const Rows& rows);

  const std::vector<Node>& nodes() const { return nodes_.all(); }
  const Prices& prices() const { return *prices_; }
  const std::vector<std::int32_t>& labels() const { return labels_; }
  std::int32_t n_leaves() const { return nodes_.n_leaves(); }
  std::int64_t steps() const { return steps_; }
  void forget_steps() { steps_ = 0; }
  // Regrets of the leaves, and prices of the cuts.
  std::int64_t cost() const;
  std::int64_t regret(std::int32_t leaf) const { return nodes_[leaf].totals[nodes_[leaf].label]; }

  std::vector<std::int32_t> leaves_below(std::int32_t node) const;

  void reprice(std::shared_ptr<const Prices> prices);
  bool split(std::int32_t leaf, const BinCut& cut);
  void collapse(std::int32_t node);
  // Cuts a node anew by the best cut of the given slots, whatever it costs.
  bool replace_cut(std::int32_t node, const std::vector<std::int32_t>& slots);
  // Exchanges the cut of a node and that of its child.
  bool exchange(std::int32_t node, std::int32_t child);
  // Gives a leaf another label; and every leaf its cheapest.
  void relabel(std::int32_t leaf, std::int32_t label);
  void relabel_cheapest();
  // The best cut of a leaf on some slots, from at most `max_rows` of its rows; slot -1: none.
  BinCut search(std::int32_t leaf, const std::vector<std::int32_t>& slots, std::int64_t max_rows);
  // The best cut of a leaf on all slots, remembered.
  const BinCut& best_cut(std::int32_t leaf);
  // Cuts leaves by their best cuts, the largest gain first, up to so many leaves. `origin`: the
  // tree that this is a changed copy of; the best cuts of leaves that are still the same are
  // searched, and remembered, there, so that the next copy knows them.
  void grow(std::int32_t n_leaves, AnnealingTree* origin = nullptr);
  // Chooses every cut of a subtree again until none improves or `max_looks` are made. What is
  // above the subtree is not told: `Change` does that.
  void reoptimize(std::int32_t root, std::int64_t max_looks);
  // The same for the nodes from one up to the root, each with its subtree.
  void climb(std::int32_t node, std::int64_t max_looks);

  // Takes what the nodes above one would save from the tree that this is a copy of, where they are
  // the same; it is summed there, if it is not known, so that the next copy knows it.
  void take_sums_above(std::int32_t node, AnnealingTree& origin);

  // What a subtree was before a change, from which the nodes above it are brought up to date.
  struct Change {
    std::int32_t node;
    std::vector<std::pair<std::int32_t, std::int32_t>> leaves;  // and their labels
    std::vector<std::int32_t> labels;                           // of the rows
  };
  Change begin_change(std::int32_t node) const;
  // Brings the sums up to date of nodes above the change, as far as `top`, which is one of them (or
  // the changed node: none; or -1: all).
  void end_change(const Change& change, std::int32_t top);

 private:
  std::int64_t price_of(std::int32_t slot) const;
  void set_cut(Node& node, const BinCut& cut);
  void sum_leaf(Node& leaf);
  void label_leaf(Node& leaf);
  bool may_hold(const Rows& rows) const;
  bool fill(std::int32_t node, std::shared_ptr<const Rows> rows);
  std::pair<Rows, Rows> partition(const Rows& rows, const Node& node);
  std::int32_t leaf_of(std::int32_t node, Row row) const;
  void route(std::int32_t child, std::int32_t sibling);
  void add_row(Sums& sums, Row row, std::int64_t value) const;
  void sum_gains(std::int32_t node);
  void sum_weights(std::int32_t node);
  BinCut best_replacement(std::int32_t node, const std::vector<std::int32_t>* slots);
  bool improve(std::int32_t node, std::int32_t top, std::int64_t max_looks);
  void drop(std::int32_t node, std::int32_t child);
  bool adopt(std::int32_t node, const BinCut& cut);
  // The leaves of a subtree, and their labels.
  std::vector<std::pair<std::int32_t, std::int32_t>> labels_below(std::int32_t node) const;

  Problem problem_;
  std::shared_ptr<const Prices> prices_;
  NodeList<Node> nodes_;
  std::vector<std::int32_t> labels_;  // of the rows
  std::int64_t steps_ = 0;
};

}  // namespace treemeans::annealing
