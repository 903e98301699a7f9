// Bins of the features, and costs of the rows to the centers.
#include <cmath>

#include "bindings.hpp"
#include "binning.hpp"
#include "center_search.hpp"
#include "distances.hpp"
#include "exact_sum.hpp"
#include "points.hpp"
#include "surrogate.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace treemeans {
namespace {

// Asks for large pages, as numpy does for its own arrays. Searches read the costs of rows that lie
// apart, so that with pages of 4 kB the address of nearly every row would have to be looked up.
void use_large_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t n_bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::uintptr_t page = 4096;
  constexpr std::size_t worthwhile = std::size_t{1} << 22;
  if (n_bytes < worthwhile) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t first = (begin + page - 1) / page * page;
  madvise(reinterpret_cast<void*>(first), n_bytes - (first - begin), MADV_HUGEPAGE);
#endif
}

std::unique_ptr<Bins> bins_of(const Points& points, std::optional<In<std::uint8_t, 1>> allowed,
                              int n_threads, std::optional<In<std::uint8_t, 1>> categorical) {
  nb::gil_scoped_release release;
  auto bins = std::make_unique<Bins>();
  const auto* dense = dynamic_cast<const DensePoints*>(&points);
  const std::uint8_t* may = or_null<std::uint8_t>(allowed);
  if (!dense && categorical)
    throw std::invalid_argument("a sparse table has neither categories nor missing values");
  const bool finite =
      dense ? make_bins(*dense, may, or_null<std::uint8_t>(categorical), n_threads, *bins)
            : make_bins(dynamic_cast<const SparsePoints&>(points), may, n_threads, *bins);
  if (!finite) bins.reset();
  return bins;
}

void price_any(const Points& points, const double* centers, const Regrets& out, int n_threads,
               bool absolute) {
  nb::gil_scoped_release release;
  if (const auto* dense = dynamic_cast<const DensePoints*>(&points)) {
    (absolute ? price_absolute(*dense, centers, out, n_threads)
              : price(*dense, centers, out, n_threads));
  } else {
    const auto& sparse = dynamic_cast<const SparsePoints&>(points);
    (absolute ? price_absolute(sparse, centers, out, n_threads)
              : price(sparse, centers, out, n_threads));
  }
}

std::tuple<Out<double>, Out<std::int32_t>, Out<double>> price_points(const Points& points,
                                                                     In<double, 2> centers,
                                                                     int n_threads, bool absolute) {
  const auto n = static_cast<std::size_t>(points.n_rows), k = centers.shape(0);
  auto base = new_array<double>({n});
  auto nearest = new_array<std::int32_t>({n});
  auto regret = new_array<double>({n, k});
  use_large_pages(regret.data(), n * k * sizeof(double));
  const Regrets out{static_cast<std::int64_t>(k), base.data(), nearest.data(), regret.data()};
  price_any(points, centers.data(), out, n_threads, absolute);
  return {base, nearest, regret};
}

std::tuple<Out<double>, Out<std::int32_t>> nearest_centers(const Points& points,
                                                           In<double, 2> centers, int n_threads,
                                                           bool absolute) {
  const auto n = static_cast<std::size_t>(points.n_rows);
  auto base = new_array<double>({n});
  auto nearest = new_array<std::int32_t>({n});
  const auto k = static_cast<std::int64_t>(centers.shape(0));
  price_any(points, centers.data(), {k, base.data(), nearest.data(), nullptr}, n_threads, absolute);
  return {base, nearest};
}

// What k-means++ compares: costs of all rows with each of the centers that are tried, which
// overwrite the products, and their sums.
template <class Value>
Out<double> price_tried_rows(InOut<Value, 2> products, In<Value, 1> norms, In<Value, 1> tried,
                             std::optional<In<Value, 2>> least, In<double, 1> weights) {
  const std::size_t m = products.shape(0), n = products.shape(1);
  const std::size_t n_starts = least ? least->shape(0) : 1;
  if (norms.shape(0) != n || tried.shape(0) != m || weights.shape(0) != n ||
      (least && least->shape(1) != n) || n_starts == 0 || m % n_starts != 0)
    throw std::invalid_argument("products, norms, costs and weights do not fit");
  auto sums = new_array<double>({m});
  nb::gil_scoped_release release;
  price_tried<Value>({static_cast<std::int64_t>(m), static_cast<std::int64_t>(n), products.data(),
                      norms.data(), tried.data(), least ? least->data() : nullptr,
                      static_cast<std::int64_t>(n_starts), weights.data()},
                     sums.data());
  return sums;
}

// Sums of the weighted costs of each start up to every row.
template <class Value>
Out<double> add_up_costs(In<Value, 2> costs, In<double, 1> weights) {
  if (weights.shape(0) != costs.shape(1))
    throw std::invalid_argument("costs and weights do not fit");
  auto upto = new_array<double>({costs.shape(0), costs.shape(1)});
  nb::gil_scoped_release release;
  add_up<Value>(costs.data(), weights.data(), static_cast<std::int64_t>(costs.shape(0)),
                static_cast<std::int64_t>(costs.shape(1)), upto.data());
  return upto;
}

