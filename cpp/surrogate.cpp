#include "surrogate.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <tuple>
#include <vector>

#include "histogram.hpp"
#include "simd.hpp"

namespace treemeans {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kPad = std::int64_t{1} << 62;  // no sum of regrets reaches half of it
constexpr int kTogether = 4;                          // columns summed in one walk over the rows

// A cut between two bins of a slot: after `bin`.
struct Boundary {
  std::int64_t cost = kNever;
  std::int32_t feature = std::numeric_limits<std::int32_t>::max();
  std::int32_t slot = -1;
  std::int64_t bin = 0;

  bool operator<(const Boundary& other) const {
    return std::tie(cost, feature, bin) < std::tie(other.cost, other.feature, other.bin);
  }
};

// A wide bin that may hold a better cut than any boundary: none inside costs less than `bound`.
struct Suspect {
  std::int64_t bound;
  std::int32_t feature, slot;
  std::int64_t bin;
  std::size_t prefix;  // where the sums before the bin are kept
};

struct Findings {
  Boundary best;
  std::vector<Suspect> suspects;
  std::vector<std::int64_t> prefixes;
};

// The leaf's lines and their sums. `before` and `after` are what a walk over the bins starts and
// ends with: they differ by `sums`, but are so large in the columns that are no center's that no
// minimum sees those.
struct Node {
  Lines lines;
  int counter;  // the column that counts rows
  const std::int64_t* sums;
  const std::int64_t* before;
  const std::int64_t* after;
};

TM_INLINE std::int64_t least(const std::int64_t* v, int K) {
  std::int64_t m = v[0];
  for (int c = 1; c < K; ++c) m = v[c] < m ? v[c] : m;
  return m;
}

TM_INLINE std::int64_t least_rest(const std::int64_t* all, const std::int64_t* v, int K) {
  std::int64_t m = all[0] - v[0];
  for (int c = 1; c < K; ++c) m = all[c] - v[c] < m ? all[c] - v[c] : m;
  return m;
}

// Walks the bins of one slot and leaves the histogram zeroed. scratch: 2 K integers.
template <int W>
TM_CLONES void scan_bins(const Node& node, const Bins& bins, std::int32_t slot,
                         std::int64_t* TM_RESTRICT histogram, std::int64_t* TM_RESTRICT scratch,
                         Findings& found) {
  const int K = W ? W : node.lines.width;
  const std::int64_t first = bins.first[slot], n_bins = bins.first[slot + 1] - first;
  const std::int64_t* TM_RESTRICT all = node.after;
  std::int64_t* TM_RESTRICT before = scratch;
  std::int64_t* TM_RESTRICT after = scratch + K;
  for (int c = 0; c < K; ++c) before[c] = node.before[c];
  std::int64_t left = 0, rows_left = node.lines.n;
  for (std::int64_t b = 0; b < n_bins && rows_left > 0; ++b) {
    std::int64_t* TM_RESTRICT bin = histogram + b * K;
    const std::int64_t count = bin[node.counter];
    if (count == 0) continue;
    rows_left -= count;
#pragma omp simd
    for (int c = 0; c < K; ++c) {
      after[c] = before[c] + bin[c];
      bin[c] = 0;
    }
    const std::int64_t right = least_rest(all, after, K);
    if (count > 1 && bins.wide(first + b) && left + right <= found.best.cost) {
      found.suspects.push_back(
          {left + right, bins.feature[slot], slot, first + b, found.prefixes.size()});
      found.prefixes.insert(found.prefixes.end(), before, before + K);
    }
    if (rows_left == 0) break;
    left = least(after, K);
    std::swap(before, after);
    const Boundary boundary{left + right, bins.feature[slot], slot, first + b};
    if (boundary < found.best) found.best = boundary;
  }
}

// What a thread works with: histograms of kTogether columns, all zero between uses.
struct Workspace {
  std::vector<std::int64_t> histograms, scratch;
  Findings found;
};

// Sums and scans the dense slots [slot, slot + C).
template <int W, int C>
void search_columns(const Node& node, const Bins& bins, std::int32_t slot, Workspace& work) {
  const std::uint8_t* codes[C];
  const std::int64_t size = std::int64_t{Bins::kMax} * node.lines.width;
  for (int j = 0; j < C; ++j) codes[j] = bins.codes[slot + j].get();
  sum_columns<W, C>(node.lines, codes, work.histograms.data());
  for (int j = 0; j < C; ++j)
    scan_bins<W>(node, bins, slot + j, work.histograms.data() + j * size, work.scratch.data(),
                 work.found);
}

template <int W>
void search_dense(const Node& node, const Bins& bins, std::int32_t slot, Workspace& work) {
  work.histograms.resize(std::int64_t{kTogether} * Bins::kMax * node.lines.width, 0);
  switch (std::min(kTogether, bins.n_dense - slot)) {
    case 1: return search_columns<W, 1>(node, bins, slot, work);
    case 2: return search_columns<W, 2>(node, bins, slot, work);
    case 3: return search_columns<W, 3>(node, bins, slot, work);
    default: return search_columns<W, kTogether>(node, bins, slot, work);
  }
}

// Sums and scans the sparse slots [begin, end); rows without an entry are the total less the rest.
template <int W>
void search_sparse(const Node& node, const Bins& bins, std::int32_t begin, std::int32_t end,
                   Workspace& work) {
  const int K = node.lines.width;
  const std::int64_t base = bins.sparse_begin(), from = bins.first[begin], to = bins.first[end];
  std::vector<std::int64_t> histogram((to - from) * K, 0);
  sum_entries<W>(node.lines, bins.indptr.data(), bins.entries.data(),
                 static_cast<std::uint32_t>(from - base), static_cast<std::uint32_t>(to - base),
                 histogram.data());
  for (std::int32_t slot = begin; slot < end; ++slot) {
    std::int64_t* first = histogram.data() + (bins.first[slot] - from) * K;
    std::int64_t* missing = first + bins.default_bin[slot - bins.n_dense] * K;
    std::copy(node.sums, node.sums + K, missing);
    for (std::int64_t b = 0; b < bins.first[slot + 1] - bins.first[slot]; ++b) {
      if (first + b * K == missing) continue;
      for (int c = 0; c < K; ++c) missing[c] -= first[b * K + c];
    }
    scan_bins<W>(node, bins, slot, first, work.scratch.data(), work.found);
  }
}

// Sparse slots in n_parts runs of about equal numbers of bins.
std::vector<std::int32_t> share_sparse(const Bins& bins, int n_parts) {
  std::vector<std::int32_t> parts{bins.n_dense};
  const std::int64_t begin = bins.sparse_begin(), all = bins.n_bins() - begin;
  for (int p = 1; p <= n_parts; ++p) {
    const auto at = std::lower_bound(bins.first.begin() + parts.back(), bins.first.end() - 1,
                                     begin + all * p / n_parts);
    parts.push_back(static_cast<std::int32_t>(at - bins.first.begin()));
  }
  parts.back() = bins.n_slots();
  return parts;
}

void merge(Findings& all, Findings& mine) {
  for (Suspect& suspect : mine.suspects) suspect.prefix += all.prefixes.size();
  all.best = std::min(all.best, mine.best);
  all.suspects.insert(all.suspects.end(), mine.suspects.begin(), mine.suspects.end());
  all.prefixes.insert(all.prefixes.end(), mine.prefixes.begin(), mine.prefixes.end());
}

template <int W>
Findings search_bins(const Node& node, const Bins& bins, int n_threads) {
  Findings all;
  const std::vector<std::int32_t> parts = share_sparse(bins, n_threads);
  const std::int32_t n_sparse = bins.n_slots() > bins.n_dense ? n_threads : 0;
  const std::int32_t n_dense = (bins.n_dense + kTogether - 1) / kTogether;
#pragma omp parallel num_threads(n_threads)
  {
    Workspace work;
    work.scratch.resize(2 * node.lines.width);
#pragma omp for schedule(dynamic) nowait
    for (std::int32_t task = 0; task < n_sparse + n_dense; ++task) {
      if (task < n_sparse) {
        search_sparse<W>(node, bins, parts[task], parts[task + 1], work);
      } else {
        search_dense<W>(node, bins, (task - n_sparse) * kTogether, work);
      }
    }
#pragma omp critical
    merge(all, work.found);
  }
  return all;
}

// ---- inside the bins that can still hold the best cut ------------------------------------------

bool earlier(const Cut& a, const Cut& b) {
  return std::tie(a.cost, a.feature, a.low) < std::tie(b.cost, b.feature, b.low);
}

struct Valued {
  double value;
  std::int64_t line;
};

// Every distinct value inside one bin, in order.
void scan_values(const Node& node, std::vector<Valued>& valued, std::int32_t feature,
                 const std::int64_t* prefix, Cut& best) {
  std::sort(valued.begin(), valued.end(), [](const Valued& a, const Valued& b) { return a.value < b.value; });
  const int K = node.lines.width;
  std::vector<std::int64_t> sums(prefix, prefix + K);
  for (std::size_t i = 0; i + 1 < valued.size(); ++i) {
    const std::int64_t* line = node.lines.at + valued[i].line * K;
    for (int c = 0; c < K; ++c) sums[c] += line[c];
    if (valued[i].value == valued[i + 1].value) continue;
    std::int64_t left = kNever, right = kNever;
    for (int c = 0; c < K; ++c) {
      left = std::min(left, sums[c]);
      right = std::min(right, node.after[c] - sums[c]);
    }
    const Cut cut{left + right, feature, valued[i].value, valued[i + 1].value};
    if (earlier(cut, best)) best = cut;
  }
}

// The leaf's values on a feature, read once for all its suspects.
std::vector<double> read_column(const Points& points, const Node& node, std::int32_t feature) {
  std::vector<double> values(node.lines.n);
  points.column(feature, node.lines.rows, node.lines.n, values.data());
  return values;
}

// The two values next to a boundary that occur at the leaf.
Cut close_gap(const Points& points, const Node& node, const Bins& bins, const Boundary& boundary) {
  const double edge = bins.high[boundary.bin];
  Cut cut{boundary.cost, boundary.feature, -std::numeric_limits<double>::infinity(),
          std::numeric_limits<double>::infinity()};
  for (double value : read_column(points, node, boundary.feature)) {
    if (value <= edge) {
      cut.low = std::max(cut.low, value);
    } else {
      cut.high = std::min(cut.high, value);
    }
  }
  return cut;
}

// Rows of the leaf in a bin: dense slots know by the code, sparse ones by the value.
void collect(const Node& node, const Bins& bins, const Suspect& suspect, const Points& points,
             std::vector<Valued>& valued) {
  valued.clear();
  if (suspect.slot < bins.n_dense) {
    const std::uint8_t* codes = bins.codes[suspect.slot].get();
    const auto code = static_cast<std::uint8_t>(suspect.bin - bins.first[suspect.slot]);
    std::vector<Row> rows;
    for (std::int64_t i = 0; i < node.lines.n; ++i) {
      if (codes[node.lines.rows[i]] != code) continue;
      rows.push_back(node.lines.rows[i]);
      valued.push_back({0.0, i});
    }
    std::vector<double> values(rows.size());
    points.column(suspect.feature, rows.data(), static_cast<std::int64_t>(rows.size()), values.data());
    for (std::size_t i = 0; i < values.size(); ++i) valued[i].value = values[i];
    return;
  }
  const std::vector<double> values = read_column(points, node, suspect.feature);
  for (std::int64_t i = 0; i < node.lines.n; ++i)
    if (values[i] >= bins.low[suspect.bin] && values[i] <= bins.high[suspect.bin])
      valued.push_back({values[i], i});
}

std::optional<Cut> refine(const Points& points, const Node& node, const Bins& bins, Findings& found,
                          int n_threads) {
  Cut best{kNever, std::numeric_limits<std::int32_t>::max(), 0.0, 0.0};
  if (found.best.slot >= 0) best = close_gap(points, node, bins, found.best);
  // Cuts inside a bin lie below the boundary after it, and so win a tie against it.
  std::erase_if(found.suspects, [&](const Suspect& s) {
    return std::tie(s.bound, s.feature, s.bin) >
           std::tie(found.best.cost, found.best.feature, found.best.bin);
  });
  std::sort(found.suspects.begin(), found.suspects.end(), [](const Suspect& a, const Suspect& b) {
    return std::tie(a.bound, a.feature, a.bin) < std::tie(b.bound, b.feature, b.bin);
  });
  const auto n = static_cast<std::int64_t>(found.suspects.size());
#pragma omp parallel num_threads(n < 2 ? 1 : n_threads)
  {
    std::vector<Valued> valued;
    Cut mine = best;
#pragma omp for schedule(dynamic) nowait
    for (std::int64_t i = 0; i < n; ++i) {
      const Suspect& suspect = found.suspects[i];
      if (std::tie(suspect.bound, suspect.feature) > std::tie(mine.cost, mine.feature)) continue;
      collect(node, bins, suspect, points, valued);
      scan_values(node, valued, suspect.feature, found.prefixes.data() + suspect.prefix, mine);
    }
#pragma omp critical
    if (earlier(mine, best)) best = mine;
  }
  if (best.cost == kNever) return std::nullopt;
  return best;
}

// ---- the leaf's lines ----------------------------------------------------------------------------

TM_CLONES void flag_better(const std::int64_t* TM_RESTRICT regrets, std::int64_t k,
                           const Row* TM_RESTRICT rows, std::int64_t n, std::int64_t label,
                           std::uint8_t* TM_RESTRICT better) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t* regret = regrets + rows[i] * k;
    const std::int64_t own = regret[label];
#pragma omp simd
    for (std::int64_t c = 0; c < k; ++c) better[c] |= regret[c] < own ? 1 : 0;
  }
}

