#include "annealing_chain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "annealing_variance_cut.hpp"

namespace treemeans::annealing {
namespace {

constexpr std::int64_t kRoundSteps = 5'000;  // what any round takes besides
constexpr int kLloydRounds = 4;              // of the halves of a cluster
constexpr double kMostDissolved = 0.1;       // of the regret of the tree: see dissolve
constexpr double kTolerance = 1e-4;          // `settle` ends once a round saves a smaller share

enum Move {
  kFeature,
  kAnywhere,
  kHere,
  kExchange,
  kMoveLeaf,
  kRelabel,
  kDissolve,
  kGraft,
  kCenters
};

double squared_distance(const double* a, const double* b, std::int64_t m) {
  double sum = 0.0;
  for (std::int64_t j = 0; j < m; ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

}  // namespace

Random::Random(std::uint64_t seed) {
  for (std::uint64_t& word : state_) {  // splitmix64
    seed += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Random::next() {
  const auto rotate = [](std::uint64_t x, int by) { return (x << by) | (x >> (64 - by)); };
  const std::uint64_t result = rotate(state_[1] * 5, 7) * 9, t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = rotate(state_[3], 45);
  return result;
}

// ---- clusters -----------------------------------------------------------------------------------

void ClusterSums::move(const Space& space, Row row, std::int32_t from, std::int32_t to) {
  const std::int64_t m = space.dimension;
  const double* x = space.row(row);
  const double w = space.weight(row);
  double square = 0.0;
  if (from >= 0) {
    double* less = sums.data() + from * m;
    for (std::int64_t j = 0; j < m; ++j) less[j] -= w * x[j];
    weights[from] -= w;
  }
  double* more = sums.data() + to * m;
  for (std::int64_t j = 0; j < m; ++j) more[j] += w * x[j];
  for (std::int64_t j = 0; j < m; ++j) square += x[j] * x[j];
  weights[to] += w;
  if (from >= 0) squares[from] -= w * square;
  squares[to] += w * square;
}

double ClusterSums::cost(const Space& space) const {
  double cost = space.total;
  const std::int64_t m = space.dimension;
  for (std::size_t c = 0; c < weights.size(); ++c) {
    if (weights[c] <= 0.0) continue;
    double square = 0.0;
    for (std::int64_t j = 0; j < m; ++j) square += sums[c * m + j] * sums[c * m + j];
    cost -= square / weights[c];
  }
  return cost;
}

std::vector<double> ClusterSums::means(const Space& space,
                                       const std::vector<double>& otherwise) const {
  std::vector<double> means = otherwise;
  const std::int64_t m = space.dimension;
  for (std::size_t c = 0; c < weights.size(); ++c) {
    if (weights[c] <= 0.0) continue;
    for (std::int64_t j = 0; j < m; ++j) means[c * m + j] = sums[c * m + j] / weights[c];
  }
  return means;
}

// ---- the chain ----------------------------------------------------------------------------------

Chain::Chain(const Problem& problem, const Shape& start, std::shared_ptr<const Rows> rows,
             std::int32_t n_leaves, std::uint64_t seed)
    : problem_(problem),
      rows_(std::move(rows)),
      n_leaves_(n_leaves),
      random_(seed),
      tree_(build(start)),
      candidate_(tree_),
      used_(Policy::kMoves, 0) {
  settle(5, true);
  best_ = shape();
}

AnnealingTree Chain::build(const Shape& shape) const {
  const auto k = static_cast<std::int64_t>(shape.centers.size()) / problem_.space->dimension;
  AnnealingTree tree(problem_, Prices::of(*problem_.space, shape.centers, k), *rows_);
  struct Pair {
    std::int32_t here, from;
  };
  std::vector<Pair> open{{0, 0}};
  while (!open.empty()) {
    const auto [here, from] = open.back();
    open.pop_back();
    const Shape::Part& part = shape.nodes[from];
    if (part.left < 0) continue;
    if (tree.split(here, part.cut)) {
      const std::int32_t left = tree.nodes()[here].left, right = tree.nodes()[here].right;
      open.push_back({right, part.right});
      open.push_back({left, part.left});
    }
  }
  return tree;
}

Shape Chain::shape() const {
  Shape shape;
  std::vector<std::int32_t> queue{0};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const Node& node = tree_.nodes()[queue[i]];
    Shape::Part part{node.cut, -1, -1, node.label};
    if (!node.is_leaf()) {
      part.left = static_cast<std::int32_t>(queue.size());
      part.right = part.left + 1;
      queue.push_back(node.left);
      queue.push_back(node.right);
    }
    shape.nodes.push_back(part);
  }
  shape.centers = tree_.prices().centers;
  shape.cost = cost_;
  return shape;
}

double Chain::cluster_cost(const AnnealingTree& tree, ClusterSums& sums) const {
  const std::int64_t k = tree.prices().k;
  sums.sums.assign(k * problem_.space->dimension, 0.0);
  sums.weights.assign(k, 0.0);
  sums.squares.assign(k, 0.0);
  for (const Row row : *rows_) sums.move(*problem_.space, row, -1, tree.labels()[row]);
  return sums.cost(*problem_.space);
}

double Chain::cut_prices(const AnnealingTree& tree) const {
  std::int64_t prices = tree.cost();
  for (const Node& node : tree.nodes())
    if (node.rows && node.is_leaf()) prices -= node.totals[node.label];
  return static_cast<double>(prices) * problem_.space->unit;
}

// A descent like Lloyd's: choose cuts again, use free leaves, move the centers. `moved`: whether
// the centers did since the cost is known.
void Chain::settle(int rounds, bool moved) {
  double before = std::numeric_limits<double>::infinity();
  for (int i = 0; i < rounds; ++i) {
    tree_.reoptimize(0, 2 * tree_.n_leaves());
    tree_.grow(n_leaves_);
    cluster_cost(tree_, sums_);
    recenter();
    const double now =
        (tree_.prices().cheapest + static_cast<double>(tree_.cost())) * problem_.space->unit;
    if (now >= before * (1.0 - kTolerance)) break;
    before = now;
  }
  if (rounds == 0 && !moved) return;
  // Leaves can have been labelled again since the centers moved.
  cost_ = cluster_cost(tree_, sums_) + cut_prices(tree_);
  finished_ = tree_.cost() == 0;
  const std::int64_t n = static_cast<std::int64_t>(rows_->size());
  steps_ += n * problem_.space->dimension * (rounds + 1);
}

void Chain::run(const Policy& policy, std::int64_t n_rounds, std::int64_t n_steps, double from,
                double to) {
  const std::int64_t round_begin = rounds_, step_begin = steps_;
  while (!finished_ && rounds_ - round_begin < n_rounds && steps_ - step_begin < n_steps) {
    const double done =
        std::max(static_cast<double>(rounds_ - round_begin) / static_cast<double>(n_rounds),
                 static_cast<double>(steps_ - step_begin) / static_cast<double>(n_steps));
    round(policy, from * std::pow(to / from, done));
    ++rounds_;
  }
}

void Chain::round(const Policy& policy, double temperature) {
  candidate_ = tree_;
  candidate_.forget_steps();
  const double unit = problem_.space->unit;
  const double chance = random_.uniform();
  int move = 0;
  for (double sum = policy.chances[0]; move + 1 < Policy::kMoves && chance >= sum;)
    sum += policy.chances[++move];
  bool changed = false;
  const std::int64_t limit =
      tree_.cost() + static_cast<std::int64_t>(policy.most_temperatures * temperature / unit);
  const std::int64_t limit_after =
      tree_.cost() + static_cast<std::int64_t>(policy.most_after * temperature / unit);
  if (move == kDissolve) {
    changed = dissolve(policy.most_after * temperature);
  } else if (move == kCenters) {
    changed = regrow_with_centers(policy, temperature);
  } else if (move == kGraft) {
    changed = graft(policy, temperature, limit, limit_after);
  } else if (move == kMoveLeaf) {
    changed = move_leaf();
  } else if (move == kRelabel) {
    changed = relabel_leaf(policy);
  } else {
    changed = change_subtree(policy, move, limit, limit_after);
  }
  if (changed) {
    candidate_sums_ = sums_;
    const std::vector<std::int32_t>&now = tree_.labels(), &then = candidate_.labels();
    std::int64_t n_moved = 0;
    for (const Row row : *rows_) {
      if (now[row] == then[row]) continue;
      candidate_sums_.move(*problem_.space, row, now[row], then[row]);
      ++n_moved;
    }
    steps_ += n_moved * problem_.space->dimension * 2 + static_cast<std::int64_t>(rows_->size());
    const double cost = candidate_sums_.cost(*problem_.space) + cut_prices(candidate_);
    const double rise = cost - cost_;
    // A tree of the same cost is most often the same tree: it is not worth a recentering.
    const double same = 1e-9 * std::abs(cost_);
    if (rise < -same || (rise > same && random_.uniform() < std::exp(-rise / temperature))) {
      ++used_[move];
      std::swap(tree_, candidate_);
      std::swap(sums_, candidate_sums_);
      cost_ = cost;
      const bool is_best = cost < best_.cost;
      const bool is_far = drift() > policy.most_drift * temperature;
      if (is_best || is_far) recenter();
      settle(is_best ? 2 : 0, is_far);
      if (cost_ < best_.cost) best_ = shape();
    }
  }
  steps_ += candidate_.steps() + tree_.steps() + kRoundSteps;
  tree_.forget_steps();
}

double Chain::drift() const {
  return (tree_.prices().cheapest + static_cast<double>(tree_.cost())) * problem_.space->unit -
         cost_;
}

void Chain::recenter() {
  tree_.reprice(
      tree_.prices().with(*problem_.space, sums_.means(*problem_.space, tree_.prices().centers)));
}

// Changes one subtree, optimizes it, and then the cuts above it. False where nothing changed, or so
// much for the worse that it need not be followed up.
bool Chain::change_subtree(const Policy& policy, int move, std::int64_t limit,
                           std::int64_t limit_after) {
  const std::int32_t node = pick_node(policy);
  if (node < 0) return false;
  if (move == kFeature || move == kExchange) {
    candidate_.take_sums_above(candidate_.nodes()[node].left, tree_);
  }
  const AnnealingTree::Change before = candidate_.begin_change(node);
  if (!change(policy, move, node) || candidate_.cost() > limit) return false;
  if (move == kFeature) {
    reoptimize_children(policy, node);
  } else {
    candidate_.reoptimize(node, policy.looks);
  }
  if (candidate_.cost() > limit_after) return false;
  // Most often the subtree is what it was.
  if (candidate_.cost() == tree_.cost() && candidate_.n_leaves() == tree_.n_leaves()) return false;
  candidate_.take_sums_above(node, tree_);
  candidate_.end_change(before, -1);
  candidate_.climb(node, policy.looks);
  candidate_.grow(n_leaves_, &tree_);
  return true;
}

// The cut itself stays, at first: chosen again, it would be what it was.
void Chain::reoptimize_children(const Policy& policy, std::int32_t node) {
  for (const bool left : {true, false}) {
    const Node& at = candidate_.nodes()[node];
    if (at.is_leaf()) return;
    const std::int32_t child = left ? at.left : at.right;
    const AnnealingTree::Change inner = candidate_.begin_change(child);
    candidate_.reoptimize(child, policy.looks);
    candidate_.end_change(inner, node);
  }
}

// The more likely, the more the leaves below cost beyond the reference.
std::int32_t Chain::pick_node(const Policy& policy) {
  const std::vector<Node>& nodes = candidate_.nodes();
  std::vector<std::int32_t> order{0}, inner;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Node& node = nodes[order[i]];
    if (!node.is_leaf()) order.insert(order.end(), {node.left, node.right});
  }
  std::vector<double> regret(nodes.size(), 0.0), leaves(nodes.size(), 0.0);
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::int32_t at = order[i];
    const Node& node = nodes[at];
    if (node.is_leaf()) {
      regret[at] = static_cast<double>(node.totals[node.label]);
      leaves[at] = 1.0;
    } else {
      regret[at] = regret[node.left] + regret[node.right];
      leaves[at] = leaves[node.left] + leaves[node.right];
      inner.push_back(at);
    }
  }
  if (inner.empty()) return -1;
  double most = 0.0;
  for (const std::int32_t at : inner) most = std::max(most, regret[at] / leaves[at]);
  const double uniform = std::max(policy.uniform * most, 1.0);
  // A large subtree that changes at its top hardly ever gets cheaper, and takes the most time.
  const auto chance = [&](std::int32_t at) {
    const double size = std::min(policy.usual_leaves / leaves[at], 1.0);
    return (regret[at] / leaves[at] + uniform) * size * size;
  };
  double all = 0.0;
  for (const std::int32_t at : inner) all += chance(at);
  double left = random_.uniform() * all;
  for (const std::int32_t at : inner) {
    left -= chance(at);
    if (left < 0.0) return at;
  }
  return inner.back();
}

std::vector<std::int32_t> Chain::some_slots(const Policy& policy, std::int32_t without) {
  std::vector<std::int32_t> slots;
  const std::int32_t n = problem_.table->n_slots;
  const auto always = static_cast<std::int32_t>(random_.below(n));
  for (std::int32_t slot = 0; slot < n; ++slot) {
    const bool seen = random_.uniform() >= policy.hidden_features;
    if ((seen || slot == always) && slot != without && problem_.limits.open(slot))
      slots.push_back(slot);
  }
  return slots;
}

bool Chain::change(const Policy& policy, int move, std::int32_t node) {
  const Node& at = candidate_.nodes()[node];
  switch (move) {
    case kFeature:
      return candidate_.replace_cut(node, some_slots(policy, at.cut.slot));
    case kAnywhere:
      return regrow_anywhere(policy, node);
    case kExchange: {
      const bool left_first = random_.uniform() < 0.5;
      std::int32_t child = left_first ? at.left : at.right;
      if (candidate_.nodes()[child].is_leaf()) child = left_first ? at.right : at.left;
      if (candidate_.nodes()[child].is_leaf()) return regrow_here(policy, node);
      return candidate_.exchange(node, child);
    }
    default:
      return regrow_here(policy, node);
  }
}

bool Chain::regrow_here(const Policy& policy, std::int32_t node) {
  const std::int32_t before = candidate_.n_leaves();
  candidate_.collapse(node);
  grow_here(policy, node, before);
  return true;
}

// Cuts the leaves below a node, the largest gain first, each by a few features only, until the tree
// has so many leaves.
void Chain::grow_here(const Policy& policy, std::int32_t node, std::int32_t n_leaves) {
  struct Open {
    std::int32_t leaf;
    BinCut cut;
    std::int64_t gain;
  };
  std::vector<Open> open;
  const auto consider = [&](std::int32_t leaf) {
    const BinCut cut = candidate_.search(leaf, some_slots(policy, -1), policy.sampled_rows);
    if (cut.slot < 0) return;
    const auto n = static_cast<std::int64_t>(candidate_.nodes()[leaf].rows->size());
    const std::int64_t stride =
        std::max<std::int64_t>(1, (n + policy.sampled_rows - 1) / policy.sampled_rows);
    open.push_back({leaf, cut, candidate_.regret(leaf) - cut.cost * stride});
  };
  for (const std::int32_t leaf : candidate_.leaves_below(node)) consider(leaf);
  while (candidate_.n_leaves() < n_leaves && !open.empty()) {
    const auto next = std::max_element(
        open.begin(), open.end(), [](const Open& a, const Open& b) { return a.gain < b.gain; });
    const Open chosen = *next;
    open.erase(next);
    if (!candidate_.split(chosen.leaf, chosen.cut)) continue;
    const std::int32_t left = candidate_.nodes()[chosen.leaf].left;
    const std::int32_t right = candidate_.nodes()[chosen.leaf].right;
    if (candidate_.n_leaves() >= n_leaves) break;
    consider(left);
    consider(right);
  }
}

bool Chain::regrow_anywhere(const Policy& policy, std::int32_t node) {
  candidate_.collapse(node);
  const BinCut cut = candidate_.search(node, some_slots(policy, -1), policy.sampled_rows);
  if (cut.slot >= 0) candidate_.split(node, cut);
  return true;
}

// What the tree would cost more without each cut of two leaves, and the nodes of these cuts.
std::vector<std::pair<std::int64_t, std::int32_t>> Chain::losses() const {
  std::vector<std::pair<std::int64_t, std::int32_t>> losses;
  const std::vector<Node>& nodes = candidate_.nodes();
  for (std::int32_t at = 0; at < static_cast<std::int32_t>(nodes.size()); ++at) {
    const Node& node = nodes[at];
    if (!node.rows || node.is_leaf() || !nodes[node.left].is_leaf() || !nodes[node.right].is_leaf())
      continue;
    const Sums &left = nodes[node.left].totals, &right = nodes[node.right].totals;
    std::int64_t together = left[0] + right[0];
    for (std::size_t c = 1; c < left.size(); ++c) together = std::min(together, left[c] + right[c]);
    losses.emplace_back(together - candidate_.regret(node.left) - candidate_.regret(node.right),
                        at);
  }
  return losses;
}

// Drops the cut of two leaves whose loss is small, and cuts the leaf that gains most.
bool Chain::move_leaf() {
  std::vector<std::pair<std::int64_t, std::int32_t>> losses = this->losses();
  if (losses.empty()) return false;
  std::sort(losses.begin(), losses.end());
  const double u = random_.uniform();  // squared: the smaller losses more often
  const auto at = static_cast<std::size_t>(u * u * static_cast<double>(losses.size()));
  const std::int32_t node = losses[at].second;
  const AnnealingTree::Change before = candidate_.begin_change(node);
  candidate_.collapse(node);
  candidate_.take_sums_above(node, tree_);
  candidate_.end_change(before, -1);
  candidate_.climb(candidate_.nodes()[node].parent, 2 * n_leaves_);
  candidate_.grow(n_leaves_, &tree_);
  return true;
}

// Gives a leaf to the cluster that is its second or third cheapest, and lets the cuts above it
// follow: rows of that cluster come, others go.
bool Chain::relabel_leaf(const Policy& policy) {
  std::vector<std::int32_t> leaves;
  const std::vector<Node>& nodes = candidate_.nodes();
  for (std::int32_t at = 0; at < static_cast<std::int32_t>(nodes.size()); ++at)
    if (nodes[at].rows && nodes[at].is_leaf() && nodes[at].parent >= 0) leaves.push_back(at);
  if (leaves.empty() || tree_.prices().k < 2) return false;
  const std::int32_t leaf = leaves[random_.below(static_cast<std::int64_t>(leaves.size()))];
  std::vector<std::pair<std::int64_t, std::int32_t>> order;
  for (std::int32_t c = 0; c < tree_.prices().k; ++c)
    if (c != nodes[leaf].label) order.emplace_back(nodes[leaf].totals[c], c);
  std::sort(order.begin(), order.end());
  const std::size_t at = order.size() > 1 && random_.uniform() < 0.3 ? 1 : 0;
  const std::int32_t parent = nodes[leaf].parent;
  candidate_.take_sums_above(leaf, tree_);
  candidate_.relabel(leaf, order[at].second);
  candidate_.climb(parent, policy.looks);
  candidate_.relabel_cheapest();
  candidate_.grow(n_leaves_, &tree_);
  return true;
}

// Moves a center into another cluster, which two centers then share: the tree follows.
bool Chain::dissolve(double most) {
  const Space& space = *problem_.space;
  const std::int64_t k = tree_.prices().k, m = space.dimension;
  if (k < 2) return false;
  const std::vector<double>& centers = tree_.prices().centers;
  const auto loss = [&](std::int64_t a) {
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t c = 0; c < k; ++c) {
      const double wa = sums_.weights[a], wc = sums_.weights[c];
      if (c == a || wa + wc <= 0.0) continue;
      least =
          std::min(least, wa * wc / (wa + wc) *
                              squared_distance(centers.data() + a * m, centers.data() + c * m, m));
    }
    return least;
  };
  const auto own_cost = [&](std::int64_t c) {
    if (sums_.weights[c] <= 0.0) return 0.0;
    double square = 0.0;
    for (std::int64_t j = 0; j < m; ++j) square += sums_.sums[c * m + j] * sums_.sums[c * m + j];
    return sums_.squares[c] - square / sums_.weights[c];
  };
  std::int64_t a = random_.below(k), b = random_.below(k);
  for (int i = 0; i < 2; ++i) {  // the better of three
    const std::int64_t other_a = random_.below(k), other_b = random_.below(k);
    if (loss(other_a) < loss(a)) a = other_a;
    if (own_cost(other_b) > own_cost(b)) b = other_b;
  }
  if (a == b) return false;
  Rows rows;
  for (const Row row : *rows_)
    if (tree_.labels()[row] == b) rows.push_back(row);
  if (rows.size() < 2) return false;
  std::vector<double> two(2 * m);
  for (int half = 0; half < 2; ++half) {
    const Row row = rows[random_.below(static_cast<std::int64_t>(rows.size()))];
    std::copy(space.row(row), space.row(row) + m, two.begin() + half * m);
  }
  for (int i = 0; i < kLloydRounds; ++i) {
    std::vector<double> sums(2 * m, 0.0);
    double weight[2] = {0.0, 0.0};
    for (const Row row : rows) {
      const double* x = space.row(row);
      const int half =
          squared_distance(x, two.data(), m) <= squared_distance(x, two.data() + m, m) ? 0 : 1;
      for (std::int64_t j = 0; j < m; ++j) sums[half * m + j] += space.weight(row) * x[j];
      weight[half] += space.weight(row);
    }
    if (weight[0] <= 0.0 || weight[1] <= 0.0) return false;
    for (std::int64_t j = 0; j < m; ++j) {
      two[j] = sums[j] / weight[0];
      two[m + j] = sums[m + j] / weight[1];
    }
  }
  // Without the tree: what the cluster that is left costs more, less what the halves save. The tree
  // can win back some of its own excess, but hardly more.
  double halves = 0.0;
  for (const Row row : rows)
    halves += space.weight(row) * std::min(squared_distance(space.row(row), two.data(), m),
                                           squared_distance(space.row(row), two.data() + m, m));
  steps_ += static_cast<std::int64_t>(rows.size()) * m * 3 * (kLloydRounds + 1);
  const double regret = static_cast<double>(tree_.cost()) * space.unit;
  if (loss(a) - (own_cost(b) - halves) > most + kMostDissolved * regret) return false;
  std::vector<double> moved = centers;
  std::copy(two.begin(), two.begin() + m, moved.begin() + a * m);
  std::copy(two.begin() + m, two.end(), moved.begin() + b * m);
  candidate_.reprice(tree_.prices().with(space, moved));
  ClusterSums sums;
  for (int i = 0; i < 2; ++i) {
    candidate_.reoptimize(0, 2 * n_leaves_);
    candidate_.grow(n_leaves_, &tree_);
    const double cost = cluster_cost(candidate_, sums) + cut_prices(candidate_);
    if (i == 0 && cost - cost_ > most + kMostDissolved * regret) return false;
    candidate_.reprice(
        candidate_.prices().with(space, sums.means(space, candidate_.prices().centers)));
  }
  steps_ += static_cast<std::int64_t>(rows_->size()) * m * 6;
  return true;
}

// The clusters all of whose leaves are below a node: their centers can move without other leaves.
std::vector<std::int32_t> Chain::own_labels(std::int32_t node) const {
  const std::vector<Node>& nodes = candidate_.nodes();
  std::vector<std::int32_t> balance(tree_.prices().k, 0), below(tree_.prices().k, 0);
  for (const Node& at : nodes)
    if (at.rows && at.is_leaf()) ++balance[at.label];
  std::vector<std::int32_t> open{node};
  while (!open.empty()) {
    const Node& at = nodes[open.back()];
    open.pop_back();
    if (at.is_leaf()) {
      ++below[at.label];
    } else {
      open.push_back(at.left);
      open.push_back(at.right);
    }
  }
  std::vector<std::int32_t> labels;
  for (std::int32_t c = 0; c < tree_.prices().k; ++c)
    if (below[c] > 0 && below[c] == balance[c]) labels.push_back(c);
  return labels;
}

// Vectors between centers, and between random rows: along these the clusters differ.
std::vector<double> Chain::directions(const std::vector<std::int32_t>& labels, const Rows& rows) {
  const Space& space = *problem_.space;
  const std::int64_t m = space.dimension;
  const std::vector<double>& centers = tree_.prices().centers;
  std::vector<double> found;
  const auto add = [&](const double* a, const double* b) {
    for (std::int64_t j = 0; j < m; ++j) found.push_back(a[j] - b[j]);
  };
  std::vector<std::int32_t> order = labels;
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random_.below(static_cast<std::int64_t>(i))]);
  const int n_centers =
      std::min<int>(ProjectedRows::kDirections - 2, static_cast<int>(order.size()) - 1);
  for (int i = 0; i < n_centers; ++i)
    add(centers.data() + order[i] * m, centers.data() + order[i + 1] * m);
  for (int i = n_centers; i < ProjectedRows::kDirections + 1; ++i) {
    const auto n = static_cast<std::int64_t>(rows.size());
    add(space.row(rows[random_.below(n)]), space.row(rows[random_.below(n)]));
  }
  return found;
}

