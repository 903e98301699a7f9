#include "kauri.hpp"

#include <algorithm>
#include <numeric>

#include "parallel.hpp"
#include "simd.hpp"

namespace treemeans {
namespace {

constexpr double kRelativeSlack = 1e-12;
constexpr std::int64_t kRemoveCost = 4;  // of taking a vector off a walk, to that of adding it
constexpr std::int64_t kDots = 2;        // where in a line the products with clusters begin

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// values[begin + i] = what values[order[i]] was.
template <class T>
void reorder(std::vector<T>& values, std::int64_t begin, const std::vector<std::int64_t>& order) {
  std::vector<T> moved;
  moved.reserve(order.size());
  for (std::int64_t e : order) moved.push_back(values[e]);
  std::copy(moved.begin(), moved.end(), values.begin() + begin);
}

TM_CLONES void add_line(const double* TM_RESTRICT line, std::int64_t n, double* TM_RESTRICT sums) {
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) sums[j] += line[j];
}

}  // namespace

// A feature's vectors by value. Those with its usual value, if more than half have one, are left
// out: their sum is the leaf's less the rest. The entries of a leaf lie together.
struct Kauri::Column {
  std::vector<Position> at;
  std::vector<double> value;
  std::vector<double> length;  // squared, of the sum of the walk up to here, where it may be cut
  bool has_usual = false;
  double usual = 0.0;

  Column() = default;
  explicit Column(const std::vector<double>& values) {
    const std::size_t n = values.size();
    std::vector<double> copy = values;
    std::nth_element(copy.begin(), copy.begin() + n / 2, copy.end());
    usual = copy[n / 2];  // if any value has more than half, this one has
    has_usual = 2 * std::count(values.begin(), values.end(), usual) > std::ptrdiff_t(n);
    for (std::size_t i = 0; i < n; ++i)
      if (!has_usual || values[i] != usual) at.push_back(static_cast<Position>(i));
    std::sort(at.begin(), at.end(), [&](Position a, Position b) {
      return values[a] != values[b] ? values[a] < values[b] : a < b;
    });
    for (Position i : at) value.push_back(values[i]);
    length.resize(at.size());
  }

  // Entries [begin, end) of vectors that go left come first; returns where the others begin.
  std::int64_t divide(std::int64_t begin, std::int64_t end,
                      const std::vector<std::uint8_t>& goes_left) {
    std::vector<std::int64_t> order(end - begin);
    std::iota(order.begin(), order.end(), begin);
    const auto first_right = std::stable_partition(
        order.begin(), order.end(), [&](std::int64_t e) { return goes_left[at[e]] != 0; });
    reorder(at, begin, order);
    reorder(value, begin, order);
    reorder(length, begin, order);
    return begin + (first_right - order.begin());
  }
};

struct Kauri::Leaf {
  std::int32_t node, cluster, depth;
  std::vector<Position> at;         // ascending
  std::vector<std::int64_t> begin;  // of its entries in each column
  std::vector<std::int64_t> end;
  std::vector<double> sum;
  double length, weight, squares;
  std::int64_t units, work;
  bool whole = false;                  // it is all of its cluster
  std::vector<double> dots;            // its sum times each cluster's
  std::vector<std::uint8_t> measured;  // whether a column's lengths are known
  bool prepared = false;               // all are, and with them `apart`:
  std::vector<double> apart;           // the most that its sides are worth alone, in each column,
  double most_apart = 0.0;             // and in any
  std::vector<double> gain;            // of this step, in each column
  double bound = 0.0;                  // no gain of this step is larger

  // Where entries with a value above the usual one begin, if the leaf has the usual one.
  std::int64_t middle(const Column& column, std::size_t c) const {
    if (!has_usual(c)) return end[c];
    return std::upper_bound(column.value.begin() + begin[c], column.value.begin() + end[c],
                            column.usual) -
           column.value.begin();
  }
  bool has_usual(std::size_t c) const {
    return end[c] - begin[c] < static_cast<std::int64_t>(at.size());
  }
};

// A place where a column may be cut: the side that was walked, and the values next to the cut.
struct Kauri::Spot {
  std::int64_t entry;
  bool walked_left;
  double low, high;
  const double* line;  // sum of the walked side's lines
};

