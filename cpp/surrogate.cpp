#include "surrogate.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "known_width.hpp"
#include "parallel.hpp"
#include "partition.hpp"
#include "score.hpp"
#include "search.hpp"
#include "simd.hpp"

namespace treemeans {
namespace {

constexpr std::int64_t kPad = std::int64_t{1} << 62;  // no sum of regrets reaches half of it

// Asks for the regrets of a row that comes soon.
template <class Source>
TM_INLINE void fetch_ahead(const Source& regrets, const Row* rows, std::int64_t i, std::int64_t n) {
  if (i + kAhead < n) regrets.fetch(rows[i + kAhead]);
}

// beyond[c] ends up negative where center c is cheaper than the label for some row. line: k numbers
// to write to.
template <class Source>
TM_CLONES void compare(const Source& regrets, const Row* TM_RESTRICT rows, std::int64_t n,
                       std::int64_t label, std::int64_t* TM_RESTRICT line,
                       std::int64_t* TM_RESTRICT beyond) {
  const std::int64_t k = regrets.k;
  for (std::int64_t i = 0; i < n; ++i) {
    fetch_ahead(regrets, rows, i, n);
    const std::int64_t* TM_RESTRICT regret = regrets.row(rows[i], line);
    const std::int64_t own = regret[label];
#pragma omp simd
    for (std::int64_t c = 0; c < k; ++c) beyond[c] |= regret[c] - own;  // keeps any sign bit
  }
}

template <class Source>
TM_CLONES void add_regrets(const Source& regrets, const Row* TM_RESTRICT rows, std::int64_t n,
                           std::int64_t* TM_RESTRICT line, std::int64_t* TM_RESTRICT sums) {
  const std::int64_t k = regrets.k;
  for (std::int64_t i = 0; i < n; ++i) {
    fetch_ahead(regrets, rows, i, n);
    const std::int64_t* TM_RESTRICT regret = regrets.row(rows[i], line);
#pragma omp simd
    for (std::int64_t c = 0; c < k; ++c) sums[c] += regret[c];
  }
}

// The statistics of rows [begin, end) of a leaf, K numbers each.
template <class Source>
TM_CLONES void gather_row_stats(const Source& regrets, const Leaf& leaf,
                                const std::int64_t* TM_RESTRICT centers, int counter, int K,
                                std::int64_t begin, std::int64_t end,
                                std::int64_t* TM_RESTRICT scratch,
                                std::int64_t* TM_RESTRICT row_stats) {
  for (std::int64_t i = begin; i < end; ++i) {
    fetch_ahead(regrets, leaf.rows, i, leaf.n);
    const std::int64_t* TM_RESTRICT regret = regrets.row(leaf.rows[i], scratch);
    std::int64_t* TM_RESTRICT line = row_stats + (i - begin) * K;
    for (int j = 0; j < counter; ++j) line[j] = regret[centers[j]];
    for (int j = counter; j < K; ++j) line[j] = j == counter ? leaf.limits.weight(leaf.rows[i]) : 0;
  }
}

// Reads the statistics from packed regrets again in every walk, so that only a block of them is in
// memory at a time.
class PackedStats final : public scan::StatsSource {
 public:
  PackedStats(const Leaf& leaf, const std::vector<std::int64_t>& centers, int K)
      : leaf_(leaf), centers_(centers), K_(K) {}
  void read(std::int64_t begin, std::int64_t end, std::int64_t* row_stats) const override {
    std::int64_t line[PackedRegrets::kMostCenters];
    gather_row_stats(*leaf_.regrets.packed, leaf_, centers_.data(),
                     static_cast<int>(centers_.size()), K_, begin, end, line, row_stats);
  }