// Centers worth a column: the label, and those cheaper than it for some row. Another is at most as
// cheap as the label wherever a cut puts it.
std::vector<std::int64_t> contenders(const Leaf& leaf) {
  std::vector<std::uint8_t> better(leaf.k, 0);
  flag_better(leaf.regrets, leaf.k, leaf.rows, leaf.n, leaf.label, better.data());
  std::vector<std::int64_t> centers;
  for (std::int64_t c = 0; c < leaf.k; ++c)
    if (better[c] || c == leaf.label) centers.push_back(c);
  return centers;
}

// Widths known at compile time are much faster; 0 is any other.
int padded(std::size_t n_centers) {
  const int wanted = static_cast<int>(n_centers) + 1;
  for (int width : {4, 8, 12, 16, 24, 32})
    if (wanted <= width) return width;
  return (wanted + 7) / 8 * 8;
}

Findings search_bins(const Node& node, const Bins& bins, int n_threads) {
  switch (node.lines.width) {
    case 4: return search_bins<4>(node, bins, n_threads);
    case 8: return search_bins<8>(node, bins, n_threads);
    case 12: return search_bins<12>(node, bins, n_threads);
    case 16: return search_bins<16>(node, bins, n_threads);
    case 24: return search_bins<24>(node, bins, n_threads);
    case 32: return search_bins<32>(node, bins, n_threads);
    default: return search_bins<0>(node, bins, n_threads);
  }
}

}  // namespace

