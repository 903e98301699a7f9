// The searches for the best cut of a node, what they respect and what they return.
#include "bindings.hpp"
#include "binning.hpp"
#include "greedy.hpp"
#include "mistakes.hpp"
#include "mixed_mistakes.hpp"
#include "points.hpp"
#include "score.hpp"
#include "separate.hpp"
#include "subset_search.hpp"

namespace treemeans {
namespace {

CenterNode center_node(const In<Row, 1>& rows, const In<double, 2>& centers,
                       std::vector<std::int32_t> members) {
  return {rows.data(), static_cast<std::int64_t>(rows.shape(0)), centers.data(),
          static_cast<std::int64_t>(centers.shape(1)), std::move(members)};
}

RegretTable plain(const In<std::int64_t, 2>& regrets) {
  return RegretTable(PlainRegrets{regrets.data(), static_cast<std::int64_t>(regrets.shape(1))});
}

Separation separate_greedily(const Bins& bins, const Points& points, InOut<Row, 1> rows,
                             In<std::int64_t, 2> regrets, In<double, 2> centers,
                             std::vector<std::int32_t> members, const PyLimits& limits,
                             int n_threads, const nb::callable& tell) {
  nb::gil_scoped_release release;
  const Limits within = limits.get();
  const Expansion tree{bins, points, rows.data(), plain(regrets), within, n_threads};
  const auto find = [&](CenterNode node) {
    return least_greedy_cut(bins, points, {std::move(node), regrets.data()}, within, n_threads);
  };
  const auto made = [](const Row*, std::int64_t, std::int64_t, const std::uint8_t*) {};
  return separate_centers(tree, static_cast<std::int64_t>(rows.shape(0)),
                          {centers.data(), std::move(members)}, find, made, told(tell));
}

// IMM's and EMN's counts together with the arrays they are about.
class PyMistakeCounts {
 public:
  PyMistakeCounts(const Bins& bins, std::int64_t k, In<std::int32_t, 1> nearest,
                  std::optional<In<std::int64_t, 1>> weights, InOut<std::uint8_t, 1> alive,
                  int n_threads)
      : nearest_(std::move(nearest)), weights_(std::move(weights)), alive_(std::move(alive)) {
    nb::gil_scoped_release release;
    if (weights_) {
      weighted_.emplace(bins, k, membership(), n_threads);
    } else {
      plain_.emplace(bins, k, membership(), n_threads);
    }
  }

  void remove_separated(In<Row, 1> rows, std::int64_t n_left, In<std::uint8_t, 1> left,
                        int n_threads) {
    nb::gil_scoped_release release;
    const auto n = static_cast<std::int64_t>(rows.shape(0));
    if (weighted_) {
      weighted_->remove_separated(rows.data(), n, n_left, membership(), left.data(), n_threads);
    } else {
      plain_->remove_separated(rows.data(), n, n_left, membership(), left.data(), n_threads);
    }
  }

  // limits: of the cuts that the search may take; of the tree, of the leaves that may be cut.
  Separation separate(const Bins& bins, const Points& points, InOut<Row, 1> rows,
                      In<std::int64_t, 2> regrets, In<double, 2> centers,
                      std::vector<std::int32_t> members, bool per_center, const PyLimits& limits,
                      const PyLimits& tree_limits, int shift, int n_threads,
                      const nb::callable& tell) {
    nb::gil_scoped_release release;
    const Limits within = limits.get(), of_tree = tree_limits.get();
    const Expansion tree{bins, points, rows.data(), plain(regrets), of_tree, n_threads};
    const Rule rule = per_center ? Rule::mistakes_per_center : Rule::mistakes;
    const auto run = [&](auto& counts) {
      const auto find = [&](CenterNode node) {
        return counts.least_mistakes_cut(points, {std::move(node), membership(), rule, shift},
                                         within, n_threads);
      };
      const auto made = [&](const Row* of_node, std::int64_t n, std::int64_t n_left,
                            const std::uint8_t* left) {
        counts.remove_separated(of_node, n, n_left, membership(), left, n_threads);
      };
      return separate_centers(tree, static_cast<std::int64_t>(rows.shape(0)),
                              {centers.data(), std::move(members)}, find, made, told(tell));
    };
    return weighted_ ? run(*weighted_) : run(*plain_);
  }

  std::optional<Cut> cut(const Points& points, In<Row, 1> rows, In<double, 2> centers,
                         std::vector<std::int32_t> members, bool per_center, const PyLimits& limits,
                         int shift, int n_threads) const {
    nb::gil_scoped_release release;
    const MistakeNode node{center_node(rows, centers, std::move(members)), membership(),
                           per_center ? Rule::mistakes_per_center : Rule::mistakes, shift};
    return weighted_ ? weighted_->least_mistakes_cut(points, node, limits.get(), n_threads)
                     : plain_->least_mistakes_cut(points, node, limits.get(), n_threads);
  }

