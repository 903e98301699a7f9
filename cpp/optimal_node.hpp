// A set of rows that the exact solver cuts: its features in sorted order, what one cut costs at
// every position, and bounds of what two cuts cost.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "optimal_kernels.hpp"
#include "optimal_problem.hpp"

namespace treemeans::optimal {

// The positions of a feature in bins of about as many rows each.
struct PositionBins {
  std::vector<int> last;                // position where each bin ends
  std::vector<std::uint8_t> codes;      // bin of each row
  std::vector<std::uint8_t> divisible;  // whether a bin has several values

  int size() const { return static_cast<int>(last.size()); }
  int first(int bin) const { return bin == 0 ? 0 : last[bin - 1] + 1; }

  // `order`: rows by value; `ends`: number of rows up to each position.
  void fill(const std::vector<std::uint32_t>& order, const std::vector<std::uint32_t>& ends,
            int n_bins) {
    const std::size_t m = ends.back();
    codes.resize(order.size());
    std::uint32_t begin = 0;
    for (int p = 0; p < std::ssize(ends); ++p) {
      // A bin is full once it reaches the next multiple of its share.
      if (p + 1 < std::ssize(ends) &&
          static_cast<std::size_t>(ends[p]) * n_bins < m * (last.size() + 1))
        continue;
      for (std::uint32_t i = begin; i < ends[p]; ++i)
        codes[order[i]] = static_cast<std::uint8_t>(last.size());
      divisible.push_back(p > first(size()));
      last.push_back(p);
      begin = ends[p];
    }
  }
};

// One feature of a node: where its values end, and what the sides of a cut there cost as leaves.
template <class Value>
struct Line {
  std::vector<std::uint32_t> order;  // rows of the node by value
  std::vector<std::uint32_t> ranks;  // of each position, ascending
  std::vector<std::uint32_t> ends;   // rows up to each position
  std::vector<Value> before, after;  // V(rows up to the position, 1), V(rows beyond it, 1)
  int first = 0, last = -1;          // positions that may be cut after, by the limits
  PositionBins coarse, fine;         // for all pairs of features, and for one that is cut

  int n_positions() const { return static_cast<int>(ranks.size()); }
  // Cuts between coarse bins.
  int n_edges() const { return coarse.size() - 1; }
  auto edges_end() const { return coarse.last.end() - 1; }
};

template <class Cost>
class Node {
 public:
  using Value = typename Cost::Value;

  const RowSet* set;
  std::vector<Value> columns, all;
  std::vector<Line<Value>> lines;
  // Of a root cut at each coarse edge of a feature and each child feature, what one cut more leaves
  // at least on the left and on the right: [feature][edge * n_features + child].
  std::vector<std::vector<Value>> left, right;
  double work = 0.0;  // values read and added

  Node(const Problem<Cost>& problem, const RowSet& rows) : set(&rows), problem_(problem) {
    const int K = problem.cost.K();
    columns.resize(rows.rows.size() * K);
    for (std::size_t i = 0; i < rows.rows.size(); ++i)
      std::copy_n(problem.columns + static_cast<std::int64_t>(rows.rows[i]) * K, K,
                  columns.data() + i * K);
    all.assign(K, Value{0});
    sum_rows(problem.cost, columns.data(), std::ssize(rows.rows), all.data());
    work += static_cast<double>(rows.rows.size()) * K;
  }

  std::int64_t size() const { return std::ssize(set->rows); }
  Value leaf() const { return problem_.cost.leaf(all.data()); }

  // `limited`: whether both sides of a cut must have their least weight.
  void make_lines(bool limited) {
    const auto& rows = set->rows;
    const std::int64_t m = size();
    lines.resize(problem_.n_features);
    std::vector<std::uint64_t> keys(m), buffer(m);
    std::vector<Value> sums;
    for (int f = 0; f < problem_.n_features; ++f) {
      const std::uint32_t* rank_of =
          problem_.ranks + static_cast<std::int64_t>(f) * problem_.n_rows;
      for (std::int64_t i = 0; i < m; ++i)
        keys[i] = (std::uint64_t{rank_of[rows[i]]} << 32) | static_cast<std::uint64_t>(i);
      sort_keys(keys, buffer, problem_.n_distinct[f]);
      Line<Value>& line = lines[f];
      line.order.resize(m);
      for (std::int64_t i = 0; i < m; ++i) {
        line.order[i] = static_cast<std::uint32_t>(keys[i]);
        if (i + 1 < m && keys[i] >> 32 == keys[i + 1] >> 32) continue;
        line.ends.push_back(static_cast<std::uint32_t>(i + 1));
        line.ranks.push_back(static_cast<std::uint32_t>(keys[i] >> 32));
      }
      line.before.resize(line.ends.size());
      line.after.resize(line.ends.size());
      sums.assign(problem_.cost.K(), Value{0});
      price_sorted(problem_.cost, columns.data(), line.order.data(), line.ends.data(),
                   std::ssize(line.ends), all.data(), sums.data(), line.before.data(),
                   line.after.data());
      work += static_cast<double>(m) * (problem_.cost.K() + 8) +
              2.0 * static_cast<double>(line.ends.size()) * problem_.cost.K();
      set_range(line, limited);
    }
  }

  // Bins of all features; `make_lines` comes first.
  void make_bins() {
    const int n_coarse =
        std::clamp(static_cast<int>(std::sqrt(static_cast<double>(size())) / 2), 2, kMostCoarse);
    for (auto& line : lines) line.coarse.fill(line.order, line.ends, n_coarse);
    left.resize(problem_.n_features);
    right.resize(problem_.n_features);
    paired_.assign(problem_.n_features, false);
  }

