// What a tree may be beyond costing little: the one object that every search asks whether a leaf
// may be cut. A new limit on the sides of a cut goes into `permits`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace treemeans {

struct Limits {
  const std::int64_t* weights = nullptr;  // of all rows of the table; null: each weighs 1
  std::int64_t min_weight = 1;            // of the rows on either side of a cut
  const std::int64_t* prices = nullptr;   // of each slot, added to what a cut there costs (null:
                                          // all free); negative: no cut there
  std::int32_t max_depth = std::numeric_limits<std::int32_t>::max();  // cuts above a leaf

  // Whether a cut may leave these weights on its sides.
  bool permits(std::int64_t left, std::int64_t right) const {
    return left >= min_weight && right >= min_weight;
  }
  // Whether a leaf with so many cuts above it may be cut.
  bool permits_depth(std::int32_t depth) const { return depth < max_depth; }
  // A row is a row, however light.
  std::int64_t weight(std::int64_t row) const {
    return weights ? std::max<std::int64_t>(weights[row], 1) : 1;
  }
  std::int64_t price(std::int32_t slot) const { return prices ? prices[slot] : 0; }
  bool open(std::int32_t slot) const { return price(slot) >= 0; }
};

}  // namespace treemeans
