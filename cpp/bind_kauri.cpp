// Kauri's search.
#include "bindings.hpp"
#include "cut.hpp"
#include "kauri.hpp"
#include "points.hpp"

namespace treemeans {
namespace {

std::unique_ptr<Kauri> new_kauri(const Points& table, const Points& space, In<Row, 1> rows,
                                 MaybeIn<double> weights, const PyLimits& limits,
                                 std::int32_t max_clusters, std::vector<std::int32_t> features,
                                 std::vector<double> prices, int n_threads) {
  nb::gil_scoped_release release;
  const KauriRows all{rows.data(), static_cast<std::int64_t>(rows.shape(0)),
                      or_null<double>(weights)};
  return std::make_unique<Kauri>(
      table, space, all,
      KauriRules{max_clusters, limits.get(), std::move(features), std::move(prices)}, n_threads);
}

}  // namespace

void bind_kauri(nb::module_& m) {
  nb::class_<KauriCut>(m, "KauriCut")
      .def_ro("node", &KauriCut::node)
      .def_ro("feature", &KauriCut::feature)
      .def_ro("low", &KauriCut::low)
      .def_ro("high", &KauriCut::high)
      .def_prop_ro("threshold",
                   [](const KauriCut& cut) { return threshold_between(cut.low, cut.high); })
      .def_prop_ro("left_cluster", [](const KauriCut& cut) { return cut.clusters.left; })
      .def_prop_ro("right_cluster", [](const KauriCut& cut) { return cut.clusters.right; })
      .def_ro("gain", &KauriCut::gain);
  // The search keeps what it needs of the arrays, except for the weights of the limits.
  nb::class_<Kauri>(m, "Kauri")
      .def(nb::new_(&new_kauri), "table"_a, "space"_a, "rows"_a, "weights"_a.none(), "limits"_a,
           "max_clusters"_a, "features"_a, "prices"_a, "n_threads"_a)
      .def("step", &Kauri::step, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace treemeans
