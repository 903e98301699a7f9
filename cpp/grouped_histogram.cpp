#include "grouped_histogram.hpp"

#include <algorithm>
#include <limits>

#include "simd.hpp"

namespace treemeans {
namespace {

// Whose row_stats stay in the cache while feature by feature is read.
constexpr std::int64_t kRows = sized(2048, 4);
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// place[i] = the number of edges below value[i]. There are 2 * half - 1 edges, half a power of two.
TM_CLONES void locate(const double* TM_RESTRICT edges, std::int64_t most,
                      const double* TM_RESTRICT value, std::int64_t n,
                      std::int64_t* TM_RESTRICT place) {
  for (std::int64_t i = 0; i < n; ++i) place[i] = 0;
  for (std::int64_t half = most; half > 0; half /= 2)
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i)
      place[i] += edges[place[i] + half - 1] < value[i] ? half : 0;
}

// The edges of a request, filled up with infinities to one less than a power of two.
class Edges {
 public:
  void load(const double* edges, std::int64_t n) {
    half_ = 1;
    while (2 * half_ <= n) half_ *= 2;
    padded_.assign(2 * half_ - 1, kInfinity);
    std::copy(edges, edges + n, padded_.begin());
    n_ = n;
  }
  void locate(const double* value, std::int64_t n, std::int64_t* place) const {
    treemeans::locate(padded_.data(), half_, value, n, place);
  }
  // Whether a place lies between two edges.
  bool inside(std::int64_t place) const { return place > 0 && place < n_; }

 private:
  std::vector<double> padded_;
  std::int64_t half_ = 1, n_ = 0;
};

// Calls visit(request, edges, rows, values, places, n) for every request and the rows of its group,
// some at a time.
template <class Visit>
void walk(const Points& points, const std::int32_t* groups, const HistogramRequests& requests,
          Visit visit) {
  if (requests.n == 0) return;
  const std::int64_t n_groups = requests.group[requests.n - 1] + 1;
  std::vector<std::vector<Row>> rows(n_groups);
  std::vector<std::uint8_t> wanted(n_groups, 0);
  for (std::int64_t request = 0; request < requests.n; ++request)
    wanted[requests.group[request]] = 1;
  for (std::int64_t r = 0; r < points.n_rows; ++r)
    if (groups[r] >= 0 && groups[r] < n_groups && wanted[groups[r]])
      rows[groups[r]].push_back(static_cast<Row>(r));
  std::vector<Edges> edges;
  std::vector<double> values(kRows);
  std::vector<std::int64_t> places(kRows);
  for (std::int64_t begin = 0, end = 0; begin < requests.n; begin = end) {
    while (end < requests.n && requests.group[end] == requests.group[begin]) ++end;
    const std::vector<Row>& members = rows[requests.group[begin]];
    edges.resize(end - begin);
    for (std::int64_t request = begin; request < end; ++request)
      edges[request - begin].load(requests.edges + requests.first[request],
                                  requests.first[request + 1] - requests.first[request]);
    for (std::size_t at = 0; at < members.size(); at += kRows) {
      const std::int64_t n = std::min<std::int64_t>(kRows, members.size() - at);
      for (std::int64_t request = begin; request < end; ++request) {
        points.column(requests.feature[request], members.data() + at, n, values.data());
        edges[request - begin].locate(values.data(), n, places.data());
        visit(request, edges[request - begin], members.data() + at, values.data(), places.data(),
              n);
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
                  const GroupedBins& out) {
  walk(points, all.groups, requests,
       [&](std::int64_t request, const Edges& edges, const Row* rows, const double* values,
           const std::int64_t* places, std::int64_t n) {
         const std::int64_t first = requests.bin(request);
         add<W>(all, edges, requests.wanted + first, rows, values, places, n,
                out.sums + first * all.K, out.low + first, out.high + first);
       });
}

}  // namespace

void grouped_histogram(const Points& points, const GroupedRows& rows,
                       const HistogramRequests& requests, const GroupedBins& out) {
  switch (rows.K) {
    case 4:
      return sum_by_width<4>(points, rows, requests, out);
    case 8:
      return sum_by_width<8>(points, rows, requests, out);
    case 12:
      return sum_by_width<12>(points, rows, requests, out);
    case 16:
      return sum_by_width<16>(points, rows, requests, out);
    default:
      return sum_by_width<0>(points, rows, requests, out);
  }
}

GroupedValues grouped_values(const Points& points, const std::int32_t* groups,
                             const HistogramRequests& requests) {
  GroupedValues found;
  walk(points, groups, requests,
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
