// What the k-means cost falls by when a leaf is cut and its sides join clusters (Ohl et al. 2024).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "simd.hpp"

namespace treemeans {

// The clusters' weights, squared lengths of their sums, and those divided by the weights. The cost
// is a constant less the sum of `worth`.
struct Clusters {
  std::vector<double> weight, length, worth;
  std::int32_t max_clusters;

  std::int32_t count() const { return static_cast<std::int32_t>(weight.size()); }
};

// What rows are worth to a cluster: the squared length of their sum by their weight. Weights that
// are differences can come out as 0 or less, where the rows that are left weigh next to nothing.
TM_INLINE double worth_of(double length, double weight) {
  return weight > 0.0 ? length / weight : 0.0;
}

// A leaf: its cluster, and the leaf's sum times each cluster's.
struct LeafSum {
  std::int32_t cluster;
  double weight, length;
  bool whole;  // the leaf is all of its cluster
  const double* dots;

  // What the cluster's worth changes by when the whole leaf goes.
  double leave(const Clusters& clusters) const {
    const double loss = -clusters.worth[cluster];
    if (whole) return loss;
    return loss + worth_of(clusters.length[cluster] - 2.0 * dots[cluster] + length,
                           clusters.weight[cluster] - weight);
  }
};

// One side of a cut: the weight and squared length of its sum, and that sum times each cluster's.
struct Side {
  double weight, length;
  const double* dots;

  double alone() const { return length / weight; }
  double join(const Clusters& clusters, std::int32_t q) const {
    return (clusters.length[q] + 2.0 * dots[q] + length) / (clusters.weight[q] + weight) -
           clusters.worth[q];
  }
  double leave(const Clusters& clusters, std::int32_t q) const {
    return worth_of(clusters.length[q] - 2.0 * dots[q] + length, clusters.weight[q] - weight) -
           clusters.worth[q];
  }
};

struct Destination {
  std::int32_t left, right;
};

constexpr double kNever = -std::numeric_limits<double>::infinity();

// The two largest of a side's gains from joining a cluster other than the leaf's.
struct TopTwo {
  double first = kNever, second = kNever;
  std::int32_t which = -1;

  TM_INLINE TopTwo(const Clusters& clusters, const Side& side, std::int32_t but) {
    for (std::int32_t q = 0; q < clusters.count(); ++q) {
      if (q == but) continue;
      const double gain = side.join(clusters, q);
      if (gain > first) {
        second = first;
        first = gain;
        which = q;
      } else if (gain > second) {
        second = gain;
      }
    }
  }
};

// The largest gain of a cut into two sides, whichever is left.
TM_INLINE double best_gain(const Clusters& clusters, const LeafSum& leaf, double leaf_leaves,
                           const Side& a, const Side& b) {
  const auto larger = [](double x, double y) { return x > y ? x : y; };
  const std::int32_t room = clusters.max_clusters - clusters.count();
  const double both = a.alone() + b.alone() + leaf_leaves;
  if (room >= 2 && !leaf.whole) return both;  // nothing beats two new clusters
  if (room >= 1 && leaf.whole) return both;   // nor one, for a leaf that keeps the other
  const double a_leaves = a.leave(clusters, leaf.cluster);
  const double b_leaves = b.leave(clusters, leaf.cluster);
  const TopTwo of_a(clusters, a, leaf.cluster), of_b(clusters, b, leaf.cluster);
  double gain = larger(a_leaves + of_a.first, b_leaves + of_b.first);
  if (room >= 1) gain = larger(gain, larger(a_leaves + a.alone(), b_leaves + b.alone()));
  if (leaf.whole) return gain;
  const double pair = of_a.which != of_b.which
                          ? of_a.first + of_b.first
                          : larger(of_a.first + of_b.second, of_a.second + of_b.first);
  return larger(gain, leaf_leaves + pair);
}

// The first move, in the order of the paper's list, that gains at least so much.
inline std::optional<Destination> first_move(const Clusters& clusters, const LeafSum& leaf,
                                             const Side& left, const Side& right, double at_least) {
  const std::int32_t c = leaf.cluster, fresh = clusters.count();
  const std::int32_t room = clusters.max_clusters - fresh;
  const double leaf_leaves = leaf.leave(clusters);
  if (room >= 2 && !leaf.whole && left.alone() + right.alone() + leaf_leaves >= at_least)
    return Destination{fresh, fresh + 1};
  const double left_leaves = left.leave(clusters, c), right_leaves = right.leave(clusters, c);
  if (room >= 1 && right_leaves + right.alone() >= at_least) return Destination{c, fresh};
  if (room >= 1 && left_leaves + left.alone() >= at_least) return Destination{fresh, c};
  for (std::int32_t q = 0; q < fresh; ++q)
    if (q != c && left_leaves + left.join(clusters, q) >= at_least) return Destination{q, c};
  for (std::int32_t q = 0; q < fresh; ++q)
    if (q != c && right_leaves + right.join(clusters, q) >= at_least) return Destination{c, q};
  if (leaf.whole) return std::nullopt;
  for (std::int32_t p = 0; p < fresh; ++p)
    for (std::int32_t q = 0; q < fresh; ++q)
      if (p != q && p != c && q != c &&
          leaf_leaves + left.join(clusters, p) + right.join(clusters, q) >= at_least)
        return Destination{p, q};
  return std::nullopt;
}

}  // namespace treemeans
