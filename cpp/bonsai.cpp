#include "bonsai.hpp"

#include <algorithm>
#include <deque>

#include "resplit.hpp"
#include "surrogate.hpp"

namespace treemeans {
namespace {

constexpr std::int64_t kLookSteps = 10'000;  // what any look at a node takes besides
constexpr std::int64_t kMoveSteps = 5;       // a row that is sent to a side takes about as long

// Rows on their way down a subtree, each with the place its price goes to.
struct Walkers {
  std::vector<Row> row, row_right;
  std::vector<std::int32_t> place, place_right;
  std::vector<double> values;

  void start(const std::vector<Row>& rows) {
    row = rows;
    place.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) place[i] = static_cast<std::int32_t>(i);
    row_right.resize(rows.size());
    place_right.resize(rows.size());
    values.resize(rows.size());
  }

  // Those of [begin, end) that go left come first, each side in its old order; where the right
  // side begins.
  std::int64_t part(Columns& columns, const Twig& twig, std::int64_t begin, std::int64_t end) {
    columns.read(twig.feature, row.data() + begin, end - begin, values.data());
    std::int64_t n_left = begin, n_right = 0;
    for (std::int64_t i = begin; i < end; ++i) {  // no branch to mispredict
      const bool goes_left = values[i - begin] <= twig.threshold;
      const Row r = row[i];
      const std::int32_t p = place[i];
      row[n_left] = row_right[n_right] = r;
      place[n_left] = place_right[n_right] = p;
      n_left += goes_left ? 1 : 0;
      n_right += goes_left ? 0 : 1;
    }
    std::copy(row_right.begin(), row_right.begin() + n_right, row.begin() + n_left);
    std::copy(place_right.begin(), place_right.begin() + n_right, place.begin() + n_left);
    return n_left;
  }
};

}  // namespace

Bonsai::Bonsai(const Ground& ground, const Row* rows, std::int64_t n)
    : ground_(ground),
      columns_(std::make_shared<Columns>(*ground.points)),
      labels_(ground.points->n_rows, 0),
      slot_of_(ground.bins->n_features, -1) {
  for (std::int32_t slot = 0; slot < ground.bins->n_slots(); ++slot)
    slot_of_[ground.bins->feature[slot]] = slot;
  add(-1, Rows(rows, rows + n));
  sum_leaf(twigs_[0]);
}

std::int64_t Bonsai::price_of(std::int32_t feature) const {
  const std::int32_t slot = slot_of_[feature];
  return slot < 0 ? 0 : std::max<std::int64_t>(ground_.terms.price(slot), 0);
}

// Of adding up the bins of so many rows, and walking over them.
std::int64_t Bonsai::scan_steps(std::int64_t n_rows) const {
  const Bins& bins = *ground_.bins;
  const auto entries = static_cast<std::int64_t>(bins.entries.size());
  return n_rows * (bins.n_dense + entries / std::max<std::int64_t>(bins.n_rows, 1)) +
         bins.n_bins() + kLookSteps;
}

std::int64_t Bonsai::cost() const {
  constexpr std::int64_t most = std::int64_t{1} << 62;  // twice the dearest price: no sum overflows
  std::int64_t cost = 0;
  for (const Twig& twig : twigs_) {
    if (!twig.rows) continue;
    const std::int64_t own = twig.is_leaf() ? twig.totals[twig.label] : price_of(twig.feature);
    cost = std::min(cost + own, most);
  }
  return cost;
}

// ---- nodes --------------------------------------------------------------------------------------

std::int32_t Bonsai::add(std::int32_t parent, Rows rows) {
  std::int32_t node = static_cast<std::int32_t>(twigs_.size());
  if (free_.empty()) {
    twigs_.emplace_back();
  } else {
    node = free_.back();
    free_.pop_back();
    twigs_[node] = Twig();
  }
  Twig& twig = twigs_[node];
  twig.parent = parent;
  twig.depth = parent < 0 ? 0 : twigs_[parent].depth + 1;
  twig.rows = std::make_shared<const Rows>(std::move(rows));
  ++n_leaves_;
  return node;
}

