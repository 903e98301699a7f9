// The exact solver: one object per table, with what it has learnt so far.
#include <chrono>
#include <string>

#include "bindings.hpp"
#include "known_width.hpp"
#include "optimal_cost.hpp"
#include "optimal_tree.hpp"

namespace treemeans {
namespace {

using optimal::Answer;
using optimal::BranchPtr;
using Clock = std::chrono::steady_clock;

// A tree as arrays: feature (-1 for a leaf), rank, left, right; the root first.
struct FlatTree {
  std::vector<std::int32_t> feature, left, right;
  std::vector<std::uint32_t> rank;

  std::int32_t add(const BranchPtr& branch) {
    const auto here = static_cast<std::int32_t>(feature.size());
    feature.push_back(branch ? branch->feature : -1);
    rank.push_back(branch ? branch->rank : 0);
    left.push_back(-1);
    right.push_back(-1);
    if (branch) {
      const std::int32_t a = add(branch->left);
      const std::int32_t b = add(branch->right);
      left[here] = a;
      right[here] = b;
    }
    return here;
  }
};

using TreeArrays =
    std::tuple<Out<std::int32_t>, Out<std::uint32_t>, Out<std::int32_t>, Out<std::int32_t>>;

// The arrays of the problem are kept by the Python object that owns the solver.
template <class Cost>
class PySolver {
 public:
  using Value = typename Cost::Value;

  PySolver(In<std::uint32_t, 2> ranks, In<std::uint32_t, 1> n_distinct, In<Value, 2> columns,
           int n_centers, MaybeIn<double> weights, double min_weight, MaybeIn<Value> prices,
           Value slack)
      : ranks_(std::move(ranks)),
        n_distinct_(std::move(n_distinct)),
        columns_(std::move(columns)),
        weights_(std::move(weights)),
        prices_(std::move(prices)),
        solver_(problem(n_centers, min_weight), slack) {}

  // (value or bound, whether it is the value, the tree); None where `pause` said to stop.
  std::optional<std::tuple<Value, bool, TreeArrays>> solve(int n_leaves, int max_depth,
                                                           Value target, nb::object pause) {
    Answer<Value> answer;
    bool stopped = false;
    auto last = Clock::now();
    {
      nb::gil_scoped_release release;
      try {
        answer = solver_.solve(n_leaves, max_depth, target, [&](double work) {
          const auto now = Clock::now();
          if (now - last < std::chrono::milliseconds(20) && work < next_) return;
          last = now;
          nb::gil_scoped_acquire acquire;
          if (PyErr_CheckSignals() != 0) throw nb::python_error();
          if (!nb::cast<bool>(pause(work))) throw optimal::Stopped();
        });
      } catch (const optimal::Stopped&) {
        stopped = true;
      }
    }
    if (stopped) return std::nullopt;
    FlatTree flat;
    flat.add(answer.tree);
    return std::make_tuple(answer.bound, answer.exact,
                           TreeArrays{array_of(flat.feature), array_of(flat.rank),
                                      array_of(flat.left), array_of(flat.right)});
  }

  // Work after which `pause` is called, whatever the time.
  void stop_at(double work) { next_ = work; }
  double work() const { return solver_.work(); }

 private:
  optimal::Problem<Cost> problem(int n_centers, double min_weight) const {
    return {Cost{static_cast<int>(columns_.shape(1))},
            n_centers,
            static_cast<std::int64_t>(columns_.shape(0)),
            static_cast<int>(ranks_.shape(0)),
            ranks_.data(),
            n_distinct_.data(),
            columns_.data(),
            or_null<double>(weights_),
            min_weight,
            or_null<Value>(prices_)};
  }

  In<std::uint32_t, 2> ranks_;
  In<std::uint32_t, 1> n_distinct_;
  In<Value, 2> columns_;
  MaybeIn<double> weights_;
  MaybeIn<Value> prices_;
  double next_ = 0.0;
  optimal::ExactTree<Cost> solver_;
};

template <class Cost>
void bind_solver(nb::module_& m, const std::string& name) {
  using Value = typename Cost::Value;
  using Solver = PySolver<Cost>;
  nb::class_<Solver>(m, name.c_str())
      .def(nb::init<In<std::uint32_t, 2>, In<std::uint32_t, 1>, In<Value, 2>, int, MaybeIn<double>,
                    double, MaybeIn<Value>, Value>(),
           "ranks"_a, "n_distinct"_a, "columns"_a, "n_centers"_a, "weights"_a.none(),
           "min_weight"_a, "prices"_a.none(), "slack"_a)
      .def("solve", &Solver::solve, "n_leaves"_a, "max_depth"_a, "target"_a, "pause"_a)
      .def("stop_at", &Solver::stop_at, "work"_a)
      .def_prop_ro("work", &Solver::work);
}

template <int W>
void bind_regret_solver(nb::module_& m, const std::string& name) {
  if constexpr (known_width<W> == W)
    bind_solver<RegretCost<W>>(m, name);
  else
    m.attr(name.c_str()) = m.attr("RegretSolver");
}

}  // namespace

void bind_optimal(nb::module_& m) {
  bind_regret_solver<0>(m, "RegretSolver");
  bind_regret_solver<2>(m, "RegretSolver2");
  bind_regret_solver<4>(m, "RegretSolver4");
  bind_regret_solver<8>(m, "RegretSolver8");
  bind_regret_solver<16>(m, "RegretSolver16");
  bind_regret_solver<24>(m, "RegretSolver24");
  bind_solver<SquaresCost>(m, "SquaresSolver");
}

}  // namespace treemeans
