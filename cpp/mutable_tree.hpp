// A tree that is changed again and again: leaves are cut, subtrees removed, and every split is
// re-optimised with the rest of the tree fixed.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "binning.hpp"
#include "cut.hpp"
#include "limits.hpp"
#include "node_list.hpp"
#include "points.hpp"

namespace treemeans {

// What a tree is fitted to: the features, and the whole table's regrets (n x k, in fixed point).
struct TreeData {
  const Bins* bins;
  const Points* points;
  const std::int64_t* regrets;
  std::int64_t k;
  Limits limits;
};

// A node. One that has been removed has no rows.
struct Node {
  std::int32_t feature = -1;  // -1: a leaf
  SplitRule rule;
  std::int32_t left = -1, right = -1, parent = -1;
  std::int32_t depth = 0;
  std::int32_t label = 0;
  bool is_optimal = false;  // its split is the best there is, the rest being as it is
  std::shared_ptr<const std::vector<Row>> rows;  // ascending
  std::vector<std::int64_t> totals;              // of a leaf: the regrets of its rows, by center
  bool searched = false;                         // a leaf whose best cut is known
  std::optional<Cut> best;

  bool is_leaf() const { return feature < 0; }
};

// Leaves carry their cheapest center, and none is empty. Copies share the rows of the nodes they
// have in common.
class MutableTree {
 public:
  MutableTree(const TreeData& data, const Row* rows, std::int64_t n);

  const std::vector<Node>& nodes() const { return nodes_.all(); }
  std::int32_t n_leaves() const { return nodes_.n_leaves(); }
  // The label of every row of the table; of no meaning for one that is not in the tree.
  const std::vector<std::int32_t>& labels() const { return labels_; }
  // The leaves' regrets, and the prices of the cuts.
  std::int64_t cost() const;
  // Values read and added so far: a measure of time that is the same on every machine.
  std::int64_t steps() const { return steps_; }

  // Other regrets, and prices to match: every leaf is labelled again, and no
  // split is known to be optimal.
  void reprice(const std::int64_t* regrets, const std::int64_t* prices);
  // The best cut of a leaf at the given prices; none where the limits or the depth forbid any.
  std::optional<Cut> search(std::int32_t leaf, const std::int64_t* prices, int n_threads);
  // Cuts a leaf. False, and nothing done, where a side would be empty, too light or too deep, or
  // the feature may not be cut.
  bool split(std::int32_t leaf, std::int32_t feature, const SplitRule& rule);
  // Cuts a node anew, by the best cut at the given prices, even if that costs more. False, and
  // nothing done, where there is none that the limits permit.
  bool replace_split(std::int32_t node, const std::int64_t* prices, int n_threads);
  // Makes a leaf of a node.
  void collapse(std::int32_t node);
  // Chooses every split of a subtree again, from its root down, until none improves or `max_looks`
  // have been looked at. A split that saves nothing is dropped, with the side of it that costs
  // more. Never raises the cost.
  void reoptimize(std::int32_t root, std::int64_t max_looks, int n_threads);

 private:
  using Rows = std::vector<Row>;
  struct Scratch;
  struct Sides {
    std::vector<std::int64_t> left, right;
    std::int64_t now = 0, all_left = 0, all_right = 0;
  };

  std::int64_t price_of(std::int32_t feature) const;
  std::int64_t scan_steps(std::int64_t n_rows) const;
  void label_leaf(Node& leaf);
  void sum_leaf(Node& leaf);
  bool may_hold(const Rows& rows) const;
  bool fill(std::int32_t node, std::shared_ptr<const Rows> rows);
  std::pair<Rows, Rows> partition(const Rows& rows, std::int32_t feature, const SplitRule& rule);
  void price_in(std::int32_t node, const Rows& rows, std::vector<std::int64_t>& prices);
  const Sides& sides_of(std::int32_t node);  // good until the next call
  std::optional<Cut> best_replacement(std::int32_t node, const Sides& sides, const Limits& limits,
                                      int n_threads);
  void mark_changed(std::int32_t node);
  bool reoptimize_node(std::int32_t node, int n_threads);
  void drop(std::int32_t node, std::int32_t child);
  bool adopt(std::int32_t node, const Cut& cut);

  TreeData data_;
  std::shared_ptr<Scratch> scratch_;
  NodeList<Node> nodes_;
  std::vector<std::int32_t> labels_;
  std::vector<std::int32_t> slot_of_;  // of each feature; -1: none
  std::int64_t steps_ = 0;
};

}  // namespace treemeans