Kauri::Kauri(const Points& table, const Points& space, const KauriRows& rows, KauriRules rules,
             int n_threads)
    : rules_(std::move(rules)),
      n_threads_(n_threads),
      vectors_(weighted_vectors(space, rows.rows, rows.n, rows.weights, squares_, n_threads)),
      width_(kDots + rules_.max_clusters),
      lines_(rows.n * width_, 0.0) {
  for (std::int64_t i = 0; i < rows.n; ++i) {
    weights_.push_back(rows.weights ? rows.weights[rows.rows[i]] : 1.0);
    units_.push_back(rules_.limits.weight(rows.rows[i]));
    lines_[i * width_ + 1] = weights_.back();
  }
  for (double& price : rules_.prices) price = price * vectors_->unit * vectors_->unit;
  slack_ = kRelativeSlack * std::accumulate(squares_.begin(), squares_.end(), 0.0);
  clusters_.max_clusters = rules_.max_clusters;
  std::vector<Position> all(rows.n);
  std::iota(all.begin(), all.end(), 0);
  columns_.resize(rules_.features.size());
  const auto n_columns = static_cast<std::int64_t>(columns_.size());
  parallel_for(n_columns, 1, threads_for_many(rows.n * n_columns, n_threads), [&](std::int64_t c) {
    std::vector<double> values(rows.n);
    table.column(rules_.features[c], rows.rows, rows.n, values.data());
    columns_[c] = Column(values);
  });
  work_.assign(rows.n, 0);
  for (const Column& column : columns_)
    for (Position i : column.at) work_[i] += vectors_->n_values(i);
  add_leaf(std::move(all), 0, 0);
  for (const Column& column : columns_) {
    leaves_[0]->begin.push_back(0);
    leaves_[0]->end.push_back(static_cast<std::int64_t>(column.at.size()));
  }
  update_clusters();
}

Kauri::~Kauri() = default;

void Kauri::add_leaf(std::vector<Position> at, std::int32_t cluster, std::int32_t depth) {
  auto leaf = std::make_unique<Leaf>();
  leaf->node = n_nodes_++;
  leaf->cluster = cluster;
  leaf->depth = depth;
  leaf->sum.resize(vectors_->dimension);
  vectors_->sum(at.data(), static_cast<std::int64_t>(at.size()), leaf->sum.data());
  leaf->length = dot(leaf->sum, leaf->sum);
  leaf->weight = leaf->squares = 0.0;
  leaf->units = leaf->work = 0;
  leaf->measured.assign(columns_.size(), 0);
  for (Position i : at) {
    leaf->weight += weights_[i];
    leaf->squares += squares_[i];
    leaf->units += units_[i];
    leaf->work += work_[i];
  }
  leaf->at = std::move(at);
  leaves_.push_back(std::move(leaf));
}

// Sums of leaves, so that no error builds up. Only clusters that changed are multiplied anew.
void Kauri::update_clusters() {
  std::int32_t count = 0;
  for (const auto& leaf : leaves_) count = std::max(count, leaf->cluster + 1);
  std::vector<std::vector<double>> sums(count, std::vector<double>(vectors_->dimension, 0.0));
  std::vector<std::int32_t> n_leaves(count, 0);
  clusters_.weight.assign(count, 0.0);
  for (const auto& leaf : leaves_) {
    const std::int32_t q = leaf->cluster;
    for (std::int32_t j = 0; j < vectors_->dimension; ++j) sums[q][j] += leaf->sum[j];
    clusters_.weight[q] += leaf->weight;
    ++n_leaves[q];
  }
  clusters_.length.resize(count);
  clusters_.worth.resize(count);
  for (std::int32_t q = 0; q < count; ++q) {
    clusters_.length[q] = dot(sums[q], sums[q]);
    clusters_.worth[q] = clusters_.length[q] / clusters_.weight[q];
    if (q >= std::int32_t(sums_.size()) || sums[q] != sums_[q])
      vectors_->dots(sums[q].data(), lines_.data() + kDots + q, width_, n_threads_);
  }
  sums_ = std::move(sums);
  for (const auto& leaf : leaves_) leaf->whole = n_leaves[leaf->cluster] == 1;
}

bool Kauri::may_cut(const Leaf& leaf) const {
  if (!rules_.limits.permits_depth(leaf.depth)) return false;
  return leaf.at.size() > 1 && rules_.limits.permits_cut(leaf.units);
}

LeafSum Kauri::sum_of(const Leaf& leaf) const {
  return {leaf.cluster, leaf.weight, leaf.length, leaf.whole, leaf.dots.data()};
}

