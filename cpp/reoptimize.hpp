// Re-optimisation of one split, the rest of the tree fixed: every row has a price on either side.
#pragma once

#include <cstdint>
#include <optional>

#include "binning.hpp"
#include "cut.hpp"
#include "limits.hpp"
#include "points.hpp"

namespace treemeans {

// The rows of a node (ascending), and what each would cost on either side of its cut.
struct SplitPrices {
  const Row* rows;
  std::int64_t n;
  const std::int64_t* left;
  const std::int64_t* right;
  Limits limits;
};

// The cut with the least sum of prices; ties go to the lowest feature, then the lowest threshold.
// None where all rows are alike, or the limits permit no cut.
std::optional<Cut> reoptimized_cut(const Bins& bins, const Points& points,
                                   const SplitPrices& prices, int n_threads);

}  // namespace treemeans
