// Rows of a partition as codes of bins, one or two bytes a value, and sums by group and code: what
// a search over partitions asks again and again once the rows have been read.
#pragma once

#include <cstdint>

#include "points.hpp"
#include "split.hpp"

namespace treemeans {

// Ascending edges of every feature. A value has the code of the first edge that is not below it, so
// a bin excludes its lower edge and includes its upper one; the last code has no upper edge. A
// missing value has a code of its own behind that one.
struct CodeEdges {
  std::int32_t n_features;
  const std::int64_t* first;  // n_features + 1: where the edges of each begin
  const double* edges;

  std::int64_t n_edges(std::int32_t f) const { return first[f + 1] - first[f]; }
  // Number of the first bin of a feature among those of all: there are two more than edges.
  std::int64_t bin(std::int32_t f) const { return first[f] + 2 * std::int64_t{f}; }
  std::int64_t n_bins() const { return bin(n_features); }
};

// codes: n_features x n_rows. low, high: of each bin, the least and the greatest value in it; they
// start as infinities and minus infinities.
template <class Code>
void encode(const Points& points, const CodeEdges& edges, Code* codes, double* low, double* high);

// The rows of a partition: the group of each (a negative one: none), their codes, and the features
// whose codes are summed.
template <class Code>
struct CodedRows {
  std::int64_t n_rows, n_groups;
  const std::int32_t* groups;
  const Code* codes;
  CodeEdges edges;
  const std::int32_t* features;
  std::int64_t n_wanted;  // features

  // Bins of the wanted features: what a group has in a histogram.
  std::int64_t n_bins() const {
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < n_wanted; ++i) n += edges.n_edges(features[i]) + 2;
    return n;
  }
};

// What is summed: lines of k numbers, the weight if rows have weights that matter, and a 1.
struct LineSums {
  std::int64_t k;
  const std::int64_t* weights;  // null: there are none
  std::int64_t* sums;           // n_groups x n_bins() x width()

  std::int64_t width() const { return k + (weights ? 2 : 1); }
};

// The k numbers are a row's `values`, n_rows x k; where there is a `place`, those of the row there,
// which only rows of a group need to have.
template <class Code>
void sum_codes(const CodedRows<Code>& rows, const std::int64_t* values, const std::int32_t* place,
               const LineSums& out);

// The k numbers are the row's `home` weight (null: 1) at its label, and zeros elsewhere.
template <class Code>
void count_labels(const CodedRows<Code>& rows, const std::int32_t* labels, const std::int64_t* home,
                  const LineSums& out);

// Where rows are in a tree whose nodes have keys that stay the same while it grows.
struct RowPlaces {
  const std::int32_t* key;          // of each row, from a smaller tree; null: all are at the root
  const std::int32_t* node_of_key;  // 0 for a node that is no more
  const std::int32_t* key_of_node;
  const std::int32_t* group_of_node;
};

// Sends rows on down to leaves: the group of each, and its key if any row was sent on. Parents come
// before their children. False if a value comes to a split that does not accept it.
bool route(const Points& points, const TreeView& tree, const RowPlaces& from, std::int32_t* group,
           std::int32_t* key, bool* moved);

}  // namespace treemeans
