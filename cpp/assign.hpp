// Rows fall through a tree of thresholds, a block of them at a time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "simd.hpp"
#include "split.hpp"

namespace treemeans {

// Reports for blocks of kTogether rows. In a tree of up to 64 leaves every row has a bit for each
// leaf, numbered from left to right: a cut that sends the row right strikes out the leaves under
// its left child, and the lowest bit that is left is the row's leaf. All rows do the same work, in
// vectors, without a branch. In a larger tree rows walk down in lockstep, so that one waits for
// memory while others move.
class Descent {
 public:
  static constexpr int kTogether = 16;

  explicit Descent(const TreeView& tree) : outcome_(tree.outcome) {
    std::vector<std::int32_t> columns(tree.n_nodes);  // a number for each feature that is cut
    for (std::int32_t i = 0; i < tree.n_nodes; ++i) features_.push_back(tree.feature[i]);
    std::sort(features_.begin(), features_.end());
    features_.erase(std::unique(features_.begin(), features_.end()), features_.end());
    if (features_.front() < 0) features_.erase(features_.begin());
    for (std::int32_t i = 0; i < tree.n_nodes; ++i)
      columns[i] = static_cast<std::int32_t>(
          std::lower_bound(features_.begin(), features_.end(), tree.feature[i]) -
          features_.begin());
    if (tree.n_nodes < 2 * 64) {
      number_leaves(tree, columns);
    } else {
      link_nodes(tree, columns);
    }
  }

  // The features that are cut, ascending. A column is a place in this list.
  const std::vector<std::int32_t>& features() const { return features_; }

  // value(i, column) of the i-th of n <= kTogether rows.
  template <class Value>
  TM_INLINE void run(int n, Value value, std::int32_t* out) const {
    if (nodes_.empty()) {
      strike(n, value, out);
    } else {
      walk(n, value, out);
    }
  }

  // The same with the values set out: columns[column * kTogether + i].
  void run_columns(int n, const double* columns, std::int32_t* out) const {
    if (nodes_.empty()) {
      strike_columns(n, columns, out);
    } else {
      walk(n, [&](int i, std::int32_t column) { return columns[column * kTogether + i]; }, out);
    }
  }

 private:
  struct Cut {
    ThresholdSplit split;
    std::int32_t column;
    std::uint64_t right_leaves;  // all but those under the left child
  };
  struct Node {
    ThresholdSplit split;
    std::int32_t column;
    std::int32_t child[2];  // right, left
  };

  // A leaf leads to itself, whatever the value.
  void link_nodes(const TreeView& tree, const std::vector<std::int32_t>& columns) {
    for (std::int32_t i = 0; i < tree.n_nodes; ++i) {
      if (tree.feature[i] < 0) {
        nodes_.push_back({{std::numeric_limits<double>::infinity()}, 0, {i, i}});
      } else {
        nodes_.push_back({{tree.threshold[i]}, columns[i], {tree.right[i], tree.left[i]}});
      }
    }
  }

  void number_leaves(const TreeView& tree, const std::vector<std::int32_t>& columns) {
    std::vector<std::uint64_t> under(tree.n_nodes, 0);
    std::vector<std::int32_t> stack{0}, inner;
    while (!stack.empty()) {  // left before right
      const std::int32_t node = stack.back();
      stack.pop_back();
      if (tree.feature[node] < 0) {
        under[node] = std::uint64_t{1} << leaves_.size();
        leaves_.push_back(node);
      } else {
        inner.push_back(node);
        stack.push_back(tree.right[node]);
        stack.push_back(tree.left[node]);
      }
    }
    for (auto node = inner.rbegin(); node != inner.rend(); ++node) {  // children first
      under[*node] = under[tree.left[*node]] | under[tree.right[*node]];
      cuts_.push_back({{tree.threshold[*node]}, columns[*node], ~under[tree.left[*node]]});
    }
  }

  template <class Value>
  TM_INLINE void strike(int n, Value value, std::int32_t* out) const {
    alignas(64) double columns[64 * kTogether];
    for (std::size_t j = 0; j < features_.size(); ++j)
      for (int i = 0; i < n; ++i)
        columns[j * kTogether + i] = value(i, static_cast<std::int32_t>(j));
    for (std::size_t j = 0; n < kTogether && j < features_.size(); ++j)
      for (int i = n; i < kTogether; ++i) columns[j * kTogether + i] = 0.0;
    strike_columns(n, columns, out);
  }

  TM_INLINE void strike_columns(int n, const double* columns, std::int32_t* out) const {
    alignas(64) std::uint64_t left[kTogether];
    strike_out(cuts_.data(), static_cast<int>(cuts_.size()), columns, left);
    for (int i = 0; i < n; ++i) out[i] = outcome_[leaves_[std::countr_zero(left[i])]];
  }

  TM_CLONES static void strike_out(const Cut* TM_RESTRICT cuts, int n_cuts,
                                   const double* TM_RESTRICT columns,
                                   std::uint64_t* TM_RESTRICT left) {
    for (int i = 0; i < kTogether; ++i) left[i] = ~std::uint64_t{0};
    for (int j = 0; j < n_cuts; ++j) {
      const double* TM_RESTRICT column = columns + cuts[j].column * kTogether;
      const ThresholdSplit split = cuts[j].split;
      const std::uint64_t right_leaves = cuts[j].right_leaves;
#pragma omp simd
      for (int i = 0; i < kTogether; ++i)
        left[i] &= split.goes_left(column[i]) ? ~std::uint64_t{0} : right_leaves;
    }
  }

  template <class Value>
  TM_INLINE void walk(int n, Value value, std::int32_t* out) const {
    const Node* nodes = nodes_.data();
    std::int32_t at[kTogether] = {};
    std::int32_t moved = 1;
    while (moved != 0) {
      moved = 0;
      for (int i = 0; i < n; ++i) {
        const Node& node = nodes[at[i]];
        const std::int32_t next = node.child[node.split.goes_left(value(i, node.column)) ? 1 : 0];
        moved |= next ^ at[i];
        at[i] = next;
      }
    }
    for (int i = 0; i < n; ++i) out[i] = outcome_[at[i]];
  }

  const std::int32_t* outcome_;
  std::vector<Node> nodes_;           // of a large tree
  std::vector<Cut> cuts_;             // of a small one
  std::vector<std::int32_t> leaves_;  // its leaves, by bit
  std::vector<std::int32_t> features_;
};

}  // namespace treemeans
