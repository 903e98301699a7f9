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
// from histograms of pairs of features (`Node`) and are solved from sums that follow the position
// (`SideCuts`); larger ones are solved likewise, and remembered by their set of rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "block_size.hpp"
#include "optimal_bounds.hpp"
#include "optimal_node.hpp"
#include "optimal_problem.hpp"
#include "optimal_side_cuts.hpp"
#include "optimal_subsets.hpp"

namespace treemeans::optimal {

template <class Cost>
class ExactTree {
 public:
  using Value = typename Cost::Value;

  ExactTree(const Problem<Cost>& problem, Value slack)
      : problem_(problem), cost_(problem.cost), slack_(slack), known_(problem.n_features) {
    std::mt19937_64 random(20200603);
    signs_.resize(problem.n_rows);
    for (auto& sign : signs_) sign = {random(), random()};
  }

  // V(all rows, n_leaves) if that is below the target, else a lower bound not below it. `pause` is
  // called now and then with the work so far (values read and added), and raises `Stopped` to end.
  Answer<Value> solve(int n_leaves, int max_depth, Value target,
                      std::function<void(double)> pause) {
    pause_ = std::move(pause);
    if constexpr (std::is_integral_v<Value>)
      if (sets_.most_leaves < n_leaves - 1)
        sets_ = CenterSets(problem_.columns, problem_.n_rows, problem_.n_centers, cost_.K(),
                           n_leaves - 1);
    RowSet all;
    all.rows.resize(problem_.n_rows);
    for (std::int64_t i = 0; i < problem_.n_rows; ++i) all.rows[i] = static_cast<std::uint32_t>(i);
    all.low.assign(problem_.n_features, 0);
    all.high.assign(problem_.n_distinct, problem_.n_distinct + problem_.n_features);
    for (const auto& sign : signs_) all.hash[0] ^= sign[0], all.hash[1] ^= sign[1];
    return best_tree(all, n_leaves, max_depth, target, problem_.min_weight > 0.0);
  }

  double work() const { return work_; }
  std::size_t n_cached() const { return cache_.size(); }

 private:
  static constexpr std::size_t kMostCached = 1 << 21;
  static constexpr std::int64_t kManyRows = sized(512, 8);

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

  // One feature of a node under search: what is known of V(side, l) at the positions, for l >= 2.
  struct Sides {
    int feature;
    std::vector<std::map<int, Answer<Value>>> left, right;  // [l]
  };

  // ---- trees ----------------------------------------------------------------------------------