// Calls visit(spot) wherever the leaf may be cut: from the least value up to the usual one, then
// from the greatest down to it.
template <class Visit>
void Kauri::walk(const Leaf& leaf, std::size_t c, Visit visit) const {
  const Column& column = columns_[c];
  const std::int64_t middle = leaf.middle(column, c);
  const std::int64_t width = kDots + clusters_.count();
  const bool has_usual = leaf.has_usual(c);
  std::vector<double> line(width);
  std::int64_t units = 0;
  const auto pass = [&](std::int64_t e, std::int64_t next, bool last, bool up) {
    const Position i = column.at[e];
    add_line(lines_.data() + i * width_, width, line.data());
    units += units_[i];
    if (last && !has_usual) return;
    const double beyond = last ? column.usual : column.value[next];
    if (beyond == column.value[e] || !rules_.limits.permits(units, leaf.units - units)) return;
    // The other side's weight is a difference, in which a light side can vanish.
    if (!(line[1] > 0.0 && leaf.weight - line[1] > 0.0)) return;
    if (up) {
      visit(Spot{e, true, column.value[e], beyond, line.data()});
    } else {
      visit(Spot{e, false, beyond, column.value[e], line.data()});
    }
  };
  for (std::int64_t e = leaf.begin[c]; e < middle; ++e) pass(e, e + 1, e + 1 == middle, true);
  std::fill(line.begin(), line.end(), 0.0);
  units = 0;
  for (std::int64_t e = leaf.end[c] - 1; e >= middle; --e) pass(e, e - 1, e == middle, false);
}

// What does not depend on the clusters: the lengths of all sums that a walk passes.
void Kauri::prepare(Leaf& leaf) {
  leaf.apart.assign(columns_.size(), kNever);
  std::vector<double> products(vectors_->n);
  vectors_->dots(leaf.sum.data(), products.data(), 1, n_threads_);
  for (Position i : leaf.at) lines_[i * width_] = products[i];
  parallel_for(
      static_cast<std::int64_t>(columns_.size()), 1, threads_for_many(leaf.work, n_threads_),
      [] { return std::vector<double>(); },
      [&](std::vector<double>& scratch, std::int64_t c) { prepare_column(leaf, c, scratch); },
      [](std::vector<double>&) {});
  leaf.most_apart = kNever;
  for (std::size_t c = 0; c < columns_.size(); ++c)
    leaf.most_apart = std::max(leaf.most_apart, leaf.apart[c] - rules_.prices[c]);
  leaf.prepared = true;
}

void Kauri::prepare_column(Leaf& leaf, std::size_t c, std::vector<double>& scratch) {
  if (!leaf.measured[c]) measure(leaf, c, scratch);
  const std::vector<double>& length = columns_[c].length;
  walk(leaf, c, [&](const Spot& spot) {
    const double a = length[spot.entry], b = leaf.length - 2.0 * spot.line[0] + a;
    const double apart = a / spot.line[1] + b / (leaf.weight - spot.line[1]);
    leaf.apart[c] = std::max(leaf.apart[c], apart);
  });
}

void Kauri::measure(Leaf& leaf, std::size_t c, std::vector<double>& scratch) {
  Column& column = columns_[c];
  const std::int64_t begin = leaf.begin[c], end = leaf.end[c], middle = leaf.middle(column, c);
  std::vector<std::uint8_t> wanted(end - begin, 0);
  walk(leaf, c, [&](const Spot& spot) { wanted[spot.entry - begin] = 1; });
  vectors_->path_lengths(column.at.data() + begin, middle - begin, wanted.data(),
                         column.length.data() + begin, scratch);
  std::vector<Position> down(column.at.begin() + middle, column.at.begin() + end);
  std::reverse(down.begin(), down.end());
  std::reverse(wanted.begin() + (middle - begin), wanted.end());
  vectors_->path_lengths(down.data(), end - middle, wanted.data() + (middle - begin),
                         column.length.data() + middle, scratch);
  std::reverse(column.length.begin() + middle, column.length.begin() + end);
  leaf.measured[c] = 1;
}

// The largest gain less price in a column, or anything below `floor` if it is smaller than that.
double Kauri::search_column(const Leaf& leaf, std::size_t c, double floor) const {
  const Column& column = columns_[c];
  const LeafSum sum = sum_of(leaf);
  const double price = rules_.prices[c], leaf_leaves = sum.leave(clusters_);
  std::vector<double> rest(clusters_.count());
  double best = kNever;
  walk(leaf, c, [&](const Spot& spot) {
    const Side a{spot.line[1], column.length[spot.entry], spot.line + kDots};
    const Side b{leaf.weight - a.weight, leaf.length - 2.0 * spot.line[0] + a.length, rest.data()};
    // As clusters of their own the sides are worth more than with any other rows.
    if (a.alone() + b.alone() + leaf_leaves - price < std::max(floor, best)) return;
    for (std::size_t q = 0; q < rest.size(); ++q) rest[q] = leaf.dots[q] - a.dots[q];
    best = std::max(best, best_gain(clusters_, sum, leaf_leaves, a, b) - price);
  });
  return best;
}

