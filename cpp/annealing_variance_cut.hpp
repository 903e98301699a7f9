// Cuts that lower the variance of a few sampled rows: unlike cuts chosen by costs to given centers,
// they can find clusters that no center stands for yet.
#pragma once

#include <cstdint>
#include <vector>

#include "annealing_table.hpp"

namespace treemeans::annealing {

// Sampled rows of a subtree, in a few directions of the space of the centers.
class ProjectedRows {
 public:
  static constexpr int kDirections = 7;
  static constexpr int kWidth = kDirections + 1;  // and the weight

  // `directions`: vectors of the space, in the order of what matters. They are made orthogonal,
  // and those that depend on others are left out; a space of few dimensions is taken whole.
  ProjectedRows(const Space& space, std::vector<Row> rows, std::vector<double> directions);

  // Numbers of the rows.
  std::vector<std::int32_t> all() const;

  struct Cut {
    BinCut cut;         // slot -1: none
    double gain = 0.0;  // what it saves of the sum of squares, less its price
  };
  // The best cut of some of the rows on some slots. `scale`: rows that a sampled row stands for.
  Cut best_cut(const BinTable& table, const Limits& limits, double unit, double scale,
               const std::vector<std::int32_t>& members, const std::vector<std::int32_t>& slots);
  // Members that go left, and the others.
  void part(const BinTable& table, const BinCut& cut, const std::vector<std::int32_t>& members,
            std::vector<std::int32_t>& left, std::vector<std::int32_t>& right) const;
  std::int64_t steps() const { return steps_; }

 private:
  std::vector<Row> rows_;
  std::vector<double> values_;  // rows x kWidth, times the weight
  std::vector<double> sums_;    // bins x kWidth, all zero between searches
  std::int64_t steps_ = 0;
};

}  // namespace treemeans::annealing
