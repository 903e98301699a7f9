// Chains of annealing on one table.
#include "annealing_chain.hpp"
#include "bindings.hpp"
#include "parallel.hpp"

namespace treemeans {
namespace {

using namespace annealing;

// Nodes, parents first: slot (-1 for a leaf), bin, side of missing values, children, label; then
// the centers and the k-means cost.
using TreeArrays =
    std::tuple<Out<std::int32_t>, Out<std::int32_t>, Out<std::int8_t>, Out<std::int32_t>,
               Out<std::int32_t>, Out<std::int32_t>, Out<double>, double>;

class PyChains {
 public:
  PyChains(In<std::uint8_t, 2> codes, In<std::int32_t, 1> n_values, In<std::uint8_t, 1> has_missing,
           In<double, 2> space, MaybeIn<double> weights, double unit, double total, In<Row, 1> rows,
           nb::object limits, std::int32_t n_leaves)
      : codes_(std::move(codes)),
        space_(std::move(space)),
        weights_(std::move(weights)),
        limits_(std::move(limits)),
        n_leaves_(n_leaves) {
    table_.n_rows = static_cast<std::int64_t>(codes_.shape(0));
    table_.n_slots = static_cast<std::int32_t>(codes_.shape(1));
    table_.codes = codes_.data();
    table_.n_values.assign(n_values.data(), n_values.data() + table_.n_slots);
    table_.has_missing.assign(has_missing.data(), has_missing.data() + table_.n_slots);
    table_.first.push_back(0);
    for (std::int32_t slot = 0; slot < table_.n_slots; ++slot)
      table_.first.push_back(table_.first.back() +
                             static_cast<std::uint32_t>(table_.n_values[slot]) +
                             table_.has_missing[slot]);
    table_.find_places();
    points_ = {static_cast<std::int64_t>(space_.shape(0)),
               static_cast<std::int64_t>(space_.shape(1)),
               space_.data(),
               or_null<double>(weights_),
               unit,
               total};
    rows_ = std::make_shared<const Rows>(rows.data(), rows.data() + rows.shape(0));
    problem_ = {&table_, &points_, nb::cast<const PyLimits&>(limits_).get()};
  }
  PyChains(const PyChains&) = delete;

  void add(In<std::int32_t, 1> slot, In<std::int32_t, 1> bin, In<std::int8_t, 1> missing_left,
           In<std::int32_t, 1> left, In<std::int32_t, 1> right, In<double, 2> centers,
           std::uint64_t seed) {
    Shape shape;
    for (std::size_t i = 0; i < slot.shape(0); ++i) {
      Shape::Part part{BinCut(), -1, -1, 0};
      if (slot.data()[i] >= 0)
        part = {{slot.data()[i], bin.data()[i], missing_left.data()[i], 0},
                left.data()[i],
                right.data()[i],
                0};
      shape.nodes.push_back(part);
    }
    shape.centers.assign(centers.data(), centers.data() + centers.shape(0) * centers.shape(1));
    nb::gil_scoped_release release;
    chains_.push_back(std::make_unique<Chain>(problem_, shape, rows_, n_leaves_, seed));
  }

  void run(const std::vector<std::int32_t>& which, In<double, 1> policy, std::int64_t n_rounds,
           std::int64_t n_steps, double from, double to, int n_threads) {
    Policy rules;
    const double* values = policy.data();
    std::copy(values, values + Policy::kMoves, rules.chances);
    values += Policy::kMoves;
    rules.hidden_features = values[0];
    rules.uniform = values[1];
    rules.most_temperatures = values[2];
    rules.most_after = values[3];
    rules.most_drift = values[4];
    rules.usual_leaves = values[5];
    rules.sampled_rows = static_cast<std::int64_t>(values[6]);
    rules.looks = static_cast<std::int64_t>(values[7]);
    nb::gil_scoped_release release;
    parallel_for(static_cast<std::int64_t>(which.size()), 1, n_threads, [&](std::int64_t i) {
      chains_[which[i]]->run(rules, n_rounds, n_steps, from, to);
    });
  }

  // Every chain may take subtrees of the best trees of the others, as these are now.
  void exchange() {
    std::vector<std::shared_ptr<const Donor>> donors;
    for (const auto& chain : chains_) donors.push_back(std::make_shared<Donor>(chain->donor()));
    for (std::size_t i = 0; i < chains_.size(); ++i) {
      std::vector<std::shared_ptr<const Donor>> others = donors;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      chains_[i]->take_donors(std::move(others));
    }
  }

  TreeArrays best(std::int32_t chain) const {
    const Shape& shape = chains_[chain]->best();
    std::vector<std::int32_t> slot, bin, left, right, label;
    std::vector<std::int8_t> missing;
    for (const Shape::Part& part : shape.nodes) {
      slot.push_back(part.cut.slot);
      bin.push_back(part.cut.bin);
      missing.push_back(part.cut.missing_left);
      left.push_back(part.left);
      right.push_back(part.right);
      label.push_back(part.label);
    }
    return {array_of(slot),  array_of(bin),   array_of(missing),       array_of(left),
            array_of(right), array_of(label), array_of(shape.centers), shape.cost};
  }

  const Chain& at(std::int32_t chain) const { return *chains_[chain]; }

 private:
  In<std::uint8_t, 2> codes_;
  In<double, 2> space_;
  MaybeIn<double> weights_;
  nb::object limits_;
  BinTable table_;
  Space points_;
  std::shared_ptr<const Rows> rows_;
  std::int32_t n_leaves_;
  Problem problem_;
  std::vector<std::unique_ptr<Chain>> chains_;
};

}  // namespace

void bind_annealing(nb::module_& m) {
  nb::class_<PyChains>(m, "AnnealingChains")
      .def(nb::init<In<std::uint8_t, 2>, In<std::int32_t, 1>, In<std::uint8_t, 1>, In<double, 2>,
                    MaybeIn<double>, double, double, In<Row, 1>, nb::object, std::int32_t>(),
           "codes"_a, "n_values"_a, "has_missing"_a, "space"_a, "weights"_a.none(), "unit"_a,
           "total"_a, "rows"_a, "limits"_a, "n_leaves"_a)
      .def("add", &PyChains::add, "slot"_a, "last_bin"_a, "missing_left"_a, "left"_a, "right"_a,
           "centers"_a, "seed"_a)
      .def("run", &PyChains::run, "which"_a, "policy"_a, "n_rounds"_a, "n_steps"_a, "start"_a,
           "end"_a, "n_threads"_a)
      .def("exchange", &PyChains::exchange)
      .def("best", &PyChains::best, "chain"_a)
      .def(
          "best_cost", [](const PyChains& c, std::int32_t i) { return c.at(i).best().cost; },
          "chain"_a)
      .def(
          "rounds", [](const PyChains& c, std::int32_t i) { return c.at(i).rounds(); }, "chain"_a)
      .def(
          "steps", [](const PyChains& c, std::int32_t i) { return c.at(i).steps(); }, "chain"_a)
      .def("accepted", [](const PyChains& c, std::int32_t i) { return c.at(i).used(); }, "chain"_a);
}

}  // namespace treemeans