// The most promising column first, alone: what it gains spares most others the search. Which ones
// are spared does not depend on the threads.
void Kauri::search(Leaf& leaf, double& floor) {
  if (!leaf.prepared) prepare(leaf);
  for (std::int32_t q = 0; q < clusters_.count(); ++q)
    leaf.dots[q] = q == leaf.cluster ? leaf.dots[q] : dot(leaf.sum, sums_[q]);
  const double leaf_leaves = sum_of(leaf).leave(clusters_);
  const auto bound = [&](std::size_t c) { return leaf.apart[c] + leaf_leaves - rules_.prices[c]; };
  leaf.gain.assign(columns_.size(), kNever);
  std::size_t likely = 0;
  for (std::size_t c = 1; c < columns_.size(); ++c)
    if (bound(c) > bound(likely)) likely = c;
  if (bound(likely) < floor - 2.0 * slack_) return;
  leaf.gain[likely] = search_column(leaf, likely, floor - 2.0 * slack_);
  floor = std::max(floor, leaf.gain[likely]);
  const double enough = floor - 2.0 * slack_;
  std::vector<std::size_t> others;
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (c != likely && bound(c) >= enough) others.push_back(c);
  const std::int64_t steps = std::int64_t(leaf.at.size()) * std::int64_t(others.size()) * width_;
  parallel_for(
      static_cast<std::int64_t>(others.size()), 1, threads_for_many(steps, n_threads_),
      [&](std::int64_t o) { leaf.gain[others[o]] = search_column(leaf, others[o], enough); });
  for (const double gain : leaf.gain) floor = std::max(floor, gain);
}

std::optional<KauriCut> Kauri::step() {
  std::vector<Leaf*> open;
  for (const auto& leaf : leaves_) {
    leaf->gain.clear();
    if (columns_.empty() || !may_cut(*leaf)) continue;
    leaf->dots.resize(clusters_.count());
    leaf->dots[leaf->cluster] = dot(leaf->sum, sums_[leaf->cluster]);
    leaf->bound =
        sum_of(*leaf).leave(clusters_) + (leaf->prepared ? leaf->most_apart : leaf->squares);
    open.push_back(leaf.get());
  }
  std::stable_sort(open.begin(), open.end(), [](Leaf* a, Leaf* b) { return a->bound > b->bound; });
  double best = slack_;
  for (Leaf* leaf : open)
    if (leaf->bound >= best - 2.0 * slack_) search(*leaf, best);
  if (!(best > slack_)) return std::nullopt;
  for (const auto& leaf : leaves_) {
    for (std::size_t c = 0; c < leaf->gain.size(); ++c) {
      if (leaf->gain[c] < best - slack_) continue;
      std::optional<KauriCut> cut = first_cut(*leaf, c, best - slack_);
      if (!cut) continue;  // rounding hid the move from its own list
      carry_out(*cut, c);
      cut->gain = cut->gain / vectors_->unit / vectors_->unit;
      return cut;
    }
  }
  return std::nullopt;
}

std::optional<KauriCut> Kauri::first_cut(const Leaf& leaf, std::size_t c, double at_least) const {
  const Column& column = columns_[c];
  const LeafSum sum = sum_of(leaf);
  std::vector<double> rest(clusters_.count());
  std::optional<KauriCut> first;
  walk(leaf, c, [&](const Spot& spot) {
    if (first && first->low < spot.low) return;
    const Side a{spot.line[1], column.length[spot.entry], spot.line + kDots};
    const Side b{leaf.weight - a.weight, leaf.length - 2.0 * spot.line[0] + a.length, rest.data()};
    for (std::size_t q = 0; q < rest.size(); ++q) rest[q] = leaf.dots[q] - a.dots[q];
    const double price = rules_.prices[c];
    const double gain = best_gain(clusters_, sum, sum.leave(clusters_), a, b);
    if (gain - price < at_least) return;
    // Rounding may hide the best move from its own list of moves; half of the slack does not.
    const Side &left = spot.walked_left ? a : b, &right = spot.walked_left ? b : a;
    const auto to =
        first_move(clusters_, sum, left, right, std::min(gain, at_least + price) - slack_ / 2.0);
    if (to) first = KauriCut{leaf.node, rules_.features[c], spot.low, spot.high, *to, gain};
  });
  return first;
}

