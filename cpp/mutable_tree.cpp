#include "mutable_tree.hpp"

#include <algorithm>
#include <deque>
#include <numeric>

#include "reoptimize.hpp"
#include "row_sides.hpp"
#include "surrogate.hpp"

namespace treemeans {
namespace {

constexpr std::int64_t kLookSteps = 10'000;  // what any look at a node takes besides
constexpr std::int64_t kMoveSteps = 5;       // a row that is sent to a side takes about as long

// Rows on their way down a subtree, each with the place its price goes to.
struct RowWalk {
  std::vector<Row> row, row_right;
  std::vector<std::int32_t> place, place_right;

  void start(const std::vector<Row>& rows) {
    row = rows;
    place.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) place[i] = static_cast<std::int32_t>(i);
    row_right.resize(rows.size());
    place_right.resize(rows.size());
  }

  // Those of [begin, end) that go left come first, each side in its old order; where the right
  // side begins.
  std::int64_t partition(RowSides& sides, const Node& node_data, std::int64_t begin,
                         std::int64_t end) {
    const std::uint8_t* goes_left =
        sides.read(node_data.feature, node_data.rule, row.data() + begin, end - begin).data();
    std::int64_t n_left = begin, n_right = 0;
    for (std::int64_t i = begin; i < end; ++i) {  // no branch to mispredict
      const std::int64_t is_left = goes_left[i - begin];
      const Row r = row[i];
      const std::int32_t p = place[i];
      row[n_left] = row_right[n_right] = r;
      place[n_left] = place_right[n_right] = p;
      n_left += is_left;
      n_right += 1 - is_left;
    }
    std::copy(row_right.begin(), row_right.begin() + n_right, row.begin() + n_left);
    std::copy(place_right.begin(), place_right.begin() + n_right, place.begin() + n_left);
    return n_left;
  }
};

}  // namespace

// What moves are computed in: kept from one to the next, and shared by copies of a tree.
struct MutableTree::Scratch {
  Scratch(const Points& points, const Bins& bins) : row_sides(points, bins) {}

  RowSides row_sides;
  RowWalk walk;
  std::vector<std::int64_t> lefts_right, rights_left;
  Sides sides;
};

MutableTree::MutableTree(const TreeData& data, const Row* rows, std::int64_t n)
    : data_(data),
      scratch_(std::make_shared<Scratch>(*data.points, *data.bins)),
      labels_(data.points->n_rows, 0),
      slot_of_(data.bins->n_features, -1) {
  for (std::int32_t slot = 0; slot < data.bins->n_slots(); ++slot)
    slot_of_[data.bins->feature[slot]] = slot;
  for (std::size_t i = 0; i < data.bins->mixed.size(); ++i)
    slot_of_[data.bins->mixed[i].feature] = static_cast<std::int32_t>(data.bins->n_slots() + i);
  nodes_.add(-1, Rows(rows, rows + n));
  sum_leaf(nodes_[0]);
}

std::int64_t MutableTree::price_of(std::int32_t feature) const {
  const std::int32_t slot = slot_of_[feature];
  return slot < 0 ? 0 : std::max<std::int64_t>(data_.limits.price(slot), 0);
}

// Of adding up the bins of so many rows, and walking over them.
std::int64_t MutableTree::scan_steps(std::int64_t n_rows) const {
  const Bins& bins = *data_.bins;
  const auto entries = static_cast<std::int64_t>(bins.entries.size());
  return n_rows * (bins.n_dense + static_cast<std::int64_t>(bins.mixed.size()) +
                   entries / std::max<std::int64_t>(bins.n_rows, 1)) +
         bins.n_bins() + kLookSteps;
}

std::int64_t MutableTree::cost() const {
  constexpr std::int64_t most = std::int64_t{1} << 62;  // twice the largest price: no sum overflows
  std::int64_t cost = 0;
  for (const Node& node_data : nodes_) {
    if (!node_data.rows) continue;
    const std::int64_t own =
        node_data.is_leaf() ? node_data.totals[node_data.label] : price_of(node_data.feature);
    cost = std::min(cost + own, most);
  }
  return cost;
}

// ---- nodes --------------------------------------------------------------------------------------

void MutableTree::label_leaf(Node& leaf) {
  leaf.label = static_cast<std::int32_t>(std::min_element(leaf.totals.begin(), leaf.totals.end()) -
                                         leaf.totals.begin());
  leaf.searched = false;
  for (const Row row : *leaf.rows) labels_[row] = leaf.label;
}

void MutableTree::sum_leaf(Node& leaf) {
  leaf.totals.resize(data_.k);
  const auto n = static_cast<std::int64_t>(leaf.rows->size());
  sum_regrets(RegretTable(PlainRegrets{data_.regrets, data_.k}), leaf.rows->data(), n,
              leaf.totals.data(), 1);
  steps_ += n * data_.k;
  label_leaf(leaf);
}