// Removes a subtree, and grows another by the variance of its rows; its own clusters get the means
// of the new leaves as their centers.
bool Chain::regrow_with_centers(const Policy& policy, double temperature) {
  const Space& space = *problem_.space;
  const std::int64_t m = space.dimension;
  const std::int32_t node = pick_node(policy);
  if (node < 0) return false;
  const std::vector<std::int32_t> labels = own_labels(node);
  if (labels.size() < 2) return false;
  const std::int32_t before = candidate_.n_leaves();
  candidate_.collapse(node);
  const Rows& rows = *candidate_.nodes()[node].rows;
  const auto n = static_cast<std::int64_t>(rows.size());
  const std::int64_t most = 2 * policy.sampled_rows;
  const std::int64_t stride = std::max<std::int64_t>(1, (n + most - 1) / most);
  Rows sample;
  for (std::int64_t i = random_.below(stride); i < n; i += stride) sample.push_back(rows[i]);
  ProjectedRows projected(
      space, sample,
      m <= ProjectedRows::kDirections ? std::vector<double>() : directions(labels, rows));
  struct Open {
    std::int32_t leaf;
    std::vector<std::int32_t> members;
    ProjectedRows::Cut best;
  };
  std::vector<Open> open;
  const auto consider = [&](std::int32_t leaf, std::vector<std::int32_t> members) {
    const ProjectedRows::Cut best =
        projected.best_cut(*problem_.table, problem_.limits, space.unit,
                           static_cast<double>(stride), members, some_slots(policy, -1));
    open.push_back({leaf, std::move(members), best});
  };
  consider(node, projected.all());
  std::size_t n_leaves = 1;
  while (n_leaves < labels.size()) {
    const auto next = std::max_element(open.begin(), open.end(), [](const Open& a, const Open& b) {
      return a.best.gain < b.best.gain;
    });
    if (next->best.cut.slot < 0) break;
    const Open chosen = std::move(*next);
    open.erase(next);
    if (!candidate_.split(chosen.leaf, chosen.best.cut)) {
      open.push_back({chosen.leaf, chosen.members, {}});
      continue;
    }
    ++n_leaves;
    std::vector<std::int32_t> left, right;
    projected.part(*problem_.table, chosen.best.cut, chosen.members, left, right);
    const Node& at = candidate_.nodes()[chosen.leaf];
    const std::int32_t first = at.left, second = at.right;
    consider(first, std::move(left));
    consider(second, std::move(right));
  }
  steps_ += projected.steps();
  std::vector<std::int32_t> leaves;
  for (const Open& part : open) leaves.push_back(part.leaf);
  // Where other clusters have leaves here, those grow later.
  const double most_rise = candidate_.n_leaves() == before
                               ? policy.most_temperatures * temperature
                               : std::numeric_limits<double>::infinity();
  if (!take_means(leaves, labels, most_rise)) return false;
  const auto bound = [&] {  // the surrogate cost is never less than the cost about the means
    return (candidate_.prices().cheapest + static_cast<double>(candidate_.cost())) * space.unit;
  };
  if (bound() > cost_ + policy.most_temperatures * temperature) return false;
  if (candidate_.n_leaves() < before) grow_here(policy, node, before);
  candidate_.reoptimize(node, policy.looks);
  if (bound() > cost_ + policy.most_after * temperature) return false;
  candidate_.climb(node, policy.looks);
  candidate_.grow(n_leaves_, &tree_);
  return true;
}