Out<double> second_least_of(In<double, 2> values) {
  auto second = new_array<double>({values.shape(0)});
  nb::gil_scoped_release release;
  second_least(values.data(), static_cast<std::int64_t>(values.shape(0)),
               static_cast<std::int64_t>(values.shape(1)), second.data());
  return second;
}

// Weight of the rows of each group that have each label.
Out<double> count_pairs(In<std::int32_t, 1> groups, In<std::int32_t, 1> labels,
                        std::optional<In<double, 1>> weights, std::size_t n_groups,
                        std::size_t n_labels) {
  if (labels.shape(0) != groups.shape(0) || (weights && weights->shape(0) != groups.shape(0)))
    throw std::invalid_argument("groups, labels and weights do not fit");
  auto counts = new_array<double>({n_groups, n_labels}, true);
  nb::gil_scoped_release release;
  const double* weight = or_null<double>(weights);
  for (std::size_t i = 0; i < groups.shape(0); ++i) {
    const auto group = static_cast<std::size_t>(groups.data()[i]);
    const auto label = static_cast<std::size_t>(labels.data()[i]);
    if (group >= n_groups || label >= n_labels) throw std::invalid_argument("a label is too large");
    counts.data()[group * n_labels + label] += weight ? weight[i] : 1.0;
  }
  return counts;
}

// leaf_of_row[r] of n rows: leaves[i] for the rows r that come before ends[i] and after those of
// the leaf before; -1 for a row that does not come at all.
Out<std::int32_t> leaf_of_row(In<Row, 1> rows, In<std::int64_t, 1> ends, In<std::int32_t, 1> leaves,
                              std::size_t n) {
  auto found = new_array<std::int32_t>({n});
  nb::gil_scoped_release release;
  if (rows.shape(0) < n) std::fill_n(found.data(), n, -1);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < ends.shape(0); ++i)
    for (; at < ends.data()[i]; ++at) found.data()[rows.data()[at]] = leaves.data()[i];
  return found;
}

// Sums of values by group; one in a group below 0 is passed over.
Out<std::int64_t> sum_groups(In<std::int64_t, 1> values, In<std::int32_t, 1> groups,
                             std::size_t n_groups) {
  if (values.shape(0) != groups.shape(0))
    throw std::invalid_argument("values and groups do not fit");
  auto sums = new_array<std::int64_t>({n_groups}, true);
  nb::gil_scoped_release release;
  for (std::size_t i = 0; i < values.shape(0); ++i) {
    const std::int32_t group = groups.data()[i];
    if (group < 0) continue;
    if (static_cast<std::size_t>(group) >= n_groups)
      throw std::invalid_argument("a group is too large");
    sums.data()[group] += values.data()[i];
  }
  return sums;
}

Out<double> totals_of(In<double, 2> regret, std::optional<In<double, 1>> weights, int n_threads,
                      MaybeIn<double> before) {
  auto totals = new_array<double>({regret.shape(1)}, true);
  if (before) std::copy_n(before->data(), regret.shape(1), totals.data());
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

// A column of categories or with missing values: the range of its bins (empty for categories), how
// many groups of values it has, and whether one more group has the rows without a value.
using MixedColumn = std::tuple<Out<double>, Out<double>, std::int32_t, bool>;

MixedColumn mixed_column(const Bins& bins, std::size_t i) {
  const MixedSlot& slot = bins.mixed.at(i);
  return {array_of(slot.low), array_of(slot.high), slot.n_values, slot.has_missing};
}

template <class Code>
void count_rows(const Code* codes, const In<Row, 1>& rows, const std::int32_t* center,
                const std::int64_t* weights, std::int64_t k, std::int64_t* counts) {
  for (std::size_t i = 0; i < rows.shape(0); ++i) {
    const Row row = rows.data()[i];
    counts[codes[row] * k + center[row]] += weights ? weights[row] : 1;
  }
}

// Weight of the rows in each group of a mixed column, by their center.
Out<std::int64_t> group_counts(const Bins& bins, std::size_t i, In<Row, 1> rows,
                               In<std::int32_t, 1> center, MaybeIn<std::int64_t> weights,
                               std::int64_t k) {
  const MixedSlot& slot = bins.mixed.at(i);
  auto counts = new_array<std::int64_t>(
      {static_cast<std::size_t>(slot.n_values) + 1, static_cast<std::size_t>(k)}, true);
  nb::gil_scoped_release release;
  const std::int64_t* weight = or_null<std::int64_t>(weights);
  if (slot.codes) {
    count_rows(slot.codes.get(), rows, center.data(), weight, k, counts.data());
  } else {
    count_rows(slot.wide_codes.get(), rows, center.data(), weight, k, counts.data());
  }
  return counts;
}

// Of each column, for every exponent that occurs: column, exponent, upper and lower halves.
std::optional<std::vector<std::tuple<std::int64_t, std::int64_t, std::uint64_t, std::uint64_t>>>
exact_sums_of(In<double, 2> values, MaybeIn<double> weights) {
  const auto k = static_cast<std::int64_t>(values.shape(1));
  std::vector<ExponentSum> sums(k * kExponents);
  bool finite;
  {
    nb::gil_scoped_release release;
    finite = exact_sums(values.data(), or_null<double>(weights),
                        static_cast<std::int64_t>(values.shape(0)), k, sums.data());
  }
  if (!finite) return std::nullopt;
  std::vector<std::tuple<std::int64_t, std::int64_t, std::uint64_t, std::uint64_t>> found;
  for (std::int64_t i = 0; i < k * kExponents; ++i)
    if (sums[i].high || sums[i].low)
      found.emplace_back(i / kExponents, i % kExponents, sums[i].high, sums[i].low);
  return found;
}

// The smallest and the largest value of a feature that is in bins of values; none of another.
std::optional<std::pair<double, double>> range_of(const Bins& bins, std::int32_t feature) {
  const auto n_slots = static_cast<std::int32_t>(bins.n_slots() + bins.mixed.size());
  for (std::int32_t slot = 0; slot < n_slots; ++slot) {
    const SlotView view = bins.view(slot);
    if (view.feature != feature || !view.low) continue;
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (std::int64_t b = 0; b < view.n_bins; ++b) {  // a bin without values has low > high
      low = std::min(low, view.low[b]);
      high = std::max(high, view.high[b]);
    }
    if (low <= high) return std::pair(low, high);
  }
  return std::nullopt;
}

}  // namespace

