#include "code_histogram.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "edges.hpp"
#include "known_width.hpp"
#include "simd.hpp"

namespace treemeans {
namespace {

// Rows whose lines stay in the cache while feature by feature is read.
constexpr std::int64_t kRows = sized(1024, 4);
constexpr int kTogether = 4;  // columns summed in one walk over the rows

// The rows of each group, ascending.
std::vector<std::vector<Row>> rows_by_group(const std::int32_t* groups, std::int64_t n,
                                            std::int64_t n_groups) {
  std::vector<std::int64_t> counts(n_groups, 0);
  for (std::int64_t r = 0; r < n; ++r)
    if (groups[r] >= 0 && groups[r] < n_groups) ++counts[groups[r]];
  std::vector<std::vector<Row>> rows(n_groups);
  for (std::int64_t g = 0; g < n_groups; ++g) rows[g].reserve(counts[g]);
  for (std::int64_t r = 0; r < n; ++r)
    if (groups[r] >= 0 && groups[r] < n_groups) rows[groups[r]].push_back(static_cast<Row>(r));
  return rows;
}

template <class Code>
using Columns = std::array<const Code*, kTogether>;
using Histograms = std::array<std::int64_t*, kTogether>;

// W is k where it is known at compile time, or 0.
template <int W, int C, class Code>
TM_CLONES void add_lines(const std::int64_t* TM_RESTRICT values, const LineSums& out,
                         const Row* TM_RESTRICT rows, const Row* TM_RESTRICT lines, std::int64_t n,
                         const Columns<Code>& codes, const Histograms& sums) {
  const std::int64_t k = W ? W : out.k, width = out.width();
  const std::int64_t* TM_RESTRICT weights = out.weights;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t* TM_RESTRICT line = values + lines[i] * k;
    for (int j = 0; j < C; ++j) {
      std::int64_t* TM_RESTRICT bin = sums[j] + std::int64_t{codes[j][rows[i]]} * width;
#pragma omp simd
      for (std::int64_t c = 0; c < k; ++c) bin[c] += line[c];
      if (weights) bin[k] += weights[rows[i]];
      ++bin[width - 1];
    }
  }
}

// Calls visit(rows, n, codes, sums, n_columns) for every block of rows of a group and a few of its
// features at a time.
template <class Code, class Visit>
void walk(const CodedRows<Code>& all, std::int64_t K, std::int64_t* sums, Visit visit) {
  const std::vector<std::vector<Row>> groups = rows_by_group(all.groups, all.n_rows, all.n_groups);
  std::vector<std::int64_t> first(all.n_wanted + 1, 0);
  for (std::int64_t i = 0; i < all.n_wanted; ++i)
    first[i + 1] = first[i] + all.edges.n_edges(all.features[i]) + 2;
  const std::int64_t n_bins = first.back();
  for (std::int64_t g = 0; g < all.n_groups; ++g) {
    const std::vector<Row>& rows = groups[g];
    for (std::size_t at = 0; at < rows.size(); at += kRows) {
      const std::int64_t n = std::min<std::int64_t>(kRows, rows.size() - at);
      for (std::int64_t i = 0; i < all.n_wanted; i += kTogether) {
        Columns<Code> codes{};
        Histograms bins{};
        const std::int64_t n_columns = std::min<std::int64_t>(kTogether, all.n_wanted - i);
        for (std::int64_t j = 0; j < n_columns; ++j) {
          codes[j] = all.codes + all.features[i + j] * all.n_rows;
          bins[j] = sums + (g * n_bins + first[i + j]) * K;
        }
        visit(rows.data() + at, n, codes, bins, n_columns);
      }
    }
  }
}

template <int W, class Code>
void sum_by_width(const CodedRows<Code>& all, const std::int64_t* values, const std::int32_t* place,
                  const LineSums& out) {
  std::vector<Row> placed(place ? kRows : 0);
  walk(all, out.width(), out.sums,
       [&](const Row* rows, std::int64_t n, const Columns<Code>& codes, const Histograms& bins,
           std::int64_t n_columns) {
         const Row* lines = rows;
         if (place) {
           for (std::int64_t i = 0; i < n; ++i) placed[i] = place[rows[i]];
           lines = placed.data();
         }
         if (n_columns == kTogether)
           return add_lines<W, kTogether, Code>(values, out, rows, lines, n, codes, bins);
         for (std::int64_t j = 0; j < n_columns; ++j)
           add_lines<W, 1, Code>(values, out, rows, lines, n, {codes[j]}, {bins[j]});
       });
}

}  // namespace

template <class Code>
void encode(const Points& points, const CodeEdges& edges, Code* codes, double* low, double* high) {
  std::vector<Row> rows(points.n_rows);
  std::iota(rows.begin(), rows.end(), Row{0});
  std::vector<Edges> loaded(edges.n_features);
  for (std::int32_t f = 0; f < edges.n_features; ++f)
    loaded[f].load(edges.edges + edges.first[f], edges.n_edges(f));
  std::vector<double> values(kRows);
  std::vector<std::int64_t> places(kRows);
  for (std::int64_t at = 0; at < points.n_rows; at += kRows) {
    const std::int64_t n = std::min(kRows, points.n_rows - at);
    for (std::int32_t f = 0; f < edges.n_features; ++f) {
      points.column(f, rows.data() + at, n, values.data());
      loaded[f].locate(values.data(), n, places.data());
      Code* TM_RESTRICT out = codes + f * points.n_rows + at;
      double* TM_RESTRICT least = low + edges.bin(f);
      double* TM_RESTRICT most = high + edges.bin(f);
      const std::int64_t missing = edges.n_edges(f) + 1;
      for (std::int64_t i = 0; i < n; ++i) {
        const double value = values[i];
        const std::int64_t code = std::isnan(value) ? missing : places[i];
        out[i] = static_cast<Code>(code);
        least[code] = value < least[code] ? value : least[code];
        most[code] = value > most[code] ? value : most[code];
      }
    }
  }
}

