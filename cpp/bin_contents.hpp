// A look inside bins: which of a node's rows are there, and their exact values.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "binning.hpp"
#include "block_size.hpp"
#include "points.hpp"

namespace treemeans {

struct BinValue {
  double value;
  std::int64_t position;  // of the row among the node's rows
};

// The rows of a node by their codes in a dense slot, so that few values need be read: those of a
// table lie far apart. keep(i): whether the i-th row is looked at.
template <class Keep>
class NodeBins {
 public:
  NodeBins(const Points& points, const SlotView& slot, const Row* rows, std::int64_t n, Keep keep)
      : points_(points), slot_(slot), rows_(rows), keep_(keep), codes_(n) {
    for (std::int64_t i = 0; i < n; ++i) {
      codes_[i] = slot.codes[rows[i]];
      if (keep(i)) occurs_[codes_[i]] = 1;
    }
  }

  std::uint8_t code(std::int64_t i) const { return codes_[i]; }

  // The values of the rows in a bin, in the order of the rows.
  std::vector<double> values_in(std::int64_t bin) const {
    std::vector<Row> inside;
    for (std::size_t i = 0; i < codes_.size(); ++i)
      if (codes_[i] == bin && keep_(static_cast<std::int64_t>(i))) inside.push_back(rows_[i]);
    std::vector<double> values(inside.size());
    points_.column(slot_.feature, inside.data(), static_cast<std::int64_t>(inside.size()),
                   values.data());
    return values;
  }

  // The greatest value up to `edge`; minus infinity if there is none.
  double greatest_up_to(double edge) const {
    constexpr double none = -std::numeric_limits<double>::infinity();
    double found = none;
    for (std::int64_t b = slot_.n_bins - 1; b >= 0 && found == none; --b) {
      if (!occurs_[b] || slot_.low[b] > edge) continue;
      if (!slot_.wide(b)) return slot_.low[b];
      for (double value : values_in(b))
        if (value <= edge) found = std::max(found, value);
    }
    return found;
  }
  // The least value above `edge`; infinity if there is none.
  double least_above(double edge) const {
    constexpr double none = std::numeric_limits<double>::infinity();
    double found = none;
    for (std::int64_t b = 0; b < slot_.n_bins && found == none; ++b) {
      if (!occurs_[b] || slot_.high[b] <= edge) continue;
      if (!slot_.wide(b)) return slot_.low[b];
      for (double value : values_in(b))
        if (value > edge) found = std::min(found, value);
    }
    return found;
  }

 private:
  const Points& points_;
  const SlotView slot_;
  const Row* rows_;
  Keep keep_;
  std::vector<std::uint8_t> codes_;
  std::array<std::uint8_t, Bins::kMax> occurs_{};
};

struct EveryRow {
  bool operator()(std::int64_t) const { return true; }
};

// Whether codes save time: a slot has them, and the node's values are many and apart.
inline bool worth_coding(const Points& points, const SlotView& slot, std::int64_t n) {
  return slot.codes && n >= sized(1024, 4) && points.n_features >= sized(8, 1);
}

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
