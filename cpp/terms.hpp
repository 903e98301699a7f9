// What a cut must respect, beyond costing little.
#pragma once

#include <algorithm>
#include <cstdint>

namespace treemeans {

struct Terms {
  const std::int64_t* weights = nullptr;  // of all rows of the table; null: each weighs 1
  std::int64_t min_weight = 1;            // of the rows on either side of a cut
  const std::int64_t* prices = nullptr;   // of each slot, added to what a cut there costs (null:
                                          // all free); negative: no cut there

  // A row is a row, however light.
  std::int64_t weight(std::int64_t row) const {
    return weights ? std::max<std::int64_t>(weights[row], 1) : 1;
  }
  std::int64_t price(std::int32_t slot) const { return prices ? prices[slot] : 0; }
  bool open(std::int32_t slot) const { return price(slot) >= 0; }
};

}  // namespace treemeans
