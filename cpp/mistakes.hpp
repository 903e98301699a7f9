// The search of IMM and EMN: the cut of a node that parts the fewest points from their center.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "binning.hpp"
#include "center_node.hpp"
#include "cut.hpp"
#include "points.hpp"
#include "threshold_range.hpp"

namespace treemeans {

// What every row is to the search: its nearest center and its weight (null: all 1). A row once
// separated from its center is not alive: it still falls through the tree, but counts no more.
struct Membership {
  const std::int32_t* nearest;
  const std::int64_t* weights;
  std::uint8_t* alive;
};

// What is least: the mistakes (IMM), or the mistakes for each center on the side that has fewer of
// them (EMN).
enum class Rule { mistakes, mistakes_per_center };

// Prices are in units of which a mistake is 2^shift.
struct MistakeNode : CenterNode {
  Membership membership;
  Rule rule;
  int shift;
};

// Weight per slot, center and bin of the rows that are alive. A cut leaves every center's rows
// together except those that are separated, so one pass over the data serves the whole tree. Count
// is 32 bits wide for plain rows, 64 for weights.
template <class Count>
class MistakeCounts {
 public:
  MistakeCounts(const Bins& bins, std::int64_t k, const Membership& rows, int n_threads);

  // A node has been cut: the first n_left of its rows went left, and so did the centers flagged in
  // `left` (k of them). Rows that did not go with their center leave the counts.
  void remove_separated(const Row* rows, std::int64_t n, std::int64_t n_left,
                        const Membership& membership, const std::uint8_t* left, int n_threads);

  // The cut with the fewest mistakes, by the node's rule, that leaves one of its centers on either
  // side; ties go to the lowest feature, then the lowest threshold. None where the members coincide
  // or the limits leave no range.
  std::optional<Cut> least_mistakes_cut(const Points& points, const MistakeNode& node,
                                        const Limits& limits, int n_threads) const;

 private:
  void add(const Row* rows, std::int64_t n, const Membership& membership, Count sign,
           int n_threads);
  void add_few(const Row* rows, std::int64_t n, const std::int32_t* center, const Count* weights,
               Count sign);
  void add_many(const Row* rows, std::int64_t n, const std::int32_t* center, const Count* weights,
                Count sign, int n_threads);
  void add_missing();

  // Where a sparse bin's counts are: center c's at first + c * step.
  struct Spot {
    std::int64_t first, step;
  };

  const Bins& bins_;
  std::int64_t k_;
  std::vector<Spot> sparse_spots_;
  std::vector<Count> counts_;  // slot by slot, k x its bins
  std::vector<Count> totals_;  // k
};

}  // namespace treemeans
