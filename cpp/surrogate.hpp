// Algorithm 1: leaves are cut, the one with the largest gain first; and its search for the cut of
// one leaf that leaves the least surrogate cost.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "binning.hpp"
#include "cut.hpp"
#include "limits.hpp"
#include "points.hpp"
#include "regrets.hpp"

namespace treemeans {

// The rows of one leaf (ascending) and the whole table's regrets.
struct Leaf {
  const Row* rows;
  std::int64_t n;
  RegretTable regrets;
  const std::int64_t* totals;  // k: the leaf's sums
  std::int64_t label;          // the leaf's cheapest center
  Limits limits;
};

// The cut with the least sum of both sides' cheapest centers; ties go to the lowest feature, then
// the lowest threshold. None where all rows are alike, or the limits permit no cut.
std::optional<Cut> least_surrogate_cut(const Bins& bins, const Points& points, const Leaf& leaf,
                                       int n_threads);

// sums[c] = sum of regrets[., c] over the rows.
void sum_regrets(const RegretTable& regrets, const Row* rows, std::int64_t n, std::int64_t* sums,
                 int n_threads);

// A leaf of a tree under construction: rows [begin, end) of those of the tree.
struct GrowingLeaf {
  std::int32_t node, depth;
  std::int64_t begin, end;
  std::vector<std::int64_t> totals;

  std::int64_t cheapest() const;
  // What its rows cost beyond each one's cheapest center, with the best label.
  std::int64_t regret() const { return totals[cheapest()]; }
};

// A cut that was made. The children are the next two nodes.
struct MadeCut {
  std::int32_t node;
  Cut cut;
  std::int64_t n_left;
  Margin margin;
  std::vector<std::int64_t> left_totals;
};

// What expand() works on: the rows of all leaves, which it sorts into those of their children.
struct Expansion {
  const Bins& bins;
  const Points& points;
  Row* rows;
  RegretTable regrets;
  const Limits& limits;
  int n_threads;
};

// Whether the limits leave room for a cut of a leaf.
bool may_cut(const Expansion& tree, const GrowingLeaf& leaf);

// Cuts the leaf with the largest gain until there are max_leaves, or every leaf is pure; the cuts
// in their order. n_nodes: of the tree so far. tell(n_leaves) is called after every search and cut.
std::vector<MadeCut> expand(const Expansion& rows, std::vector<GrowingLeaf> leaves,
                            std::int32_t n_nodes, std::int64_t max_leaves,
                            const std::function<void(std::int64_t)>& tell);

}  // namespace treemeans
