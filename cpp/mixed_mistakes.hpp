// The search of IMM inside bins of a column of numbers of which some are missing.
//
// A row of value v whose center is at a is parted from it by the thresholds between v and a. So as
// the threshold rises past v, mistakes grow by the row's weight if v < a and fall by it if v > a;
// as it rises past a, they fall by the weight of the rows below and grow by that of those above.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "binning.hpp"
#include "points.hpp"

namespace treemeans {

// The rows of a node that count, their centers, weights (null: 1), and where the centers are; NaN:
// where values are missing.
struct CountedRows {
  const Row* rows;
  std::int64_t n;
  const std::int32_t* center;
  const std::int64_t* weights;
  const double* place;
  bool missing_left;
};

struct InsideCut {
  std::int64_t mistakes = std::numeric_limits<std::int64_t>::max();
  double threshold = std::numeric_limits<double>::quiet_NaN();
};

// The threshold of fewest mistakes inside the bins that are open; of equals, the lowest. members:
// the node's centers that have a place. changes: what the mistakes change by at each center, but
// for the rows in its own bin. base: mistakes of a threshold just below each bin. From `least` up
// to `most` thresholds are permitted. Some center is on the left from the lowest one on, or from
// anywhere if `left_anyway`; some is on the right below the highest one, or anywhere if
// `right_anyway`.
inline InsideCut least_mistakes_inside(const Points& points, const MixedSlot& slot,
                                       const CountedRows& node,
                                       const std::vector<std::int32_t>& members,
                                       std::vector<std::int64_t> changes, const std::uint8_t* open,
                                       const std::int64_t* base, double least, double most,
                                       bool left_anyway, bool right_anyway) {
  struct Event {
    double at;
    std::int64_t change;
  };
  std::vector<std::vector<Event>> events(slot.n_values);
  std::vector<Row> inside;
  for (std::int64_t i = 0; i < node.n; ++i) {
    const std::uint8_t b = slot.codes[node.rows[i]];
    if (b < slot.n_values && open[b]) inside.push_back(node.rows[i]);
  }
  std::vector<double> values(inside.size());
  points.column(slot.feature, inside.data(), static_cast<std::int64_t>(inside.size()),
                values.data());
  for (std::size_t i = 0; i < inside.size(); ++i) {
    const Row row = inside[i];
    const std::int32_t c = node.center[row];
    const std::uint8_t b = slot.codes[row];
    const double v = values[i], a = node.place[c];
    const std::int64_t weight = node.weights ? node.weights[row] : 1;
    const bool grows = std::isnan(a) ? !node.missing_left : v < a;
    const bool falls = std::isnan(a) ? node.missing_left : v > a;
    events[b].push_back({v, (grows ? weight : 0) - (falls ? weight : 0)});
    if (slot.low[b] <= a && a <= slot.high[b])
      changes[c] += (v > a ? weight : 0) - (v < a ? weight : 0);
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double first = infinity, last = -infinity;
  for (const std::int32_t c : members) {
    const double a = node.place[c];
    first = std::min(first, a), last = std::max(last, a);
    for (std::int32_t b = 0; b < slot.n_values; ++b)
      if (open[b] && slot.low[b] <= a && a <= slot.high[b]) events[b].push_back({a, changes[c]});
  }
  InsideCut best;
  for (std::int32_t b = 0; b < slot.n_values; ++b) {
    std::sort(events[b].begin(), events[b].end(),
              [](const Event& one, const Event& other) { return one.at < other.at; });
    std::int64_t mistakes = open[b] ? base[b] : 0;
    for (std::size_t i = 0; i < events[b].size();) {
      const double at = events[b][i].at;
      for (; i < events[b].size() && events[b][i].at == at; ++i) mistakes += events[b][i].change;
      const bool parts = (left_anyway || first <= at) && (right_anyway || at < last);
      if (parts && least <= at && at <= most && mistakes < best.mistakes) best = {mistakes, at};
    }
  }
  return best;
}

}  // namespace treemeans
