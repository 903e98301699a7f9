// The limits on a tree: the one object that every search asks whether a leaf
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

  std::int32_t max_categories = std::numeric_limits<std::int32_t>::max();  // that a cut lists

  // Whether a side of a cut may weigh so much.
  bool permits_side(std::int64_t weight) const { return weight >= min_weight; }
  // Whether a cut may leave these weights on its sides.
  bool permits(std::int64_t left, std::int64_t right) const {
    return permits_side(left) && permits_side(right);
  }
  // Whether a leaf of this weight can be cut at all.
  bool permits_cut(std::int64_t weight) const { return weight >= 2 * min_weight; }
  // Whether a side may have no rows (IMM), and whether it takes more than a row to make one.
  bool permits_empty() const { return min_weight == 0; }
  bool asks_for_weight() const { return min_weight > 1; }
  bool permits_categories(std::int32_t n) const { return n <= max_categories; }
  // Whether a leaf with so many cuts above it may be cut.
  bool permits_depth(std::int32_t depth) const { return depth < max_depth; }
  // A row counts as one, however little it weighs.
  std::int64_t weight(std::int64_t row) const {
    return weights ? std::max<std::int64_t>(weights[row], 1) : 1;
  }
  std::int64_t price(std::int32_t slot) const { return prices ? prices[slot] : 0; }
  bool open(std::int32_t slot) const { return price(slot) >= 0; }
};

}  // namespace treemeans