void Bonsai::label_leaf(Twig& leaf) {
  leaf.label = static_cast<std::int32_t>(std::min_element(leaf.totals.begin(), leaf.totals.end()) -
                                         leaf.totals.begin());
  leaf.searched = false;
  for (const Row row : *leaf.rows) labels_[row] = leaf.label;
}

void Bonsai::sum_leaf(Twig& leaf) {
  leaf.totals.resize(ground_.k);
  const auto n = static_cast<std::int64_t>(leaf.rows->size());
  sum_regrets(ground_.regrets, ground_.k, leaf.rows->data(), n, leaf.totals.data(), 1);
  steps_ += n * ground_.k;
  label_leaf(leaf);
}

// Tears out a node and all below it.
void Bonsai::discard(std::int32_t node) {
  if (twigs_[node].is_leaf()) {
    --n_leaves_;
  } else {
    discard(twigs_[node].left);
    discard(twigs_[node].right);
  }
  twigs_[node] = Twig();
  free_.push_back(node);
}

// Puts a child in the place, and under the number, of its parent. The other one has been torn out.
void Bonsai::replace(std::int32_t node, std::int32_t heir) {
  const std::int32_t parent = twigs_[node].parent;
  twigs_[node] = std::move(twigs_[heir]);
  twigs_[node].parent = parent;
  twigs_[heir] = Twig();
  free_.push_back(heir);
  std::deque<std::int32_t> queue{node};
  for (; !queue.empty(); queue.pop_front()) {
    Twig& twig = twigs_[queue.front()];
    twig.depth = twig.parent < 0 ? 0 : twigs_[twig.parent].depth + 1;
    if (twig.is_leaf()) continue;
    for (const std::int32_t child : {twig.left, twig.right}) {
      twigs_[child].parent = queue.front();
      queue.push_back(child);
    }
  }
}

std::pair<Bonsai::Rows, Bonsai::Rows> Bonsai::part(const Rows& rows, std::int32_t feature,
                                                   double threshold) {
  const auto n = static_cast<std::int64_t>(rows.size());
  thread_local std::vector<double> values;
  values.resize(n);
  columns_->read(feature, rows.data(), n, values.data());
  steps_ += kMoveSteps * n;
  std::pair<Rows, Rows> sides;
  const auto n_left = static_cast<std::size_t>(
      std::count_if(values.begin(), values.end(), [&](double v) { return v <= threshold; }));
  sides.first.resize(n_left + 1);  // one more, so that both can be written and one kept
  sides.second.resize(rows.size() - n_left + 1);
  std::int64_t left = 0, right = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const bool goes_left = values[i] <= threshold;
    sides.first[left] = sides.second[right] = rows[i];
    left += goes_left ? 1 : 0;
    right += goes_left ? 0 : 1;
  }
  sides.first.pop_back();
  sides.second.pop_back();
  return sides;
}

bool Bonsai::heavy_enough(const Rows& rows) const {
  if (ground_.terms.min_weight <= 1) return !rows.empty();
  std::int64_t weight = 0;
  for (const Row row : rows) weight += ground_.terms.weight(row);
  return weight >= ground_.terms.min_weight;
}

// Sends rows down a subtree. A cut that leaves one side empty is dropped. False where a leaf is
// too light; the tree is then not to be used.
bool Bonsai::fill(std::int32_t node, std::shared_ptr<const Rows> rows) {
  twigs_[node].settled = false;
  twigs_[node].rows = rows;
  if (twigs_[node].is_leaf()) {
    sum_leaf(twigs_[node]);
    return heavy_enough(*rows);
  }
  const std::int32_t left = twigs_[node].left, right = twigs_[node].right;
  auto [first, second] = part(*rows, twigs_[node].feature, twigs_[node].threshold);
  if (first.empty() || second.empty()) {
    discard(first.empty() ? left : right);
    replace(node, first.empty() ? right : left);
    return fill(node, std::move(rows));
  }
  return fill(left, std::make_shared<const Rows>(std::move(first))) &&
         fill(right, std::make_shared<const Rows>(std::move(second)));
}

