#include "surrogate.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <queue>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "parallel.hpp"
#include "partition.hpp"
#include "score.hpp"
#include "search.hpp"
#include "simd.hpp"

namespace treemeans {
namespace {

constexpr std::int64_t kPad = std::int64_t{1} << 62;  // no sum of regrets reaches half of it

constexpr std::int64_t kAhead = 8;  // rows; those of a leaf lie apart, where no prefetcher follows

// Asks for the regrets of a row that comes soon.
TM_INLINE void fetch_ahead(const std::int64_t* regrets, std::int64_t k, const Row* rows,
                           std::int64_t i, std::int64_t n) {
#if defined(__GNUC__)
  if (i + kAhead >= n) return;
  const std::int64_t* next = regrets + rows[i + kAhead] * k;
  for (std::int64_t c = 0; c < std::min<std::int64_t>(k, 32); c += 8) __builtin_prefetch(next + c);
#endif
}

// beyond[c] ends up negative where center c is cheaper than the label for some row.
TM_CLONES void compare(const std::int64_t* TM_RESTRICT regrets, std::int64_t k,
                       const Row* TM_RESTRICT rows, std::int64_t n, std::int64_t label,
                       std::int64_t* TM_RESTRICT beyond) {
  for (std::int64_t i = 0; i < n; ++i) {
    fetch_ahead(regrets, k, rows, i, n);
    const std::int64_t* TM_RESTRICT regret = regrets + rows[i] * k;
    const std::int64_t own = regret[label];
#pragma omp simd
    for (std::int64_t c = 0; c < k; ++c) beyond[c] |= regret[c] - own;  // keeps any sign bit
  }
}

TM_CLONES void add_regrets(const std::int64_t* TM_RESTRICT regrets, std::int64_t k,
                           const Row* TM_RESTRICT rows, std::int64_t n,
                           std::int64_t* TM_RESTRICT sums) {
  for (std::int64_t i = 0; i < n; ++i) {
    fetch_ahead(regrets, k, rows, i, n);
    const std::int64_t* TM_RESTRICT regret = regrets + rows[i] * k;
#pragma omp simd
    for (std::int64_t c = 0; c < k; ++c) sums[c] += regret[c];
  }
}

TM_CLONES void gather_row_stats(const Leaf& leaf, const std::int64_t* TM_RESTRICT centers,
                                int counter, int K, std::int64_t begin, std::int64_t end,
                                std::int64_t* TM_RESTRICT row_stats) {
  for (std::int64_t i = begin; i < end; ++i) {
    fetch_ahead(leaf.regrets, leaf.k, leaf.rows, i, leaf.n);
    const std::int64_t* TM_RESTRICT regret = leaf.regrets + leaf.rows[i] * leaf.k;
    std::int64_t* TM_RESTRICT line = row_stats + i * K;
    for (int j = 0; j < counter; ++j) line[j] = regret[centers[j]];
    for (int j = counter; j < K; ++j) line[j] = j == counter ? leaf.limits.weight(leaf.rows[i]) : 0;
  }
}

// Centers worth a column: the label, and those cheaper than it for some row. Another is at most as
// cheap as the label wherever a cut puts it.
std::vector<std::int64_t> contenders(const Leaf& leaf, int n_threads) {
  constexpr std::int64_t block = sized(4096, 8);
  std::vector<std::int64_t> beyond(leaf.k, 0);
  using Flags = std::vector<std::int64_t>;
  parallel_for((leaf.n + block - 1) / block, 1, threads_for(leaf.n * leaf.k, n_threads),
               [&] { return Flags(leaf.k, 0); },
               [&](Flags& mine, std::int64_t b) {
                 const std::int64_t i = b * block;
                 compare(leaf.regrets, leaf.k, leaf.rows + i, std::min(block, leaf.n - i),
                         leaf.label, mine.data());
               },
               [&](const Flags& mine) {
                 for (std::int64_t c = 0; c < leaf.k; ++c) beyond[c] |= mine[c];
               });
  std::vector<std::int64_t> centers;
  for (std::int64_t c = 0; c < leaf.k; ++c)
    if (beyond[c] < 0 || c == leaf.label) centers.push_back(c);
  return centers;
}

// Widths known at compile time are much faster; 0 is any other.
int padded(std::size_t n_centers) {
  const int wanted = static_cast<int>(n_centers) + 1;
  for (int width : {4, 8, 12, 16, 24, 32})
    if (wanted <= width) return width;
  return (wanted + 7) / 8 * 8;
}

}  // namespace

std::optional<Cut> least_surrogate_cut(const Bins& bins, const Points& points, const Leaf& leaf,
                                       int n_threads) {
  const std::vector<std::int64_t> centers = contenders(leaf, n_threads);
  const int K = padded(centers.size());
  const int counter = static_cast<int>(centers.size());
  std::vector<std::int64_t> sums(K, 0), start(K, kPad), all(K, kPad + (kPad - 1));
  for (int j = 0; j < counter; ++j) {
    sums[j] = all[j] = leaf.totals[centers[j]];
    start[j] = 0;
  }
  for (std::int64_t i = 0; i < leaf.n; ++i) sums[counter] += leaf.limits.weight(leaf.rows[i]);
  // Kept from search to search: fresh memory of this size costs the system as much as the sums.
  std::unique_ptr<SearchBuffers> buffers = bins.buffers.take();
  if (static_cast<std::int64_t>(buffers->row_stats.size()) < leaf.n * K)
    buffers->row_stats = std::vector<std::int64_t>(leaf.n * K);
  std::int64_t* row_stats = buffers->row_stats.data();
  n_threads = threads_for(leaf.n * bins.n_slots(), n_threads);
  parallel_blocks(leaf.n, 1024, n_threads, [&](std::int64_t begin, std::int64_t end) {
    gather_row_stats(leaf, centers.data(), counter, K, begin, end, row_stats);
  });
  const scan::Node node{
      {leaf.rows, leaf.n, K, row_stats}, counter, sums.data(), start.data(), leaf.limits};
  const auto run = [&](auto width) {
    const CheapestCenters<width> score{K, counter, all.data(), leaf.totals[leaf.label]};
    const auto found = scan::least_cut(score, points, node, bins, n_threads);
    bins.buffers.give_back(std::move(buffers));
    return found;
  };
  switch (K) {
    case 4:
      return run(std::integral_constant<int, 4>());
    case 8:
      return run(std::integral_constant<int, 8>());
    case 12:
      return run(std::integral_constant<int, 12>());
    case 16:
      return run(std::integral_constant<int, 16>());
    case 24:
      return run(std::integral_constant<int, 24>());
    case 32:
      return run(std::integral_constant<int, 32>());
    default:
      return run(std::integral_constant<int, 0>());
  }
}

void sum_regrets(const std::int64_t* regrets, std::int64_t k, const Row* rows, std::int64_t n,
                 std::int64_t* sums, int n_threads) {
  constexpr std::int64_t block = sized(4096, 8);
  std::fill(sums, sums + k, std::int64_t{0});
  using Sums = std::vector<std::int64_t>;
  parallel_for(
      (n + block - 1) / block, 1, threads_for(n * k, n_threads), [&] { return Sums(k, 0); },
      [&](Sums& mine, std::int64_t b) {
        add_regrets(regrets, k, rows + b * block, std::min(block, n - b * block), mine.data());
      },
      [&](const Sums& mine) {
        for (std::int64_t c = 0; c < k; ++c) sums[c] += mine[c];
      });
}

std::int64_t GrowingLeaf::cheapest() const {
  return std::min_element(totals.begin(), totals.end()) - totals.begin();
}

bool may_cut(const Expansion& tree, const GrowingLeaf& leaf) {
  const Limits& limits = tree.limits;
  if (!limits.permits_depth(leaf.depth)) return false;
  if (!limits.asks_for_weight()) return true;
  std::int64_t weight = leaf.end - leaf.begin;
  if (limits.weights) {
    weight = 0;
    for (std::int64_t i = leaf.begin; i < leaf.end; ++i) weight += limits.weights[tree.rows[i]];
  }
  return limits.permits_cut(weight);
}

namespace {

// Whether the best cut of a leaf saves enough for its price. One that saves nothing is made,
// because later cuts may save something; but not one on a feature with a price.
bool is_worth_making(const Expansion& tree, const GrowingLeaf& leaf, const Cut& cut) {
  if (!tree.limits.prices || cut.cost < leaf.regret()) return true;
  if (cut.cost > leaf.regret()) return false;
  const auto n_slots = static_cast<std::int32_t>(tree.bins.n_slots() + tree.bins.mixed.size());
  for (std::int32_t slot = 0; slot < n_slots; ++slot)
    if (tree.bins.view(slot).feature == cut.feature) return tree.limits.price(slot) == 0;
  return true;
}

std::optional<Cut> best_cut(const Expansion& tree, const GrowingLeaf& leaf) {
  if (!may_cut(tree, leaf)) return std::nullopt;
  const Leaf rows{tree.rows + leaf.begin, leaf.end - leaf.begin, tree.regrets, tree.k,
                  leaf.totals.data(),     leaf.cheapest(),       tree.limits};
  std::optional<Cut> cut = least_surrogate_cut(tree.bins, tree.points, rows, tree.n_threads);
  return cut && is_worth_making(tree, leaf, *cut) ? cut : std::nullopt;
}

// Sorts the rows of a leaf into those of its children. The smaller side is summed; the other is the
// difference, which is exact.
MadeCut carry_out(const Expansion& tree, const GrowingLeaf& leaf, const Cut& cut) {
  MadeCut made{leaf.node, cut, 0, {}, std::vector<std::int64_t>(tree.k)};
  Row* rows = tree.rows + leaf.begin;
  const std::int64_t n = leaf.end - leaf.begin;
  made.n_left = partition(tree.points, tree.bins, rows, n, cut.feature, cut.rule(), tree.n_threads,
                          made.margin);
  std::vector<std::int64_t>& sums = made.left_totals;
  const bool left = made.n_left <= n - made.n_left;
  sum_regrets(tree.regrets, tree.k, left ? rows : rows + made.n_left,
              left ? made.n_left : n - made.n_left, sums.data(), tree.n_threads);
  for (std::int64_t c = 0; c < tree.k && !left; ++c) sums[c] = leaf.totals[c] - sums[c];
  return made;
}

}  // namespace

// A leaf is searched only once it could be next: until then its regret, which no cut can exceed,
// stands for its gain. See growth/expansion.py, which expands trees whose rows are elsewhere.
std::vector<MadeCut> expand(const Expansion& tree, std::vector<GrowingLeaf> leaves,
                            std::int32_t n_nodes, std::int64_t max_leaves,
                            const std::function<void(std::int64_t)>& tell) {
  // (-gain or its bound, searched?, leaf): of equals, a leaf that is not searched yet comes first,
  // because its true gain may be as large, and it may have come first.
  using Entry = std::tuple<std::int64_t, bool, std::int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
  std::map<std::int32_t, GrowingLeaf> open;
  std::map<std::int32_t, Cut> cuts;
  std::vector<MadeCut> made;
  const auto add = [&](GrowingLeaf leaf) {
    if (leaf.regret() == 0) return;
    queue.emplace(-leaf.regret(), false, leaf.node);
    open.emplace(leaf.node, std::move(leaf));
  };
  for (GrowingLeaf& leaf : leaves) add(std::move(leaf));
  std::int64_t n_leaves = (n_nodes + 1) / 2;
  while (!queue.empty() && n_leaves < max_leaves) {
    const auto [gain, searched, node] = queue.top();
    queue.pop();
    const GrowingLeaf leaf = open.at(node);
    if (!searched) {
      if (const std::optional<Cut> found = best_cut(tree, leaf)) {
        queue.emplace(found->cost - leaf.regret(), true, node);
        cuts.emplace(node, *found);
      }
      tell(n_leaves);
      continue;
    }
    made.push_back(carry_out(tree, leaf, cuts.at(node)));
    const MadeCut& last = made.back();
    const std::int64_t middle = leaf.begin + last.n_left;
    std::vector<std::int64_t> rest(leaf.totals);
    for (std::int64_t c = 0; c < tree.k; ++c) rest[c] -= last.left_totals[c];
    add({n_nodes, leaf.depth + 1, leaf.begin, middle, last.left_totals});
    add({n_nodes + 1, leaf.depth + 1, middle, leaf.end, std::move(rest)});
    n_nodes += 2;
    tell(++n_leaves);
  }
  return made;
}

namespace {

std::optional<Cut> bound_surrogate_cut(const Bins& bins, const Points& points, In<Row, 1> rows,
                                       In<std::int64_t, 2> regrets, In<std::int64_t, 1> totals,
                                       std::int64_t label, const PyLimits& limits, int n_threads) {
  nb::gil_scoped_release release;
  const Leaf leaf{rows.data(),    static_cast<std::int64_t>(rows.shape(0)),
                  regrets.data(), static_cast<std::int64_t>(regrets.shape(1)),
                  totals.data(),  label,
                  limits.get()};
  return least_surrogate_cut(bins, points, leaf, n_threads);
}

// leaves: node, depth, begin and end of the rows; and the sums of the regrets of each.
std::vector<MadeCut> bound_expand(const Bins& bins, const Points& points, InOut<Row, 1> rows,
                                  In<std::int64_t, 2> regrets, In<std::int64_t, 2> leaves,
                                  In<std::int64_t, 2> totals, std::int32_t n_nodes,
                                  std::int64_t max_leaves, const PyLimits& limits, int n_threads,
                                  const nb::callable& tell) {
  const auto k = static_cast<std::int64_t>(regrets.shape(1));
  std::vector<GrowingLeaf> open;
  for (std::size_t i = 0; i < leaves.shape(0); ++i) {
    const std::int64_t *leaf = leaves.data() + 4 * i, *sums = totals.data() + i * k;
    open.push_back({static_cast<std::int32_t>(leaf[0]), static_cast<std::int32_t>(leaf[1]), leaf[2],
                    leaf[3], std::vector<std::int64_t>(sums, sums + k)});
  }
  nb::gil_scoped_release release;
  return expand({bins, points, rows.data(), regrets.data(), k, limits.get(), n_threads},
                std::move(open), n_nodes, max_leaves, told(tell));
}

}  // namespace

void bind_surrogate(nb::module_& m) {
  nb::class_<MadeCut>(m, "MadeCut")
      .def_ro("node", &MadeCut::node)
      .def_ro("cut", &MadeCut::cut)
      .def_ro("n_left", &MadeCut::n_left)
      .def_prop_ro("margin", [](const MadeCut& made) { return margin_tuple(made.margin); })
      .def_prop_ro(
          "left_totals", [](const MadeCut& made) { return array_of(made.left_totals); },
          nb::rv_policy::move);
  m.def("surrogate_cut", &bound_surrogate_cut, "bins"_a, "points"_a, "rows"_a, "regrets"_a,
        "totals"_a, "label"_a, "limits"_a, "n_threads"_a);
  m.def("expand", &bound_expand, "bins"_a, "points"_a, "rows"_a, "regrets"_a, "leaves"_a,
        "totals"_a, "n_nodes"_a, "max_leaves"_a, "limits"_a, "n_threads"_a, "tell"_a);
}

}  // namespace treemeans
