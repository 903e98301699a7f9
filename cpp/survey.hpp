// Sums of lines by group, feature and stretch of values: what is asked of the rows of one part, by
// a search that sees no rows.
#pragma once

#include <cstdint>
#include <vector>

#include "points.hpp"

namespace treemeans {

// A look at a feature of the rows of one group, in stretches of values: those between its edges,
// each without its lower end and with its upper one. Some are not wanted, and passed over. Looks
// are sorted by group.
struct Looks {
  std::int64_t n;
  const std::int32_t* group;
  const std::int32_t* feature;
  const std::int64_t* first;   // n + 1: where the edges of each begin
  const double* edges;         // ascending in each look; at least two
  const std::uint8_t* wanted;  // of each stretch

  // Number of the first stretch of a look.
  std::int64_t stretch(std::int64_t look) const { return first[look] - look; }
  std::int64_t n_stretches() const { return stretch(n); }
};

// Every row has a group (a negative one: none) and a line of K integers.
struct GroupedRows {
  const std::int32_t* groups;
  const std::int64_t* lines;
  std::int64_t K;
};

// Of each stretch: the sums of the lines (K each), the least and the greatest value in it.
struct Stretches {
  std::int64_t* sums;
  double* low;
  double* high;
};

// Adds to `out`, which starts as zeros, infinities and minus infinities.
void survey(const Points& points, const GroupedRows& rows, const Looks& looks,
            const Stretches& out);

// Every row that a look has in one of its stretches: the stretch, the row, its value.
struct Found {
  std::vector<std::int64_t> stretch;
  std::vector<Row> row;
  std::vector<double> value;
};
Found collect(const Points& points, const std::int32_t* groups, const Looks& looks);

}  // namespace treemeans
