// A tree with l leaves uses at most l centers, so for any rows S
//
//   V(S, l) >= min over sets C of l centers of the sum over S of min over c in C of the regret.
//
// For a fixed C that is a sum over rows: one more column each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace treemeans::optimal {

struct CenterSets {
  static constexpr int kMostColumns = 64;
  static constexpr int kFewest = 2;

  std::vector<std::int64_t> columns;  // by row, then set
  std::vector<std::pair<int, int>>
      ranges;  // of the sets of l centers, by l; empty if first == last
  int width = 0, most_leaves = 0;

  CenterSets() = default;

  // `regrets` has `stride` columns a row, the first k of which are centers. For up to `most`
  // leaves.
  CenterSets(const std::int64_t* regrets, std::int64_t n, int k, int stride, int most)
      : most_leaves(most) {
    ranges.assign(std::max(k, 1), {0, 0});
    std::vector<std::vector<int>> sets;
    // Most leaves first: a bound for more leaves is one for fewer.
    for (int l = std::min(k - 1, most); l >= kFewest; --l) {
      add_level(sets, k, l);
      if (sets.empty()) add_level(sets, k, k - 1);
    }
    width = static_cast<int>(sets.size());
    columns.resize(static_cast<std::size_t>(n) * width);
    for (std::int64_t i = 0; i < n; ++i)
      for (int s = 0; s < width; ++s) {
        std::int64_t least = regrets[i * stride + sets[s][0]];
        for (int c : sets[s]) least = std::min(least, regrets[i * stride + c]);
        columns[i * width + s] = least;
      }
  }

  // The columns for so many leaves and more.
  int width_for(int fewest) const {
    int end = 0;
    for (std::size_t l = fewest; l < ranges.size(); ++l) end = std::max(end, ranges[l].second);
    return end;
  }

  // The bound for l leaves from sums of the columns: that of the smallest level of at least l.
  std::int64_t bound(const std::int64_t* sums, int l) const {
    for (std::size_t level = l; level < ranges.size(); ++level)
      if (const auto [first, last] = ranges[level]; first < last)
        return *std::min_element(sums + first, sums + last);
    return 0;
  }

 private:
  void add_level(std::vector<std::vector<int>>& sets, int k, int l) {
    double count = 1.0;
    for (int i = 0; i < l; ++i) count = count * (k - i) / (i + 1);
    if (static_cast<double>(sets.size()) + count > kMostColumns) return;
    const int first = static_cast<int>(sets.size());
    std::vector<int> set(l);
    for (int i = 0; i < l; ++i) set[i] = i;
    while (true) {
      sets.push_back(set);
      int i = l - 1;
      while (i >= 0 && set[i] == k - l + i) --i;
      if (i < 0) break;
      ++set[i];
      for (int j = i + 1; j < l; ++j) set[j] = set[j - 1] + 1;
    }
    ranges[l] = {first, static_cast<int>(sets.size())};
  }
};

}  // namespace treemeans::optimal
