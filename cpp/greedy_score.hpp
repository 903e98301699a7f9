// What cuts cost by the gap they lie in: a node's centers, in order on a feature, leave gaps
// between neighbours. Gap j has j centers on its left; a row left of the cut goes to the cheapest
// of them, a row right of it to the cheapest of the others.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "binning.hpp"
#include "center_node.hpp"
#include "simd.hpp"

namespace treemeans {

// A center, and what it costs a row beyond the cheapest one.
struct Choice {
  std::int64_t cost;
  std::int32_t center;
};

// Of each of a node's rows, all the node's centers, cheapest first.
struct Choices {
  std::int64_t n;
  int width;
  std::unique_ptr<Choice[]> at;  // n x width

  const Choice* of(std::int64_t position) const { return at.get() + position * width; }
};

// One feature of a node. Only cuts between a row and its own center make it cost more, so a row
// adds to few gaps: its list is walked from the cheapest center to the first on the other side.
class GapSums {
 public:
  // left: what a bin's rows add if they are left of a cut in the first gap they can be left of;
  // right: the same for the last gap they can be right of.
  struct BinSum {
    std::int64_t left = 0, right = 0;
  };

  void start(const Bins& bins, const CenterNode& node, std::int32_t slot) {
    centers_.sort(node, bins.feature[slot]);
    rank_.resize(node.k);
    for (std::size_t j = 0; j < centers_.size(); ++j)
      rank_[centers_.center[j]] = static_cast<std::int32_t>(j);
    const std::int64_t first = bins.first[slot];
    n_bins_ = bins.first[slot + 1] - first;
    for (std::int64_t b = 0; b < n_bins_; ++b) {
      if (!bins.occurs(first + b)) continue;
      before_[b] = upto(bins.low[first + b]);
      after_[b] = upto(bins.high[first + b]);
    }
    std::fill(sums_.begin(), sums_.begin() + n_bins_, BinSum{});
    steps_.assign(centers_.size() + 2, 0);
  }

  // Rows [begin, end) of the node; codes: their bins.
  void add(const Choices& rows, std::int64_t begin, std::int64_t end, const std::uint8_t* codes) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Choice* choices = rows.of(i);
      const std::uint8_t b = *codes++;
      const std::int32_t own = rank_[choices->center];
      if (own < before_[b]) {
        add_right(choices, own, before_[b], sums_[b].right);
      } else if (own >= after_[b]) {
        add_left(choices, own, after_[b], sums_[b].left);
      }
    }
  }

  // Adds `cost` to the gaps a row with its center at `own` in bin b is sure to add to.
  void add_sure(std::int64_t cost, std::int32_t own, std::int64_t b) {
    if (own < before_[b]) {
      add_to(own + 1, before_[b] - 1, cost);
    } else if (own >= after_[b]) {
      add_to(after_[b] + 1, own, cost);
    }
  }

  // What is added in each gap whatever the threshold; with a bin's rows all on the right if they
  // can be on both sides.
  std::vector<std::int64_t> bases() const {
    std::vector<std::int64_t> sums(centers_.size() + 1, 0);
    std::int64_t sum = 0;
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j] = sum += steps_[j];
    for (std::int64_t b = 0; b < n_bins_; ++b) {
      if (sums_[b].right != 0) sums[before_[b]] += sums_[b].right;
      if (sums_[b].left != 0 && before_[b] < after_[b]) sums[after_[b]] += sums_[b].left;
    }
    return sums;
  }

  const Ordered& centers() const { return centers_; }
  std::int32_t n_centers() const { return static_cast<std::int32_t>(centers_.size()); }
  std::int64_t n_bins() const { return n_bins_; }
  std::int32_t rank(std::int32_t center) const { return rank_[center]; }
  // Centers up to the least, and up to the greatest value of a bin.
  std::int32_t before(std::int64_t b) const { return before_[b]; }
  std::int32_t after(std::int64_t b) const { return after_[b]; }
  const BinSum& sum(std::int64_t b) const { return sums_[b]; }
  // Whether gap j has a center on either side, and thresholds in it.
  bool open(std::int32_t j) const {
    return j > 0 && j < n_centers() && centers_.at[j - 1] < centers_.at[j];
  }

 private:
  std::int32_t upto(double value) const {
    return static_cast<std::int32_t>(
        std::upper_bound(centers_.at.begin(), centers_.at.end(), value) - centers_.at.begin());
  }

  // Gaps [from, to], if there are any.
  TM_INLINE void add_to(std::int32_t from, std::int32_t to, std::int64_t cost) {
    if (from > to) return;
    steps_[from] += cost;
    steps_[to + 1] -= cost;
  }

  // A row whose center is left of it adds to the gaps (own, last]: what the cheapest center at or
  // beyond the gap costs. `own_sum` is for gap `last`.
  TM_INLINE void add_right(const Choice* choice, std::int32_t own, std::int32_t last,
                           std::int64_t& own_sum) {
    const std::int32_t end = std::min(last, n_centers() - 1);
    for (std::int32_t done = own; done < end;) {
      const std::int32_t next = rank_[(++choice)->center];
      if (next <= done) continue;
      if (next >= last) own_sum += choice->cost;
      add_to(done + 1, std::min(next, last - 1), choice->cost);
      done = next;
    }
  }

  // A row whose center is right of it adds to the gaps [first, own].
  TM_INLINE void add_left(const Choice* choice, std::int32_t own, std::int32_t first,
                          std::int64_t& own_sum) {
    const std::int32_t end = std::max(first, 1);
    for (std::int32_t done = own; done >= end;) {
      const std::int32_t next = rank_[(++choice)->center];
      if (next >= done) continue;
      if (next < first) own_sum += choice->cost;
      add_to(std::max(next, first) + 1, done, choice->cost);
      done = next;
    }
  }

  Ordered centers_;
  std::vector<std::int32_t> rank_;  // of each center that is the node's
  std::int64_t n_bins_ = 0;
  std::array<std::int32_t, Bins::kMax> before_{}, after_{};
  std::array<BinSum, Bins::kMax> sums_;
  std::vector<std::int64_t> steps_;  // differences from gap to gap
};

}  // namespace treemeans
