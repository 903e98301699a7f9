// The nodes of a tree that changes: numbers of removed nodes are used again.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "points.hpp"

namespace treemeans {

// Of a node it needs left, right, parent, depth, rows (null: removed) and is_leaf().
template <class Node>
class NodeList {
 public:
  Node& operator[](std::int32_t node) { return nodes_[node]; }
  const Node& operator[](std::int32_t node) const { return nodes_[node]; }
  const std::vector<Node>& all() const { return nodes_; }
  std::int32_t size() const { return static_cast<std::int32_t>(nodes_.size()); }
  std::int32_t n_leaves() const { return n_leaves_; }
  auto begin() { return nodes_.begin(); }
  auto end() { return nodes_.end(); }
  auto begin() const { return nodes_.begin(); }
  auto end() const { return nodes_.end(); }

  // Adds a leaf. -1 as the parent: the root.
  std::int32_t add(std::int32_t parent, std::vector<Row> rows) {
    std::int32_t node = size();
    if (free_.empty()) {
      nodes_.emplace_back();
    } else {
      node = free_.back();
      free_.pop_back();
      nodes_[node] = Node();
    }
    nodes_[node].parent = parent;
    nodes_[node].depth = parent < 0 ? 0 : nodes_[parent].depth + 1;
    nodes_[node].rows = std::make_shared<const std::vector<Row>>(std::move(rows));
    ++n_leaves_;
    return node;
  }

  // Adds the two sides of a leaf, which then is no leaf. The caller sets its cut.
  void add_children(std::int32_t leaf, std::vector<Row> left, std::vector<Row> right) {
    const std::int32_t first = add(leaf, std::move(left)), second = add(leaf, std::move(right));
    nodes_[leaf].left = first;
    nodes_[leaf].right = second;
    --n_leaves_;
  }

  // Removes all below a node, which is a leaf then. The caller removes its cut.
  void remove_children(std::int32_t node) {
    discard(nodes_[node].left);
    discard(nodes_[node].right);
    nodes_[node].left = nodes_[node].right = -1;
    ++n_leaves_;
  }

  // Removes a node and all below it.
  void discard(std::int32_t node) {
    if (nodes_[node].is_leaf()) {
      --n_leaves_;
    } else {
      discard(nodes_[node].left);
      discard(nodes_[node].right);
    }
    nodes_[node] = Node();
    free_.push_back(node);
  }

  // Removes one child of a node, and puts the other in the place, and under the number, of the
  // node.
  void replace_by(std::int32_t node, std::int32_t child) {
    const std::int32_t parent = nodes_[node].parent;
    discard(child == nodes_[node].left ? nodes_[node].right : nodes_[node].left);
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

 private:
  std::vector<Node> nodes_;
  std::vector<std::int32_t> free_;  // removed nodes
  std::int32_t n_leaves_ = 0;
};

}  // namespace treemeans
