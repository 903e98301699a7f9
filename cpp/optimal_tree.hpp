// The exact solver: the cheapest tree with at most so many leaves, or a proof that none is cheaper
// than a target. Written for V(S, l), the least cost of the rows S with l leaves:
//
//   V(S, 1) = cost of S as one leaf
//   V(S, L) = min over cuts of S and l of V(left, l) + V(right, L - l) + price of the cut
//
// Costs are monotone: V(T, l) <= V(S, l) for T within S, because a tree for S is one for T. So for
// any cut of a feature between positions a and b of its values
//
//   cost >= V(rows up to a, l) + V(rows beyond b, L - l)          (sandwich)
//
// and a feature is searched by bisection: an interval of positions is dropped once its bound
// reaches the best cost so far, which is often at once. Sides with two leaves have bounds
// from histograms of pairs of features (`TwoLevelBounds`); larger ones are solved, and remembered
// by their set of rows.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "optimal_kernels.hpp"
#include "optimal_subsets.hpp"

namespace treemeans::optimal {

// The table that trees are built on. Values of a feature are ranks: 0, 1, ... in ascending order.
template <class Cost>
struct Problem {
  using Value = typename Cost::Value;
  Cost cost;
  int n_centers;  // 0 where leaves have means of their own
  std::int64_t n_rows;
  int n_features;
  const std::uint32_t* ranks;       // by feature, then row
  const std::uint32_t* n_distinct;  // of each feature
  const Value* columns;             // by row, then column: what costs are computed from
  const double* weights;            // of the rows; null: each weighs 1
  double min_weight;                // of a leaf; at most 0: no limit
  const Value* prices;              // of a cut on each feature; null: all free

  double weight(std::int64_t row) const { return weights ? weights[row] : 1.0; }
  Value price(int feature) const { return prices ? prices[feature] : Value{0}; }
};

// A tree: null is a leaf. Rows with a rank up to `rank` go left.
struct Branch {
  int feature;
  std::uint32_t rank;
  std::shared_ptr<const Branch> left, right;
};
using BranchPtr = std::shared_ptr<const Branch>;

// Raised when the work or the time is spent, or the user interrupts.
struct Stopped : std::exception {};

// What is known of V(S, l): its value and a tree, or no more than a lower bound.
template <class Value>
struct Answer {
  Value bound = 0;
  bool exact = false;
  BranchPtr tree;
};

struct RowSet {
  std::vector<std::uint32_t> rows;  // ascending
  std::array<std::uint64_t, 2> hash{};
};

template <class Cost>
class ExactTree {
 public:
  using Value = typename Cost::Value;

  ExactTree(const Problem<Cost>& problem, Value slack)
      : problem_(problem), cost_(problem.cost), slack_(slack) {
    std::mt19937_64 random(20200603);
    signs_.resize(problem.n_rows);
    for (auto& sign : signs_) sign = {random(), random()};
    make_codes();
    if constexpr (std::is_integral_v<Value>)
      sets_ = CenterSets(problem.columns, problem.n_rows, problem.n_centers, cost_.K());
  }

  // V(all rows, n_leaves) if that is below the target, else a lower bound not below it. `pause` is
  // called now and then with the work so far (values read and added), and raises `Stopped` to end.
  Answer<Value> solve(int n_leaves, int max_depth, Value target,
                      std::function<void(double)> pause) {
    pause_ = std::move(pause);
    RowSet all;
    all.rows.resize(problem_.n_rows);
    for (std::int64_t i = 0; i < problem_.n_rows; ++i) all.rows[i] = static_cast<std::uint32_t>(i);
    for (const auto& sign : signs_) all.hash[0] ^= sign[0], all.hash[1] ^= sign[1];
    return best_tree(all, n_leaves, max_depth, target, problem_.min_weight > 0.0);
  }

  double work() const { return work_; }
  std::size_t n_cached() const { return cache_.size(); }

 private:
  static constexpr int kCodes = 256;
  static constexpr std::size_t kMostCached = 1 << 21;