template <class Code>
void sum_codes(const CodedRows<Code>& rows, const std::int64_t* values, const std::int32_t* place,
               const LineSums& out) {
  switch (out.k) {
    case 2:
      return sum_by_width<known_width<2>>(rows, values, place, out);
    case 3:
      return sum_by_width<known_width<3>>(rows, values, place, out);
    case 4:
      return sum_by_width<known_width<4>>(rows, values, place, out);
    case 5:
      return sum_by_width<known_width<5>>(rows, values, place, out);
    case 6:
      return sum_by_width<known_width<6>>(rows, values, place, out);
    case 7:
      return sum_by_width<known_width<7>>(rows, values, place, out);
    case 8:
      return sum_by_width<known_width<8>>(rows, values, place, out);
    case 10:
      return sum_by_width<known_width<10>>(rows, values, place, out);
    case 12:
      return sum_by_width<known_width<12>>(rows, values, place, out);
    case 16:
      return sum_by_width<known_width<16>>(rows, values, place, out);
    case 20:
      return sum_by_width<known_width<20>>(rows, values, place, out);
    case 32:
      return sum_by_width<known_width<32>>(rows, values, place, out);
    default:
      return sum_by_width<0>(rows, values, place, out);
  }
}

template <class Code>
void count_labels(const CodedRows<Code>& rows, const std::int32_t* labels, const std::int64_t* home,
                  const LineSums& out) {
  const std::int64_t width = out.width();
  walk(rows, width, out.sums,
       [&](const Row* some, std::int64_t n, const Columns<Code>& codes, const Histograms& bins,
           std::int64_t n_columns) {
         for (std::int64_t j = 0; j < n_columns; ++j) {
           const Code* TM_RESTRICT code = codes[j];
           std::int64_t* TM_RESTRICT histogram = bins[j];
           for (std::int64_t i = 0; i < n; ++i) {
             std::int64_t* bin = histogram + std::int64_t{code[some[i]]} * width;
             bin[labels[some[i]]] += home ? home[some[i]] : 1;
             if (out.weights) bin[out.k] += out.weights[some[i]];
             ++bin[width - 1];
           }
         }
       });
}

namespace {

// Sends rows on from the nodes where they are, in place.
bool descend(const Points& points, const TreeView& tree, std::int32_t* node) {
  std::vector<std::vector<Row>> rows(tree.n_nodes);
  for (std::int64_t r = 0; r < points.n_rows; ++r)
    if (tree.feature[node[r]] >= 0) rows[node[r]].push_back(static_cast<Row>(r));
  const TreeSplits splits(tree);
  std::vector<double> values;
  for (std::int32_t i = 0; i < tree.n_nodes; ++i) {
    if (tree.feature[i] < 0 || rows[i].empty()) continue;
    const auto n = static_cast<std::int64_t>(rows[i].size());
    values.resize(n);
    points.column(tree.feature[i], rows[i].data(), n, values.data());
    const bool inner[2] = {tree.feature[tree.right[i]] >= 0, tree.feature[tree.left[i]] >= 0};
    for (std::int64_t j = 0; j < n; ++j) {
      if (!splits[i].accepts(values[j])) return false;
      const bool goes_left = splits[i].goes_left(values[j]);
      const std::int32_t child = goes_left ? tree.left[i] : tree.right[i];
      node[rows[i][j]] = child;
      if (inner[goes_left ? 1 : 0]) rows[child].push_back(rows[i][j]);
    }
    rows[i] = {};
  }
  return true;
}

}  // namespace

bool route(const Points& points, const TreeView& tree, const RowPlaces& from, std::int32_t* group,
           std::int32_t* key, bool* moved) {
  const std::int64_t n = points.n_rows;
  std::int32_t* node = group;  // nodes first, then their groups
  std::uint8_t inner = 0;
  for (std::int64_t r = 0; r < n; ++r) {
    node[r] = from.key ? from.node_of_key[from.key[r]] : 0;
    inner |= tree.feature[node[r]] >= 0;
  }
  *moved = inner != 0;
  if (*moved && !descend(points, tree, node)) return false;
  if (*moved)
    for (std::int64_t r = 0; r < n; ++r) key[r] = from.key_of_node[node[r]];
  for (std::int64_t r = 0; r < n; ++r) group[r] = from.group_of_node[node[r]];
  return true;
}

template void encode(const Points&, const CodeEdges&, std::uint8_t*, double*, double*);
template void encode(const Points&, const CodeEdges&, std::uint16_t*, double*, double*);
template void sum_codes(const CodedRows<std::uint8_t>&, const std::int64_t*, const std::int32_t*,
                        const LineSums&);
template void sum_codes(const CodedRows<std::uint16_t>&, const std::int64_t*, const std::int32_t*,
                        const LineSums&);
template void count_labels(const CodedRows<std::uint8_t>&, const std::int32_t*, const std::int64_t*,
                           const LineSums&);
template void count_labels(const CodedRows<std::uint16_t>&, const std::int32_t*,
                           const std::int64_t*, const LineSums&);

}  // namespace treemeans
