// One chain of simulated annealing over trees of at most so many leaves.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "annealing_tree.hpp"

namespace treemeans::annealing {

// How rounds are made: all that a chain does not decide by itself.
struct Policy {
  // Chances of the moves: change a feature, regrow anywhere, regrow here, exchange with a child,
  // move a leaf, relabel a leaf, dissolve a cluster, graft, regrow with new centers.
  static constexpr int kMoves = 9;
  double chances[kMoves];
  double hidden_features;     // share of the features that a leaf does not see when it grows again
  double uniform;             // of a node's chance to be changed, as a share of the largest
  double most_temperatures;   // a change that raises the cost by more is not followed up
  double most_after;          // the same once its subtree is optimized
  double most_drift;          // temperatures that moving the centers may save before they move
  double usual_leaves;        // a subtree with more is changed less often
  std::int64_t sampled_rows;  // that a leaf is cut by when it grows again
  std::int64_t looks;         // at cuts, in a subtree that changed
};

// xoshiro256**: the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  std::uint64_t next();
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(uniform() * static_cast<double>(n));
  }

 private:
  std::uint64_t state_[4];
};

// Sums of the clusters of a tree, from which its k-means cost follows.
struct ClusterSums {
  std::vector<double> sums, weights, squares;  // k x dimension; k; k

  void move(const Space& space, Row row, std::int32_t from, std::int32_t to);
  double cost(const Space& space) const;  // about the means
  std::vector<double> means(const Space& space, const std::vector<double>& otherwise) const;
};

// A tree without its rows.
struct Shape {
  struct Part {
    BinCut cut;
    std::int32_t left, right, label;
  };
  std::vector<Part> nodes;  // parents first
  std::vector<double> centers;
  double cost;  // k-means cost, and prices of the cuts
};

// The best tree of a chain, and where rows come to in it: other chains take subtrees of it.
struct Donor {
  std::vector<Shape::Part> nodes;    // parents first
  std::vector<std::int64_t> n_rows;  // of each node
  std::vector<std::int32_t> leaf;    // of each row
};

class Chain {
 public:
  Chain(const Problem& problem, const Shape& start, std::shared_ptr<const Rows> rows,
        std::int32_t n_leaves, std::uint64_t seed);

  // Rounds until so many are made, or so many steps.
  void run(const Policy& policy, std::int64_t n_rounds, std::int64_t n_steps, double from,
           double to);

  // Trees that subtrees are taken from.
  void take_donors(std::vector<std::shared_ptr<const Donor>> donors) {
    donors_ = std::move(donors);
  }
  Donor donor() const;

  const Shape& best() const { return best_; }
  double cost() const { return cost_; }
  bool finished() const { return finished_; }  // no row costs more than with its nearest center
  std::int64_t rounds() const { return rounds_; }
  std::int64_t steps() const { return steps_; }
  const std::vector<std::int64_t>& used() const { return used_; }

 private:
  AnnealingTree build(const Shape& shape) const;
  void round(const Policy& policy, double temperature);
  bool change_subtree(const Policy& policy, int move, std::int64_t limit, std::int64_t limit_after);
  void reoptimize_children(const Policy& policy, std::int32_t node);
  std::int32_t pick_node(const Policy& policy);
  std::vector<std::int32_t> some_slots(const Policy& policy, std::int32_t without);
  bool change(const Policy& policy, int move, std::int32_t node);
  bool regrow_here(const Policy& policy, std::int32_t node);
  void grow_here(const Policy& policy, std::int32_t node, std::int32_t n_leaves);
  bool regrow_anywhere(const Policy& policy, std::int32_t node);
  std::vector<std::pair<std::int64_t, std::int32_t>> losses() const;
  bool move_leaf();
  bool relabel_leaf(const Policy& policy);
  bool dissolve(double most);
  bool graft(const Policy& policy, double temperature, std::int64_t limit,
             std::int64_t limit_after);
  std::int32_t like(std::int32_t node, const Donor& donor) const;
  std::vector<std::int32_t> copy_cuts(std::int32_t node, const Donor& donor, std::int32_t from);
  void prune();
  bool regrow_with_centers(const Policy& policy, double temperature);
  bool take_means(const std::vector<std::int32_t>& leaves, const std::vector<std::int32_t>& labels,
                  double most_rise);
  std::vector<std::int32_t> own_labels(std::int32_t node) const;
  std::vector<double> directions(const std::vector<std::int32_t>& labels, const Rows& rows);
  double cluster_cost(const AnnealingTree& tree, ClusterSums& sums) const;
  double cut_prices(const AnnealingTree& tree) const;
  double drift() const;  // what moving the centers to the means would save
  void recenter();
  void settle(int rounds, bool moved);
  Shape shape() const;

  Problem problem_;
  std::shared_ptr<const Rows> rows_;
  std::int32_t n_leaves_;
  Random random_;
  AnnealingTree tree_, candidate_;
  ClusterSums sums_, candidate_sums_;
  double cost_ = 0.0;
  Shape best_;
  std::vector<std::shared_ptr<const Donor>> donors_;
  bool finished_ = false;
  std::int64_t rounds_ = 0, steps_ = 0;
  std::vector<std::int64_t> used_;  // rounds that were accepted, by move
};

}  // namespace treemeans::annealing
