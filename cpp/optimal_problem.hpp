// What the exact solver is given and what it answers.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

namespace treemeans::optimal {

// The table that trees are built on. Values of a feature are ranks: 0, 1, ... in ascending order.
template <class Cost>
struct Problem {
  using Value = typename Cost::Value;
  Cost cost;
  int n_centers;  // 0 where leaves have means of their own
  std::int64_t n_rows;
  int n_features;
  const std::uint32_t* ranks;       // by feature, then row
  const std::uint32_t* n_distinct;  // of each feature
  const Value* columns;             // by row, then column: what costs are computed from
  const double* weights;            // of the rows; null: each weighs 1
  double min_weight;                // of a leaf; at most 0: no limit
  const Value* prices;              // of a cut on each feature; null: all free

  double weight(std::int64_t row) const { return weights ? weights[row] : 1.0; }
  Value price(int feature) const { return prices ? prices[feature] : Value{0}; }
  bool permitted(double weight, double total) const {
    return weight >= min_weight && total - weight >= min_weight;
  }
};

// A tree: null is a leaf. Rows with a rank up to `rank` go left.
struct Branch {
  int feature;
  std::uint32_t rank;
  std::shared_ptr<const Branch> left, right;
};
using BranchPtr = std::shared_ptr<const Branch>;

// Raised when the work or the time is spent, or the user interrupts.
struct Stopped : std::exception {};

// What is known of V(S, l): its value and a tree, or no more than a lower bound.
template <class Value>
struct Answer {
  Value bound = 0;
  bool exact = false;
  BranchPtr tree;
};

struct RowSet {
  std::vector<std::uint32_t> rows;       // ascending
  std::vector<std::uint32_t> low, high;  // least and largest rank that its cuts allow, by feature
  std::array<std::uint64_t, 2> hash{};
};

}  // namespace treemeans::optimal
