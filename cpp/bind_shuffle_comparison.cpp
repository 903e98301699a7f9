// The comparison of clusters with those of shuffled columns, and its k-means.
#include <stdexcept>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "kmeans_cost.hpp"
#include "shuffle_comparison.hpp"

namespace treemeans {
namespace {

// draws: numbers below 1 for the start.
double kmeans_cost_of(In<double, 2> rows, In<double, 1> weights, std::int64_t k,
                      In<double, 1> draws, int max_rounds, double aim, double work) {
  const auto n = static_cast<std::int64_t>(rows.shape(0));
  const auto n_draws = static_cast<std::int64_t>(draws.shape(0));
  const std::int64_t trials = k > 1 ? (n_draws - 1) / (k - 1) : 0;
  if (k < 1 || n < 1 || weights.shape(0) != rows.shape(0) || n_draws != 1 + trials * (k - 1) ||
      (k > 1 && trials < 1))
    throw std::invalid_argument("rows, weights and draws of k-means do not fit");
  nb::gil_scoped_release release;
  const SmallRows points(rows.data(), n, static_cast<std::int32_t>(rows.shape(1)));
  return kmeans_cost(points, weights.data(), k, {nullptr, draws.data(), trials, max_rounds, aim},
                     work);
}

SmallTable table_of(const In<double, 2>& rows, const In<double, 1>& weights,
                    const In<double, 2>& centers) {
  if (rows.shape(0) < 1 || weights.shape(0) != rows.shape(0) || centers.shape(1) != rows.shape(1) ||
      centers.shape(0) < 1)
    throw std::invalid_argument("rows, weights and centers do not fit");
  return {rows.data(), weights.data(), static_cast<std::int64_t>(rows.shape(0)),
          static_cast<std::int32_t>(rows.shape(1))};
}

std::tuple<double, double, double, std::vector<std::int32_t>, double> compare(
    In<double, 2> rows, In<double, 1> weights, In<double, 2> centers, int shuffles, int starts,
    int more_starts, int rounds, bool until_clear, std::uint64_t seed, double work) {
  const SmallTable table = table_of(rows, weights, centers);
  const ShuffleEffort effort{shuffles, starts, more_starts, rounds, until_clear};
  nb::gil_scoped_release release;
  auto found = compare_with_shuffles(
      table, centers.data(), static_cast<std::int64_t>(centers.shape(0)), effort, seed, work);
  return {found.share, found.uniform_share, found.ratio, std::move(found.loose), work};
}

std::tuple<bool, double> is_doubtful_of(In<double, 2> rows, In<double, 1> weights,
                                        In<double, 2> centers, std::uint64_t seed, double work) {
  const SmallTable table = table_of(rows, weights, centers);
  nb::gil_scoped_release release;
  const bool doubtful =
      is_doubtful(table, centers.data(), static_cast<std::int64_t>(centers.shape(0)), seed, work);
  return {doubtful, work};
}

Out<std::int64_t> drawn(std::int64_t n, std::int64_t m, std::uint64_t seed) {
  if (m < 0 || m > n) throw std::invalid_argument("there are fewer rows than are to be drawn");
  return array_of(draw_rows(n, m, seed));
}

}  // namespace

void bind_shuffle_comparison(nb::module_& m) {
  m.def("kmeans_cost", &kmeans_cost_of, "rows"_a, "weights"_a, "k"_a, "draws"_a, "max_rounds"_a,
        "aim"_a, "work"_a);
  m.def("compare_with_shuffles", &compare, "rows"_a, "weights"_a, "centers"_a, "shuffles"_a,
        "starts"_a, "more_starts"_a, "rounds"_a, "until_clear"_a, "seed"_a, "work"_a);
  m.def("is_doubtful", &is_doubtful_of, "rows"_a, "weights"_a, "centers"_a, "seed"_a, "work"_a);
  m.def("draw_rows", &drawn, "n"_a, "m"_a, "seed"_a);
}

}  // namespace treemeans