std::pair<MutableTree::Rows, MutableTree::Rows> MutableTree::partition(const Rows& rows,
                                                                       std::int32_t feature,
                                                                       const SplitRule& rule) {
  const auto n = static_cast<std::int64_t>(rows.size());
  const std::uint8_t* goes_left = scratch_->row_sides.read(feature, rule, rows.data(), n).data();
  steps_ += kMoveSteps * n;
  std::pair<Rows, Rows> sides;
  const auto n_left =
      static_cast<std::size_t>(std::accumulate(goes_left, goes_left + n, std::int64_t{0}));
  sides.first.resize(n_left + 1);  // one more, so that both can be written and one kept
  sides.second.resize(rows.size() - n_left + 1);
  std::int64_t left = 0, right = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    sides.first[left] = sides.second[right] = rows[i];
    left += goes_left[i];
    right += 1 - goes_left[i];
  }
  sides.first.pop_back();
  sides.second.pop_back();
  return sides;
}

bool MutableTree::may_hold(const Rows& rows) const {
  if (!data_.limits.asks_for_weight()) return !rows.empty();
  std::int64_t weight = 0;
  for (const Row row : rows) weight += data_.limits.weight(row);
  return data_.limits.permits_side(weight);
}

// Sends rows down a subtree. A cut that leaves one side empty is dropped. False where a leaf is
// too light; the tree is then not to be used.
bool MutableTree::fill(std::int32_t node, std::shared_ptr<const Rows> rows) {
  nodes_[node].is_optimal = false;
  nodes_[node].rows = rows;
  if (nodes_[node].is_leaf()) {
    sum_leaf(nodes_[node]);
    return may_hold(*rows);
  }
  const std::int32_t left = nodes_[node].left, right = nodes_[node].right;
  auto [first, second] = partition(*rows, nodes_[node].feature, nodes_[node].rule);
  if (first.empty() || second.empty()) {
    nodes_.replace_by(node, first.empty() ? right : left);
    return fill(node, std::move(rows));
  }
  return fill(left, std::make_shared<const Rows>(std::move(first))) &&
         fill(right, std::make_shared<const Rows>(std::move(second)));
}

// A node has changed: so has what those above and below it depend on.
void MutableTree::mark_changed(std::int32_t node) {
  for (std::int32_t at = node; at >= 0; at = nodes_[at].parent) nodes_[at].is_optimal = false;
}

// ---- moves --------------------------------------------------------------------------------------

void MutableTree::reprice(const std::int64_t* regrets, const std::int64_t* prices) {
  data_.regrets = regrets;
  data_.limits.prices = prices;
  for (Node& node_data : nodes_) {
    if (!node_data.rows) continue;
    node_data.is_optimal = false;
    if (node_data.is_leaf()) sum_leaf(node_data);
  }
}

std::optional<Cut> MutableTree::search(std::int32_t leaf, const std::int64_t* prices,
                                       int n_threads) {
  Node& node_data = nodes_[leaf];
  if (!data_.limits.permits_depth(node_data.depth)) return std::nullopt;
  if (!prices && node_data.searched) return node_data.best;
  Limits limits = data_.limits;
  if (prices) limits.prices = prices;
  const auto n = static_cast<std::int64_t>(node_data.rows->size());
  steps_ += scan_steps(n) + n * data_.k;
  const std::optional<Cut> best = least_surrogate_cut(
      *data_.bins, *data_.points,
      {node_data.rows->data(), n, RegretTable(PlainRegrets{data_.regrets, data_.k}),
       node_data.totals.data(), node_data.label, limits},
      n_threads);
  if (!prices) node_data.searched = true, node_data.best = best;
  return best;
}

bool MutableTree::split(std::int32_t leaf, std::int32_t feature, const SplitRule& rule) {
  if (slot_of_[feature] < 0 || !data_.limits.permits_depth(nodes_[leaf].depth)) return false;
  auto [first, second] = partition(*nodes_[leaf].rows, feature, rule);
  if (!may_hold(first) || !may_hold(second)) return false;
  const bool left_is_smaller = first.size() <= second.size();
  nodes_.add_children(leaf, std::move(first), std::move(second));
  Node& node_data = nodes_[leaf];
  node_data.feature = feature, node_data.rule = rule;
  Node& smaller = nodes_[left_is_smaller ? node_data.left : node_data.right];
  Node& larger = nodes_[left_is_smaller ? node_data.right : node_data.left];
  sum_leaf(smaller);
  larger.totals = std::move(node_data.totals);
  for (std::int64_t c = 0; c < data_.k; ++c) larger.totals[c] -= smaller.totals[c];
  label_leaf(larger);
  mark_changed(leaf);
  return true;
}

void MutableTree::collapse(std::int32_t node) {
  if (nodes_[node].is_leaf()) return;
  nodes_.remove_children(node);
  Node& node_data = nodes_[node];
  node_data.feature = -1;
  sum_leaf(node_data);
  mark_changed(node);
}

