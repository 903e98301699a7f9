// A look inside wide bins: which of a node's rows are there, and their exact values.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "binning.hpp"
#include "points.hpp"

namespace treemeans {

struct BinValue {
  double value;
  std::int64_t position;  // of the row among the node's rows
};

// For each of a slot's `wanted` bins (counted from its first, ascending), the rows in it, by value.
inline std::vector<std::vector<BinValue>> rows_in_bins(const Points& points, const SlotView& slot,
                                                       const Row* rows, std::int64_t n,
                                                       const std::vector<std::int64_t>& wanted) {
  std::vector<std::vector<BinValue>> found(wanted.size());
  if (slot.codes) {  // a row's code tells its bin: only rows inside have their value read
    std::array<std::int16_t, Bins::kMax> place;
    place.fill(-1);
    for (std::size_t w = 0; w < wanted.size(); ++w) place[wanted[w]] = static_cast<std::int16_t>(w);
    std::vector<std::vector<Row>> rows_of(wanted.size());
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int16_t w = place[slot.codes[rows[i]]];
      if (w < 0) continue;
      found[w].push_back({0.0, i});
      rows_of[w].push_back(rows[i]);
    }
    std::vector<double> values;
    for (std::size_t w = 0; w < wanted.size(); ++w) {
      values.resize(rows_of[w].size());
      points.column(slot.feature, rows_of[w].data(), static_cast<std::int64_t>(values.size()),
                    values.data());
      for (std::size_t i = 0; i < values.size(); ++i) found[w][i].value = values[i];
    }
  } else {
    std::vector<double> values(n);
    points.column(slot.feature, rows, n, values.data());
    for (std::int64_t i = 0; i < n; ++i) {
      const auto w = std::partition_point(wanted.begin(), wanted.end(), [&](std::int64_t bin) {
        return slot.high[bin] < values[i];
      });
      if (w != wanted.end() && slot.low[*w] <= values[i])
        found[w - wanted.begin()].push_back({values[i], i});
    }
  }
  for (std::vector<BinValue>& bin : found)
    std::sort(bin.begin(), bin.end(),
              [](const BinValue& a, const BinValue& b) { return a.value < b.value; });
  return found;
}

// Sorts suspects (bins that are to be looked into) by slot and bin; where each slot's begin, and
// the end of all.
template <class Suspect>
std::vector<const Suspect*> sort_by_slot(std::vector<Suspect>& suspects) {
  std::sort(suspects.begin(), suspects.end(), [](const Suspect& a, const Suspect& b) {
    return std::tie(a.slot, a.bin) < std::tie(b.slot, b.bin);
  });
  std::vector<const Suspect*> starts;
  const Suspect* last = suspects.data() + suspects.size();
  for (const Suspect* s = suspects.data(); s != last; ++s)
    if (starts.empty() || starts.back()->slot != s->slot) starts.push_back(s);
  starts.push_back(last);
  return starts;
}

}  // namespace treemeans
