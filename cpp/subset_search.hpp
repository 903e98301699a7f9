// The search for the best cut of a column of categories: each category, and the missing values as
// one more group, goes left or right.
//
// With center a on the left and b on the right, every group goes where it costs less. So the best
// cut costs the least, over all pairs (a, b), of the sum of min(S[g][a], S[g][b]) over the groups
// g: exact, in O(k^2 m). With a limit on the number of categories that are listed it stays exact:
// of those that would go to that side, the ones that save most go. A least weight of a side makes
// it a knapsack problem: of up to kAllSubsets groups every subset is tried; of more, groups change
// sides in the order of what they cost for their weight, which need not be the best choice.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "cut.hpp"
#include "groups.hpp"
#include "limits.hpp"
#include "score.hpp"

namespace treemeans {

constexpr std::int32_t kAllSubsets = 12;

// Which groups go left, and what that costs without the price of the column.
struct Subset {
  std::int64_t cost = kNoCost;
  std::vector<std::uint8_t> left;
};

// Finds subsets that the limits permit. Where the sides may be exchanged, the shorter list of
// categories counts, otherwise the left one.
template <class Score>
class SubsetSearch {
 public:
  SubsetSearch(const Score& score, const Groups& groups, const Limits& limits,
               const std::int64_t* start)
      : score_(score), groups_(groups), limits_(limits), start_(start, start + groups.width) {}

  Subset run() {
    if (groups_.size() < 2) return best_;
    std::int64_t bound = kNoCost;
    score_.each_pair(groups_, [&](std::int64_t cost, const std::vector<std::int64_t>& adds) {
      bound = std::min(bound, cost);
      if (cost >= best_.cost) return false;  // the others cost no less
      try_pair(adds);
      return true;
    });
    if (best_.cost > bound && limits_.asks_for_weight() && groups_.size() <= kAllSubsets) try_all();
    return best_;
  }

 private:
  struct Side {
    std::int64_t weight = 0;
    std::int32_t n_categories = 0, n = 0;
  };

  Side left_of(const std::vector<std::uint8_t>& left) const {
    Side side;
    for (std::int32_t g = 0; g < groups_.size(); ++g) {
      if (!left[g]) continue;
      side.weight += groups_.weight[g];
      ++side.n;
      side.n_categories += groups_.is_missing(g) ? 0 : 1;
    }
    return side;
  }

  bool few_enough(std::int32_t n_left) const {
    const std::int32_t n_right = groups_.n_categories() - n_left;
    return limits_.permits_categories(Score::kSymmetric ? std::min(n_left, n_right) : n_left);
  }

  void offer(const std::vector<std::uint8_t>& left) {
    const Side side = left_of(left);
    if (side.n == 0 || side.n == groups_.size() || !few_enough(side.n_categories) ||
        !limits_.permits(side.weight, groups_.total - side.weight))
      return;
    std::vector<std::int64_t> sums = start_;
    for (std::int32_t g = 0; g < groups_.size(); ++g)
      for (int c = 0; left[g] && c < groups_.width; ++c) sums[c] += groups_.of(g)[c];
    const std::int64_t cost = score_.cost(sums.data());
    if (cost < best_.cost) best_ = {cost, left};
  }

  // Every subset; from one to the next a single group changes sides.
  void try_all() {
    const std::uint32_t n = std::uint32_t{1} << groups_.size();
    std::vector<std::uint8_t> left(groups_.size(), 0);
    for (std::uint32_t i = 1; i < n; ++i) {
      const int g = std::countr_zero(i);
      left[g] ^= 1;
      offer(left);
    }
  }

  // adds: what each group costs more on the left than on the right.
  void try_pair(const std::vector<std::int64_t>& adds) {
    std::vector<std::uint8_t> left(groups_.size());
    for (std::int32_t g = 0; g < groups_.size(); ++g) left[g] = adds[g] < 0;
    if (few_enough(left_of(left).n_categories)) {
      offer_filled(left, adds);
      return;
    }
    offer_filled(shortened(left, adds, 1), adds);
    if (Score::kSymmetric) offer_filled(shortened(left, adds, 0), adds);
  }

