// The Python face of the kernels: the only file that knows a Python type. Arrays are borrowed,
// never copied; the interpreter lock is released while a kernel runs.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <omp.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "binning.hpp"
#include "bonsai.hpp"
#include "distances.hpp"
#include "greedy.hpp"
#include "kauri.hpp"
#include "mistakes.hpp"
#include "partition.hpp"
#include "points.hpp"
#include "room.hpp"
#include "surrogate.hpp"
#include "survey.hpp"
#include "variances.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace treemeans {
namespace {

template <class T, int N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, int N>
using InOut = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<nb::numpy, T>;
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using CutTuple = std::optional<std::tuple<std::int64_t, std::int32_t, double, double>>;

template <class T>
Out<T> new_array(std::initializer_list<std::size_t> shape, bool zeroed = false) {
  std::size_t size = 1;
  for (std::size_t s : shape) size *= s;
  T* data = zeroed ? new T[size]() : new T[size];
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return Out<T>(data, shape, owner);
}

template <class T>
const T* or_null(const std::optional<In<T, 1>>& array) {
  return array ? array->data() : nullptr;
}

CutTuple as_tuple(const std::optional<Cut>& cut) {
  if (!cut) return std::nullopt;
  return std::make_tuple(cut->cost, cut->feature, cut->low, cut->high);
}

template <class T>
bool try_dense(const AnyMatrix& array, std::unique_ptr<Points>& out) {
  if (array.dtype() != nb::dtype<T>()) return false;
  out = std::make_unique<StridedPoints<T>>(
      static_cast<const T*>(array.data()), static_cast<std::int64_t>(array.shape(0)),
      static_cast<std::int32_t>(array.shape(1)), array.stride(0), array.stride(1));
  return true;
}

std::unique_ptr<Points> dense_points(const AnyMatrix& array) {
  std::unique_ptr<Points> points;
  if (try_dense<double>(array, points) || try_dense<float>(array, points) ||
      try_dense<std::int64_t>(array, points) || try_dense<std::int32_t>(array, points) ||
      try_dense<std::int16_t>(array, points) || try_dense<std::int8_t>(array, points) ||
      try_dense<std::uint32_t>(array, points) || try_dense<std::uint16_t>(array, points) ||
      try_dense<std::uint8_t>(array, points))
    return points;
  throw std::invalid_argument("unsupported number type");
}

std::unique_ptr<Points> sparse_points(std::int64_t n_rows, std::int32_t n_features,
                                      In<std::int64_t, 1> row_starts, In<std::int32_t, 1> columns,
                                      In<double, 1> values,
                                      std::optional<In<std::int64_t, 1>> column_starts,
                                      std::optional<In<std::int32_t, 1>> rows,
                                      std::optional<In<double, 1>> values_by_column) {
  return std::make_unique<SparsePoints>(
      n_rows, n_features, Compressed{row_starts.data(), columns.data(), values.data()},
      Compressed{or_null<std::int64_t>(column_starts), or_null<std::int32_t>(rows),
                 or_null<double>(values_by_column)});
}

std::unique_ptr<Bins> bins_of(const Points& points, std::optional<In<std::uint8_t, 1>> allowed,
                              int n_threads) {
  nb::gil_scoped_release release;
  auto bins = std::make_unique<Bins>();
  const auto* dense = dynamic_cast<const DensePoints*>(&points);
  const std::uint8_t* may = or_null<std::uint8_t>(allowed);
  const bool finite =
      dense ? make_bins(*dense, may, n_threads, *bins)
            : make_bins(dynamic_cast<const SparsePoints&>(points), may, n_threads, *bins);
  if (!finite) bins.reset();
  return bins;
}

std::tuple<Out<double>, Out<std::int32_t>, Out<double>> price_points(const Points& points,
                                                                     In<double, 2> centers,
                                                                     int n_threads) {
  const auto n = static_cast<std::size_t>(points.n_rows), k = centers.shape(0);
  auto base = new_array<double>({n});
  auto nearest = new_array<std::int32_t>({n});
  auto regret = new_array<double>({n, k});
  const Regrets out{static_cast<std::int64_t>(k), base.data(), nearest.data(), regret.data()};
  {
    nb::gil_scoped_release release;
    if (const auto* dense = dynamic_cast<const DensePoints*>(&points)) {
      price(*dense, centers.data(), out, n_threads);
    } else {
      price(dynamic_cast<const SparsePoints&>(points), centers.data(), out, n_threads);
    }
  }
  return {base, nearest, regret};
}

Out<double> totals_of(In<double, 2> regret, std::optional<In<double, 1>> weights, int n_threads) {
  auto totals = new_array<double>({regret.shape(1)});
  nb::gil_scoped_release release;
  total_regrets(regret.data(), or_null<double>(weights), regret.shape(0), regret.shape(1),
                totals.data(), n_threads);
  return totals;
}

void fix(InOut<double, 2> values, std::optional<In<double, 1>> weights, bool whole_weights,
         double scale, int n_threads) {
  nb::gil_scoped_release release;
  to_fixed(values.data(), or_null<double>(weights), whole_weights, scale, values.shape(0),
           values.shape(1), n_threads);
}

Out<std::int64_t> regret_sums(In<std::int64_t, 2> regrets, In<Row, 1> rows, int n_threads) {
  auto sums = new_array<std::int64_t>({regrets.shape(1)});
  nb::gil_scoped_release release;
  sum_regrets(regrets.data(), regrets.shape(1), rows.data(), rows.shape(0), sums.data(), n_threads);
  return sums;
}

// Weights matter only where more than a row is asked for.
Terms terms_of(const std::optional<In<std::int64_t, 1>>& weights, std::int64_t min_weight,
               const std::optional<In<std::int64_t, 1>>& prices) {
  return {min_weight > 1 ? or_null<std::int64_t>(weights) : nullptr, min_weight,
          or_null<std::int64_t>(prices)};
}

CutTuple surrogate_cut(const Bins& bins, const Points& points, In<Row, 1> rows,
                       In<std::int64_t, 2> regrets, In<std::int64_t, 1> totals, std::int64_t label,
                       std::optional<In<std::int64_t, 1>> weights, std::int64_t min_weight,
                       std::optional<In<std::int64_t, 1>> prices, int n_threads) {
  nb::gil_scoped_release release;
  const Leaf leaf{rows.data(),
                  static_cast<std::int64_t>(rows.shape(0)),
                  regrets.data(),
                  static_cast<std::int64_t>(regrets.shape(1)),
                  totals.data(),
                  label,
                  terms_of(weights, min_weight, prices)};
  return as_tuple(least_surrogate_cut(bins, points, leaf, n_threads));
}

std::int64_t partition_rows(const Points& points, InOut<Row, 1> rows, std::int32_t feature,
                            double threshold, int n_threads) {
  nb::gil_scoped_release release;
  return partition(points, rows.data(), rows.shape(0), feature, threshold, n_threads);
}

std::optional<Out<std::int32_t>> apply_tree(const Points& points, In<std::int32_t, 1> feature,
                                            In<double, 1> threshold, In<std::int32_t, 1> left,
                                            In<std::int32_t, 1> right, In<std::int32_t, 1> outcome,
                                            int n_threads) {
  auto leaves = new_array<std::int32_t>({static_cast<std::size_t>(points.n_rows)});
  const TreeView tree{feature.data(), threshold.data(),
                      left.data(),    right.data(),
                      outcome.data(), static_cast<std::int32_t>(feature.shape(0))};
  bool finite;
  {
    nb::gil_scoped_release release;
    finite = points.apply(tree, leaves.data(), n_threads);
  }
  if (!finite) return std::nullopt;
  return leaves;
}

// n_nodes x 4: below, above, lowest, highest; and for each node whether all are integers.
std::pair<Out<double>, Out<bool>> margins_of(const Points& points, In<std::int32_t, 1> feature,
                                             In<double, 1> threshold, In<std::int32_t, 1> left,
                                             In<std::int32_t, 1> right, int n_threads) {
  const std::size_t n_nodes = feature.shape(0);
  auto values = new_array<double>({n_nodes, 4});
  auto whole = new_array<bool>({n_nodes});
  const TreeView tree{feature.data(), threshold.data(), left.data(),
                      right.data(),   nullptr,          static_cast<std::int32_t>(n_nodes)};
  nb::gil_scoped_release release;
  double* out = values.data();
  for (const Margin& margin : points.margins(tree, n_threads)) {
    for (double value : {margin.below, margin.above, margin.lowest, margin.highest}) *out++ = value;
    whole.data()[(out - values.data()) / 4 - 1] = !margin.broken;
  }
  return {values, whole};
}

Out<double> group_sums(const Points& points, In<std::int32_t, 1> groups, std::int64_t n_groups,
                       std::optional<In<double, 1>> weights, std::optional<In<double, 1>> shift,
                       std::optional<InOut<double, 1>> squares, int n_threads) {
  auto sums = new_array<double>(
      {static_cast<std::size_t>(n_groups), static_cast<std::size_t>(points.n_features)}, true);
  nb::gil_scoped_release release;
  points.add_rows({groups.data(), or_null<double>(weights), or_null<double>(shift)}, sums.data(),
                  squares ? squares->data() : nullptr, n_threads);
  return sums;
}

CenterNode center_node(const In<Row, 1>& rows, const In<double, 2>& centers,
                       std::vector<std::int32_t> members) {
  return {rows.data(), static_cast<std::int64_t>(rows.shape(0)), centers.data(),
          static_cast<std::int64_t>(centers.shape(1)), std::move(members)};
}

CutTuple greedy_cut(const Bins& bins, const Points& points, In<Row, 1> rows,
                    In<std::int64_t, 2> regrets, In<double, 2> centers,
                    std::vector<std::int32_t> members, std::int64_t least,
                    std::optional<In<std::int64_t, 1>> weights,
                    std::optional<In<std::int64_t, 1>> prices, int n_threads) {
  nb::gil_scoped_release release;
  const GreedyNode node{center_node(rows, centers, std::move(members)), regrets.data()};
  return as_tuple(
      least_greedy_cut(bins, points, node, terms_of(weights, least, prices), n_threads));
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

  void bury(In<Row, 1> rows, std::int64_t n_left, In<std::uint8_t, 1> left, int n_threads) {
    nb::gil_scoped_release release;
    const auto n = static_cast<std::int64_t>(rows.shape(0));
    if (weighted_) {
      weighted_->bury(rows.data(), n, n_left, membership(), left.data(), n_threads);
    } else {
      plain_->bury(rows.data(), n, n_left, membership(), left.data(), n_threads);
    }
  }

  CutTuple cut(const Points& points, In<Row, 1> rows, In<double, 2> centers,
               std::vector<std::int32_t> members, bool per_center, std::int64_t least,
               std::optional<In<std::int64_t, 1>> prices, int shift, int n_threads) const {
    nb::gil_scoped_release release;
    const MistakeNode node{center_node(rows, centers, std::move(members)), membership(),
                           per_center ? Rule::mistakes_per_center : Rule::mistakes, shift};
    const Terms terms = terms_of(weights_, least, prices);
    return as_tuple(weighted_ ? weighted_->least_mistakes_cut(points, node, terms, n_threads)
                              : plain_->least_mistakes_cut(points, node, terms, n_threads));
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

// A tree under the shears together with the arrays it stands on.
class PyBonsai {
 public:
  PyBonsai(nb::object bins, nb::object points, In<std::int64_t, 2> regrets, In<Row, 1> rows,
           std::optional<In<std::int64_t, 1>> weights, std::int64_t min_weight,
           std::optional<In<std::int64_t, 1>> prices, std::int32_t max_depth)
      : bins_(std::move(bins)),
        points_(std::move(points)),
        regrets_(regrets),
        weights_(std::move(weights)),
        prices_(std::move(prices)),
        tree_({nb::cast<const Bins*>(bins_), nb::cast<const Points*>(points_), regrets.data(),
               static_cast<std::int64_t>(regrets.shape(1)), terms_of(weights_, min_weight, prices_),
               max_depth},
              rows.data(), static_cast<std::int64_t>(rows.shape(0))) {}

  std::int32_t n_leaves() const { return tree_.n_leaves(); }
  std::int64_t cost() const { return tree_.cost(); }
  std::int64_t steps() const { return tree_.steps(); }
  std::int64_t regret(std::int32_t leaf) const { return twig(leaf).totals[twig(leaf).label]; }
  Out<std::int64_t> totals(std::int32_t leaf) const {
    auto totals = new_array<std::int64_t>({twig(leaf).totals.size()});
    std::copy(twig(leaf).totals.begin(), twig(leaf).totals.end(), totals.data());
    return totals;
  }
  std::int32_t feature(std::int32_t node) const { return twig(node).feature; }
  std::pair<std::int32_t, std::int32_t> children(std::int32_t node) const {
    return {twig(node).left, twig(node).right};
  }
  // Nodes of the tree, parents first: number, feature, threshold, left, right, label.
  using Nodes = std::vector<
      std::tuple<std::int32_t, std::int32_t, double, std::int32_t, std::int32_t, std::int32_t>>;
  Nodes nodes() const {
    Nodes found;
    std::vector<std::int32_t> queue{0};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const Twig& t = twig(queue[i]);
      found.emplace_back(queue[i], t.feature, t.threshold, t.left, t.right, t.label);
      if (!t.is_leaf()) queue.insert(queue.end(), {t.left, t.right});
    }
    return found;
  }
  Out<std::int32_t> labels() const {
    auto labels = new_array<std::int32_t>({tree_.labels().size()});
    std::copy(tree_.labels().begin(), tree_.labels().end(), labels.data());
    return labels;
  }
  void reprice(In<std::int64_t, 2> regrets, std::optional<In<std::int64_t, 1>> prices) {
    regrets_ = regrets;
    prices_ = std::move(prices);
    nb::gil_scoped_release release;
    tree_.reprice(regrets_.data(), or_null<std::int64_t>(prices_));
  }
  CutTuple search(std::int32_t leaf, std::optional<In<std::int64_t, 1>> prices, int n_threads) {
    nb::gil_scoped_release release;
    return as_tuple(tree_.search(leaf, or_null<std::int64_t>(prices), n_threads));
  }
  std::optional<std::pair<std::int32_t, std::int32_t>> split(std::int32_t leaf,
                                                             std::int32_t feature,
                                                             double threshold) {
    nb::gil_scoped_release release;
    if (!tree_.split(leaf, feature, threshold)) return std::nullopt;
    return std::make_pair(twig(leaf).left, twig(leaf).right);
  }
  bool resplit(std::int32_t node, std::optional<In<std::int64_t, 1>> prices, int n_threads) {
    nb::gil_scoped_release release;
    return tree_.resplit(node, or_null<std::int64_t>(prices), n_threads);
  }
  void collapse(std::int32_t node) { tree_.collapse(node); }
  void settle(std::int32_t root, std::int64_t max_looks, int n_threads) {
    nb::gil_scoped_release release;
    tree_.settle(root, max_looks, n_threads);
  }

 private:
  const Twig& twig(std::int32_t node) const { return tree_.twigs()[node]; }

  nb::object bins_, points_;  // kept alive, by copies too
  In<std::int64_t, 2> regrets_;
  std::optional<In<std::int64_t, 1>> weights_, prices_;
  Bonsai tree_;
};

Out<double> column_of(const Points& points, std::int32_t feature, In<Row, 1> rows, int n_threads) {
  auto values = new_array<double>({rows.shape(0)});
  nb::gil_scoped_release release;
  points.column(feature, rows.data(), rows.shape(0), values.data(), n_threads);
  return values;
}

Out<double> variances_of(const Points& points, In<Row, 1> rows,
                         std::optional<In<double, 1>> weights, int n_threads) {
  auto found = new_array<double>({static_cast<std::size_t>(points.n_features)});
  nb::gil_scoped_release release;
  variances(points, rows.data(), rows.shape(0), or_null<double>(weights), found.data(), n_threads);
  return found;
}

std::unique_ptr<Kauri> new_kauri(const Points& table, const Points& space, In<Row, 1> rows,
                                 std::optional<In<double, 1>> weights,
                                 std::optional<In<std::int64_t, 1>> units,
                                 std::int32_t max_clusters, std::int64_t min_weight,
                                 std::int32_t max_depth, std::vector<std::int32_t> features,
                                 std::vector<double> prices, int n_threads) {
  nb::gil_scoped_release release;
  const KauriRows all{rows.data(), static_cast<std::int64_t>(rows.shape(0)),
                      or_null<double>(weights), or_null<std::int64_t>(units)};
  return std::make_unique<Kauri>(
      table, space, all,
      KauriRules{max_clusters, min_weight, max_depth, std::move(features), std::move(prices)},
      n_threads);
}

std::optional<
    std::tuple<std::int32_t, std::int32_t, double, double, std::int32_t, std::int32_t, double>>
kauri_step(Kauri& kauri) {
  std::optional<KauriCut> cut;
  {
    nb::gil_scoped_release release;
    cut = kauri.step();
  }
  if (!cut) return std::nullopt;
  return std::make_tuple(cut->node, cut->feature, cut->low, cut->high, cut->clusters.left,
                         cut->clusters.right, cut->gain);
}

Looks looks_of(const In<std::int32_t, 1>& group, const In<std::int32_t, 1>& feature,
               const In<std::int64_t, 1>& first, const In<double, 1>& edges,
               const In<std::uint8_t, 1>& wanted) {
  return {static_cast<std::int64_t>(group.shape(0)),
          group.data(),
          feature.data(),
          first.data(),
          edges.data(),
          wanted.data()};
}

std::tuple<Out<std::int64_t>, Out<double>, Out<double>> survey_rows(
    const Points& points, In<std::int32_t, 1> groups, In<std::int64_t, 2> lines,
    In<std::int32_t, 1> group, In<std::int32_t, 1> feature, In<std::int64_t, 1> first,
    In<double, 1> edges, In<std::uint8_t, 1> wanted) {
  const Looks looks = looks_of(group, feature, first, edges, wanted);
  const auto n = static_cast<std::size_t>(looks.n_stretches()), K = lines.shape(1);
  auto sums = new_array<std::int64_t>({n, K}, true);
  auto low = new_array<double>({n}), high = new_array<double>({n});
  std::fill_n(low.data(), n, std::numeric_limits<double>::infinity());
  std::fill_n(high.data(), n, -std::numeric_limits<double>::infinity());
  {
    nb::gil_scoped_release release;
    survey(points, {groups.data(), lines.data(), static_cast<std::int64_t>(K)}, looks,
           {sums.data(), low.data(), high.data()});
  }
  return {sums, low, high};
}

template <class T>
Out<T> array_of(const std::vector<T>& values) {
  auto array = new_array<T>({values.size()});
  std::copy(values.begin(), values.end(), array.data());
  return array;
}

// Stretches, rows and values.
std::tuple<Out<std::int64_t>, Out<Row>, Out<double>> collect_rows(
    const Points& points, In<std::int32_t, 1> groups, In<std::int32_t, 1> group,
    In<std::int32_t, 1> feature, In<std::int64_t, 1> first, In<double, 1> edges,
    In<std::uint8_t, 1> wanted) {
  Found found;
  {
    nb::gil_scoped_release release;
    found = collect(points, groups.data(), looks_of(group, feature, first, edges, wanted));
  }
  return {array_of(found.stretch), array_of(found.row), array_of(found.value)};
}

void bind_points(nb::module_& m) {
  nb::class_<Points>(m, "Points")
      .def("all_finite", &Points::all_finite, "n_threads"_a,
           nb::call_guard<nb::gil_scoped_release>());
  m.def("dense_points", &dense_points, "array"_a, nb::keep_alive<0, 1>());
  m.def("sparse_points", &sparse_points, "n_rows"_a, "n_features"_a, "row_starts"_a, "columns"_a,
        "values"_a, "column_starts"_a.none(), "rows"_a.none(), "values_by_column"_a.none(),
        nb::keep_alive<0, 3>(), nb::keep_alive<0, 4>(), nb::keep_alive<0, 5>(),
        nb::keep_alive<0, 6>(), nb::keep_alive<0, 7>(), nb::keep_alive<0, 8>());
  m.def("apply", &apply_tree, "points"_a, "feature"_a, "threshold"_a, "left"_a, "right"_a,
        "outcome"_a, "n_threads"_a);
  m.def("partition", &partition_rows, "points"_a, "rows"_a, "feature"_a, "threshold"_a,
        "n_threads"_a);
  m.def("group_sums", &group_sums, "points"_a, "groups"_a, "n_groups"_a, "weights"_a.none(),
        "shift"_a.none(), "squares"_a.none(), "n_threads"_a);
  m.def("margins", &margins_of, "points"_a, "feature"_a, "threshold"_a, "left"_a, "right"_a,
        "n_threads"_a);
}

void bind_bins(nb::module_& m) {
  nb::class_<Bins>(m, "Bins")
      .def_prop_ro("n_bytes", &Bins::n_bytes)
      .def_prop_ro("n_bins", &Bins::n_bins)
      .def_ro("n_dense", &Bins::n_dense)
      .def_ro("feature", &Bins::feature);
  m.def("make_bins", &bins_of, "points"_a, "allowed"_a.none(), "n_threads"_a);
}

void bind_costs(nb::module_& m) {
  m.def("price", &price_points, "points"_a, "centers"_a, "n_threads"_a);
  m.def("total_regrets", &totals_of, "regret"_a, "weights"_a.none(), "n_threads"_a);
  m.def("to_fixed", &fix, "values"_a, "weights"_a.none(), "whole_weights"_a, "scale"_a,
        "n_threads"_a);
  m.def("sum_regrets", &regret_sums, "regrets"_a, "rows"_a, "n_threads"_a);
}

void bind_searches(nb::module_& m) {
  m.def("surrogate_cut", &surrogate_cut, "bins"_a, "points"_a, "rows"_a, "regrets"_a, "totals"_a,
        "label"_a, "weights"_a.none(), "min_weight"_a, "prices"_a.none(), "n_threads"_a);
  nb::class_<PyMistakeCounts>(m, "MistakeCounts")
      .def(nb::init<const Bins&, std::int64_t, In<std::int32_t, 1>,
                    std::optional<In<std::int64_t, 1>>, InOut<std::uint8_t, 1>, int>(),
           "bins"_a, "k"_a, "nearest"_a, "weights"_a.none(), "alive"_a, "n_threads"_a,
           nb::keep_alive<1, 2>())
      .def("bury", &PyMistakeCounts::bury, "rows"_a, "n_left"_a, "left"_a, "n_threads"_a)
      .def("cut", &PyMistakeCounts::cut, "points"_a, "rows"_a, "centers"_a, "members"_a,
           "per_center"_a, "least"_a, "prices"_a.none(), "shift"_a, "n_threads"_a);
  m.def("greedy_cut", &greedy_cut, "bins"_a, "points"_a, "rows"_a, "regrets"_a, "centers"_a,
        "members"_a, "least"_a, "weights"_a.none(), "prices"_a.none(), "n_threads"_a);
}

void bind_bonsai(nb::module_& m) {
  nb::class_<PyBonsai>(m, "Bonsai")
      .def(nb::init<nb::object, nb::object, In<std::int64_t, 2>, In<Row, 1>,
                    std::optional<In<std::int64_t, 1>>, std::int64_t,
                    std::optional<In<std::int64_t, 1>>, std::int32_t>(),
           "bins"_a, "points"_a, "regrets"_a, "rows"_a, "weights"_a.none(), "min_weight"_a,
           "prices"_a.none(), "max_depth"_a)
      .def("copy", [](const PyBonsai& tree) { return PyBonsai(tree); })
      .def_prop_ro("n_leaves", &PyBonsai::n_leaves)
      .def_prop_ro("cost", &PyBonsai::cost)
      .def_prop_ro("steps", &PyBonsai::steps)
      .def("regret", &PyBonsai::regret, "leaf"_a)
      .def("totals", &PyBonsai::totals, "leaf"_a)
      .def("feature", &PyBonsai::feature, "node"_a)
      .def("children", &PyBonsai::children, "node"_a)
      .def("nodes", &PyBonsai::nodes)
      .def("labels", &PyBonsai::labels)
      .def("reprice", &PyBonsai::reprice, "regrets"_a, "prices"_a.none())
      .def("search", &PyBonsai::search, "leaf"_a, "prices"_a.none(), "n_threads"_a)
      .def("split", &PyBonsai::split, "leaf"_a, "feature"_a, "threshold"_a)
      .def("resplit", &PyBonsai::resplit, "node"_a, "prices"_a.none(), "n_threads"_a)
      .def("collapse", &PyBonsai::collapse, "node"_a)
      .def("settle", &PyBonsai::settle, "root"_a, "max_looks"_a, "n_threads"_a);
}

std::int64_t n_values(const Points& points) {
  if (const auto* sparse = dynamic_cast<const SparsePoints*>(&points))
    return sparse->by_row.indptr[points.n_rows];
  return points.n_rows * points.n_features;
}

void bind_columns(nb::module_& m) {
  m.def("n_values", &n_values, "points"_a);
  m.def("column", &column_of, "points"_a, "feature"_a, "rows"_a, "n_threads"_a);
  m.def("variances", &variances_of, "points"_a, "rows"_a, "weights"_a.none(), "n_threads"_a);
}

void bind_survey(nb::module_& m) {
  m.def("survey", &survey_rows, "points"_a, "groups"_a, "lines"_a, "look_group"_a, "look_feature"_a,
        "look_first"_a, "edges"_a, "wanted"_a);
  m.def("collect", &collect_rows, "points"_a, "groups"_a, "look_group"_a, "look_feature"_a,
        "look_first"_a, "edges"_a, "wanted"_a);
}

void bind_kauri(nb::module_& m) {
  nb::class_<Kauri>(m, "Kauri")
      .def(nb::new_(&new_kauri), "table"_a, "space"_a, "rows"_a, "weights"_a.none(),
           "units"_a.none(), "max_clusters"_a, "min_weight"_a, "max_depth"_a, "features"_a,
           "prices"_a, "n_threads"_a)
      .def("step", &kauri_step);
}

}  // namespace
}  // namespace treemeans

NB_MODULE(_core, m) {
  m.doc() = "Kernels of treemeans. Private: use the treemeans package.";
  treemeans::bind_points(m);
  treemeans::bind_bins(m);
  treemeans::bind_costs(m);
  treemeans::bind_searches(m);
  treemeans::bind_bonsai(m);
  treemeans::bind_columns(m);
  treemeans::bind_survey(m);
  treemeans::bind_kauri(m);
  m.def("max_threads", [] { return omp_get_max_threads(); });
}
