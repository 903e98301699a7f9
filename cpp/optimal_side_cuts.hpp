// V(side, 2) for the sides of the cuts of a node: the best one cut of the rows before, or beyond, a
// position of a feature.
//
// A search asks for positions near each other. So the rows before the position are kept as one
// histogram for each child feature, and moving to the next position adds or takes away the rows in
// between; the rows beyond it are all rows of the node less those. What a child feature cannot beat
// at one position it cannot beat where there are more rows, so bounds are kept by feature, too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <type_traits>
#include <vector>

#include "optimal_kernels.hpp"
#include "optimal_node.hpp"

namespace treemeans::optimal {

template <class Cost>
class SideCuts {
 public:
  using Value = typename Cost::Value;

  SideCuts(const Problem<Cost>& problem, Node<Cost>& node, Value slack)
      : problem_(problem), cost_(problem.cost), slack_(slack), node_(node) {}

  // From now on the node is cut by this feature.
  void start(int root) {
    root_ = root;
    ready_ = false;
  }

  // V(side of a cut after the position, 2) if that is below the target, else a lower bound not
  // below it. `bounds`: what is known of each child feature; may be null.
  Answer<Value> solve(bool is_left, int position, Value target, const Value* bounds) {
    if (!ready_) prepare();
    const Line<Value>& line = node_.lines[root_];
    const Value leaf = is_left ? line.before[position] : line.after[position];
    const std::int64_t n_left = line.ends[position];
    Answer<Value> best{leaf, true, nullptr};
    if (leaf <= slack_ || (is_left ? n_left : node_.size() - n_left) < 2) return best;
    inherit(is_left, position, bounds);
    limit_ = std::min(target, leaf);
    child_ = -1;
    bool moved = false;
    Value floor = Cost::kNone;  // nothing that was passed over costs less
    for (int g = 0; g < problem_.n_features; ++g) {
      if (lower_[g] < limit_ - slack_) {
        if (!moved) move_sums(position);
        moved = true;
        const Value least = cut_child(g, is_left, position);
        // A cut that parts none of these rows may part more of them elsewhere.
        lower_[g] = std::max(lower_[g], std::min(least, leaf + problem_.price(g)));
      }
      if (g != child_) floor = std::min(floor, lower_[g]);
    }
    (is_left ? below_ : above_)[position] = lower_;
    if (child_ >= 0)
      best = {limit_, true, std::make_shared<Branch>(Branch{child_, rank_, nullptr, nullptr})};
    if (best.bound < target - slack_ || best.bound <= floor) return best;
    return {std::min(best.bound, floor), false, nullptr};
  }

  // Values read and added since the last call.
  double take_work() {
    const double work = work_;
    work_ = 0.0;
    return work;
  }

 private:
  // About eight rows a bin: with more bins, pricing them takes longer than adding up.
  int n_bins() const {
    const std::int64_t m = node_.size(), K = cost_.K(), d = problem_.n_features;
    const std::int64_t in_memory = std::max<std::int64_t>(kMostValues / (K * d), 2);
    return static_cast<int>(
        std::clamp<std::int64_t>(m / 8, 2, std::min<std::int64_t>(256, in_memory)));
  }
  static constexpr int kNowhere = -2;
  static constexpr std::int64_t kMostValues = 1 << 24;  // in the histograms of all features

  void prepare() {
    totals_.resize(problem_.n_features);
    left_.resize(problem_.n_features);
    beyond_.resize(cost_.K());
    for (Moving& sums : left_) sums.at = kNowhere;
    upto_.at = kNowhere;
    const Line<Value>& line = node_.lines[root_];
    place_.resize(node_.size());
    std::uint32_t i = 0;
    for (int p = 0; p < line.n_positions(); ++p)
      for (; i < line.ends[p]; ++i) place_[line.order[i]] = static_cast<std::uint32_t>(p);
    below_.clear();
    above_.clear();
    ready_ = true;
  }

  // What is known of each child feature: at the position itself or at one with fewer rows.
  void inherit(bool is_left, int position, const Value* bounds) {
    if (bounds) {
      lower_.assign(bounds, bounds + problem_.n_features);
    } else {
      lower_.assign(problem_.n_features, Value{0});
    }
    const std::vector<Value>* known = nullptr;
    if (is_left) {
      const auto at = below_.upper_bound(position);
      if (at != below_.begin()) known = &std::prev(at)->second;
    } else {
      const auto at = above_.lower_bound(position);
      if (at != above_.end()) known = &at->second;
    }
    if (known)
      for (int g = 0; g < problem_.n_features; ++g) lower_[g] = std::max(lower_[g], (*known)[g]);
  }

  // The least that a cut of one child feature costs, or a bound of it not below the limit. Takes it
  // if it is below.
  Value cut_child(int g, bool is_left, int position) {
    const int K = cost_.K();
    if (totals_[g].empty()) make_totals(g);
    move(left_[g], position, node_.lines[g].fine.codes.data(), totals_[g]);
    const Line<Value>& line = node_.lines[g];
    const PositionBins& bins = line.fine;
    const int n = bins.size();
    const std::vector<Value>& all = is_left ? upto_.bins : beyond_;
    prefixes_.resize(static_cast<std::size_t>(n) * K);
    before_.resize(n);
    after_.resize(n);
    price_side(cost_, left_[g].bins.data(), is_left ? nullptr : totals_[g].data(), all.data(), n,
               prefixes_.data(), before_.data(), after_.data());
    work_ += 3.0 * n * K;
    const Value price = problem_.price(g);
    Value least = Cost::kNone;
    for (int b = 0; b + 1 < n; ++b)
      least = std::min(least, take(before_[b] + after_[b] + price, g, line.ranks[bins.last[b]]));
    // Inside a bin: nothing costs less than both sides without the bin's rows.
    for (int b = 0; b < n; ++b) {
      if (!bins.divisible[b]) continue;
      const Value bound = (b > 0 ? before_[b - 1] : Value{0}) + after_[b] + price;
      least =
          std::min(least, bound < limit_ - slack_ ? cut_inside(g, b, is_left, position) : bound);
    }
    return least;
  }

