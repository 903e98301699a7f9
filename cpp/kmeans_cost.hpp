// What the clusters of k-means cost on a few rows, for the comparison with shuffled columns.
#pragma once

#include <cstdint>

#include "small_rows.hpp"

namespace treemeans {

// How a start of k-means is made and how long it runs.
struct KMeansStart {
  // Centers to start from; null for those that are drawn: numbers below 1, one for the first center
  // and `trials` for each other one, the rows that are tried as a center, of which the best is
  // taken.
  const double* centers;
  const double* draws;
  std::int64_t trials;
  int max_rounds;
  // The run ends once its cost would stay above this if every round that is left saved as much as
  // the last one. Infinite for a run to its end.
  double aim;
};

// Cost of k centers: greedy k-means++ (Arthur and Vassilvitskii 2007), then Lloyd's rounds until
// the centers hardly move. A center without rows moves to the row that costs most.
// work: less what it took (SmallRows::work); the run ends once it is spent.
double kmeans_cost(const SmallRows& points, const double* weights, std::int64_t k,
                   const KMeansStart& start, double& work);

}  // namespace treemeans
