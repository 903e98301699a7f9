// The comparison of a few dense rows with tables whose columns are shuffled, which every fit makes.
// The tables are so small that calls from Python would take most of the time.
#pragma once

#include <cstdint>
#include <vector>

namespace treemeans {

struct SmallTable {
  const double* rows;  // n x d
  const double* weights;
  std::int64_t n;
  std::int32_t d;
};

// How much a comparison does: `monitor/shuffled_columns.py` describes the fields.
struct ShuffleEffort {
  int shuffles, starts, more_starts, rounds;
  bool until_clear;
};

// What it found; `monitor/shuffled_columns.py` describes the fields.
struct ShuffleFindings {
  double share, uniform_share, ratio;
  std::vector<std::int32_t> loose;
};

// work: less what the comparison took (`SmallRows::work`). Below zero if that was more: then it has
// ended early, and what it found says nothing.
ShuffleFindings compare_with_shuffles(const SmallTable& table, const double* centers,
                                      std::int64_t k, const ShuffleEffort& effort,
                                      std::uint64_t seed, double& work);

// Whether a single shuffle is, or one of its clusters, almost as compact as the rows.
bool is_doubtful(const SmallTable& table, const double* centers, std::int64_t k, std::uint64_t seed,
                 double& work);

// Numbers of m rows of n, ascending: one from each of m equally long parts.
std::vector<std::int64_t> draw_rows(std::int64_t n, std::int64_t m, std::uint64_t seed);

}  // namespace treemeans
