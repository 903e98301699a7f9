// Histograms by group of rows, for searches over partitions.
#include <limits>

#include "bindings.hpp"
#include "grouped_histogram.hpp"
#include "points.hpp"

namespace treemeans {
namespace {

HistogramRequests requests_of(const In<std::int32_t, 1>& group, const In<std::int32_t, 1>& feature,
                              const In<std::int64_t, 1>& first, const In<double, 1>& edges,
                              const In<std::uint8_t, 1>& wanted) {
  return {static_cast<std::int64_t>(group.shape(0)),
          group.data(),
          feature.data(),
          first.data(),
          edges.data(),
          wanted.data()};
}

using AnyCodes = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

CodeFilter filter_of(const std::optional<AnyCodes>& codes,
                     const std::optional<In<std::uint8_t, 2>>& keep) {
  if (!codes || !keep) return {};
  CodeFilter filter;
  if (codes->dtype() == nb::dtype<std::uint8_t>()) {
    filter.narrow = static_cast<const std::uint8_t*>(codes->data());
  } else if (codes->dtype() == nb::dtype<std::uint16_t>()) {
    filter.wide = static_cast<const std::uint16_t*>(codes->data());
  } else {
    throw std::invalid_argument("codes must be of one or two bytes");
  }
  filter.n_rows = static_cast<std::int64_t>(codes->shape(1));
  filter.keep = keep->data();
  filter.n_codes = static_cast<std::int64_t>(keep->shape(1));
  return filter;
}

std::tuple<Out<std::int64_t>, Out<double>, Out<double>> histogram_rows(
    const Points& points, In<std::int32_t, 1> groups, In<std::int64_t, 2> row_stats,
    In<std::int32_t, 1> group, In<std::int32_t, 1> feature, In<std::int64_t, 1> first,
    In<double, 1> edges, In<std::uint8_t, 1> wanted, std::optional<AnyCodes> codes,
    std::optional<In<std::uint8_t, 2>> keep) {
  const HistogramRequests requests = requests_of(group, feature, first, edges, wanted);
  const auto n = static_cast<std::size_t>(requests.n_bins()), K = row_stats.shape(1);
  auto sums = new_array<std::int64_t>({n, K}, true);
  auto low = new_array<double>({n}), high = new_array<double>({n});
  std::fill_n(low.data(), n, std::numeric_limits<double>::infinity());
  std::fill_n(high.data(), n, -std::numeric_limits<double>::infinity());
  const CodeFilter filter = filter_of(codes, keep);
  {
    nb::gil_scoped_release release;
    grouped_histogram(points, {groups.data(), row_stats.data(), static_cast<std::int64_t>(K)},
                      requests, filter, {sums.data(), low.data(), high.data()});
  }
  return {sums, low, high};
}

// GroupedBins, rows and values.
std::tuple<Out<std::int64_t>, Out<Row>, Out<double>> value_rows(
    const Points& points, In<std::int32_t, 1> groups, In<std::int32_t, 1> group,
    In<std::int32_t, 1> feature, In<std::int64_t, 1> first, In<double, 1> edges,
    In<std::uint8_t, 1> wanted, std::optional<AnyCodes> codes,
    std::optional<In<std::uint8_t, 2>> keep) {
  const CodeFilter filter = filter_of(codes, keep);
  GroupedValues found;
  {
    nb::gil_scoped_release release;
    found = grouped_values(points, groups.data(), requests_of(group, feature, first, edges, wanted),
                           filter);
  }
  return {array_of(found.bin), array_of(found.row), array_of(found.value)};
}

}  // namespace

void bind_grouped_histogram(nb::module_& m) {
  m.def("grouped_histogram", &histogram_rows, "points"_a, "groups"_a, "row_stats"_a,
        "request_group"_a, "request_feature"_a, "request_first"_a, "edges"_a, "wanted"_a,
        "codes"_a = nb::none(), "keep"_a = nb::none());
  m.def("grouped_values", &value_rows, "points"_a, "groups"_a, "request_group"_a,
        "request_feature"_a, "request_first"_a, "edges"_a, "wanted"_a, "codes"_a = nb::none(),
        "keep"_a = nb::none());
}

}  // namespace treemeans
