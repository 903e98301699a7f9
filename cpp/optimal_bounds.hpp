// Lower bounds of sets of rows that were searched, for sets within and around them.
//
// A tree for S is one for every T within S, so what is proven of T holds for S. And a tree for T is
// one for S that costs at most `RegretCost::most` more for each row of S that is not in T, so what
// is proven of S holds for T less these. Sets are boxes of ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "optimal_problem.hpp"

namespace treemeans::optimal {

template <class Value>
class KnownBounds {
 public:
  struct Entry {
    Value bound;
    Value most;                                        // that all of its rows can cost; 0: unknown
    std::vector<std::uint32_t> low, high;              // its box
    std::vector<std::uint32_t> tight_low, tight_high;  // the least box around its rows
  };

  explicit KnownBounds(int n_features)
      : n_most_(std::clamp<std::size_t>(kMostRanks / std::max(n_features, 1), 64, 1 << 15)) {}

  // Beyond a number of entries, the oldest is dropped.
  void add(int n_leaves, int max_depth, Entry entry) {
    Ring& ring = rings_[{n_leaves, max_depth}];
    if (ring.entries.size() < n_most_) {
      ring.entries.push_back(std::move(entry));
    } else {
      ring.entries[ring.next] = std::move(entry);
      ring.next = (ring.next + 1) % n_most_;
    }
  }

  // A bound that is not below the target, if an entry gives one. `most`: that the rows can cost.
  std::optional<Value> find(const RowSet& set, Value most, int n_leaves, int max_depth,
                            Value target) const {
    for (const auto& [size, ring] : rings_) {
      // With more leaves, or more depth, a tree costs no more.
      if (size.first < n_leaves || size.second < max_depth) continue;
      for (const Entry& entry : ring.entries) {
        if (entry.bound < target) continue;
        if (within(entry.tight_low, entry.tight_high, set.low, set.high)) return entry.bound;
        const Value less = entry.most - most;
        if (most > 0 && entry.most > 0 && entry.bound - less >= target &&
            within(set.low, set.high, entry.low, entry.high))
          return entry.bound - less;
      }
    }
    return std::nullopt;
  }

  std::size_t size() const {
    std::size_t n = 0;
    for (const auto& [size, ring] : rings_) n += ring.entries.size();
    return n;
  }

 private:
  static constexpr std::size_t kMostRanks = 1 << 19;
  using Ranks = std::vector<std::uint32_t>;

  struct Ring {
    std::vector<Entry> entries;
    std::size_t next = 0;
  };

  static bool within(const Ranks& low, const Ranks& high, const Ranks& outer_low,
                     const Ranks& outer_high) {
    for (std::size_t f = 0; f < low.size(); ++f)
      if (low[f] < outer_low[f] || high[f] > outer_high[f]) return false;
    return true;
  }

  std::size_t n_most_;
  std::map<std::pair<int, int>, Ring> rings_;  // by leaves, depth
};

}  // namespace treemeans::optimal