// Gives the labels, all of whose leaves were here, to new leaves, with their means as centers.
// False where a leaf has no weight or the clusters cost so much more.
bool Chain::take_means(const std::vector<std::int32_t>& leaves,
                       const std::vector<std::int32_t>& labels, double most_rise) {
  const Space& space = *problem_.space;
  const std::int64_t m = space.dimension;
  // Each mean takes the place of the nearest center that is free.
  std::vector<double> centers = tree_.prices().centers;
  std::vector<std::int32_t> free = labels;
  double saved = 0.0;  // by the new leaves, of the sum of squares of the old
  for (const std::int32_t c : labels) {
    const double* sum = sums_.sums.data() + c * m;
    if (sums_.weights[c] <= 0.0) continue;
    double square = 0.0;
    for (std::int64_t j = 0; j < m; ++j) square += sum[j] * sum[j];
    saved -= square / sums_.weights[c];
  }
  for (const std::int32_t leaf : leaves) {
    const Rows& own = *candidate_.nodes()[leaf].rows;
    steps_ += static_cast<std::int64_t>(own.size()) * m;
    std::vector<double> mean(m, 0.0);
    double weight = 0.0;
    for (const Row row : own) {
      const double* x = space.row(row);
      const double w = space.weight(row);
      for (std::int64_t j = 0; j < m; ++j) mean[j] += w * x[j];
      weight += w;
    }
    if (weight <= 0.0) return false;
    double square = 0.0;
    for (double& value : mean) {
      square += value * value;
      value /= weight;
    }
    saved += square / weight;
    std::size_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < free.size(); ++i) {
      const double away =
          squared_distance(mean.data(), tree_.prices().centers.data() + free[i] * m, m);
      if (away < least) least = away, nearest = i;
    }
    std::copy(mean.begin(), mean.end(), centers.begin() + free[nearest] * m);
    free.erase(free.begin() + static_cast<std::ptrdiff_t>(nearest));
  }
  if (-saved > most_rise) return false;
  candidate_.reprice(tree_.prices().with(space, centers));
  steps_ += space.n * (m * static_cast<std::int64_t>(labels.size()) / 2 + tree_.prices().k);
  return true;
}