  // V(rows, 2), and V(rows, 1) if that is less.
  Value two_leaves() const {
    Value least = leaf();
    for (int f = 0; f < problem_.n_features; ++f)
      for (int p = 0; p + 1 < lines[f].n_positions(); ++p)
        least = std::min(least, lines[f].before[p] + lines[f].after[p] + problem_.price(f));
    return least;
  }

  // Most that the rows up to each coarse edge of a feature, and at last all rows, can cost.
  std::vector<Value> most_upto(const std::vector<Value>& most, int f) {
    const PositionBins& bins = lines[f].coarse;
    std::vector<Value> sums(bins.size(), Value{0});
    for (std::size_t i = 0; i < most.size(); ++i) sums[bins.codes[i]] += most[i];
    for (int b = 1; b < bins.size(); ++b) sums[b] += sums[b - 1];
    work += static_cast<double>(most.size());
    return sums;
  }

  // Most that each row can cost.
  std::vector<Value> most() const {
    std::vector<Value> each(size());
    for (std::int64_t i = 0; i < size(); ++i)
      each[i] = problem_.cost.most(columns.data() + i * problem_.cost.K());
    return each;
  }

  // Bounds for the pairs of a feature with each other one; `make_bins` comes first.
  void bound_pairs(int f) {
    const int d = problem_.n_features;
    if (d > kMostPaired || size() < 16) return;
    for (int g = 0; g < d; ++g)
      if (!paired_[g]) bound_both(f, g);
    paired_[f] = true;
  }

  // Features by what one cut of them leaves: a good tree found early rules out more.
  std::vector<int> promising() const {
    std::vector<std::pair<Value, int>> order;
    for (int f = 0; f < problem_.n_features; ++f) {
      Value least = Cost::kNone;
      for (int p = lines[f].first; p <= lines[f].last; ++p)
        least = std::min(least, lines[f].before[p] + lines[f].after[p]);
      order.emplace_back(least, f);
    }
    std::sort(order.begin(), order.end());
    std::vector<int> features;
    for (const auto& entry : order) features.push_back(entry.second);
    return features;
  }

 private:
  // More bins bound closer, but nearly all of the time goes into sums over them.
  static constexpr int kMostCoarse = 16;
  // Above this number of features, tables of all pairs take longer than they save.
  static constexpr int kMostPaired = 128;

  // Positions that leave enough weight on both sides.
  void set_range(Line<Value>& line, bool limited) const {
    line.first = 0;
    line.last = line.n_positions() - 2;
    if (!limited) return;
    double total = 0.0, weight = 0.0;
    for (std::uint32_t row : set->rows) total += problem_.weight(row);
    std::uint32_t i = 0;
    int first = -1, last = -2;
    for (int p = 0; p + 1 < line.n_positions(); ++p) {
      for (; i < line.ends[p]; ++i) weight += problem_.weight(set->rows[line.order[i]]);
      if (!problem_.permitted(weight, total)) continue;
      if (first < 0) first = p;
      last = p;
    }
    line.first = std::max(first, 0);
    line.last = last;
  }

  void bound_both(int f, int g) {
    const int nf = lines[f].coarse.size(), ng = lines[g].coarse.size(), K = problem_.cost.K();
    cells_.assign(static_cast<std::size_t>(nf) * ng * K, Value{0});
    sum_cells(problem_.cost, columns.data(), lines[f].coarse.codes.data(),
              lines[g].coarse.codes.data(), ng, size(), cells_.data());
    work += static_cast<double>(size() + 12 * nf * ng) * K;
    bound_pair(f, g, {nf, ng * K, ng, K});
    if (f != g) bound_pair(g, f, {ng, K, nf, ng * K});
  }

  void bound_pair(int root, int child, const Grid& grid) {
    const int d = problem_.n_features;
    if (left[root].empty()) {
      left[root].assign(static_cast<std::size_t>(lines[root].n_edges()) * d, Cost::kNone);
      right[root].assign(static_cast<std::size_t>(lines[root].n_edges()) * d, Cost::kNone);
    }
    if (grid.n_roots < 2) return;
    scratch_.resize((2 * static_cast<std::size_t>(grid.n_children) + 4) * problem_.cost.K());
    std::array<Value, 256> on_left, on_right;
    bound_children(problem_.cost, grid, cells_.data(), lines[child].coarse.divisible.data(),
                   problem_.price(child), scratch_.data(), on_left.data(), on_right.data());
    for (int e = 0; e + 1 < grid.n_roots; ++e) {
      left[root][static_cast<std::size_t>(e) * d + child] = on_left[e];
      right[root][static_cast<std::size_t>(e) * d + child] = on_right[e];
    }
  }

  // By rank, which is in the upper half; rows ascend among equals.
  static void sort_keys(std::vector<std::uint64_t>& keys, std::vector<std::uint64_t>& buffer,
                        std::uint32_t n_ranks) {
    if (keys.size() < 256) {
      std::sort(keys.begin(), keys.end());
      return;
    }
    constexpr int kBits = 11;
    const int n_bits = std::bit_width(n_ranks);
    for (int shift = 0; shift < n_bits; shift += kBits) {
      std::array<std::uint32_t, (1 << kBits) + 1> starts{};
      const auto digit = [&](std::uint64_t key) {
        return (key >> (32 + shift)) & ((1 << kBits) - 1);
      };
      for (std::uint64_t key : keys) ++starts[digit(key) + 1];
      for (int i = 0; i < 1 << kBits; ++i) starts[i + 1] += starts[i];
      for (std::uint64_t key : keys) buffer[starts[digit(key)]++] = key;
      keys.swap(buffer);
    }
  }

  const Problem<Cost>& problem_;
  std::vector<bool> paired_;  // features whose pairs with all others have bounds
  std::vector<Value> scratch_, cells_;
};

}  // namespace treemeans::optimal