  // `limited`: whether leaves must have their least weight. That limit breaks monotony: a set too
  // light to be cut may cost more than one that has more rows. Bounds are therefore those of trees
  // without the limit, and only what might be the best tree is solved with it.
  Answer<Value> best_tree(const RowSet& set, int n_leaves, int max_depth, Value target,
                          bool limited) {
    if (max_depth < 30) n_leaves = std::min<int>(n_leaves, 1 << max_depth);
    if (n_leaves <= 2) return best_cut(set, n_leaves == 2, target, limited);
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

  // V(rows, 2), or V(rows, 1), or a bound.
  Answer<Value> best_cut(const RowSet& set, bool may_cut, Value target, bool limited) {
    Node<Cost> node(problem_, set);
    Answer<Value> best{node.leaf(), true, nullptr};
    if (may_cut && best.bound > slack_) {
      Value limit = std::min(target, best.bound), floor = Cost::kNone;
      node.make_lines(limited);
      for (int f = 0; f < problem_.n_features; ++f) {
        const Line<Value>& line = node.lines[f];
        for (int p = line.first; p <= line.last; ++p) {
          const Value at = line.before[p] + line.after[p] + problem_.price(f);
          if (at < limit - slack_) {
            limit = at;
            best = {at, true, std::make_shared<Branch>(Branch{f, line.ranks[p], nullptr, nullptr})};
          } else {
            floor = std::min(floor, at);
          }
        }
      }
      best = settled(best, target, floor);
    }
    charge(node.work);
    return best;
  }

  Answer<Value> search_tree(const RowSet& set, int n_leaves, int max_depth, Value target,
                            bool limited) {
    if (const Value bound = bound_by_sets(set.rows, n_leaves); bound >= target)
      return {bound, false, nullptr};
    Node<Cost> node(problem_, set);
    Answer<Value> best{node.leaf(), true, nullptr};
    if (best.bound <= slack_ || set.rows.size() < 2) return best;
    std::vector<Value> most;
    if constexpr (std::is_integral_v<Value>) most = node.most();
    const Value most_cost = total_of(most);
    charge(static_cast<double>(known_.size()));
    if (const auto bound = known_.find(set, most_cost, n_leaves, max_depth, target))
      return settled(best, target, *bound);
    node.make_lines(limited);
    node.make_bins();
    charge(node.work);
    node.work = 0.0;
    const Value two_leaves = node.two_leaves();
    SideCuts<Cost> cuts(problem_, node, slack_);
    Search search{node,        cuts, n_leaves, max_depth, limited, std::min(target, best.bound),
                  Cost::kNone, best};
    const int most_leaves =
        max_depth - 1 < 30 ? std::min(n_leaves - 1, 1 << (max_depth - 1)) : n_leaves - 1;
    for (int f : node.promising()) {
      const Line<Value>& line = node.lines[f];
      if (line.first > line.last) continue;
      Sides sides = make_sides(f, most_leaves);
      // Sides with few leaves have the best bounds, and what is learnt there helps the others.
      std::vector<int> left_leaves;
      for (int l : by_least(n_leaves))
        if (l <= most_leaves && n_leaves - l <= most_leaves) left_leaves.push_back(l);
      const auto rule_out = [&] {
        std::erase_if(left_leaves, [&](int l) { return ruled_out(search, sides, l); });
      };
      // Of many rows the bounds that take longest come last, for features that are left.
      const bool many = node.size() >= kManyRows;
      if (many && most_cost > 0) {
        bound_by_most(node, sides, two_leaves, node.most_upto(most, f));
        rule_out();
      }
      if (!left_leaves.empty()) bound_sides_by_sets(node, sides, many ? 2 : 3);
      if (many) rule_out();
      if (left_leaves.empty()) continue;
      node.bound_pairs(f);
      charge(node.work);
      node.work = 0.0;
      bound_by_pairs(node, sides);
      cuts.start(f);
      for (int l : left_leaves)
        bisect(search, sides, l, line.first - 1, line.last + 1, Value{0}, Value{0});
    }
    const Answer<Value> answer = settled(search.best, target, search.floor);
    if (!limited) remember(node, answer.bound, most_cost, n_leaves, max_depth);
    return answer;
  }

  void remember(const Node<Cost>& node, Value bound, Value most, int n_leaves, int max_depth) {
    typename KnownBounds<Value>::Entry entry{bound, most, node.set->low, node.set->high, {}, {}};
    for (const auto& line : node.lines) {
      entry.tight_low.push_back(line.ranks.front());
      entry.tight_high.push_back(line.ranks.back());
    }
    known_.add(n_leaves, max_depth, std::move(entry));
  }

  struct Search {
    const Node<Cost>& node;
    SideCuts<Cost>& cuts;
    int n_leaves, max_depth;
    bool limited;
    Value limit, floor;
    Answer<Value> best;
  };

  // Cuts of a feature between two positions, with l leaves on the left. The last two are lower
  // bounds of V(left, l) at the lower position and of V(right, rest) at the upper one.
  void bisect(Search& search, Sides& sides, int l, int low, int high, Value before, Value after) {
    const Line<Value>& line = search.node.lines[sides.feature];
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
  static int middle_of(const Line<Value>& line, int low, int high) {
    const int middle = low + (high - low) / 2;
    const auto begin = line.coarse.last.begin(), end = line.edges_end();
    const auto at = std::lower_bound(begin, end, middle);
    int nearest = -1;
    if (at != end && *at < high) nearest = *at;
    if (at != begin && *(at - 1) > low)
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
    const Line<Value>& line = search.node.lines[f];
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
      const int n_leaves = go_left ? l : r;
      if (n_leaves > 2 && sets[0].rows.empty())
        split(*search.node.set, f, line.ranks[position], sets);
      solve_side(search, f, position, go_left, n_leaves, sets[go_left ? 0 : 1], side.bound + more,
                 side);
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
      const Line<Value>& line = search.node.lines[f];
      // Bounds of the nearest coarse cut with fewer rows on this side.
      const auto& table = is_left ? search.node.left[f] : search.node.right[f];
      const auto begin = line.coarse.last.begin(), end = line.edges_end();
      const auto at =
          is_left ? std::upper_bound(begin, end, position) : std::lower_bound(begin, end, position);
      const auto edge = (at - begin) - (is_left ? 1 : 0);
      const bool bounded = !table.empty() && edge >= 0 && edge < line.n_edges();
      found = search.cuts.solve(is_left, position, target,
                                bounded ? table.data() + edge * problem_.n_features : nullptr);
      charge(search.cuts.take_work());
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

  // The same on both sides of the edges of a feature, for so many leaves and more.
  void bound_sides_by_sets(const Node<Cost>& node, Sides& sides, int fewest) {
    const Line<Value>& line = node.lines[sides.feature];
    const int most = std::min(static_cast<int>(sides.left.size()) - 1, problem_.n_centers - 1);
    const int width = sets_.width_for(fewest);
    if (width == 0 || most < fewest || line.n_edges() == 0) return;
    const auto& rows = node.set->rows;
    std::vector<std::int64_t> sums(static_cast<std::size_t>(line.coarse.size()) * width, 0),
        rest(width);
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (int s = 0; s < width; ++s)
        sums[static_cast<std::size_t>(line.coarse.codes[i]) * width + s] +=
            sets_.columns[static_cast<std::size_t>(rows[i]) * sets_.width + s];
    charge(static_cast<double>(rows.size()) * width);
    for (std::size_t i = width; i < sums.size(); ++i) sums[i] += sums[i - width];
    const std::int64_t* all = sums.data() + static_cast<std::size_t>(line.n_edges()) * width;
    for (int e = 0; e < line.n_edges(); ++e) {
      const std::int64_t* upto = sums.data() + e * width;
      for (int s = 0; s < width; ++s) rest[s] = all[s] - upto[s];
      for (int l = fewest; l <= most; ++l) {
        Value& left = sides.left[l][line.coarse.last[e]].bound;
        Value& right = sides.right[l][line.coarse.last[e]].bound;
        left = std::max(left, static_cast<Value>(sets_.bound(upto, l)));
        right = std::max(right, static_cast<Value>(sets_.bound(rest.data(), l)));
      }
    }
  }

  static Sides make_sides(int f, int most) {
    Sides sides{f, {}, {}};
    sides.left.resize(most + 1);
    sides.right.resize(most + 1);
    return sides;
  }

  // What two leaves cost on one side, they cost on all rows with no more than the others can add.
  void bound_by_most(const Node<Cost>& node, Sides& sides, Value two_leaves,
                     const std::vector<Value>& most) {
    if (sides.left.size() <= 2) return;
    const Line<Value>& line = node.lines[sides.feature];
    for (int e = 0; e < line.n_edges(); ++e) {
      Value& left = sides.left[2][line.coarse.last[e]].bound;
      Value& right = sides.right[2][line.coarse.last[e]].bound;
      left = std::max(left, two_leaves - (most.back() - most[e]));
      right = std::max(right, two_leaves - most[e]);
    }
  }

  void bound_by_pairs(const Node<Cost>& node, Sides& sides) {
    const int f = sides.feature, d = problem_.n_features;
    if (sides.left.size() <= 2 || node.left[f].empty()) return;
    const Line<Value>& line = node.lines[f];
    for (int e = 0; e < line.n_edges(); ++e) {
      const Value* left = node.left[f].data() + e * d;
      const Value* right = node.right[f].data() + e * d;
      Value& before = sides.left[2][line.coarse.last[e]].bound;
      Value& after = sides.right[2][line.coarse.last[e]].bound;
      before = std::max(before, *std::min_element(left, left + d));
      after = std::max(after, *std::min_element(right, right + d));
    }
  }

  // Whether no cut with l leaves on the left is of use, by what is known at the coarse edges.
  bool ruled_out(Search& search, const Sides& sides, int l) const {
    const Line<Value>& line = search.node.lines[sides.feature];
    const int r = search.n_leaves - l;
    Value floor = Cost::kNone, before = 0;
    int low = -1;
    for (int e = 0; e <= line.n_edges(); ++e) {
      const int high = line.coarse.last[e];  // of the last bin: all rows
      const Value after = e < line.n_edges() ? known(sides.right, line.after, r, high) : Value{0};
      if (high - low > 1) floor = std::min(floor, before + after);  // cuts between the edges
      if (e == line.n_edges()) break;
      before = known(sides.left, line.before, l, high);
      floor = std::min(floor, before + after);
      low = high;
    }
    floor += problem_.price(sides.feature);
    if (floor < search.limit - slack_) return false;
    search.floor = std::min(search.floor, floor);
    return true;
  }

  // The sum; 0 if it may be too large.
  static Value total_of(const std::vector<Value>& values) {
    Value total = 0;
    for (Value value : values)
      if ((total += value) > std::numeric_limits<Value>::max() / 2) return 0;
    return total;
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

  // ---- small parts ----------------------------------------------------------------------------

  // A result that is final: exact if it is below the target or a leaf is, else the bound.
  Answer<Value> settled(const Answer<Value>& best, Value target, Value floor) const {
    if (best.bound < target - slack_) return best;
    // A leaf that is as good as anything else is exact too.
    const Value bound = std::min(best.bound, floor);
    if (bound == best.bound) return best;
    return {bound, false, nullptr};
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
    for (int i = 0; i < 2; ++i) sides[i].low = set.low, sides[i].high = set.high;
    sides[0].high[f] = rank;
    sides[1].low[f] = rank + 1;
    for (int i = 0; i < 2; ++i) sides[1].hash[i] = set.hash[i] ^ sides[0].hash[i];
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
  CenterSets sets_;
  std::unordered_map<Key, Answer<Value>, KeyHash> cache_;
  KnownBounds<Value> known_;
  std::function<void(double)> pause_;
  double work_ = 0.0, paused_ = 0.0;
};

}  // namespace treemeans::optimal
