// Histograms of features by group of rows: what a search over partitions asks of the rows of each.
#pragma once

#include <cstdint>
#include <vector>

#include "points.hpp"

namespace treemeans {

// A request for a feature of the rows of one group, in bins of values: those between its edges,
// each without its lower end and with its upper one. Some are not wanted, and passed over.
// Requests are sorted by group.
struct HistogramRequests {
  std::int64_t n;
  const std::int32_t* group;
  const std::int32_t* feature;
  const std::int64_t* first;   // n + 1: where the edges of each begin
  const double* edges;         // ascending in each request; at least two
  const std::uint8_t* wanted;  // of each bin

  // Number of the first bin of a request.
  std::int64_t bin(std::int64_t request) const { return first[request] - request; }
  std::int64_t n_bins() const { return bin(n); }
};

// Tells by its code (see code_histogram.hpp) that a row is in no bin of a request, so that its
// value is not read. Without codes it keeps every row.
struct CodeFilter {
  const std::uint8_t* narrow = nullptr;  // n_features x n_rows; null where codes are wide
  const std::uint16_t* wide = nullptr;
  std::int64_t n_rows = 0;
  const std::uint8_t* keep = nullptr;  // requests x n_codes: whether rows with a code may be inside
  std::int64_t n_codes = 0;

  // Copies the rows that a request may want; how many they are.
  std::int64_t select(std::int64_t request, std::int32_t feature, const Row* rows, std::int64_t n,
                      Row* out) const;
};

// Every row has a group (a negative one: none) and a line of K integers.
struct GroupedRows {
  const std::int32_t* groups;
  const std::int64_t* row_stats;
  std::int64_t K;
};

// Of each bin: the sums of the rows' statistics (K each), the least and the greatest value in it.
struct GroupedBins {
  std::int64_t* sums;
  double* low;
  double* high;
};

// Adds to `out`, which starts as zeros, infinities and minus infinities.
void grouped_histogram(const Points& points, const GroupedRows& rows,
                       const HistogramRequests& requests, const CodeFilter& filter,
                       const GroupedBins& out);

// Every row that a request has in one of its bins: the bin, the row, its value.
struct GroupedValues {
  std::vector<std::int64_t> bin;
  std::vector<Row> row;
  std::vector<double> value;
};
GroupedValues grouped_values(const Points& points, const std::int32_t* groups,
                             const HistogramRequests& requests, const CodeFilter& filter);

}  // namespace treemeans
