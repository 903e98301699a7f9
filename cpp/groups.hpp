// Groups of rows that a cut sends to a side each as a whole: categories, and missing values.
#pragma once

#include <cstdint>
#include <vector>

#include "simd.hpp"

namespace treemeans {

// The groups of a node that have rows, and what a search adds up over the rows of each.
struct Groups {
  int width = 0;                   // numbers a group
  std::vector<std::int64_t> sums;  // n x width
  std::vector<std::int64_t> weight;
  std::vector<std::int32_t> code;  // ascending; of the missing values -1, and they come last
  std::int64_t total = 0;          // weight of all

  std::int32_t size() const { return static_cast<std::int32_t>(code.size()); }
  bool is_missing(std::int32_t g) const { return code[g] < 0; }
  bool has_missing() const { return size() > 0 && is_missing(size() - 1); }
  std::int32_t n_categories() const { return size() - (has_missing() ? 1 : 0); }
  const std::int64_t* of(std::int32_t g) const { return sums.data() + std::int64_t{g} * width; }

  // From a histogram of n_values categories and, if there may be, the missing values. counter: the
  // number of a row's statistics that is its weight.
  static Groups of(const std::int64_t* histogram, std::int32_t n_values, bool may_miss, int width,
                   int counter) {
    Groups groups;
    groups.width = width;
    for (std::int32_t g = 0; g < n_values + (may_miss ? 1 : 0); ++g) {
      const std::int64_t* sums = histogram + std::int64_t{g} * width;
      if (sums[counter] == 0) continue;
      groups.sums.insert(groups.sums.end(), sums, sums + width);
      groups.weight.push_back(sums[counter]);
      groups.code.push_back(g < n_values ? g : -1);
      groups.total += sums[counter];
    }
    return groups;
  }
};

// pair_costs[a * n + b] for a < b < n: what the groups cost if each takes the cheaper of a and b.
TM_CLONES inline void add_pair_costs(const Groups& groups, int n,
                                     std::int64_t* TM_RESTRICT pair_costs) {
  for (std::int32_t g = 0; g < groups.size(); ++g) {
    const std::int64_t* TM_RESTRICT s = groups.of(g);
    for (int a = 0; a < n; ++a) {
      std::int64_t* TM_RESTRICT out = pair_costs + a * n;
      const std::int64_t own = s[a];
#pragma omp simd
      for (int b = 0; b < n; ++b) out[b] += s[b] < own ? s[b] : own;
    }
  }
}

}  // namespace treemeans