// ---- subtrees of other chains -------------------------------------------------------------------

Donor Chain::donor() const {
  Donor donor{best_.nodes, std::vector<std::int64_t>(best_.nodes.size(), 0),
              std::vector<std::int32_t>(problem_.table->n_rows, 0)};
  std::vector<BinSet> goes_left;
  for (const Shape::Part& part : donor.nodes)
    goes_left.push_back(part.left < 0 ? BinSet() : problem_.table->left_of(part.cut));
  for (const Row row : *rows_) {
    std::int32_t at = 0;
    while (donor.nodes[at].left >= 0) {
      const Shape::Part& part = donor.nodes[at];
      at = goes_left[at].has(problem_.table->row(row)[part.cut.slot]) ? part.left : part.right;
    }
    ++donor.n_rows[at];
    donor.leaf[row] = at;
  }
  for (std::size_t at = donor.nodes.size(); at-- > 0;)
    if (donor.nodes[at].left >= 0)
      donor.n_rows[at] = donor.n_rows[donor.nodes[at].left] + donor.n_rows[donor.nodes[at].right];
  return donor;
}

// The node of another tree whose rows are most like those of a node: most in common, of those that
// either has.
std::int32_t Chain::like(std::int32_t node, const Donor& donor) const {
  std::vector<std::int64_t> common(donor.nodes.size(), 0);
  const Rows& rows = *candidate_.nodes()[node].rows;
  for (const Row row : rows) ++common[donor.leaf[row]];
  std::int32_t best = 0;
  double most = -1.0;
  for (std::size_t at = donor.nodes.size(); at-- > 0;) {
    const Shape::Part& part = donor.nodes[at];
    if (part.left >= 0) common[at] = common[part.left] + common[part.right];
    const double all =
        static_cast<double>(donor.n_rows[at] + static_cast<std::int64_t>(rows.size()) - common[at]);
    const double share = static_cast<double>(common[at]) / all;
    if (share >= most) most = share, best = static_cast<std::int32_t>(at);
  }
  return best;
}