void bind_costs(nb::module_& m) {
  m.def("exact_sums", &exact_sums_of, "values"_a, "weights"_a.none());
  m.def("price", &price_points, "points"_a, "centers"_a, "n_threads"_a, "absolute"_a = false);
  m.def("nearest_centers", &nearest_centers, "points"_a, "centers"_a, "n_threads"_a,
        "absolute"_a = false);
  m.def("price_tried", &price_tried_rows<double>, "products"_a, "norms"_a, "tried"_a,
        "least"_a.none(), "weights"_a);
  m.def("price_tried", &price_tried_rows<float>, "products"_a, "norms"_a, "tried"_a,
        "least"_a.none(), "weights"_a);
  m.def("add_up", &add_up_costs<double>, "costs"_a, "weights"_a);
  m.def("add_up", &add_up_costs<float>, "costs"_a, "weights"_a);
  m.def("second_least", &second_least_of, "values"_a);
  m.def("count_pairs", &count_pairs, "groups"_a, "labels"_a, "weights"_a.none(), "n_groups"_a,
        "n_labels"_a);
  m.def("leaf_of_row", &leaf_of_row, "rows"_a, "ends"_a, "leaves"_a, "n"_a);
  m.def("sum_groups", &sum_groups, "values"_a, "groups"_a, "n_groups"_a);
  m.def("total_regrets", &totals_of, "regret"_a, "weights"_a.none(), "n_threads"_a,
        "before"_a = nb::none());
  m.def("to_fixed", &fix, "values"_a, "weights"_a.none(), "whole_weights"_a, "scale"_a,
        "n_threads"_a);
  nb::class_<Bins>(m, "Bins")
      .def_prop_ro("n_bytes", &Bins::n_bytes)
      .def_prop_ro("n_bins", &Bins::n_bins)
      .def_ro("n_dense", &Bins::n_dense)
      .def_prop_ro("feature",
                   [](const Bins& bins) {
                     std::vector<std::int32_t> features = bins.feature;
                     for (const MixedSlot& slot : bins.mixed) features.push_back(slot.feature);
                     return features;
                   })
      .def_prop_ro("mixed",
                   [](const Bins& bins) {
                     std::vector<std::int32_t> features;
                     for (const MixedSlot& slot : bins.mixed) features.push_back(slot.feature);
                     return features;
                   })
      .def_prop_ro("categorical",
                   [](const Bins& bins) {
                     std::vector<std::int32_t> features;
                     for (const MixedSlot& slot : bins.mixed)
                       if (slot.categorical) features.push_back(slot.feature);
                     return features;
                   })
      .def("range", &range_of, "feature"_a);
  m.def("mixed_column", &mixed_column, "bins"_a, "i"_a);
  m.def("group_counts", &group_counts, "bins"_a, "i"_a, "rows"_a, "center"_a, "weights"_a.none(),
        "k"_a);
  m.def("make_bins", &bins_of, "points"_a, "allowed"_a.none(), "n_threads"_a,
        "categorical"_a = nb::none());
}

}  // namespace treemeans
