// The search of Algorithm 1: the cut of one leaf that leaves the least surrogate cost.
#pragma once

#include <cstdint>
#include <optional>

#include "binning.hpp"
#include "cut.hpp"
#include "limits.hpp"
#include "points.hpp"

namespace treemeans {

// The rows of one leaf (ascending) and the whole table's regrets, n x k, in fixed point.
struct Leaf {
  const Row* rows;
  std::int64_t n;
  const std::int64_t* regrets;
  std::int64_t k;
  const std::int64_t* totals;  // k: the leaf's sums
  std::int64_t label;          // the leaf's cheapest center
  Limits limits;
};

// The cut with the least sum of both sides' cheapest centers; ties go to the lowest feature, then
// the lowest threshold. None where all rows are alike, or the limits permit no cut.
std::optional<Cut> least_surrogate_cut(const Bins& bins, const Points& points, const Leaf& leaf,
                                       int n_threads);

// sums[c] = sum of regrets[., c] over the rows.
void sum_regrets(const std::int64_t* regrets, std::int64_t k, const Row* rows, std::int64_t n,
                 std::int64_t* sums, int n_threads);

}  // namespace treemeans