// Cuts a leaf as another tree is cut below a node; returns the new leaves.
std::vector<std::int32_t> Chain::copy_cuts(std::int32_t node, const Donor& donor,
                                           std::int32_t from) {
  std::vector<std::pair<std::int32_t, std::int32_t>> open{{node, from}};
  std::vector<std::int32_t> leaves;
  while (!open.empty()) {
    const auto [here, there] = open.back();
    open.pop_back();
    const Shape::Part& part = donor.nodes[there];
    if (part.left < 0) {
      leaves.push_back(here);
    } else if (candidate_.split(here, part.cut)) {
      const Node& at = candidate_.nodes()[here];
      open.emplace_back(at.right, part.right);
      open.emplace_back(at.left, part.left);
    } else {  // most often all rows are on one side
      const BinSet goes_left = problem_.table->left_of(part.cut);
      const Row first = candidate_.nodes()[here].rows->front();
      const bool is_left = goes_left.has(problem_.table->row(first)[part.cut.slot]);
      open.emplace_back(here, is_left ? part.left : part.right);
    }
  }
  return leaves;
}

// Drops the cuts of two leaves that save least until the tree has no more leaves than it may.
void Chain::prune() {
  while (candidate_.n_leaves() > n_leaves_) {
    const auto losses = this->losses();
    const std::int32_t node = std::min_element(losses.begin(), losses.end())->second;
    const AnnealingTree::Change before = candidate_.begin_change(node);
    candidate_.collapse(node);
    candidate_.end_change(before, -1);
  }
}