  struct Key {
    std::array<std::uint64_t, 2> hash;
    int n_leaves, max_depth;
    bool limited;
    bool operator==(const Key&) const = default;
  };
  // 128 random bits tell sets of rows apart: two of a billion sets agree with a chance of 1e-21.
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return key.hash[0] +
             0x9E3779B97F4A7C15ULL * (key.n_leaves * 128 + key.max_depth * 2 + key.limited);
    }
  };

  // One feature of a node: where its values end, and what the sides of a cut there cost as leaves.
  struct Line {
    std::vector<std::uint32_t> ranks;     // of each position, ascending
    std::vector<Value> before, after;     // V(rows up to the position, 1), V(rows beyond it, 1)
    int first = 0, last = -1;             // positions that may be cut after, by the limits
    std::vector<int> edges;               // positions of the ends of the coarse bins but the last
    std::vector<std::uint8_t> codes;      // coarse bin of each row
    std::vector<std::uint8_t> divisible;  // of each coarse bin, whether it has several values
  };

  // Rows, columns and features of a set of rows that is cut at least twice.
  struct Node {
    const RowSet* set;
    std::vector<Value> columns, all;
    std::vector<Line> lines;
    // Of a root cut at each edge of a feature and each child feature, what one cut more leaves at
    // least on the left and on the right: [feature][edge * n_features + child].
    std::vector<std::vector<Value>> left, right;
  };

  // One feature of a node under search: what is known of V(side, l) at the positions, for l >= 2.
  struct Sides {
    int feature;
    std::vector<std::map<int, Answer<Value>>> left, right;  // [l]
  };

  // ---- one cut --------------------------------------------------------------------------------

  // V(rows, 2), or a bound. Features whose own bound (if any are given) reaches the target are
  // not looked at.
  Answer<Value> best_cut(const std::vector<std::uint32_t>& rows, Value target, bool limited,
                         const Value* bounds = nullptr) {
    const int K = cost_.K();
    const auto m = static_cast<std::int64_t>(rows.size());
    gather(rows, cut_columns_);
    cut_all_.assign(K, Value{0});
    sum_rows(cost_, cut_columns_.data(), m, cut_all_.data());
    Answer<Value> best{cost_.leaf(cut_all_.data()), true, nullptr};
    if (best.bound <= slack_ || m < 2) return best;
    Value floor = Cost::kNone;  // nothing that was passed over costs less
    Value limit = target;       // nothing that costs as much is of use
    if (best.bound < limit) limit = best.bound;
    for (int f = 0; f < problem_.n_features; ++f) {
      const Value known = bounds ? bounds[f] : Value{0};
      if (known >= limit - slack_) {
        floor = std::min(floor, known);
      } else {
        cut_feature(rows, f, limited, limit, floor, best);
      }
    }
    charge(static_cast<double>(m) * K);
    return settled(best, target, floor);
  }

  // Looks for a cut on one feature that costs less than `limit`.
  void cut_feature(const std::vector<std::uint32_t>& rows, int f, bool limited, Value& limit,
                   Value& floor, Answer<Value>& best) {
    const int K = cost_.K();
    const auto m = static_cast<std::int64_t>(rows.size());
    const std::uint8_t* code_of = codes_.data() + static_cast<std::int64_t>(f) * problem_.n_rows;
    const std::uint32_t* rank_of = problem_.ranks + static_cast<std::int64_t>(f) * problem_.n_rows;
    // About eight rows a bin: with more bins, pricing them takes longer than adding up.
    int shift = 0;
    while ((n_codes_[f] - 1) >> shift >= std::max<std::int64_t>(m / 8, 8)) ++shift;
    const int n_bins = ((n_codes_[f] - 1) >> shift) + 1;
    cut_sums_.assign(static_cast<std::size_t>(n_bins) * K, Value{0});
    sum_bins(cost_, cut_columns_.data(), code_of, rows.data(), shift, m, cut_sums_.data());
    cut_weights_.assign(limited ? n_bins : 0, 0.0);
    if (limited)
      for (std::int64_t i = 0; i < m; ++i)
        cut_weights_[code_of[rows[i]] >> shift] += problem_.weight(rows[i]);
    charge(static_cast<double>(m + 2 * n_bins) * K);
    accumulate(cost_, cut_sums_.data(), n_bins);
    cut_before_.resize(n_bins);
    cut_after_.resize(n_bins);
    price_prefixes(cost_, cut_sums_.data(), cut_all_.data(), n_bins, cut_before_.data(),
                   cut_after_.data());
    const Value price = problem_.price(f);
    double total = 0.0, weight = 0.0;
    for (double w : cut_weights_) total += w;
    // A cut beside an empty bin or with an empty side is made too; it costs what another does.
    for (int b = 0; b + 1 < n_bins; ++b) {
      if (limited && !permitted(weight += cut_weights_[b], total)) continue;
      take_cut(cut_before_[b] + cut_after_[b] + price, f, last_rank(f, b, shift), limit, floor,
               best);
    }
    // Inside a bin: nothing costs less than both sides without the bin's rows.
    cut_open_.assign(n_bins, 0);
    bool any = false;
    for (int b = 0; b < n_bins; ++b) {
      if (first_rank(f, b, shift) == last_rank(f, b, shift)) continue;
      const Value bound = (b > 0 ? cut_before_[b - 1] : Value{0}) + cut_after_[b] + price;
      if (bound < limit - slack_) {
        cut_open_[b] = any = true;
      } else {
        floor = std::min(floor, bound);
      }
    }
    if (!any) return;
    cut_order_.clear();
    for (std::int64_t i = 0; i < m; ++i)
      if (cut_open_[code_of[rows[i]] >> shift])
        cut_order_.push_back((std::uint64_t{rank_of[rows[i]]} << 32) |
                             static_cast<std::uint64_t>(i));
    std::sort(cut_order_.begin(), cut_order_.end());
    charge(static_cast<double>(cut_order_.size()) * (3 * K + 8));
    scan_bins(rows, f, shift, limited, total, limit, floor, best);
  }

  // Every cut inside the open bins; `cut_order_` has their rows.
  void scan_bins(const std::vector<std::uint32_t>& rows, int f, int shift, bool limited,
                 double total, Value& limit, Value& floor, Answer<Value>& best) {
    const int K = cost_.K();
    const Value price = problem_.price(f);
    const std::uint8_t* code_of = codes_.data() + static_cast<std::int64_t>(f) * problem_.n_rows;
    std::vector<Value> sums(K);
    double weight = 0.0;
    int bin = -1;
    for (std::size_t i = 0; i < cut_order_.size(); ++i) {
      const auto row = static_cast<std::uint32_t>(cut_order_[i]);
      const auto rank = static_cast<std::uint32_t>(cut_order_[i] >> 32);
      if (const int b = code_of[rows[row]] >> shift; b != bin) {
        bin = b;
        weight = 0.0;
        if (limited)
          for (int other = 0; other < b; ++other) weight += cut_weights_[other];
        std::fill(sums.begin(), sums.end(), Value{0});
        if (b > 0) std::copy_n(cut_sums_.data() + (b - 1) * K, K, sums.data());
      }
      for (int c = 0; c < K; ++c) sums[c] += cut_columns_[static_cast<std::size_t>(row) * K + c];
      if (limited) weight += problem_.weight(rows[row]);
      // The end of a bin has been priced, and so has a value that goes on.
      if (i + 1 == cut_order_.size()) break;
      const auto next = rows[static_cast<std::uint32_t>(cut_order_[i + 1])];
      if (code_of[next] >> shift != bin) continue;
      if (cut_order_[i + 1] >> 32 == rank || (limited && !permitted(weight, total))) continue;
      const Value at = cost_.leaf(sums.data()) + cost_.rest(cut_all_.data(), sums.data()) + price;
      take_cut(at, f, rank, limit, floor, best);
    }
  }

  void take_cut(Value at, int f, std::uint32_t rank, Value& limit, Value& floor,
                Answer<Value>& best) const {
    if (at < limit - slack_) {
      limit = at;
      best = {at, true, std::make_shared<Branch>(Branch{f, rank, nullptr, nullptr})};
    } else {
      floor = std::min(floor, at);
    }
  }

  // ---- trees ----------------------------------------------------------------------------------

  // `limited`: whether leaves must have their least weight. That limit breaks monotony: a set too
  // light to be cut may cost more than one that has more rows. Bounds are therefore those of trees
  // without the limit, and only what might be the best tree is solved with it.
  Answer<Value> best_tree(const RowSet& set, int n_leaves, int max_depth, Value target,
                          bool limited) {
    if (max_depth < 30) n_leaves = std::min<int>(n_leaves, 1 << max_depth);
    if (n_leaves <= 2) {
      if (n_leaves == 2) return best_cut(set.rows, target, limited);
      return {leaf_cost(set.rows), true, nullptr};
    }
    max_depth = std::min(max_depth, n_leaves - 1);
    const Key key{set.hash, n_leaves, max_depth, limited};
    if (const auto found = cache_.find(key); found != cache_.end())
      if (found->second.exact || found->second.bound >= target) return found->second;
    const Answer<Value> answer = search_tree(set, n_leaves, max_depth, target, limited);
    if (cache_.size() >= kMostCached) cache_.clear();
    Answer<Value>& entry = cache_[key];
    if (answer.exact || answer.bound > entry.bound) entry = answer;
    return answer;
  }

  Answer<Value> search_tree(const RowSet& set, int n_leaves, int max_depth, Value target,
                            bool limited) {
    if (const Value bound = bound_by_sets(set.rows, n_leaves); bound >= target)
      return {bound, false, nullptr};
    Node node;
    node.set = &set;
    gather(set.rows, node.columns);
    node.all.assign(cost_.K(), Value{0});
    sum_rows(cost_, node.columns.data(), static_cast<std::int64_t>(set.rows.size()),
             node.all.data());
    Answer<Value> best{cost_.leaf(node.all.data()), true, nullptr};
    if (best.bound <= slack_ || set.rows.size() < 2) return best;
    make_lines(node, limited);
    bound_pairs(node);
    Search search{node,        n_leaves, max_depth, limited, std::min(target, best.bound),
                  Cost::kNone, best};
    const int most =
        max_depth - 1 < 30 ? std::min(n_leaves - 1, 1 << (max_depth - 1)) : n_leaves - 1;
    for (int f : promising(node)) {
      const Line& line = node.lines[f];
      if (line.first > line.last) continue;
      Sides sides = make_sides(node, f, most);
      // Sides with few leaves have the best bounds, and what is learnt there helps the others.
      for (int l : by_least(n_leaves))
        if (l <= most && n_leaves - l <= most)
          bisect(search, sides, l, line.first - 1, line.last + 1, Value{0}, Value{0});
    }
    return settled(search.best, target, search.floor);
  }

  struct Search {
    const Node& node;
    int n_leaves, max_depth;
    bool limited;
    Value limit, floor;
    Answer<Value> best;
  };

  // Cuts of a feature between two positions, with l leaves on the left. The last two are lower
  // bounds of V(left, l) at the lower position and of V(right, rest) at the upper one.
  void bisect(Search& search, Sides& sides, int l, int low, int high, Value before, Value after) {
    const Line& line = search.node.lines[sides.feature];
    const int r = search.n_leaves - l;
    if (low >= 0) before = std::max(before, known(sides.left, line.before, l, low));
    if (high + 1 < std::ssize(line.ranks))
      after = std::max(after, known(sides.right, line.after, r, high));
    if (high - low <= 1) return;
    const Value bound = before + after + problem_.price(sides.feature);
    if (bound >= search.limit - slack_) {
      search.floor = std::min(search.floor, bound);
      return;
    }
    const int middle = middle_of(line, low, high);
    evaluate(search, sides, l, middle, before, after);
    bisect(search, sides, l, low, middle, before, after);
    bisect(search, sides, l, middle, high, before, after);
  }

  // An edge of the coarse bins if there is one, because its bounds are known.
  static int middle_of(const Line& line, int low, int high) {
    const int middle = low + (high - low) / 2;
    const auto at = std::lower_bound(line.edges.begin(), line.edges.end(), middle);
    int nearest = -1;
    if (at != line.edges.end() && *at < high) nearest = *at;
    if (at != line.edges.begin() && *(at - 1) > low)
      if (nearest < 0 || middle - *(at - 1) < nearest - middle) nearest = *(at - 1);
    return nearest < 0 ? middle : nearest;
  }

  // The best bound of V(side, l) at a position; with more leaves it costs no more.
  static Value known(const std::vector<std::map<int, Answer<Value>>>& answers,
                     const std::vector<Value>& leaf, int l, int position) {
    if (l == 1) return leaf[position];
    Value bound = 0;
    for (std::size_t more = l; more < answers.size(); ++more)
      if (const auto at = answers[more].find(position); at != answers[more].end())
        bound = std::max(bound, at->second.bound);
    return bound;
  }

  // The best tree that cuts a feature at one position: exactly, or that it is of no use.
  void evaluate(Search& search, Sides& sides, int l, int position, Value before, Value after) {
    const int f = sides.feature, r = search.n_leaves - l;
    const Line& line = search.node.lines[f];
    const Value price = problem_.price(f);
    Answer<Value> as_leaf[2] = {{line.before[position], true, nullptr},
                                {line.after[position], true, nullptr}};
    Answer<Value>& left = l == 1 ? as_leaf[0] : sides.left[l][position];
    Answer<Value>& right = r == 1 ? as_leaf[1] : sides.right[r][position];
    if (!left.exact)
      left.bound = std::max({left.bound, before, known(sides.left, line.before, l, position)});
    if (!right.exact)
      right.bound = std::max({right.bound, after, known(sides.right, line.after, r, position)});
    RowSet sets[2];
    // The side with fewer leaves is solved sooner, and what it costs is not left for the other.
    // Where both take long, it is first shown to cost half of what is left, if it does.
    const bool left_first = l <= r;
    const bool half = l > 2 && r > 2;
    for (int turn = half ? 0 : 1;; ++turn) {
      const Value rest = search.limit - slack_ - price - left.bound - right.bound;
      if (rest <= 0 || (left.exact && right.exact)) break;
      if (sets[0].rows.empty()) split(*search.node.set, f, line.ranks[position], sets);
      const bool first = half ? turn != 1 : turn == 1;
      const bool go_left = first == left_first ? !left.exact : right.exact;
      Answer<Value>& side = go_left ? left : right;
      Value more = rest;
      if (turn == 0) {
        more = rest / 2;
      } else {
        // A bound beyond what this position needs rules out its neighbours too.
        const Value beyond = go_left ? right.bound - after : left.bound - before;
        more += beyond;
      }
      solve_side(search, f, position, go_left, go_left ? l : r, sets[go_left ? 0 : 1],
                 side.bound + more, side);
      if (!side.exact && turn > 0) break;
    }
    const Value total = left.bound + right.bound + price;
    if (!left.exact || !right.exact || total >= search.limit - slack_) {
      search.floor = std::min(search.floor, total);
    } else if (search.limited) {
      if (sets[0].rows.empty()) split(*search.node.set, f, line.ranks[position], sets);
      keep_within_limits(search, f, line.ranks[position], l, sets, right.bound);
    } else {
      search.limit = total;
      search.best = {
          total, true,
          std::make_shared<Branch>(Branch{f, line.ranks[position], left.tree, right.tree})};
    }
  }

  // The same where leaves must have their least weight. `after` bounds what the right side costs.
  void keep_within_limits(Search& search, int f, std::uint32_t rank, int l, const RowSet* sets,
                          Value after) {
    const Value room = search.limit - problem_.price(f);
    const int depth = search.max_depth - 1;
    const Answer<Value> left = best_tree(sets[0], l, depth, room - after, true);
    Answer<Value> right{after, false, nullptr};
    if (left.exact && left.bound < room - after)
      right = best_tree(sets[1], search.n_leaves - l, depth, room - left.bound, true);
    const Value total = left.bound + right.bound + problem_.price(f);
    if (left.exact && right.exact && total < search.limit - slack_) {
      search.limit = total;
      search.best = {total, true, std::make_shared<Branch>(Branch{f, rank, left.tree, right.tree})};
    } else {
      search.floor = std::min(search.floor, total);
    }
  }

  void solve_side(const Search& search, int f, int position, bool is_left, int n_leaves,
                  const RowSet& set, Value target, Answer<Value>& side) {
    Answer<Value> found;
    if (n_leaves == 2) {
      const Line& line = search.node.lines[f];
      // Bounds of the nearest coarse cut with fewer rows on this side.
      const auto& table = is_left ? search.node.left[f] : search.node.right[f];
      const auto at = is_left ? std::upper_bound(line.edges.begin(), line.edges.end(), position)
                              : std::lower_bound(line.edges.begin(), line.edges.end(), position);
      const auto edge = (at - line.edges.begin()) - (is_left ? 1 : 0);
      const bool bounded = !table.empty() && edge >= 0 && edge < std::ssize(line.edges);
      found = best_cut(set.rows, target, false,
                       bounded ? table.data() + edge * problem_.n_features : nullptr);
    } else {
      found = best_tree(set, n_leaves, search.max_depth - 1, target, false);
    }
    if (found.exact || found.bound > side.bound) side = found;
  }

  // A lower bound from sets of centers.
  Value bound_by_sets(const std::vector<std::uint32_t>& rows, int n_leaves) {
    if (sets_.width == 0 || n_leaves >= problem_.n_centers) return 0;
    std::vector<std::int64_t> sums(sets_.width, 0);
    for (std::uint32_t row : rows)
      for (int s = 0; s < sets_.width; ++s)
        sums[s] += sets_.columns[static_cast<std::size_t>(row) * sets_.width + s];
    charge(static_cast<double>(rows.size()) * sets_.width);
    return static_cast<Value>(sets_.bound(sums.data(), n_leaves));
  }

  // The same on both sides of the edges of a feature.
  void bound_sides_by_sets(const Node& node, Sides& sides) {
    const Line& line = node.lines[sides.feature];
    const int width = sets_.width, most = static_cast<int>(sides.left.size()) - 1;
    if (width == 0 || most < CenterSets::kFewest || line.edges.empty()) return;
    const auto& rows = node.set->rows;
    std::vector<std::int64_t> sums((line.edges.size() + 1) * width, 0), rest(width);
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (int s = 0; s < width; ++s)
        sums[static_cast<std::size_t>(line.codes[i]) * width + s] +=
            sets_.columns[static_cast<std::size_t>(rows[i]) * width + s];
    charge(static_cast<double>(rows.size()) * width);
    for (std::size_t i = width; i < sums.size(); ++i) sums[i] += sums[i - width];
    const std::int64_t* all = sums.data() + line.edges.size() * width;
    for (std::size_t e = 0; e < line.edges.size(); ++e) {
      const std::int64_t* upto = sums.data() + e * width;
      for (int s = 0; s < width; ++s) rest[s] = all[s] - upto[s];
      for (int l = CenterSets::kFewest; l <= std::min(most, problem_.n_centers - 1); ++l) {
        sides.left[l][line.edges[e]].bound = static_cast<Value>(sets_.bound(upto, l));
        sides.right[l][line.edges[e]].bound = static_cast<Value>(sets_.bound(rest.data(), l));
      }
    }
  }

  Sides make_sides(const Node& node, int f, int most) {
    const Line& line = node.lines[f];
    Sides sides{f, {}, {}};
    sides.left.resize(most + 1);
    sides.right.resize(most + 1);
    bound_sides_by_sets(node, sides);
    if (most < 2 || node.left[f].empty()) return sides;
    const int d = problem_.n_features;
    for (std::size_t e = 0; e < line.edges.size(); ++e) {
      const Value* left = node.left[f].data() + e * d;
      const Value* right = node.right[f].data() + e * d;
      sides.left[2][line.edges[e]].bound = *std::min_element(left, left + d);
      sides.right[2][line.edges[e]].bound = *std::min_element(right, right + d);
    }
    return sides;
  }

  // Numbers of leaves on the left, those first where one side has few.
  static std::vector<int> by_least(int n_leaves) {
    std::vector<int> order;
    for (int l = 1; l <= n_leaves - l; ++l) {
      order.push_back(l);
      if (l != n_leaves - l) order.push_back(n_leaves - l);
    }
    return order;
  }

  // Features by what one cut of them leaves: a good tree found early rules out more.
  std::vector<int> promising(const Node& node) const {
    std::vector<std::pair<Value, int>> order;
    for (int f = 0; f < problem_.n_features; ++f) {
      Value least = Cost::kNone;
      for (int p = node.lines[f].first; p <= node.lines[f].last; ++p)
        least = std::min(least, node.lines[f].before[p] + node.lines[f].after[p]);
      order.emplace_back(least, f);
    }
    std::sort(order.begin(), order.end());
    std::vector<int> features;
    for (const auto& entry : order) features.push_back(entry.second);
    return features;
  }

  // ---- the features of a node -----------------------------------------------------------------

  void make_lines(Node& node, bool limited) {
    const auto& rows = node.set->rows;
    const auto m = static_cast<std::int64_t>(rows.size());
    node.lines.resize(problem_.n_features);
    std::vector<std::uint64_t> keys(m), buffer(m);
    std::vector<std::uint32_t> order(m), ends;
    const int n_bins =
        std::clamp<int>(static_cast<int>(std::sqrt(static_cast<double>(m)) / 2), 2, 48);
    for (int f = 0; f < problem_.n_features; ++f) {
      const std::uint32_t* rank_of =
          problem_.ranks + static_cast<std::int64_t>(f) * problem_.n_rows;
      for (std::int64_t i = 0; i < m; ++i)
        keys[i] = (std::uint64_t{rank_of[rows[i]]} << 32) | static_cast<std::uint64_t>(i);
      sort_keys(keys, buffer, problem_.n_distinct[f]);
      Line& line = node.lines[f];
      ends.clear();
      for (std::int64_t i = 0; i < m; ++i) {
        order[i] = static_cast<std::uint32_t>(keys[i]);
        if (i + 1 < m && keys[i] >> 32 == keys[i + 1] >> 32) continue;
        ends.push_back(static_cast<std::uint32_t>(i + 1));
        line.ranks.push_back(static_cast<std::uint32_t>(keys[i] >> 32));
      }
      line.before.resize(ends.size());
      line.after.resize(ends.size());
      std::vector<Value> sums(cost_.K(), Value{0});
      price_sorted(cost_, node.columns.data(), order.data(), ends.data(), std::ssize(ends),
                   node.all.data(), sums.data(), line.before.data(), line.after.data());
      charge(static_cast<double>(m) * (cost_.K() + 8) + 2.0 * ends.size() * cost_.K());
      set_range(line, limited, rows, order, ends);
      make_edges(line, order, ends, n_bins);
    }
  }

  // Positions that leave enough weight on both sides.
  void set_range(Line& line, bool limited, const std::vector<std::uint32_t>& rows,
                 const std::vector<std::uint32_t>& order, const std::vector<std::uint32_t>& ends) {
    line.first = 0;
    line.last = static_cast<int>(ends.size()) - 2;
    if (!limited) return;
    double total = 0.0, weight = 0.0;
    for (std::uint32_t row : rows) total += problem_.weight(row);
    std::uint32_t i = 0;
    int first = -1, last = -2;
    for (int p = 0; p + 1 < std::ssize(ends); ++p) {
      for (; i < ends[p]; ++i) weight += problem_.weight(rows[order[i]]);
      if (!permitted(weight, total)) continue;
      if (first < 0) first = p;
      last = p;
    }
    line.first = std::max(first, 0);
    line.last = last;
  }

  static void make_edges(Line& line, const std::vector<std::uint32_t>& order,
                         const std::vector<std::uint32_t>& ends, int n_bins) {
    const std::size_t m = ends.back();
    line.codes.resize(order.size());
    std::uint32_t begin = 0;
    int first = 0;
    std::uint8_t bin = 0;
    for (int p = 0; p < std::ssize(ends); ++p) {
      const bool last = p + 1 == std::ssize(ends);
      // A bin is full once it reaches the next multiple of its share.
      if (!last && static_cast<std::size_t>(ends[p]) * n_bins < m * (bin + std::size_t{1}))
        continue;
      for (std::uint32_t i = begin; i < ends[p]; ++i) line.codes[order[i]] = bin;
      line.divisible.push_back(p > first);
      if (!last) line.edges.push_back(p);
      begin = ends[p];
      first = p + 1;
      ++bin;
    }
  }

  // Above this number of features, tables of all pairs take longer than they save.
  static constexpr int kMostPaired = 128;

  void bound_pairs(Node& node) {
    const int d = problem_.n_features, K = cost_.K();
    const auto m = static_cast<std::int64_t>(node.set->rows.size());
    node.left.resize(d);
    node.right.resize(d);
    if (d > kMostPaired || m < 16) return;
    for (int f = 0; f < d; ++f) {
      node.left[f].assign(node.lines[f].edges.size() * d, Cost::kNone);
      node.right[f].assign(node.lines[f].edges.size() * d, Cost::kNone);
    }
    std::vector<Value> cells, scratch, left(256), right(256);
    const auto keep = [&](int root, int child, const Grid& grid, bool usable) {
      if (!usable) return;
      scratch.resize((2 * static_cast<std::size_t>(grid.n_children) + 4) * K);
      bound_children(cost_, grid, cells.data(), node.lines[child].divisible.data(),
                     problem_.price(child), scratch.data(), left.data(), right.data());
      for (int e = 0; e + 1 < grid.n_roots; ++e) {
        node.left[root][static_cast<std::size_t>(e) * d + child] = left[e];
        node.right[root][static_cast<std::size_t>(e) * d + child] = right[e];
      }
    };
    for (int f = 0; f < d; ++f)
      for (int g = f; g < d; ++g) {
        const int nf = static_cast<int>(node.lines[f].edges.size()) + 1;
        const int ng = static_cast<int>(node.lines[g].edges.size()) + 1;
        cells.assign(static_cast<std::size_t>(nf) * ng * K, Value{0});
        sum_cells(cost_, node.columns.data(), node.lines[f].codes.data(),
                  node.lines[g].codes.data(), ng, m, cells.data());
        charge(static_cast<double>(m + 12 * nf * ng) * K);
        keep(f, g, {nf, ng * K, ng, K}, nf > 1);
        if (f != g) keep(g, f, {ng, K, nf, ng * K}, ng > 1);
      }
  }

  // ---- small parts ----------------------------------------------------------------------------

  // A result that is final: exact if it is below the target or a leaf is, else the bound.
  Answer<Value> settled(const Answer<Value>& best, Value target, Value floor) const {
    if (best.bound < target - slack_) return best;
    // A leaf that is as good as anything else is exact too.
    const Value bound = std::min(best.bound, floor);
    if (bound == best.bound) return best;
    return {bound, false, nullptr};
  }

  Value leaf_cost(const std::vector<std::uint32_t>& rows) {
    gather(rows, cut_columns_);
    cut_all_.assign(cost_.K(), Value{0});
    sum_rows(cost_, cut_columns_.data(), std::ssize(rows), cut_all_.data());
    charge(static_cast<double>(rows.size()) * cost_.K());
    return cost_.leaf(cut_all_.data());
  }

  void gather(const std::vector<std::uint32_t>& rows, std::vector<Value>& columns) const {
    const int K = cost_.K();
    columns.resize(rows.size() * K);
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::copy_n(problem_.columns + static_cast<std::int64_t>(rows[i]) * K, K,
                  columns.data() + i * K);
  }

  void split(const RowSet& set, int f, std::uint32_t rank, RowSet* sides) const {
    const std::uint32_t* rank_of = problem_.ranks + static_cast<std::int64_t>(f) * problem_.n_rows;
    sides[0].rows.resize(set.rows.size());
    sides[1].rows.resize(set.rows.size());
    std::size_t n_left = 0, n_right = 0;
    for (std::uint32_t row : set.rows) {
      const bool left = rank_of[row] <= rank;
      sides[0].rows[n_left] = row;
      sides[1].rows[n_right] = row;
      n_left += left;
      n_right += !left;
    }
    sides[0].rows.resize(n_left);
    sides[1].rows.resize(n_right);
    for (std::uint32_t row : sides[0].rows) {
      sides[0].hash[0] ^= signs_[row][0];
      sides[0].hash[1] ^= signs_[row][1];
    }
    for (int i = 0; i < 2; ++i) sides[1].hash[i] = set.hash[i] ^ sides[0].hash[i];
  }

  bool permitted(double weight, double total) const {
    return weight >= problem_.min_weight && total - weight >= problem_.min_weight;
  }

  // At most 256 bins a feature, of about as many rows each, for all rows.
  void make_codes() {
    const std::int64_t n = problem_.n_rows;
    const int d = problem_.n_features;
    codes_.resize(static_cast<std::size_t>(n) * d);
    n_codes_.resize(d);
    code_ends_.resize(d);
    for (int f = 0; f < d; ++f) {
      const std::uint32_t* rank_of = problem_.ranks + static_cast<std::int64_t>(f) * n;
      const std::uint32_t n_ranks = problem_.n_distinct[f];
      std::vector<std::uint32_t> counts(n_ranks, 0);
      for (std::int64_t i = 0; i < n; ++i) ++counts[rank_of[i]];
      std::vector<std::uint8_t> code(n_ranks);
      std::int64_t upto = 0;
      int bin = 0;
      for (std::uint32_t rank = 0; rank < n_ranks; ++rank) {
        upto += counts[rank];
        code[rank] = static_cast<std::uint8_t>(bin);
        const bool full = n_ranks <= kCodes || upto * kCodes >= n * (bin + std::int64_t{1});
        if (rank + 1 == n_ranks || (full && bin + 1 < kCodes)) {
          code_ends_[f].push_back(rank);
          ++bin;
        }
      }
      n_codes_[f] = static_cast<int>(code_ends_[f].size());
      for (std::int64_t i = 0; i < n; ++i) codes_[f * n + i] = code[rank_of[i]];
    }
  }

  std::uint32_t last_rank(int f, int bin, int shift) const {
    const int last = std::min(((bin + 1) << shift) - 1, n_codes_[f] - 1);
    return code_ends_[f][last];
  }
  std::uint32_t first_rank(int f, int bin, int shift) const {
    return bin == 0 ? 0 : code_ends_[f][(bin << shift) - 1] + 1;
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

  void charge(double work) {
    work_ += work;
    if (work_ - paused_ < 1e7) return;
    paused_ = work_;
    pause_(work_);
  }

  Problem<Cost> problem_;
  Cost cost_;
  Value slack_;  // costs closer than this are the same: 0 in fixed point
  std::vector<std::array<std::uint64_t, 2>> signs_;
  std::vector<std::uint8_t> codes_;  // by feature, then row
  std::vector<int> n_codes_;
  std::vector<std::vector<std::uint32_t>> code_ends_;  // last rank of each code
  CenterSets sets_;
  std::unordered_map<Key, Answer<Value>, KeyHash> cache_;
  std::function<void(double)> pause_;
  double work_ = 0.0, paused_ = 0.0;
  // Of the cut that is being searched.
  std::vector<Value> cut_columns_, cut_all_, cut_sums_, cut_before_, cut_after_;
  std::vector<std::uint8_t> cut_open_;
  std::vector<double> cut_weights_;
  std::vector<std::uint64_t> cut_order_;
};

}  // namespace treemeans::optimal