// Takes the vectors that leave a measured leaf off its walks, one after the other:
// |s - x|^2 = |s|^2 - 2 s.x + |x|^2, for every sum s that held x.
void Kauri::remove_from_walks(const Leaf& leaf, const std::vector<Position>& leaving) {
  std::vector<double> vector(vectors_->dimension), products(vectors_->n);
  for (std::size_t gone = 0; gone < leaving.size(); ++gone) {
    const Position x = leaving[gone];
    vectors_->sum(&x, 1, vector.data());
    vectors_->dots(vector.data(), products.data(), 1, n_threads_);
    for (std::size_t before = 0; before < gone; ++before) products[leaving[before]] = 0.0;
    const std::int64_t each = leaf.work / static_cast<std::int64_t>(leaf.at.size());
    parallel_for(static_cast<std::int64_t>(columns_.size()), 16, threads_for_many(each, n_threads_),
                 [&](std::int64_t c) { remove_from_walk(leaf, c, x, products); });
  }
}

void Kauri::remove_from_walk(const Leaf& leaf, std::size_t c, Position x,
                             const std::vector<double>& products) {
  Column& column = columns_[c];
  const std::int64_t begin = leaf.begin[c], end = leaf.end[c], middle = leaf.middle(column, c);
  const std::int64_t place =
      std::find(column.at.begin() + begin, column.at.begin() + end, x) - column.at.begin();
  if (place == end) return;
  double product = 0.0;
  if (place < middle) {
    for (std::int64_t e = begin; e < middle; ++e) {
      product += products[column.at[e]];
      if (e >= place) column.length[e] -= 2.0 * product - products[x];
    }
  } else {
    for (std::int64_t e = end - 1; e >= middle; --e) {
      product += products[column.at[e]];
      if (e <= place) column.length[e] -= 2.0 * product - products[x];
    }
  }
}

// The length that belongs to the last of equal values is given to all: any may soon be the last.
void Kauri::share_lengths(const Leaf& leaf, std::size_t c) {
  Column& column = columns_[c];
  const std::int64_t middle = leaf.middle(column, c);
  for (std::int64_t e = middle - 2; e >= leaf.begin[c]; --e)
    if (column.value[e] == column.value[e + 1]) column.length[e] = column.length[e + 1];
  for (std::int64_t e = middle + 1; e < leaf.end[c]; ++e)
    if (column.value[e] == column.value[e - 1]) column.length[e] = column.length[e - 1];
}

void Kauri::carry_out(const KauriCut& cut, std::size_t cut_column) {
  const auto place = std::find_if(leaves_.begin(), leaves_.end(),
                                  [&](const auto& leaf) { return leaf->node == cut.node; });
  const std::unique_ptr<Leaf> parent = std::move(*place);
  leaves_.erase(place);
  const Column& column = columns_[cut_column];
  const ThresholdSplit split{cut.low};
  std::vector<std::uint8_t> goes_left(vectors_->n, split.goes_left(column.usual));
  for (std::int64_t e = parent->begin[cut_column]; e < parent->end[cut_column]; ++e)
    goes_left[column.at[e]] = split.goes_left(column.value[e]);
  std::vector<Position> left, right;
  for (Position i : parent->at) (goes_left[i] ? left : right).push_back(i);
  add_leaf(std::move(left), cut.clusters.left, parent->depth + 1);
  add_leaf(std::move(right), cut.clusters.right, parent->depth + 1);
  Leaf &a = *leaves_[leaves_.size() - 2], &b = *leaves_.back();
  Leaf &small = a.at.size() < b.at.size() ? a : b, &large = &small == &a ? b : a;
  const std::int64_t each = vectors_->n_values() + large.work / std::int64_t(large.at.size());
  const bool few = kRemoveCost * std::int64_t(small.at.size()) * each < large.work;
  if (few) remove_from_walks(*parent, small.at);
  a.begin = parent->begin;
  b.end = parent->end;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (few) share_lengths(*parent, c);
    b.begin.push_back(columns_[c].divide(parent->begin[c], parent->end[c], goes_left));
    a.end.push_back(b.begin.back());
  }
  for (std::size_t c = 0; c < columns_.size(); ++c)
    large.measured[c] = few && large.has_usual(c) == parent->has_usual(c);
  update_clusters();
}

}  // namespace treemeans