// What each of the rows would cost in the subtree of a node.
void MutableTree::price_in(std::int32_t node, const Rows& rows, std::vector<std::int64_t>& prices) {
  RowWalk& walk = scratch_->walk;
  walk.start(rows);
  prices.resize(rows.size());
  struct Stretch {
    std::int32_t node;
    std::int64_t begin, end;
  };
  std::vector<Stretch> open{{node, 0, static_cast<std::int64_t>(rows.size())}};
  while (!open.empty()) {
    const auto [at, begin, end] = open.back();
    open.pop_back();
    if (begin == end) continue;
    steps_ += kMoveSteps * (end - begin);
    const Node& node_data = nodes_[at];
    if (node_data.is_leaf()) {
      const std::int64_t* regrets = data_.regrets + node_data.label;
      for (std::int64_t i = begin; i < end; ++i)
        prices[walk.place[i]] = regrets[walk.row[i] * data_.k];
    } else {
      const std::int64_t middle = walk.partition(scratch_->row_sides, node_data, begin, end);
      open.push_back({node_data.left, begin, middle});
      open.push_back({node_data.right, middle, end});
    }
  }
}

// What the rows of a node cost on either side of its cut, and where they are now.
const MutableTree::Sides& MutableTree::sides_of(std::int32_t node) {
  const Node& node_data = nodes_[node];
  const Rows &rows = *node_data.rows, &lefts = *nodes_[node_data.left].rows,
             &rights = *nodes_[node_data.right].rows;
  std::vector<std::int64_t>&lefts_right = scratch_->lefts_right,
  &rights_left = scratch_->rights_left;
  Sides& sides = scratch_->sides;
  price_in(node_data.right, lefts, lefts_right);
  price_in(node_data.left, rights, rights_left);
  sides.left.resize(rows.size());
  sides.right.resize(rows.size());
  sides.now = sides.all_left = sides.all_right = 0;
  for (std::size_t i = 0, l = 0, r = 0; i < rows.size(); ++i) {
    const std::int64_t own = data_.regrets[rows[i] * data_.k + labels_[rows[i]]];
    const bool is_left = l < lefts.size() && lefts[l] == rows[i];
    sides.left[i] = is_left ? own : rights_left[r];
    sides.right[i] = is_left ? lefts_right[l] : own;
    (is_left ? l : r) += 1;
    sides.now += own, sides.all_left += sides.left[i], sides.all_right += sides.right[i];
  }
  return sides;
}

std::optional<Cut> MutableTree::best_replacement(std::int32_t node, const Sides& sides,
                                                 const Limits& limits, int n_threads) {
  const Rows& rows = *nodes_[node].rows;
  const auto n = static_cast<std::int64_t>(rows.size());
  steps_ += scan_steps(n) + 2 * kMoveSteps * n;
  return reoptimized_cut(*data_.bins, *data_.points,
                         {rows.data(), n, sides.left.data(), sides.right.data(), limits},
                         n_threads);
}

bool MutableTree::reoptimize_node(std::int32_t node, int n_threads) {
  const Sides& sides = sides_of(node);
  const std::optional<Cut> cut = best_replacement(node, sides, data_.limits, n_threads);
  const std::int64_t now = sides.now + price_of(nodes_[node].feature);
  const std::int64_t uncut = std::min(sides.all_left, sides.all_right);
  if (uncut <= now && (!cut || uncut <= cut->cost)) {
    drop(node, sides.all_left <= sides.all_right ? nodes_[node].left : nodes_[node].right);
    return true;
  }
  if (cut && cut->cost < now && adopt(node, *cut)) return true;
  nodes_[node].is_optimal = true;
  return false;
}

bool MutableTree::replace_split(std::int32_t node, const std::int64_t* prices, int n_threads) {
  Limits limits = data_.limits;
  if (prices) limits.prices = prices;
  const std::optional<Cut> cut = best_replacement(node, sides_of(node), limits, n_threads);
  return cut && adopt(node, *cut);
}

// More rows everywhere: no leaf gets lighter.
void MutableTree::drop(std::int32_t node, std::int32_t child) {
  const std::shared_ptr<const Rows> rows = nodes_[node].rows;
  nodes_.replace_by(node, child);
  fill(node, rows);
  mark_changed(node);
}

// The limit on a leaf's weight can be broken further down: then all is as it was.
bool MutableTree::adopt(std::int32_t node, const Cut& cut) {
  std::optional<MutableTree> before;
  if (data_.limits.asks_for_weight()) before.emplace(*this);
  nodes_[node].feature = cut.feature;
  nodes_[node].rule = cut.rule();
  if (!fill(node, nodes_[node].rows)) {
    const std::int64_t steps = steps_;
    *this = std::move(*before);
    steps_ = steps;
    return false;
  }
  mark_changed(node);
  return true;
}

void MutableTree::reoptimize(std::int32_t root, std::int64_t max_looks, int n_threads) {
  for (bool changed = true; changed && max_looks > 0;) {
    changed = false;
    std::deque<std::int32_t> queue{root};
    for (; !queue.empty() && max_looks > 0; queue.pop_front()) {
      const std::int32_t node = queue.front();
      if (nodes_[node].is_leaf()) continue;
      if (!nodes_[node].is_optimal) {
        --max_looks;
        if (reoptimize_node(node, n_threads)) changed = true;
      }
      if (nodes_[node].is_leaf()) continue;  // a drop can leave one
      queue.push_back(nodes_[node].left);
      queue.push_back(nodes_[node].right);
    }
  }
}

}  // namespace treemeans
