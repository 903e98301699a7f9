// The comparison of a few dense rows with shuffled columns, which every fit makes: what the
// clusters of k-means cost, and how far rows spread. The tables are so small that calls from Python
// would take most of the time.
#pragma once

#include <cstdint>

namespace treemeans {

// How a start of k-means is made and how long it runs.
struct KMeansStart {
  const double* draws;  // numbers below 1: one for the first center, `trials` for each other one
  std::int64_t trials;  // rows that are tried as a center, of which the best is taken
  int max_rounds;
  // The run ends once its cost would stay above this if every round that is left saved as much as
  // the last one. Infinite for a run to its end.
  double aim;
};

// Cost of k centers: greedy k-means++ (Arthur and Vassilvitskii 2007), then Lloyd's rounds until
// the centers hardly move. A center without rows moves to the row that costs most.
double kmeans_cost(const double* rows, const double* weights, std::int64_t n, std::int32_t d,
                   std::int64_t k, const KMeansStart& start);

// out[c]: mean squared distance to center c of the rows nearest to it; NaN where these are fewer
// than `least`, or without weight.
void spread_around(const double* rows, const double* weights, std::int64_t n, std::int32_t d,
                   const double* centers, std::int64_t k, std::int64_t least, double* out);

// Every column in a random order of its own. out: n x d zeros.
void shuffle_columns(const double* rows, std::int64_t n, std::int32_t d, std::uint64_t seed,
                     double* out);

}  // namespace treemeans
