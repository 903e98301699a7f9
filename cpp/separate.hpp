// Base trees that separate the reference centers (IMM, EMN, ExGreedy): nodes are cut, first come
// first, until each holds one center.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "center_node.hpp"
#include "cut.hpp"
#include "partition.hpp"
#include "surrogate.hpp"

namespace treemeans {

// A leaf and the centers it holds: several where it could not be cut.
using SeparatedLeaf = std::pair<std::int32_t, std::vector<std::int32_t>>;

struct Separation {
  std::vector<std::int64_t> totals;  // the sums of the regrets of all rows
  std::vector<MadeCut> cuts;
  std::vector<SeparatedLeaf> leaves;
};

// The centers: n_features x k, a feature's coordinates lie together; those that get a leaf.
struct CentersToSeparate {
  const double* by_feature;
  std::vector<std::int32_t> members;
};

// No cut depends on the sums of a node, so that the leaves are summed once, after the last cut.
inline void sum_nodes(const Expansion& tree, std::int64_t n_rows, Separation& found) {
  const std::size_t n_nodes = 2 * found.cuts.size() + 1;
  std::vector<std::pair<std::int64_t, std::int64_t>> slice(n_nodes);
  std::vector<std::int32_t> left(n_nodes, 0);
  slice[0] = {0, n_rows};
  for (std::size_t i = 0; i < found.cuts.size(); ++i) {
    const MadeCut& made = found.cuts[i];
    const auto [begin, end] = slice[made.node];
    const std::size_t child = 2 * i + 1;
    left[made.node] = static_cast<std::int32_t>(child);
    slice[child] = {begin, begin + made.n_left};
    slice[child + 1] = {begin + made.n_left, end};
  }
  std::vector<std::vector<std::int64_t>> totals(n_nodes,
                                                std::vector<std::int64_t>(tree.regrets.k(), 0));
  for (std::size_t node = n_nodes; node-- > 0;) {  // children come after their parent
    const auto [begin, end] = slice[node];
    if (left[node] == 0) {
      sum_regrets(tree.regrets, tree.rows + begin, end - begin, totals[node].data(),
                  tree.n_threads);
      continue;
    }
    for (std::int64_t c = 0; c < tree.regrets.k(); ++c)
      totals[node][c] = totals[left[node]][c] + totals[left[node] + 1][c];
  }
  for (std::size_t i = 0; i < found.cuts.size(); ++i)
    found.cuts[i].left_totals = std::move(totals[2 * i + 1]);
  found.totals = std::move(totals[0]);
}

// find(node): the best cut of a CenterNode with one of its centers on either side, or none.
// made(rows, n, n_left, left): a node was cut; left[c] says whether center c went left.
template <class Find, class Made>
Separation separate_centers(const Expansion& tree, std::int64_t n_rows, CentersToSeparate centers,
                            const Find& find, const Made& made,
                            const std::function<void(std::int64_t)>& tell) {
  struct Open {
    GrowingLeaf leaf;
    std::vector<std::int32_t> members;
  };
  Separation found;
  std::deque<Open> queue;
  queue.push_back({{0, 0, 0, n_rows, {}}, std::move(centers.members)});
  std::vector<std::uint8_t> goes_left(tree.regrets.k());
  while (!queue.empty()) {
    const Open open = std::move(queue.front());
    queue.pop_front();
    const GrowingLeaf& leaf = open.leaf;
    Row* rows = tree.rows + leaf.begin;
    const std::int64_t n = leaf.end - leaf.begin;
    std::optional<Cut> cut;
    if (open.members.size() > 1 && may_cut(tree, leaf))
      cut = find(CenterNode{rows, n, centers.by_feature, tree.regrets.k(), open.members});
    if (!cut) {
      found.leaves.emplace_back(leaf.node, open.members);
      continue;
    }
    MadeCut cut_made{leaf.node, *cut, 0, {}, {}};
    cut_made.n_left = partition(tree.points, tree.bins, rows, n, cut->feature, cut->rule(),
                                tree.n_threads, cut_made.margin);
    const double* at = centers.by_feature + std::int64_t{cut->feature} * tree.regrets.k();
    const double threshold = cut->threshold();
    for (std::int64_t c = 0; c < tree.regrets.k(); ++c) goes_left[c] = at[c] <= threshold ? 1 : 0;
    made(rows, n, cut_made.n_left, goes_left.data());
    const auto n_cuts = static_cast<std::int32_t>(found.cuts.size());
    const std::int64_t middle = leaf.begin + cut_made.n_left;
    Open left{{2 * n_cuts + 1, leaf.depth + 1, leaf.begin, middle, {}}, {}};
    Open right{{2 * n_cuts + 2, leaf.depth + 1, middle, leaf.end, {}}, {}};
    for (std::int32_t c : open.members) (goes_left[c] ? left : right).members.push_back(c);
    queue.push_back(std::move(left));
    queue.push_back(std::move(right));
    found.cuts.push_back(std::move(cut_made));
    tell(n_cuts + 2);
  }
  sum_nodes(tree, n_rows, found);
  return found;
}

}  // namespace treemeans