 private:
  Membership membership() const {
    return {nearest_.data(), or_null<std::int64_t>(weights_), alive_.data()};
  }

  In<std::int32_t, 1> nearest_;
  std::optional<In<std::int64_t, 1>> weights_;
  InOut<std::uint8_t, 1> alive_;
  std::optional<MistakeCounts<std::int32_t>> plain_;
  std::optional<MistakeCounts<std::int64_t>> weighted_;
};

// See mixed_mistakes.hpp.
std::pair<std::int64_t, double> mistakes_inside(
    const Bins& bins, std::size_t i, const Points& points, In<Row, 1> rows,
    In<std::int32_t, 1> center, MaybeIn<std::int64_t> weights, In<double, 1> place,
    bool missing_left, std::vector<std::int32_t> members, In<std::int64_t, 1> changes,
    In<std::uint8_t, 1> open, In<std::int64_t, 1> base, std::pair<double, double> range,
    std::pair<bool, bool> anyway) {
  nb::gil_scoped_release release;
  const CountedRows node{rows.data(),   static_cast<std::int64_t>(rows.shape(0)),
                         center.data(), or_null<std::int64_t>(weights),
                         place.data(),  missing_left};
  const InsideCut found = least_mistakes_inside(
      points, bins.mixed.at(i), node, members,
      std::vector<std::int64_t>(changes.data(), changes.data() + changes.shape(0)), open.data(),
      base.data(), range.first, range.second, anyway.first, anyway.second);
  return {found.mistakes, found.threshold};
}

// Scores the bins of a feature in order, of which only sums are known: what a cut after each costs,
// and what no cut inside it costs less than.
template <class Score>
void score_prefixes(const Score& score, const In<std::int64_t, 2>& sums, std::int64_t* cost,
                    std::int64_t* bound) {
  const std::size_t m = sums.shape(0), K = sums.shape(1);
  std::vector<std::int64_t> before(K, 0), after(K, 0);
  for (std::size_t b = 0; b < m; ++b) {
    for (std::size_t c = 0; c < K; ++c) after[c] += sums.data()[b * K + c];
    cost[b] = score.cost(after.data());
    bound[b] = score.bound(before.data(), after.data());
    before = after;
  }
}

using BinScores = std::pair<Out<std::int64_t>, Out<std::int64_t>>;

BinScores score_surrogate_bins(In<std::int64_t, 2> sums, In<std::int64_t, 1> totals) {
  auto cost = new_array<std::int64_t>({sums.shape(0)});
  auto bound = new_array<std::int64_t>({sums.shape(0)});
  const auto k = static_cast<int>(totals.shape(0));
  if (totals.shape(0) > sums.shape(1)) throw std::invalid_argument("a sum for each center");
  const std::int64_t unsplit = *std::min_element(totals.data(), totals.data() + k);
  if (k == 1) {  // nothing to choose between: no cut saves anything
    std::fill_n(cost.data(), sums.shape(0), unsplit);
    std::fill_n(bound.data(), sums.shape(0), unsplit);
  } else {
    score_prefixes(CheapestCenters<0>{k, k, totals.data(), unsplit}, sums, cost.data(),
                   bound.data());
  }
  return {cost, bound};
}

// The best cut of a column of categories, of which only sums are known: those of each code and, in
// the last row, of the missing values; k regrets and, behind them, the weight. None if there is
// none.
std::optional<Cut> surrogate_subset(In<std::int64_t, 2> sums, In<std::int64_t, 1> totals,
                                    std::int32_t feature, bool may_miss, const PyLimits& limits) {
  const auto k = static_cast<int>(totals.shape(0)), width = static_cast<int>(sums.shape(1));
  if (k >= width) throw std::invalid_argument("a sum for each center, and the weight");
  if (sums.shape(0) == 0) throw std::invalid_argument("a row for the missing values");
  nb::gil_scoped_release release;
  const Groups groups =
      Groups::of(sums.data(), static_cast<std::int32_t>(sums.shape(0)) - 1, true, width, k);
  const std::int64_t unsplit = *std::min_element(totals.data(), totals.data() + k);
  const CheapestCenters<0> score{k, k, totals.data(), unsplit};
  const std::vector<std::int64_t> start(width, 0);
  const Subset subset = SubsetSearch(score, groups, limits.get(), start.data()).run();
  if (subset.cost == kNoCost) return std::nullopt;
  return subset_cut(groups, subset, feature, may_miss, true);
}

BinScores score_reoptimized_bins(In<std::int64_t, 2> sums) {
  auto cost = new_array<std::int64_t>({sums.shape(0)});
  auto bound = new_array<std::int64_t>({sums.shape(0)});
  if (sums.shape(1) < 2) throw std::invalid_argument("two sums for each bin");
  score_prefixes(SmallestPrefix{0}, sums, cost.data(), bound.data());
  return {cost, bound};
}

}  // namespace

void bind_searches(nb::module_& m) {
  nb::class_<Cut>(m, "Cut")
      .def(
          "__init__",
          [](Cut* cut, std::int64_t cost, std::int32_t feature, double low, double high,
             std::optional<bool> missing_left, std::vector<std::int32_t> categories) {
            new (cut)
                Cut{cost, feature, low, high, missing_side(missing_left), std::move(categories)};
          },
          "cost"_a, "feature"_a, "low"_a, "high"_a, "missing_left"_a = nb::none(),
          "categories"_a = std::vector<std::int32_t>())
      .def_ro("cost", &Cut::cost)
      .def_ro("feature", &Cut::feature)
      .def_ro("low", &Cut::low)
      .def_ro("high", &Cut::high)
      .def_prop_ro("threshold", &Cut::threshold)
      .def_prop_ro("missing_left", [](const Cut& cut) { return side_of_missing(cut.missing_left); })
      .def_prop_ro("categories", [](const Cut& cut) { return nb::tuple(nb::cast(cut.categories)); })
      .def(
          "__eq__", [](const Cut& a, const Cut& b) { return a == b; }, nb::is_operator())
      .def("__repr__", [](const Cut& cut) {
        return nb::str("Cut(cost={}, feature={}, low={}, high={}, missing_left={}, categories={})")
            .format(cut.cost, cut.feature, cut.low, cut.high, side_of_missing(cut.missing_left),
                    cut.categories);
      });
  m.def("threshold_between", &threshold_between, "low"_a, "high"_a);
  nb::class_<PyLimits>(m, "Limits")
      .def(nb::init<MaybeIn<std::int64_t>, std::int64_t, MaybeIn<std::int64_t>,
                    std::optional<std::int32_t>, std::optional<std::int32_t>>(),
           "weights"_a = nb::none(), "min_weight"_a = 1, "prices"_a = nb::none(),
           "max_depth"_a = nb::none(), "max_categories"_a = nb::none());
  nb::class_<Separation>(m, "Separation")
      .def_prop_ro(
          "totals", [](const Separation& found) { return array_of(found.totals); },
          nb::rv_policy::move)
      .def_ro("cuts", &Separation::cuts)
      .def_ro("leaves", &Separation::leaves);
  m.def("separate_greedily", &separate_greedily, "bins"_a, "points"_a, "rows"_a, "regrets"_a,
        "centers"_a, "members"_a, "limits"_a, "n_threads"_a, "tell"_a);
  nb::class_<PyMistakeCounts>(m, "MistakeCounts")
      .def(nb::init<const Bins&, std::int64_t, In<std::int32_t, 1>,
                    std::optional<In<std::int64_t, 1>>, InOut<std::uint8_t, 1>, int>(),
           "bins"_a, "k"_a, "nearest"_a, "weights"_a.none(), "alive"_a, "n_threads"_a,
           nb::keep_alive<1, 2>())
      .def("remove_separated", &PyMistakeCounts::remove_separated, "rows"_a, "n_left"_a, "left"_a,
           "n_threads"_a)
      .def("separate", &PyMistakeCounts::separate, "bins"_a, "points"_a, "rows"_a, "regrets"_a,
           "centers"_a, "members"_a, "per_center"_a, "limits"_a, "tree_limits"_a, "shift"_a,
           "n_threads"_a, "tell"_a)
      .def("cut", &PyMistakeCounts::cut, "points"_a, "rows"_a, "centers"_a, "members"_a,
           "per_center"_a, "limits"_a, "shift"_a, "n_threads"_a);
  m.def("mistakes_inside", &mistakes_inside, "bins"_a, "i"_a, "points"_a, "rows"_a, "center"_a,
        "weights"_a.none(), "place"_a, "missing_left"_a, "members"_a, "changes"_a, "is_open"_a,
        "base"_a, "permitted"_a, "anyway"_a);
  m.def("score_surrogate_bins", &score_surrogate_bins, "sums"_a, "totals"_a);
  m.def("surrogate_subset", &surrogate_subset, "sums"_a, "totals"_a, "feature"_a, "may_miss"_a,
        "limits"_a);
  m.def("score_reoptimized_bins", &score_reoptimized_bins, "sums"_a);
}

}  // namespace treemeans
