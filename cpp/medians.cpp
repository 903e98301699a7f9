#include "medians.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "parallel.hpp"

namespace treemeans {
namespace {

// Reorders the values.
double median_of(double* first, double* last) {
  const std::int64_t n = last - first;
  double* middle = first + n / 2;
  std::nth_element(first, middle, last);
  if (n % 2 == 1) return *middle;
  const double below = *std::max_element(first, middle);
  return below + (*middle - below) / 2;
}

// The first value at which half of the weight is reached; half way to the next if it is met
// exactly.
double weighted_median_of(std::pair<double, double>* first, std::pair<double, double>* last) {
  std::sort(first, last);
  double total = 0.0, upto = 0.0;
  for (const auto* each = first; each != last; ++each) total += each->second;
  for (const auto* each = first; each != last; ++each) {
    upto += each->second;
    if (upto * 2 < total) continue;
    const bool met = upto * 2 == total && each + 1 != last;
    return met ? each->first + (each[1].first - each->first) / 2 : each->first;
  }
  return (last - 1)->first;
}

}  // namespace

void group_medians(const Points& points, const std::int32_t* groups, std::int64_t n_groups,
                   const double* weights, double* medians, double* costs, int n_threads) {
  const std::int64_t n = points.n_rows, d = points.n_features;
  const auto* sparse = dynamic_cast<const SparsePoints*>(&points);
  if (sparse && !sparse->by_column.indptr)
    throw std::invalid_argument("medians need the columns of a sparse table");
  // Places of the rows once they are sorted by group; rows without weight have none.
  std::vector<std::int64_t> begin(n_groups + 1, 0), place(n, -1);
  for (std::int64_t i = 0; i < n; ++i)
    if (!weights || weights[i] > 0) ++begin[groups[i] + 1];
  for (std::int64_t g = 0; g < n_groups; ++g) begin[g + 1] += begin[g];
  std::vector<std::int64_t> next(begin.begin(), begin.end() - 1);
  for (std::int64_t i = 0; i < n; ++i)
    if (!weights || weights[i] > 0) place[i] = next[groups[i]]++;
  std::vector<Row> all(n);
  for (std::int64_t i = 0; i < n; ++i) all[i] = static_cast<Row>(i);

  struct Scratch {
    std::vector<double> column, values;
    std::vector<std::pair<double, double>> weighted;
  };
  // Costs by group and feature, so that they are added in the same order for any threads.
  std::vector<double> parts(n_groups * d, 0.0);
  parallel_for(
      d, 1, threads_for(n * d * 8, n_threads),
      [&] {
        Scratch scratch;
        scratch.column.resize(n);
        if (weights) {
          scratch.weighted.resize(begin[n_groups]);
        } else {
          scratch.values.resize(n);
        }
        return scratch;
      },
      [&](Scratch& scratch, std::int64_t f) {
        const double* column = scratch.column.data();
        points.column(static_cast<std::int32_t>(f), all.data(), n, scratch.column.data());
        for (std::int64_t i = 0; i < n; ++i) {
          if (place[i] < 0) continue;
          if (weights) {
            scratch.weighted[place[i]] = {column[i], weights[i]};
          } else {
            scratch.values[place[i]] = column[i];
          }
        }
        for (std::int64_t g = 0; g < n_groups; ++g) {
          if (begin[g] == begin[g + 1]) continue;
          double& median = medians[g * d + f];
          double cost = 0.0;
          if (weights) {
            auto *first = scratch.weighted.data() + begin[g],
                 *last = first + begin[g + 1] - begin[g];
            median = weighted_median_of(first, last);
            for (const auto* each = first; each != last; ++each)
              cost += each->second * std::abs(each->first - median);
          } else {
            double *first = scratch.values.data() + begin[g],
                   *last = first + begin[g + 1] - begin[g];
            median = median_of(first, last);
            for (const double* each = first; each != last; ++each) cost += std::abs(*each - median);
          }
          parts[g * d + f] = cost;
        }
      },
      [](Scratch&) {});
  for (std::int64_t g = 0; g < n_groups; ++g) {
    costs[g] = 0.0;
    for (std::int64_t f = 0; f < d; ++f) costs[g] += parts[g * d + f];
  }
}

}  // namespace treemeans
