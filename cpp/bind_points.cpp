// Tables of points: what is read of them, and trees applied to them.
#include "bindings.hpp"
#include "medians.hpp"
#include "moments.hpp"
#include "partition.hpp"
#include "points.hpp"
#include "variances.hpp"

namespace treemeans {
namespace {

using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

template <class T>
bool try_dense(const AnyMatrix& array, std::unique_ptr<Points>& out) {
  if (array.dtype() != nb::dtype<T>()) return false;
  out = std::make_unique<StridedPoints<T>>(
      static_cast<const T*>(array.data()), static_cast<std::int64_t>(array.shape(0)),
      static_cast<std::int32_t>(array.shape(1)), array.stride(0), array.stride(1));
  return true;
}

std::unique_ptr<Points> dense_points(const AnyMatrix& array, bool accepts_missing) {
  std::unique_ptr<Points> points;
  if (try_dense<double>(array, points) || try_dense<float>(array, points) ||
      try_dense<std::int64_t>(array, points) || try_dense<std::int32_t>(array, points) ||
      try_dense<std::int16_t>(array, points) || try_dense<std::int8_t>(array, points) ||
      try_dense<std::uint32_t>(array, points) || try_dense<std::uint16_t>(array, points) ||
      try_dense<std::uint8_t>(array, points)) {
    points->accepts_missing = accepts_missing;
    return points;
  }
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

// How many rows go left, and the margin.
std::pair<std::int64_t, MarginTuple> partition_rows(const Points& points, const Bins& bins,
                                                    InOut<Row, 1> rows, std::int32_t feature,
                                                    double threshold, int n_threads,
                                                    std::optional<bool> missing_left,
                                                    std::vector<std::int32_t> categories) {
  nb::gil_scoped_release release;
  const SplitRule rule{threshold, missing_side(missing_left), std::move(categories)};
  Margin margin;
  const std::int64_t n_left =
      partition(points, bins, rows.data(), static_cast<std::int64_t>(rows.shape(0)), feature, rule,
                n_threads, margin);
  return {n_left, margin_tuple(margin)};
}

TreeView view_tree(const In<std::int32_t, 1>& feature, const In<double, 1>& threshold,
                   const In<std::int32_t, 1>& left, const In<std::int32_t, 1>& right,
                   const std::int32_t* outcome, const MaybeIn<std::int8_t>& missing_left,
                   const MaybeIn<std::int64_t>& category_first,
                   const MaybeIn<std::int32_t>& category_codes) {
  if (category_first.has_value() != category_codes.has_value())
    throw std::invalid_argument("category_first and category_codes come together");
  return {feature.data(),
          threshold.data(),
          left.data(),
          right.data(),
          outcome,
          static_cast<std::int32_t>(feature.shape(0)),
          or_null<std::int8_t>(missing_left),
          or_null<std::int64_t>(category_first),
          or_null<std::int32_t>(category_codes)};
}

std::optional<Out<std::int32_t>> apply_tree(const Points& points, In<std::int32_t, 1> feature,
                                            In<double, 1> threshold, In<std::int32_t, 1> left,
                                            In<std::int32_t, 1> right, In<std::int32_t, 1> outcome,
                                            int n_threads, MaybeIn<std::int8_t> missing_left,
                                            MaybeIn<std::int64_t> category_first,
                                            MaybeIn<std::int32_t> category_codes) {
  const TreeView tree = view_tree(feature, threshold, left, right, outcome.data(), missing_left,
                                  category_first, category_codes);
  auto leaves = new_array<std::int32_t>({static_cast<std::size_t>(points.n_rows)});
  bool accepted;
  {
    nb::gil_scoped_release release;
    accepted = points.apply(tree, leaves.data(), n_threads);
  }
  if (!accepted) return std::nullopt;
  return leaves;
}

// n_nodes x 4: below, above, lowest, highest; and for each node whether all are integers.
std::pair<Out<double>, Out<bool>> margins_of(const Points& points, In<std::int32_t, 1> feature,
                                             In<double, 1> threshold, In<std::int32_t, 1> left,
                                             In<std::int32_t, 1> right, int n_threads,
                                             MaybeIn<std::int8_t> missing_left,
                                             MaybeIn<std::int64_t> category_first,
                                             MaybeIn<std::int32_t> category_codes) {
  const std::size_t n_nodes = feature.shape(0);
  auto values = new_array<double>({n_nodes, 4});
  auto whole = new_array<bool>({n_nodes});
  const TreeView tree = view_tree(feature, threshold, left, right, nullptr, missing_left,
                                  category_first, category_codes);
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

std::tuple<Out<double>, Out<double>> group_moments(const Points& points, In<std::int32_t, 1> groups,
                                                   std::optional<In<double, 1>> weights,
                                                   In<double, 2> origins, int n_threads) {
  auto sums = new_array<double>({origins.shape(0), origins.shape(1)}, true);
  auto squares = new_array<double>({origins.shape(0), origins.shape(1)}, true);
  {
    nb::gil_scoped_release release;
    add_moments(points, groups.data(), static_cast<std::int64_t>(origins.shape(0)),
                or_null<double>(weights), origins.data(), sums.data(), squares.data(), n_threads);
  }
  return {sums, squares};
}

Out<double> medians_of(const Points& points, In<std::int32_t, 1> groups,
                       std::optional<In<double, 1>> weights, InOut<double, 2> medians,
                       int n_threads) {
  auto costs = new_array<double>({medians.shape(0)});
  nb::gil_scoped_release release;
  group_medians(points, groups.data(), static_cast<std::int64_t>(medians.shape(0)),
                or_null<double>(weights), medians.data(), costs.data(), n_threads);
  return costs;
}

Out<bool> full_columns(const Points& points) {
  auto full = new_array<bool>({static_cast<std::size_t>(points.n_features)});
  const auto* sparse = dynamic_cast<const SparsePoints*>(&points);
  if (!sparse) {
    std::fill_n(full.data(), points.n_features, true);
    return full;
  }
  nb::gil_scoped_release release;
  const std::vector<std::uint8_t> found = sparse->full_columns();
  std::copy(found.begin(), found.end(), full.data());
  return full;
}

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

std::int64_t n_values(const Points& points) {
  if (const auto* sparse = dynamic_cast<const SparsePoints*>(&points))
    return sparse->by_row.indptr[points.n_rows];
  return points.n_rows * points.n_features;
}

}  // namespace

void bind_points(nb::module_& m) {
  nb::class_<Points>(m, "Points")
      .def("all_finite", &Points::all_finite, "n_threads"_a,
           nb::call_guard<nb::gil_scoped_release>());
  m.def("dense_points", &dense_points, "array"_a, "accepts_missing"_a = false,
        nb::keep_alive<0, 1>());
  m.def("sparse_points", &sparse_points, "n_rows"_a, "n_features"_a, "row_starts"_a, "columns"_a,
        "values"_a, "column_starts"_a.none(), "rows"_a.none(), "values_by_column"_a.none(),
        nb::keep_alive<0, 3>(), nb::keep_alive<0, 4>(), nb::keep_alive<0, 5>(),
        nb::keep_alive<0, 6>(), nb::keep_alive<0, 7>(), nb::keep_alive<0, 8>());
  m.def("apply", &apply_tree, "points"_a, "feature"_a, "threshold"_a, "left"_a, "right"_a,
        "outcome"_a, "n_threads"_a, "missing_left"_a = nb::none(), "category_first"_a = nb::none(),
        "category_codes"_a = nb::none());
  m.def("partition", &partition_rows, "points"_a, "bins"_a, "rows"_a, "feature"_a, "threshold"_a,
        "n_threads"_a, "missing_left"_a = nb::none(), "categories"_a = std::vector<std::int32_t>());
  m.def("group_sums", &group_sums, "points"_a, "groups"_a, "n_groups"_a, "weights"_a.none(),
        "shift"_a.none(), "squares"_a.none(), "n_threads"_a);
  m.def("group_medians", &medians_of, "points"_a, "groups"_a, "weights"_a.none(), "medians"_a,
        "n_threads"_a);
  m.def("group_moments", &group_moments, "points"_a, "groups"_a, "weights"_a.none(), "origins"_a,
        "n_threads"_a);
  m.def("full_columns", &full_columns, "points"_a);
  m.def("margins", &margins_of, "points"_a, "feature"_a, "threshold"_a, "left"_a, "right"_a,
        "n_threads"_a, "missing_left"_a = nb::none(), "category_first"_a = nb::none(),
        "category_codes"_a = nb::none());
  m.def("n_values", &n_values, "points"_a);
  m.def("column", &column_of, "points"_a, "feature"_a, "rows"_a, "n_threads"_a);
  m.def("variances", &variances_of, "points"_a, "rows"_a, "weights"_a.none(), "n_threads"_a);
}

}  // namespace treemeans