std::optional<Cut> least_surrogate_cut(const Bins& bins, const Points& points, const Leaf& leaf,
                                       int n_threads) {
  const std::vector<std::int64_t> centers = contenders(leaf);
  const int K = padded(centers.size());
  const int counter = static_cast<int>(centers.size());
  std::vector<std::int64_t> sums(K, 0), before(K, kPad), after(K, kPad + (kPad - 1));
  for (int j = 0; j < counter; ++j) {
    sums[j] = after[j] = leaf.totals[centers[j]];
    before[j] = 0;
  }
  sums[counter] = leaf.n;
  // Uninitialised on purpose: every element is written below.
  const std::unique_ptr<std::int64_t[]> lines(new std::int64_t[leaf.n * K]);
#pragma omp parallel for schedule(static) num_threads(n_threads)
  for (std::int64_t i = 0; i < leaf.n; ++i) {
    const std::int64_t* regret = leaf.regrets + leaf.rows[i] * leaf.k;
    std::int64_t* line = lines.get() + i * K;
    for (int j = 0; j < counter; ++j) line[j] = regret[centers[j]];
    for (int j = counter; j < K; ++j) line[j] = j == counter ? 1 : 0;
  }
  const Node node{{leaf.rows, leaf.n, K, lines.get()}, counter, sums.data(), before.data(), after.data()};
  Findings found = search_bins(node, bins, n_threads);
  return refine(points, node, bins, found, n_threads);
}

void sum_regrets(const std::int64_t* regrets, std::int64_t k, const Row* rows, std::int64_t n,
                 std::int64_t* sums, int n_threads) {
  std::fill(sums, sums + k, std::int64_t{0});
#pragma omp parallel num_threads(n < 1 << 14 ? 1 : n_threads)
  {
    std::vector<std::int64_t> mine(k, 0);
#pragma omp for schedule(static) nowait
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t* regret = regrets + rows[i] * k;
      for (std::int64_t c = 0; c < k; ++c) mine[c] += regret[c];
    }
#pragma omp critical
    for (std::int64_t c = 0; c < k; ++c) sums[c] += mine[c];
  }
}

}  // namespace treemeans