  // Every cut inside a bin.
  Value cut_inside(int g, int bin, bool is_left, int position) {
    const int K = cost_.K();
    const Line<Value>& line = node_.lines[g];
    const int first = line.fine.first(bin), last = line.fine.last[bin];
    const std::uint32_t begin = first == 0 ? 0 : line.ends[first - 1];
    inside_.assign(K, Value{0});
    if (bin > 0)
      std::copy_n(prefixes_.data() + static_cast<std::size_t>(bin - 1) * K, K, inside_.data());
    costs_.resize(last - first);
    price_inside(cost_, node_.columns.data(), line.order.data(), place_.data(),
                 static_cast<std::uint32_t>(position), is_left, begin, line.ends.data() + first,
                 last - first, (is_left ? upto_.bins : beyond_).data(), inside_.data(),
                 costs_.data());
    work_ += static_cast<double>(line.ends[last] - begin) * 3.0 * K;
    Value least = Cost::kNone;
    for (int p = first; p < last; ++p)
      least = std::min(least, take(costs_[p - first] + problem_.price(g), g, line.ranks[p]));
    return least;
  }

  Value take(Value at, int g, std::uint32_t rank) {
    if (at < limit_ - slack_) {
      limit_ = at;
      child_ = g;
      rank_ = rank;
    }
    return at;
  }

  // Sums of the rows before a position, by bin.
  struct Moving {
    std::vector<Value> bins;
    int at = kNowhere;
    std::int64_t n_moved = 0;  // rows since the sums were made anew
  };

  // The sums of all rows before the position, and beyond it.
  void move_sums(int position) {
    move(upto_, position, nullptr, node_.all);
    for (int c = 0; c < cost_.K(); ++c) beyond_[c] = node_.all[c] - upto_.bins[c];
  }

  void move(Moving& sums, int position, const std::uint8_t* codes,
            const std::vector<Value>& totals) {
    const Line<Value>& line = node_.lines[root_];
    auto range = between(sums.at, position);
    // From none or all of the rows at first, and where rounding may have added up.
    if (sums.at == kNowhere || sums.n_moved + range.second - range.first > 2 * node_.size()) {
      const bool from_all = line.ends[position] > node_.size() / 2;
      sums.bins = totals;
      if (!from_all) std::fill(sums.bins.begin(), sums.bins.end(), Value{0});
      sums.at = from_all ? line.n_positions() - 1 : -1;
      sums.n_moved = 0;
      range = between(sums.at, position);
    }
    const auto [begin, end] = range;
    const Value* columns = node_.columns.data();
    if (sums.at < position) {
      add_rows<1>(cost_, columns, line.order.data(), begin, end, codes, sums.bins.data());
    } else {
      add_rows<-1>(cost_, columns, line.order.data(), begin, end, codes, sums.bins.data());
    }
    if (!std::is_integral_v<Value>) sums.n_moved += end - begin;
    work_ += static_cast<double>(end - begin) * cost_.K();
    sums.at = position;
  }

  void make_totals(int g) {
    Line<Value>& line = node_.lines[g];
    line.fine.fill(line.order, line.ends, n_bins());
    totals_[g].assign(static_cast<std::size_t>(line.fine.size()) * cost_.K(), Value{0});
    add_rows<1>(cost_, node_.columns.data(), line.order.data(), 0,
                static_cast<std::uint32_t>(node_.size()), line.fine.codes.data(),
                totals_[g].data());
    work_ += static_cast<double>(node_.size()) * cost_.K();
  }

  // Rows of the root feature between two positions, in its order.
  std::pair<std::uint32_t, std::uint32_t> between(int from, int to) const {
    const auto& ends = node_.lines[root_].ends;
    const int low = std::min(from, to), high = std::max(from, to);
    return {low < 0 ? 0 : ends[low], high < 0 ? 0 : ends[high]};
  }

  const Problem<Cost>& problem_;
  const Cost& cost_;
  Value slack_;
  Node<Cost>& node_;
  int root_ = -1;
  bool ready_ = false;
  std::vector<std::uint32_t> place_;                 // position of each row in the root feature
  std::vector<std::vector<Value>> totals_;           // by child feature: all rows, by bin
  std::vector<Moving> left_;                         // and those before a position
  Moving upto_;                                      // all rows before a position,
  std::vector<Value> beyond_;                        // and beyond it
  std::map<int, std::vector<Value>> below_, above_;  // bounds by position, then child feature
  double work_ = 0.0;
  // Of the side that is being searched.
  Value limit_{};
  int child_ = -1;
  std::uint32_t rank_ = 0;
  std::vector<Value> lower_, prefixes_, before_, after_, inside_, costs_;
};

}  // namespace treemeans::optimal