  // The same with all but `max_categories` of a side's categories on the other: those that lose
  // most there stay.
  std::vector<std::uint8_t> shortened(std::vector<std::uint8_t> left,
                                      const std::vector<std::int64_t>& adds,
                                      std::uint8_t side) const {
    std::vector<std::int32_t> here;
    for (std::int32_t g = 0; g < groups_.n_categories(); ++g)
      if (left[g] == side) here.push_back(g);
    std::stable_sort(here.begin(), here.end(), [&](std::int32_t a, std::int32_t b) {
      return side ? adds[a] < adds[b] : adds[a] > adds[b];
    });
    for (std::size_t i = 0; i < here.size(); ++i)
      if (!limits_.permits_categories(static_cast<std::int32_t>(i) + 1)) left[here[i]] = 1 - side;
    return left;
  }

  // Fills up a side that is empty or too light: what costs least for its weight goes there first.
  void offer_filled(std::vector<std::uint8_t> left, const std::vector<std::int64_t>& adds) {
    for (const std::uint8_t side : {std::uint8_t{1}, std::uint8_t{0}}) {
      const Side now = left_of(left);
      std::int64_t weight = side ? now.weight : groups_.total - now.weight;
      std::int32_t n = side ? now.n : groups_.size() - now.n;
      if (n > 0 && limits_.permits_side(weight)) continue;
      std::vector<std::int32_t> others;
      for (std::int32_t g = 0; g < groups_.size(); ++g)
        if (left[g] != side) others.push_back(g);
      const auto price = [&](std::int32_t g) { return side ? adds[g] : -adds[g]; };
      const auto per_weight = [&](std::int32_t g) {
        return static_cast<double>(price(g)) / static_cast<double>(groups_.weight[g]);
      };
      std::stable_sort(others.begin(), others.end(), [&](std::int32_t a, std::int32_t b) {
        return limits_.asks_for_weight() ? per_weight(a) < per_weight(b) : price(a) < price(b);
      });
      for (const std::int32_t g : others) {
        if (n > 0 && limits_.permits_side(weight)) break;
        left[g] = side, weight += groups_.weight[g], ++n;
      }
    }
    offer(left);
  }

  const Score& score_;
  const Groups& groups_;
  const Limits& limits_;
  const std::vector<std::int64_t> start_;
  Subset best_;
};

// The cut that sends a subset left. may_miss: whether the column has missing values anywhere; of
// groups without any, the heavier side takes those to come. Where sides may be exchanged, the one
// with fewer categories is listed, so a category that never occurred goes with the larger number;
// of equal numbers the lighter one, then the one without the first category.
inline Cut subset_cut(const Groups& groups, const Subset& subset, std::int32_t feature,
                      bool may_miss, bool symmetric) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::int32_t> codes[2];
  std::int64_t weight[2] = {0, 0};
  for (std::int32_t g = 0; g < groups.size(); ++g) {
    weight[subset.left[g]] += groups.weight[g];
    if (!groups.is_missing(g)) codes[subset.left[g]].push_back(groups.code[g]);
  }
  const auto rank = [&](int side) {
    return std::tuple(codes[side].size(), weight[side], subset.left[0] == side);
  };
  const int left = symmetric && rank(0) < rank(1) ? 0 : 1;
  Cut cut{subset.cost, feature, nan, nan, -1, codes[left]};
  if (groups.has_missing()) {
    cut.missing_left = subset.left.back() == left;
  } else if (may_miss) {
    cut.missing_left = weight[left] > weight[1 - left];
  }
  if (codes[left].empty() || codes[1 - left].empty()) {  // "is missing" by itself
    const bool values_left = symmetric || codes[1 - left].empty();
    cut.low = cut.high = values_left ? infinity : -infinity;
    cut.missing_left = !values_left;
    cut.categories.clear();
  }
  return cut;
}

}  // namespace treemeans
