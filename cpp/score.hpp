// What searches minimize: how a cut is priced from what is summed left of it, and what no cut
// within a stretch of bins costs less than. Used where the rows are in memory and, through
// bindings, where they are in partitions. (ExGreedy's sums by gap between centers are in
// greedy_score.hpp.)
//
// A score of prefixes says what a cut costs from the sums of the rows' statistics on its left:
//   kWidth                      how many these are, if known at compile time; else 0
//   cost(left)                  of a cut
//   quick_bound(before, after)  no cut costs less whose left side is between these two
//   bound(before, after)        the same; tighter, and slower to compute
// and, for columns of categories (see subset_search.hpp),
//   kSymmetric                  whether the sides of a cut may be exchanged
//   each_pair(groups, visit)    calls visit(cost, adds) for every pair of what the two sides may be
//                               given, cheapest first, until it returns false: what the groups cost
//                               if each goes where it costs less, and what each costs more left
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "groups.hpp"
#include "simd.hpp"

namespace treemeans {

constexpr std::int64_t kNoCost = std::numeric_limits<std::int64_t>::max();  // of no cut at all

template <class Cost>
constexpr Cost worst_cost() {
  return Cost{kNoCost};
}

TM_INLINE std::int64_t least(const std::int64_t* v, int K) {
  std::int64_t m = v[0];
  for (int c = 1; c < K; ++c) m = v[c] < m ? v[c] : m;
  return m;
}

TM_INLINE std::int64_t least_rest(const std::int64_t* all, const std::int64_t* v, int K) {
  std::int64_t m = all[0] - v[0];
  for (int c = 1; c < K; ++c) m = all[c] - v[c] < m ? all[c] - v[c] : m;
  return m;
}

// The sum of both sides' cheapest centers. Sums only grow from bin to bin, so no cut within a
// stretch costs less than the cheapest center before it and the cheapest after it together. In the
// columns that are no center's, sums start with kPad and `all` is larger still: no minimum sees
// those.
template <int W>
struct CheapestCenters {
  static constexpr int kWidth = W;
  static constexpr bool kSymmetric = true;
  int width;
  int n_centers;  // columns that are a center's come first
  const std::int64_t* all;
  std::int64_t unsplit;  // the cost of the leaf as it is

  TM_INLINE int K() const { return W ? W : width; }
  TM_INLINE std::int64_t cost(const std::int64_t* left) const {
    return least(left, K()) + least_rest(all, left, K());
  }
  TM_INLINE std::int64_t quick_bound(const std::int64_t* before, const std::int64_t* after) const {
    return least(before, K()) + least_rest(all, after, K());
  }
  // With one center on both sides a cut saves nothing, so two different ones must be the cheapest.
  TM_INLINE std::int64_t bound(const std::int64_t* before, const std::int64_t* after) const {
    struct Two {  // the least value, where it is, and the next
      std::int64_t first = kNoCost, second = kNoCost;
      int at = -1;
      void add(std::int64_t value, int c) {
        if (value < first) {
          second = first, first = value, at = c;
        } else if (value < second) {
          second = value;
        }
      }
    } left, right;
    for (int c = 0; c < K(); ++c) left.add(before[c], c);
    for (int c = 0; c < K(); ++c) right.add(all[c] - after[c], c);
    if (left.at != right.at) return left.first + right.first;
    return std::min({unsplit, left.first + right.second, left.second + right.first});
  }

  // Only the cheapest center of all groups and those that are cheaper for some group: with another
  // no pair costs less. So it makes no difference which other centers the sums have.
  std::vector<int> worth_pairing(const Groups& groups) const {
    int label = 0;
    while (all[label] != unsplit) ++label;
    std::vector<int> found;
    for (int c = 0; c < n_centers; ++c) {
      bool cheaper = c == label;
      for (std::int32_t g = 0; g < groups.size() && !cheaper; ++g)
        cheaper = groups.of(g)[c] < groups.of(g)[label];
      if (cheaper) found.push_back(c);
    }
    return found;
  }

  template <class Visit>
  void each_pair(const Groups& groups, Visit visit) const {
    const int n = n_centers;
    const std::vector<int> worth = worth_pairing(groups);
    std::vector<std::int64_t> costs(static_cast<std::size_t>(n) * n, 0), adds(groups.size(), 0);
    add_pair_costs(groups, n, costs.data());
    std::vector<std::tuple<std::int64_t, int, int>> pairs{{unsplit, n, n}};
    for (std::size_t i = 0; i < worth.size(); ++i)
      for (std::size_t j = i + 1; j < worth.size(); ++j)
        pairs.emplace_back(costs[worth[i] * n + worth[j]], worth[i], worth[j]);
    std::sort(pairs.begin(), pairs.end());
    for (const auto& [cost, a, b] : pairs) {
      // With the same center on both sides any cut costs as much as none.
      for (std::int32_t g = 0; g < groups.size(); ++g)
        adds[g] = a == n ? 0 : groups.of(g)[a] - groups.of(g)[b];
      if (!visit(cost, adds)) return;
    }
  }
};

// All go right, to begin with; a cut sends those left of it left. Within a stretch none costs less
// than one that takes along every row which saves something, and no other.
struct SmallestPrefix {
  // Statistics of a row: what going left adds, the same where that is negative, and its weight.
  static constexpr int kAdds = 0, kSaves = 1, kWeight = 2, kWidth = 4;
  static constexpr bool kSymmetric = false;
  std::int64_t all_right;

  TM_INLINE std::int64_t cost(const std::int64_t* left) const { return all_right + left[kAdds]; }
  TM_INLINE std::int64_t quick_bound(const std::int64_t* before, const std::int64_t* after) const {
    return all_right + before[kAdds] + (after[kSaves] - before[kSaves]);
  }
  TM_INLINE std::int64_t bound(const std::int64_t* before, const std::int64_t* after) const {
    return quick_bound(before, after);
  }

  template <class Visit>
  void each_pair(const Groups& groups, Visit visit) const {
    std::vector<std::int64_t> adds(groups.size());
    std::int64_t cost = all_right;
    for (std::int32_t g = 0; g < groups.size(); ++g) {
      adds[g] = groups.of(g)[kAdds];
      cost += std::min<std::int64_t>(adds[g], 0);
    }
    visit(cost, adds);
  }
};

// Mistakes by a divisor, and a price: whole + rest / divisor, exactly.
struct MistakeScore {
  std::int64_t whole = kNoCost;
  std::int64_t rest = 0, divisor = 1;

  static MistakeScore of(std::int64_t mistakes, std::int64_t divisor, std::int64_t price) {
    if (divisor == 1) return {price + mistakes, 0, 1};
    return {price + mistakes / divisor, mistakes % divisor, divisor};
  }
  std::weak_ordering operator<=>(const MistakeScore& other) const {
    if (whole != other.whole) return whole <=> other.whole;
    return rest * other.divisor <=> other.rest * divisor;
  }
  bool operator==(const MistakeScore& other) const { return (*this <=> other) == 0; }
};

}  // namespace treemeans