 private:
  const Leaf& leaf_;
  const std::vector<std::int64_t>& centers_;
  const int K_;
};

// Centers worth a column: the label, and those cheaper than it for some row. Another is at most as
// cheap as the label wherever a cut puts it.
std::vector<std::int64_t> contenders(const Leaf& leaf, int n_threads) {
  constexpr std::int64_t block = sized(4096, 8);
  const std::int64_t k = leaf.regrets.k();
  std::vector<std::int64_t> beyond(k, 0);
  using Flags = std::vector<std::int64_t>;  // and room for a row
  parallel_for((leaf.n + block - 1) / block, 1, threads_for(leaf.n * k, n_threads),
               [&] { return Flags(2 * k, 0); },
               [&](Flags& mine, std::int64_t b) {
                 const std::int64_t i = b * block;
                 leaf.regrets.visit([&](const auto& regrets) {
                   compare(regrets, leaf.rows + i, std::min(block, leaf.n - i), leaf.label,
                           mine.data() + k, mine.data());
                 });
               },
               [&](const Flags& mine) {
                 for (std::int64_t c = 0; c < k; ++c) beyond[c] |= mine[c];
               });
  std::vector<std::int64_t> centers;
  for (std::int64_t c = 0; c < k; ++c)
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
  const PackedStats packed(leaf, centers, K);
  const bool is_packed = leaf.regrets.packed != nullptr;
  n_threads = threads_for(leaf.n * bins.n_slots(), n_threads);
  std::int64_t* row_stats = nullptr;
  if (!is_packed) {
    if (static_cast<std::int64_t>(buffers->row_stats.size()) < leaf.n * K)
      buffers->row_stats = std::vector<std::int64_t>(leaf.n * K);
    row_stats = buffers->row_stats.data();
    parallel_blocks(leaf.n, 1024, n_threads, [&](std::int64_t begin, std::int64_t end) {
      gather_row_stats(leaf.regrets.plain, leaf, centers.data(), counter, K, begin, end, nullptr,
                       row_stats + begin * K);
    });
  }
  const scan::Node node{
      {leaf.rows, leaf.n, K, row_stats}, counter, sums.data(), start.data(), leaf.limits,
      is_packed ? &packed : nullptr};
  const auto run = [&](auto width) {
    const CheapestCenters<width> score{K, counter, all.data(), leaf.totals[leaf.label]};
    const auto found = scan::least_cut(score, points, node, bins, n_threads);
    bins.buffers.give_back(std::move(buffers));
    return found;
  };
  switch (K) {
    case 4:
      return run(std::integral_constant<int, known_width<4>>());
    case 8:
      return run(std::integral_constant<int, known_width<8>>());
    case 12:
      return run(std::integral_constant<int, known_width<12>>());
    case 16:
      return run(std::integral_constant<int, known_width<16>>());
    case 24:
      return run(std::integral_constant<int, known_width<24>>());
    case 32:
      return run(std::integral_constant<int, known_width<32>>());
    default:
      return run(std::integral_constant<int, 0>());
  }
}

void sum_regrets(const RegretTable& regrets, const Row* rows, std::int64_t n, std::int64_t* sums,
                 int n_threads) {
  constexpr std::int64_t block = sized(4096, 8);
  const std::int64_t k = regrets.k();
  std::fill(sums, sums + k, std::int64_t{0});
  using Sums = std::vector<std::int64_t>;
  parallel_for((n + block - 1) / block, 1, threads_for(n * k, n_threads),
               [&] { return Sums(2 * k, 0); },
               [&](Sums& mine, std::int64_t b) {
                 regrets.visit([&](const auto& source) {
                   add_regrets(source, rows + b * block, std::min(block, n - b * block),
                               mine.data() + k, mine.data());
                 });
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
  const Leaf rows{tree.rows + leaf.begin, leaf.end - leaf.begin, tree.regrets,
                  leaf.totals.data(),     leaf.cheapest(),       tree.limits};
  std::optional<Cut> cut = least_surrogate_cut(tree.bins, tree.points, rows, tree.n_threads);
  return cut && is_worth_making(tree, leaf, *cut) ? cut : std::nullopt;
}

// Sorts the rows of a leaf into those of its children. The smaller side is summed; the other is the
// difference, which is exact.
MadeCut carry_out(const Expansion& tree, const GrowingLeaf& leaf, const Cut& cut) {
  MadeCut made{leaf.node, cut, 0, {}, std::vector<std::int64_t>(tree.regrets.k())};
  Row* rows = tree.rows + leaf.begin;
  const std::int64_t n = leaf.end - leaf.begin;
  made.n_left = partition(tree.points, tree.bins, rows, n, cut.feature, cut.rule(), tree.n_threads,
                          made.margin);
  std::vector<std::int64_t>& sums = made.left_totals;
  const bool left = made.n_left <= n - made.n_left;
  sum_regrets(tree.regrets, left ? rows : rows + made.n_left, left ? made.n_left : n - made.n_left,
              sums.data(), tree.n_threads);
  for (std::size_t c = 0; c < sums.size() && !left; ++c) sums[c] = leaf.totals[c] - sums[c];
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
    for (std::size_t c = 0; c < rest.size(); ++c) rest[c] -= last.left_totals[c];
    add({n_nodes, leaf.depth + 1, leaf.begin, middle, last.left_totals});
    add({n_nodes + 1, leaf.depth + 1, middle, leaf.end, std::move(rest)});
    n_nodes += 2;
    tell(++n_leaves);
  }
  return made;
}

namespace {

// Each function that reads regrets is bound twice: for an array, and for packed ones.
using RegretArray = In<std::int64_t, 2>;

RegretTable regrets_of(const RegretArray& values) {
  return RegretTable(PlainRegrets{values.data(), static_cast<std::int64_t>(values.shape(1))});
}
RegretTable regrets_of(const PackedRegrets& packed) { return RegretTable(packed); }

template <class AnyRegrets>
std::optional<Cut> bound_surrogate_cut(const Bins& bins, const Points& points, In<Row, 1> rows,
                                       const AnyRegrets& regrets, In<std::int64_t, 1> totals,
                                       std::int64_t label, const PyLimits& limits, int n_threads) {
  nb::gil_scoped_release release;
  const Leaf leaf{rows.data(),
                  static_cast<std::int64_t>(rows.shape(0)),
                  regrets_of(regrets),
                  totals.data(),
                  label,
                  limits.get()};
  return least_surrogate_cut(bins, points, leaf, n_threads);
}

// leaves: node, depth, begin and end of the rows; and the sums of the regrets of each.
template <class AnyRegrets>
std::vector<MadeCut> bound_expand(const Bins& bins, const Points& points, InOut<Row, 1> rows,
                                  const AnyRegrets& regrets, In<std::int64_t, 2> leaves,
                                  In<std::int64_t, 2> totals, std::int32_t n_nodes,
                                  std::int64_t max_leaves, const PyLimits& limits, int n_threads,
                                  const nb::callable& tell) {
  const RegretTable source = regrets_of(regrets);
  const std::int64_t k = source.k();
  std::vector<GrowingLeaf> open;
  for (std::size_t i = 0; i < leaves.shape(0); ++i) {
    const std::int64_t *leaf = leaves.data() + 4 * i, *sums = totals.data() + i * k;
    open.push_back({static_cast<std::int32_t>(leaf[0]), static_cast<std::int32_t>(leaf[1]), leaf[2],
                    leaf[3], std::vector<std::int64_t>(sums, sums + k)});
  }
  nb::gil_scoped_release release;
  return expand({bins, points, rows.data(), source, limits.get(), n_threads}, std::move(open),
                n_nodes, max_leaves, told(tell));
}

template <class AnyRegrets>
Out<std::int64_t> bound_sum_regrets(const AnyRegrets& regrets, In<Row, 1> rows, int n_threads) {
  const RegretTable source = regrets_of(regrets);
  auto sums = new_array<std::int64_t>({static_cast<std::size_t>(source.k())});
  nb::gil_scoped_release release;
  sum_regrets(source, rows.data(), rows.shape(0), sums.data(), n_threads);
  return sums;
}

template <class AnyRegrets>
void bind_searches_of(nb::module_& m) {
  m.def("surrogate_cut", &bound_surrogate_cut<AnyRegrets>, "bins"_a, "points"_a, "rows"_a,
        "regrets"_a, "totals"_a, "label"_a, "limits"_a, "n_threads"_a);
  m.def("expand", &bound_expand<AnyRegrets>, "bins"_a, "points"_a, "rows"_a, "regrets"_a,
        "leaves"_a, "totals"_a, "n_nodes"_a, "max_leaves"_a, "limits"_a, "n_threads"_a, "tell"_a);
  m.def("sum_regrets", &bound_sum_regrets<AnyRegrets>, "regrets"_a, "rows"_a, "n_threads"_a);
}

std::unique_ptr<PackedRegrets> make_packed(In<std::int32_t, 1> cheapest, std::int64_t k) {
  const std::int32_t *own = cheapest.data(), *end = own + cheapest.shape(0);
  if (k < 1 || k > PackedRegrets::kMostCenters ||
      std::any_of(own, end, [&](std::int32_t c) { return c < 0 || c >= k; }))
    throw std::invalid_argument("packed regrets are of 1 to 256 centers");
  return std::make_unique<PackedRegrets>(end - own, k, own);
}

bool pack(PackedRegrets& packed, std::int64_t begin, RegretArray regrets) {
  const auto m = static_cast<std::int64_t>(regrets.shape(0));
  if (begin < 0 || begin + m > packed.n || static_cast<std::int64_t>(regrets.shape(1)) != packed.k)
    throw std::invalid_argument("the regrets do not fit the packed table");
  nb::gil_scoped_release release;
  return packed.pack(begin, m, regrets.data());
}

Out<std::int64_t> unpack(const PackedRegrets& packed) {
  auto values = new_array<std::int64_t>(
      {static_cast<std::size_t>(packed.n), static_cast<std::size_t>(packed.k)});
  nb::gil_scoped_release release;
  for (std::int64_t r = 0; r < packed.n; ++r) packed.row(r, values.data() + r * packed.k);
  return values;
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
  nb::class_<PackedRegrets>(m, "PackedRegrets")
      .def_ro("n_clusters", &PackedRegrets::k)
      .def("pack", &pack, "begin"_a, "regrets"_a)
      .def("unpack", &unpack);
  m.def("packed_regrets", &make_packed, "cheapest"_a, "n_clusters"_a, nb::keep_alive<0, 1>());
  bind_searches_of<RegretArray>(m);
  bind_searches_of<PackedRegrets>(m);
}

}  // namespace treemeans
