// Kauri (Ohl et al. 2024) with the linear kernel: a tree that lowers the k-means cost itself. Each
// step cuts one leaf, and either side joins a cluster, old or new.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cluster_gain.hpp"
#include "limits.hpp"
#include "points.hpp"
#include "vectors.hpp"

namespace treemeans {

// The rows a tree is grown on (ascending), and for every row of the table its weight (null: all 1).
struct KauriRows {
  const Row* rows;
  std::int64_t n;
  const double* weights;
};

struct KauriRules {
  std::int32_t max_clusters;
  Limits limits;                       // its weights are in units of their own; no prices
  std::vector<std::int32_t> features;  // that may be cut, ascending
  std::vector<double> prices;          // of a cut, for each of them
};

// Nodes are numbered as they come: the root is 0, a cut's two sides are the next two.
struct KauriCut {
  std::int32_t node, feature;
  double low, high;  // any threshold in [low, high) makes the cut
  Destination clusters;
  double gain;  // what the k-means cost falls by
};

class Kauri {
 public:
  Kauri(const Points& table, const Points& space, const KauriRows& rows, KauriRules rules,
        int n_threads);
  ~Kauri();

  // Makes the cut with the largest gain less price. Gains that differ by rounding alone are equal:
  // of those the first counts, by node, feature, threshold, and the order of the paper's moves.
  // None where nothing is gained.
  std::optional<KauriCut> step();

 private:
  struct Column;
  struct Leaf;
  struct Spot;

  void add_leaf(std::vector<Position> at, std::int32_t cluster, std::int32_t depth);
  void update_clusters();
  void prepare(Leaf& leaf);
  void prepare_column(Leaf& leaf, std::size_t column, std::vector<double>& scratch);
  void measure(Leaf& leaf, std::size_t column, std::vector<double>& scratch);
  void search(Leaf& leaf, double& floor);
  double search_column(const Leaf& leaf, std::size_t column, double floor) const;
  std::optional<KauriCut> first_cut(const Leaf& leaf, std::size_t column, double at_least) const;
  void remove_from_walks(const Leaf& leaf, const std::vector<Position>& leaving);
  void remove_from_walk(const Leaf& leaf, std::size_t column, Position x,
                        const std::vector<double>& products);
  void share_lengths(const Leaf& leaf, std::size_t column);
  void carry_out(const KauriCut& cut, std::size_t column);
  template <class Visit>
  void walk(const Leaf& leaf, std::size_t column, Visit visit) const;
  bool may_cut(const Leaf& leaf) const;
  LeafSum sum_of(const Leaf& leaf) const;

  KauriRules rules_;  // prices in the vectors' units
  const int n_threads_;
  std::vector<double> squares_;  // before vectors_, which fill them
  std::unique_ptr<Vectors> vectors_;
  std::vector<double> weights_;
  std::vector<std::int64_t> units_;
  std::vector<std::int64_t> work_;  // what each vector adds to the measuring of a leaf
  double slack_;                    // gains this close are equal
  std::vector<Column> columns_;
  std::vector<std::unique_ptr<Leaf>> leaves_;  // in the order they came
  std::int32_t n_nodes_ = 0;
  Clusters clusters_;
  std::vector<std::vector<double>> sums_;  // of the clusters
  // For each vector a line: its product with its leaf's sum, its weight, and its product with
  // every cluster's sum.
  std::int64_t width_;
  std::vector<double> lines_;
};

}  // namespace treemeans
