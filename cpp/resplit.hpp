// One split chosen again, the rest of the tree fixed: every row has a price on either side of it.
#pragma once

#include <cstdint>
#include <optional>

#include "binning.hpp"
#include "cut.hpp"
#include "points.hpp"
#include "terms.hpp"

namespace treemeans {

// The rows of a node (ascending), and what each would cost on either side of its cut.
struct Fork {
  const Row* rows;
  std::int64_t n;
  const std::int64_t* left;
  const std::int64_t* right;
  Terms terms;
};

// The cut with the least sum of prices; ties go to the lowest feature, then the lowest threshold.
// None where all rows are alike, or the terms permit no cut.
std::optional<Cut> least_fork_cut(const Bins& bins, const Points& points, const Fork& fork,
                                  int n_threads);

}  // namespace treemeans
