// Trees that a refinement changes.
#include "bindings.hpp"
#include "binning.hpp"
#include "mutable_tree.hpp"
#include "points.hpp"

namespace treemeans {
namespace {

// A node as Python sees it; number is its place in the tree, feature is -1 for a leaf.
struct TreeNode {
  std::int32_t number, feature;
  SplitRule rule;
  std::int32_t left, right, label;

  bool is_leaf() const { return feature < 0; }
  bool operator==(const TreeNode&) const = default;
};

// A tree that is changed, together with the arrays it is fitted to.
class PyMutableTree {
 public:
  PyMutableTree(nb::object bins, nb::object points, In<std::int64_t, 2> regrets, In<Row, 1> rows,
                nb::object limits)
      : bins_(std::move(bins)),
        points_(std::move(points)),
        limits_(std::move(limits)),
        regrets_(regrets),
        tree_(
            {nb::cast<const Bins*>(bins_), nb::cast<const Points*>(points_), regrets.data(),
             static_cast<std::int64_t>(regrets.shape(1)), nb::cast<const PyLimits&>(limits_).get()},
            rows.data(), static_cast<std::int64_t>(rows.shape(0))) {}

  std::int32_t n_leaves() const { return tree_.n_leaves(); }
  std::int64_t cost() const { return tree_.cost(); }
  std::int64_t steps() const { return tree_.steps(); }
  std::int64_t regret(std::int32_t leaf) const { return node_at(leaf).totals[node_at(leaf).label]; }
  Out<std::int64_t> totals(std::int32_t leaf) const {
    auto totals = new_array<std::int64_t>({node_at(leaf).totals.size()});
    std::copy(node_at(leaf).totals.begin(), node_at(leaf).totals.end(), totals.data());
    return totals;
  }
  std::int32_t feature(std::int32_t node) const { return node_at(node).feature; }
  std::pair<std::int32_t, std::int32_t> children(std::int32_t node) const {
    return {node_at(node).left, node_at(node).right};
  }
  // Parents come first.
  std::vector<TreeNode> nodes() const {
    std::vector<TreeNode> found;
    std::vector<std::int32_t> queue{0};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const Node& node = node_at(queue[i]);
      found.push_back({queue[i], node.feature, node.rule, node.left, node.right, node.label});
      if (!node.is_leaf()) queue.insert(queue.end(), {node.left, node.right});
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
  std::optional<Cut> search(std::int32_t leaf, std::optional<In<std::int64_t, 1>> prices,
                            int n_threads) {
    nb::gil_scoped_release release;
    return tree_.search(leaf, or_null<std::int64_t>(prices), n_threads);
  }
  std::optional<std::pair<std::int32_t, std::int32_t>> split(std::int32_t leaf,
                                                             std::int32_t feature, double threshold,
                                                             std::optional<bool> missing_left,
                                                             std::vector<std::int32_t> categories) {
    nb::gil_scoped_release release;
    const SplitRule rule{threshold, missing_side(missing_left), std::move(categories)};
    if (!tree_.split(leaf, feature, rule)) return std::nullopt;
    return std::make_pair(node_at(leaf).left, node_at(leaf).right);
  }
  bool replace_split(std::int32_t node, std::optional<In<std::int64_t, 1>> prices, int n_threads) {
    nb::gil_scoped_release release;
    return tree_.replace_split(node, or_null<std::int64_t>(prices), n_threads);
  }
  void collapse(std::int32_t node) { tree_.collapse(node); }
  void reoptimize(std::int32_t root, std::int64_t max_looks, int n_threads) {
    nb::gil_scoped_release release;
    tree_.reoptimize(root, max_looks, n_threads);
  }

 private:
  const Node& node_at(std::int32_t node) const { return tree_.nodes()[node]; }

  nb::object bins_, points_, limits_;  // kept alive, by copies too
  In<std::int64_t, 2> regrets_;
  std::optional<In<std::int64_t, 1>> prices_;  // of the last `reprice`
  MutableTree tree_;
};

}  // namespace

void bind_mutable_tree(nb::module_& m) {
  nb::class_<TreeNode>(m, "TreeNode")
      .def_ro("number", &TreeNode::number)
      .def_ro("feature", &TreeNode::feature)
      .def_prop_ro("threshold", [](const TreeNode& node) { return node.rule.threshold; })
      .def_prop_ro("missing_left",
                   [](const TreeNode& node) { return side_of_missing(node.rule.missing_left); })
      .def_prop_ro("categories",
                   [](const TreeNode& node) { return nb::tuple(nb::cast(node.rule.categories)); })
      .def_ro("left", &TreeNode::left)
      .def_ro("right", &TreeNode::right)
      .def_ro("label", &TreeNode::label)
      .def_prop_ro("is_leaf", &TreeNode::is_leaf)
      .def(
          "__eq__", [](const TreeNode& a, const TreeNode& b) { return a == b; }, nb::is_operator());
  nb::class_<PyMutableTree>(m, "MutableTree")
      .def(nb::init<nb::object, nb::object, In<std::int64_t, 2>, In<Row, 1>, nb::object>(),
           "bins"_a, "points"_a, "regrets"_a, "rows"_a, "limits"_a)
      .def("copy", [](const PyMutableTree& tree) { return PyMutableTree(tree); })
      .def_prop_ro("n_leaves", &PyMutableTree::n_leaves)
      .def_prop_ro("cost", &PyMutableTree::cost)
      .def_prop_ro("steps", &PyMutableTree::steps)
      .def("regret", &PyMutableTree::regret, "leaf"_a)
      .def("totals", &PyMutableTree::totals, "leaf"_a)
      .def("feature", &PyMutableTree::feature, "node"_a)
      .def("children", &PyMutableTree::children, "node"_a)
      .def("nodes", &PyMutableTree::nodes)
      .def("labels", &PyMutableTree::labels)
      .def("reprice", &PyMutableTree::reprice, "regrets"_a, "prices"_a.none())
      .def("search", &PyMutableTree::search, "leaf"_a, "prices"_a.none(), "n_threads"_a)
      .def("split", &PyMutableTree::split, "leaf"_a, "feature"_a, "threshold"_a,
           "missing_left"_a = nb::none(), "categories"_a = std::vector<std::int32_t>())
      .def("replace_split", &PyMutableTree::replace_split, "node"_a, "prices"_a.none(),
           "n_threads"_a)
      .def("collapse", &PyMutableTree::collapse, "node"_a)
      .def("reoptimize", &PyMutableTree::reoptimize, "root"_a, "max_looks"_a, "n_threads"_a);
}

}  // namespace treemeans
