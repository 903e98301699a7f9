// Codes of rows, and sums by code, for searches over partitions.
#include <limits>

#include "bindings.hpp"
#include "code_histogram.hpp"
#include "points.hpp"

namespace treemeans {
namespace {

CodeEdges edges_of(const In<std::int64_t, 1>& first, const In<double, 1>& edges) {
  return {static_cast<std::int32_t>(first.shape(0)) - 1, first.data(), edges.data()};
}

template <class Code>
std::tuple<Out<Code>, Out<double>, Out<double>> encode_as(const Points& points,
                                                          const CodeEdges& edges) {
  const auto n = static_cast<std::size_t>(edges.n_bins());
  auto codes = new_array<Code>(
      {static_cast<std::size_t>(points.n_features), static_cast<std::size_t>(points.n_rows)});
  auto low = new_array<double>({n}), high = new_array<double>({n});
  std::fill_n(low.data(), n, std::numeric_limits<double>::infinity());
  std::fill_n(high.data(), n, -std::numeric_limits<double>::infinity());
  nb::gil_scoped_release release;
  encode<Code>(points, edges, codes.data(), low.data(), high.data());
  return {codes, low, high};
}

std::tuple<nb::object, Out<double>, Out<double>> encode_rows(const Points& points,
                                                             In<std::int64_t, 1> first,
                                                             In<double, 1> edges) {
  const CodeEdges all = edges_of(first, edges);
  std::int64_t most = 0;  // codes of a feature
  for (std::int32_t f = 0; f < all.n_features; ++f) most = std::max(most, all.n_edges(f) + 2);
  if (most > 1 << 16) throw std::invalid_argument("there are too many edges for codes");
  if (most <= 256) {
    auto [codes, low, high] = encode_as<std::uint8_t>(points, all);
    return {nb::cast(codes), low, high};
  }
  auto [codes, low, high] = encode_as<std::uint16_t>(points, all);
  return {nb::cast(codes), low, high};
}

template <class Code>
CodedRows<Code> rows_of(const In<std::int32_t, 1>& groups, const In<Code, 2>& codes,
                        const CodeEdges& edges, const In<std::int32_t, 1>& features,
                        std::int64_t n_groups) {
  return {static_cast<std::int64_t>(codes.shape(1)),
          n_groups,
          groups.data(),
          codes.data(),
          edges,
          features.data(),
          static_cast<std::int64_t>(features.shape(0))};
}

// Zeros, n_groups x bins x width, and the place of the sums.
template <class Code>
std::pair<Out<std::int64_t>, LineSums> new_sums(const CodedRows<Code>& rows, std::int64_t k,
                                                const MaybeIn<std::int64_t>& weights) {
  LineSums out{k, or_null<std::int64_t>(weights), nullptr};
  auto sums = new_array<std::int64_t>(
      {static_cast<std::size_t>(rows.n_groups), static_cast<std::size_t>(rows.n_bins()),
       static_cast<std::size_t>(out.width())},
      true);
  out.sums = sums.data();
  return {sums, out};
}

template <class Code>
Out<std::int64_t> sums_by_code(In<Code, 2> codes, In<std::int64_t, 1> first, In<double, 1> edges,
                               In<std::int32_t, 1> features, In<std::int32_t, 1> groups,
                               std::int64_t n_groups, In<std::int64_t, 2> values,
                               MaybeIn<std::int64_t> weights, MaybeIn<std::int32_t> place) {
  const auto rows = rows_of<Code>(groups, codes, edges_of(first, edges), features, n_groups);
  auto [sums, out] = new_sums(rows, static_cast<std::int64_t>(values.shape(1)), weights);
  nb::gil_scoped_release release;
  sum_codes<Code>(rows, values.data(), or_null<std::int32_t>(place), out);
  return sums;
}

template <class Code>
Out<std::int64_t> labels_by_code(In<Code, 2> codes, In<std::int64_t, 1> first, In<double, 1> edges,
                                 In<std::int32_t, 1> features, In<std::int32_t, 1> groups,
                                 std::int64_t n_groups, In<std::int32_t, 1> labels,
                                 std::int64_t n_labels, MaybeIn<std::int64_t> home,
                                 MaybeIn<std::int64_t> weights) {
  const auto rows = rows_of<Code>(groups, codes, edges_of(first, edges), features, n_groups);
  auto [sums, out] = new_sums(rows, n_labels, weights);
  nb::gil_scoped_release release;
  count_labels<Code>(rows, labels.data(), or_null<std::int64_t>(home), out);
  return sums;
}

// The group of each row; its key, or None if no row was sent on. None if a value is not accepted.
nb::object route_rows(const Points& points, In<std::int32_t, 1> feature, In<double, 1> threshold,
                      In<std::int32_t, 1> left, In<std::int32_t, 1> right,
                      MaybeIn<std::int32_t> key, In<std::int32_t, 1> node_of_key,
                      In<std::int32_t, 1> key_of_node, In<std::int32_t, 1> group_of_node,
                      MaybeIn<std::int8_t> missing_left, MaybeIn<std::int64_t> category_first,
                      MaybeIn<std::int32_t> category_codes) {
  const auto n = static_cast<std::size_t>(points.n_rows);
  auto groups = new_array<std::int32_t>({n}), keys = new_array<std::int32_t>({n});
  const RowPlaces from{or_null<std::int32_t>(key), node_of_key.data(), key_of_node.data(),
                       group_of_node.data()};
  bool moved = false, accepted = false;
  {
    nb::gil_scoped_release release;
    accepted =
        route(points,
              {feature.data(), threshold.data(), left.data(), right.data(), nullptr,
               static_cast<std::int32_t>(feature.shape(0)), or_null<std::int8_t>(missing_left),
               or_null<std::int64_t>(category_first), or_null<std::int32_t>(category_codes)},
              from, groups.data(), keys.data(), &moved);
  }
  if (!accepted) return nb::none();
  if (!moved) return nb::make_tuple(groups, nb::none());
  return nb::make_tuple(groups, keys);
}

}  // namespace

void bind_code_histogram(nb::module_& m) {
  m.def("encode", &encode_rows, "points"_a, "edge_first"_a, "edges"_a);
  m.def("sum_codes", &sums_by_code<std::uint8_t>, "codes"_a, "edge_first"_a, "edges"_a,
        "features"_a, "groups"_a, "n_groups"_a, "values"_a, "weights"_a.none(), "place"_a.none());
  m.def("sum_codes", &sums_by_code<std::uint16_t>, "codes"_a, "edge_first"_a, "edges"_a,
        "features"_a, "groups"_a, "n_groups"_a, "values"_a, "weights"_a.none(), "place"_a.none());
  m.def("count_labels", &labels_by_code<std::uint8_t>, "codes"_a, "edge_first"_a, "edges"_a,
        "features"_a, "groups"_a, "n_groups"_a, "labels"_a, "n_labels"_a, "home"_a.none(),
        "weights"_a.none());
  m.def("count_labels", &labels_by_code<std::uint16_t>, "codes"_a, "edge_first"_a, "edges"_a,
        "features"_a, "groups"_a, "n_groups"_a, "labels"_a, "n_labels"_a, "home"_a.none(),
        "weights"_a.none());
  m.def("route", &route_rows, "points"_a, "feature"_a, "threshold"_a, "left"_a, "right"_a,
        "key"_a.none(), "node_of_key"_a, "key_of_node"_a, "group_of_node"_a,
        "missing_left"_a = nb::none(), "category_first"_a = nb::none(),
        "category_codes"_a = nb::none());
}

}  // namespace treemeans
