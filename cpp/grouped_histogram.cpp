#include "grouped_histogram.hpp"

#include <algorithm>

#include "edges.hpp"
#include "known_width.hpp"
#include "simd.hpp"

namespace treemeans {
namespace {

// Rows whose row_stats stay in the cache while feature by feature is read.
constexpr std::int64_t kRows = sized(2048, 4);

template <class Code>
std::int64_t select_rows(const Code* TM_RESTRICT codes, const std::uint8_t* TM_RESTRICT keep,
                         const Row* TM_RESTRICT rows, std::int64_t n, Row* TM_RESTRICT out) {
  std::int64_t m = 0;
  for (std::int64_t i = 0; i < n; ++i) {  // always written, sometimes advanced: no branch
    out[m] = rows[i];
    m += keep[codes[rows[i]]];
  }
  return m;
}

// Calls visit(request, edges, rows, values, places, n) for every request and the rows of its group,
// some at a time.
template <class Visit>
void walk(const Points& points, const std::int32_t* groups, const HistogramRequests& requests,
          const CodeFilter& filter, Visit visit) {
  if (requests.n == 0) return;
  const std::int64_t n_groups = requests.group[requests.n - 1] + 1;
  std::vector<std::vector<Row>> rows(n_groups);
  std::vector<std::uint8_t> wanted(n_groups, 0);
  for (std::int64_t request = 0; request < requests.n; ++request)
    wanted[requests.group[request]] = 1;
  std::vector<std::int64_t> counts(n_groups, 0);
  for (std::int64_t r = 0; r < points.n_rows; ++r)
    if (groups[r] >= 0 && groups[r] < n_groups) ++counts[groups[r]];
  for (std::int64_t g = 0; g < n_groups; ++g)
    if (wanted[g]) rows[g].reserve(counts[g]);
  for (std::int64_t r = 0; r < points.n_rows; ++r)
    if (groups[r] >= 0 && groups[r] < n_groups && wanted[groups[r]])
      rows[groups[r]].push_back(static_cast<Row>(r));
  std::vector<Edges> edges;
  std::vector<double> values(kRows);
  std::vector<std::int64_t> places(kRows);
  std::vector<Row> selected(kRows);
  for (std::int64_t begin = 0, end = 0; begin < requests.n; begin = end) {
    while (end < requests.n && requests.group[end] == requests.group[begin]) ++end;
    const std::vector<Row>& members = rows[requests.group[begin]];
    edges.resize(end - begin);
    for (std::int64_t request = begin; request < end; ++request)
      edges[request - begin].load(requests.edges + requests.first[request],
                                  requests.first[request + 1] - requests.first[request]);
    for (std::size_t at = 0; at < members.size(); at += kRows) {
      const std::int64_t n_block = std::min<std::int64_t>(kRows, members.size() - at);
      for (std::int64_t request = begin; request < end; ++request) {
        const std::int32_t feature = requests.feature[request];
        const Row* some = members.data() + at;
        std::int64_t n = n_block;
        if (filter.keep) {
          n = filter.select(request, feature, some, n, selected.data());
          some = selected.data();
        }
        points.column(feature, some, n, values.data());
        edges[request - begin].locate(values.data(), n, places.data());
        visit(request, edges[request - begin], some, values.data(), places.data(), n);
      }
    }
  }
}

// W is the width of a line where it is known at compile time, or 0.
template <int W>
TM_CLONES void add(const GroupedRows& all, const Edges& edges, const std::uint8_t* wanted,
                   const Row* TM_RESTRICT rows, const double* TM_RESTRICT values,
                   const std::int64_t* TM_RESTRICT places, std::int64_t n,
                   std::int64_t* TM_RESTRICT sums, double* TM_RESTRICT low,
                   double* TM_RESTRICT high) {
  const std::int64_t K = W ? W : all.K;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!edges.inside(places[i])) continue;
    const std::int64_t at = places[i] - 1;
    if (!wanted[at]) continue;
    const std::int64_t* TM_RESTRICT line = all.row_stats + rows[i] * K;
    std::int64_t* TM_RESTRICT sum = sums + at * K;
#pragma omp simd
    for (std::int64_t c = 0; c < K; ++c) sum[c] += line[c];
    low[at] = values[i] < low[at] ? values[i] : low[at];
    high[at] = values[i] > high[at] ? values[i] : high[at];
  }
}

template <int W>
void sum_by_width(const Points& points, const GroupedRows& all, const HistogramRequests& requests,
                  const CodeFilter& filter, const GroupedBins& out) {
  walk(points, all.groups, requests, filter,
       [&](std::int64_t request, const Edges& edges, const Row* rows, const double* values,
           const std::int64_t* places, std::int64_t n) {
         const std::int64_t first = requests.bin(request);
         add<W>(all, edges, requests.wanted + first, rows, values, places, n,
                out.sums + first * all.K, out.low + first, out.high + first);
       });
}

}  // namespace

std::int64_t CodeFilter::select(std::int64_t request, std::int32_t feature, const Row* rows,
                                std::int64_t n, Row* out) const {
  const std::uint8_t* wanted = keep + request * n_codes;
  return narrow ? select_rows(narrow + feature * n_rows, wanted, rows, n, out)
                : select_rows(wide + feature * n_rows, wanted, rows, n, out);
}

void grouped_histogram(const Points& points, const GroupedRows& rows,
                       const HistogramRequests& requests, const CodeFilter& filter,
                       const GroupedBins& out) {
  switch (rows.K) {
    case 4:
      return sum_by_width<known_width<4>>(points, rows, requests, filter, out);
    case 8:
      return sum_by_width<known_width<8>>(points, rows, requests, filter, out);
    case 12:
      return sum_by_width<known_width<12>>(points, rows, requests, filter, out);
    case 16:
      return sum_by_width<known_width<16>>(points, rows, requests, filter, out);
    default:
      return sum_by_width<0>(points, rows, requests, filter, out);
  }
}

GroupedValues grouped_values(const Points& points, const std::int32_t* groups,
                             const HistogramRequests& requests, const CodeFilter& filter) {
  GroupedValues found;
  walk(points, groups, requests, filter,
       [&](std::int64_t request, const Edges& edges, const Row* rows, const double* values,
           const std::int64_t* places, std::int64_t n) {
         for (std::int64_t i = 0; i < n; ++i) {
           const std::int64_t bin = requests.bin(request) + places[i] - 1;
           if (!edges.inside(places[i]) || !requests.wanted[bin]) continue;
           found.bin.push_back(bin);
           found.row.push_back(rows[i]);
           found.value.push_back(values[i]);
         }
       });
  return found;
}

}  // namespace treemeans