// A node has changed: so has what those above and below it depend on.
void Bonsai::question(std::int32_t node) {
  for (std::int32_t at = node; at >= 0; at = twigs_[at].parent) twigs_[at].settled = false;
}

// ---- moves --------------------------------------------------------------------------------------

void Bonsai::reprice(const std::int64_t* regrets, const std::int64_t* prices) {
  ground_.regrets = regrets;
  ground_.terms.prices = prices;
  for (Twig& twig : twigs_) {
    if (!twig.rows) continue;
    twig.settled = false;
    if (twig.is_leaf()) sum_leaf(twig);
  }
}

std::optional<Cut> Bonsai::search(std::int32_t leaf, const std::int64_t* prices, int n_threads) {
  Twig& twig = twigs_[leaf];
  if (twig.depth >= ground_.max_depth) return std::nullopt;
  if (!prices && twig.searched) return twig.best;
  Terms terms = ground_.terms;
  if (prices) terms.prices = prices;
  const auto n = static_cast<std::int64_t>(twig.rows->size());
  steps_ += scan_steps(n) + n * ground_.k;
  const std::optional<Cut> best = least_surrogate_cut(
      *ground_.bins, *ground_.points,
      {twig.rows->data(), n, ground_.regrets, ground_.k, twig.totals.data(), twig.label, terms},
      n_threads);
  if (!prices) twig.searched = true, twig.best = best;
  return best;
}

bool Bonsai::split(std::int32_t leaf, std::int32_t feature, double threshold) {
  if (slot_of_[feature] < 0 || twigs_[leaf].depth >= ground_.max_depth) return false;
  auto [first, second] = part(*twigs_[leaf].rows, feature, threshold);
  if (!heavy_enough(first) || !heavy_enough(second)) return false;
  const bool left_is_smaller = first.size() <= second.size();
  const std::int32_t left = add(leaf, std::move(first)), right = add(leaf, std::move(second));
  --n_leaves_;
  Twig& twig = twigs_[leaf];
  twig.feature = feature, twig.threshold = threshold, twig.left = left, twig.right = right;
  Twig& smaller = twigs_[left_is_smaller ? left : right];
  Twig& larger = twigs_[left_is_smaller ? right : left];
  sum_leaf(smaller);
  larger.totals = std::move(twig.totals);
  for (std::int64_t c = 0; c < ground_.k; ++c) larger.totals[c] -= smaller.totals[c];
  label_leaf(larger);
  question(leaf);
  return true;
}

void Bonsai::collapse(std::int32_t node) {
  if (twigs_[node].is_leaf()) return;
  discard(twigs_[node].left);
  discard(twigs_[node].right);
  Twig& twig = twigs_[node];
  twig.feature = twig.left = twig.right = -1;
  ++n_leaves_;
  sum_leaf(twig);
  question(node);
}

// What each of the rows would cost in the subtree of a node.
void Bonsai::price_in(std::int32_t node, const Rows& rows, std::vector<std::int64_t>& prices) {
  thread_local Walkers walkers;
  walkers.start(rows);
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
    const Twig& twig = twigs_[at];
    if (twig.is_leaf()) {
      const std::int64_t* regrets = ground_.regrets + twig.label;
      for (std::int64_t i = begin; i < end; ++i)
        prices[walkers.place[i]] = regrets[walkers.row[i] * ground_.k];
    } else {
      const std::int64_t middle = walkers.part(*columns_, twig, begin, end);
      open.push_back({twig.left, begin, middle});
      open.push_back({twig.right, middle, end});
    }
  }
}