// Takes the place of a subtree by that of another tree which has most rows in common with it.
bool Chain::graft(const Policy& policy, double temperature, std::int64_t limit,
                  std::int64_t limit_after) {
  if (donors_.empty()) return false;
  const Donor& donor = *donors_[random_.below(static_cast<std::int64_t>(donors_.size()))];
  std::int32_t node = pick_node(policy);
  if (node < 0) return false;
  const double side = random_.uniform();  // half of the time a child, which may be a leaf
  if (side < 0.5) {
    const Node& at = candidate_.nodes()[node];
    node = side < 0.25 ? at.left : at.right;
  }
  const std::int32_t from = like(node, donor);
  const std::vector<std::int32_t> labels = own_labels(node);
  const std::size_t n_before = candidate_.leaves_below(node).size();
  const AnnealingTree::Change before = candidate_.begin_change(node);
  candidate_.collapse(node);
  const std::vector<std::int32_t> leaves = copy_cuts(node, donor, from);
  steps_ += static_cast<std::int64_t>(before.labels.size());
  if (candidate_.cost() == tree_.cost() && candidate_.n_leaves() == tree_.n_leaves()) return false;
  if (labels.size() == n_before && leaves.size() == n_before) {
    if (!take_means(leaves, labels, policy.most_temperatures * temperature)) return false;
    candidate_.reoptimize(node, policy.looks);
    candidate_.climb(node, policy.looks);
    candidate_.grow(n_leaves_, &tree_);
    return true;
  }
  if (candidate_.cost() > limit) return false;
  candidate_.reoptimize(node, policy.looks);
  if (candidate_.cost() > limit_after) return false;
  candidate_.take_sums_above(node, tree_);
  candidate_.end_change(before, -1);
  prune();
  candidate_.climb(node, policy.looks);
  candidate_.grow(n_leaves_, &tree_);
  return true;
}

}  // namespace treemeans::annealing