// What the rows of a node cost on either side of its cut, and where they are now.
const Bonsai::Sides& Bonsai::sides_of(std::int32_t node) {
  const Twig& twig = twigs_[node];
  const Rows &rows = *twig.rows, &lefts = *twigs_[twig.left].rows,
             &rights = *twigs_[twig.right].rows;
  thread_local std::vector<std::int64_t> lefts_right, rights_left;
  thread_local Sides sides;
  price_in(twig.right, lefts, lefts_right);
  price_in(twig.left, rights, rights_left);
  sides.left.resize(rows.size());
  sides.right.resize(rows.size());
  sides.now = sides.all_left = sides.all_right = 0;
  for (std::size_t i = 0, l = 0, r = 0; i < rows.size(); ++i) {
    const std::int64_t own = ground_.regrets[rows[i] * ground_.k + labels_[rows[i]]];
    const bool is_left = l < lefts.size() && lefts[l] == rows[i];
    sides.left[i] = is_left ? own : rights_left[r];
    sides.right[i] = is_left ? lefts_right[l] : own;
    (is_left ? l : r) += 1;
    sides.now += own, sides.all_left += sides.left[i], sides.all_right += sides.right[i];
  }
  return sides;
}

std::optional<Cut> Bonsai::fork_cut(std::int32_t node, const Sides& sides, const Terms& terms,
                                    int n_threads) {
  const Rows& rows = *twigs_[node].rows;
  const auto n = static_cast<std::int64_t>(rows.size());
  steps_ += scan_steps(n) + 2 * kMoveSteps * n;
  return least_fork_cut(*ground_.bins, *ground_.points,
                        {rows.data(), n, sides.left.data(), sides.right.data(), terms}, n_threads);
}

bool Bonsai::choose_again(std::int32_t node, int n_threads) {
  const Sides& sides = sides_of(node);
  const std::optional<Cut> cut = fork_cut(node, sides, ground_.terms, n_threads);
  const std::int64_t now = sides.now + price_of(twigs_[node].feature);
  const std::int64_t uncut = std::min(sides.all_left, sides.all_right);
  if (uncut <= now && (!cut || uncut <= cut->cost)) {
    drop(node, sides.all_left <= sides.all_right ? twigs_[node].left : twigs_[node].right);
    return true;
  }
  if (cut && cut->cost < now && adopt(node, *cut)) return true;
  twigs_[node].settled = true;
  return false;
}

bool Bonsai::resplit(std::int32_t node, const std::int64_t* prices, int n_threads) {
  Terms terms = ground_.terms;
  if (prices) terms.prices = prices;
  const std::optional<Cut> cut = fork_cut(node, sides_of(node), terms, n_threads);
  return cut && adopt(node, *cut);
}

// More rows everywhere: no leaf gets lighter.
void Bonsai::drop(std::int32_t node, std::int32_t heir) {
  const std::shared_ptr<const Rows> rows = twigs_[node].rows;
  const Twig& twig = twigs_[node];
  discard(heir == twig.left ? twig.right : twig.left);
  replace(node, heir);
  fill(node, rows);
  question(node);
}

// The limit on a leaf's weight can be broken further down: then all is as it was.
bool Bonsai::adopt(std::int32_t node, const Cut& cut) {
  std::optional<Bonsai> before;
  if (ground_.terms.min_weight > 1) before.emplace(*this);
  twigs_[node].feature = cut.feature;
  twigs_[node].threshold = cut.threshold();
  if (!fill(node, twigs_[node].rows)) {
    const std::int64_t steps = steps_;
    *this = std::move(*before);
    steps_ = steps;
    return false;
  }
  question(node);
  return true;
}

void Bonsai::settle(std::int32_t root, std::int64_t max_looks, int n_threads) {
  for (bool changed = true; changed && max_looks > 0;) {
    changed = false;
    std::deque<std::int32_t> queue{root};
    for (; !queue.empty() && max_looks > 0; queue.pop_front()) {
      const std::int32_t node = queue.front();
      if (twigs_[node].is_leaf()) continue;
      if (!twigs_[node].settled) {
        --max_looks;
        if (choose_again(node, n_threads)) changed = true;
      }
      if (twigs_[node].is_leaf()) continue;  // a drop can leave one
      queue.push_back(twigs_[node].left);
      queue.push_back(twigs_[node].right);
    }
  }
}

}  // namespace treemeans
