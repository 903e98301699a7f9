#include "mistakes.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "simd.hpp"

namespace treemeans {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

using Place = MistakeCounts::Place;
using Suspect = MistakeCounts::Suspect;

// The threshold moves up one feature; points and centers pass to its left. Centers are the node's,
// ascending on the feature.
class Sweep {
 public:
  Sweep(const std::vector<std::int64_t>& totals, const std::vector<std::int32_t>& members)
      : totals_(totals), members_(members), order_(members), left_(members.size()), at_(members.size()) {}

  void start(std::int32_t feature, const double* centers, std::int64_t n_features) {
    feature_ = feature;
    order_ = members_;
    const auto value = [&](std::int32_t c) { return centers[c * n_features + feature]; };
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::int32_t a, std::int32_t b) { return value(a) < value(b); });
    for (std::size_t j = 0; j < order_.size(); ++j) at_[j] = value(order_[j]);
    std::fill(left_.begin(), left_.end(), 0);
    passed_ = 0;
    mistakes_ = 0;
  }

  bool separable() const { return at_.front() < at_.back(); }
  std::size_t size() const { return order_.size(); }
  std::int32_t center(std::size_t j) const { return order_[j]; }
  bool next_center_below(double value) const { return passed_ < size() && at_[passed_] < value; }
  bool next_center_upto(double value) const { return passed_ < size() && at_[passed_] <= value; }
  double next_center() const { return at_[passed_]; }
  bool splits_centers() const { return passed_ > 0 && passed_ < size(); }

  // `weight` of points of the j-th center passes.
  void pass_points(std::size_t j, std::int64_t weight) {
    left_[j] += weight;
    mistakes_ += j < passed_ ? -weight : weight;
  }

  // Its points on the left are no mistakes now; those on the right are.
  void pass_center() {
    const std::int64_t total = totals_[order_[passed_]];
    mistakes_ += total - 2 * left_[passed_];
    ++passed_;
  }

  // After everything at value `at` has passed.
  void offer(double at, Place& best) const {
    if (!splits_centers()) return;
    const Place place{mistakes_, feature_, at};
    if (place < best) best = place;
  }

  // No threshold below `value` and from here on, by which `weights` (of each center) will have
  // passed, makes fewer mistakes.
  std::int64_t bound(const std::int64_t* weights, double value) const {
    std::int64_t sum = 0;
    for (std::size_t j = 0; j < size(); ++j) {
      const std::int64_t if_left = totals_[order_[j]] - left_[j] - weights[order_[j]];
      const std::int64_t if_right = left_[j];
      if (j < passed_) {
        sum += if_left;
      } else {
        sum += at_[j] < value ? std::min(if_left, if_right) : if_right;
      }
    }
    return sum;
  }

  // Some threshold below `value` and from here on leaves centers on both sides.
  bool can_split_below(double value) const {
    return passed_ < size() && (passed_ > 0 || at_[0] < value);
  }

 private:
  const std::vector<std::int64_t>& totals_;
  const std::vector<std::int32_t>& members_;
  std::vector<std::int32_t> order_;
  std::vector<std::int64_t> left_;
  std::vector<double> at_;
  std::int32_t feature_ = 0;
  std::size_t passed_ = 0;
  std::int64_t mistakes_ = 0;
};

struct Findings {
  Place best;
  std::vector<Suspect> suspects;
};

void pass_centers_below(double value, Sweep& sweep, Place& best) {
  while (sweep.next_center_below(value)) {
    const double at = sweep.next_center();
    while (sweep.next_center_upto(at)) sweep.pass_center();
    sweep.offer(at, best);
  }
}

// The centers before a bin pass, then what is in it.
void pass_bin(const Bins& bins, std::int64_t b, const std::int64_t* weights, Sweep& sweep, Place& best) {
  pass_centers_below(bins.low[b], sweep, best);
  for (std::size_t j = 0; j < sweep.size(); ++j) sweep.pass_points(j, weights[sweep.center(j)]);
  while (sweep.next_center_upto(bins.high[b])) sweep.pass_center();
  sweep.offer(bins.high[b], best);
}

bool occurs(const Bins& bins, std::int64_t b) { return bins.low[b] <= bins.high[b]; }

void scan_slot(const Bins& bins, std::int32_t slot, const std::int64_t* counts, std::int64_t k,
               Sweep& sweep, Findings& found) {
  for (std::int64_t b = bins.first[slot]; b < bins.first[slot + 1]; ++b) {
    if (!occurs(bins, b)) continue;
    const std::int64_t* weights = counts + b * k;
    if (bins.wide(b)) {
      pass_centers_below(bins.low[b], sweep, found.best);
      const std::int64_t bound = sweep.bound(weights, bins.high[b]);
      if (sweep.can_split_below(bins.high[b]) && bound <= found.best.mistakes)
        found.suspects.push_back({bound, bins.feature[slot], slot, b, bins.low[b]});
    }
    pass_bin(bins, b, weights, sweep, found.best);
  }
  pass_centers_below(std::numeric_limits<double>::infinity(), sweep, found.best);
}

// The living rows of a node with their values on one feature.
struct Point {
  double value;
  std::int32_t center;
  std::int64_t weight;
};

// Every distinct value inside a wide bin, from a sweep that stands before it.
void scan_points(std::vector<Point>& points, double high, std::int64_t k, Sweep& sweep, Place& best) {
  std::sort(points.begin(), points.end(),
            [](const Point& a, const Point& b) { return a.value < b.value; });
  std::vector<std::size_t> place(k, 0);
  for (std::size_t j = 0; j < sweep.size(); ++j) place[sweep.center(j)] = j;
  for (std::size_t i = 0; i < points.size();) {
    const double value = points[i].value;
    pass_centers_below(value, sweep, best);
    for (; i < points.size() && points[i].value == value; ++i)
      sweep.pass_points(place[points[i].center], points[i].weight);
    while (sweep.next_center_upto(value)) sweep.pass_center();
    sweep.offer(value, best);
  }
  pass_centers_below(high, sweep, best);
}

}  // namespace

MistakeCounts::MistakeCounts(const Bins& bins, std::int64_t k, const Membership& rows, int n_threads)
    : bins_(bins), k_(k), counts_(bins.n_bins() * k, 0), totals_(k, 0) {
  std::vector<Row> all(bins.n_rows);
  for (std::int64_t r = 0; r < bins.n_rows; ++r) all[r] = static_cast<Row>(r);
  add(all.data(), bins.n_rows, rows, 1, n_threads);
}

void MistakeCounts::bury(const Row* rows, std::int64_t n, const Membership& membership,
                         const std::uint8_t* here, int n_threads) {
  std::vector<Row> dead;
  for (std::int64_t i = 0; i < n; ++i) {
    const Row row = rows[i];
    if (!membership.alive[row] || here[membership.nearest[row]]) continue;
    membership.alive[row] = 0;
    dead.push_back(row);
  }
  if (!dead.empty()) add(dead.data(), static_cast<std::int64_t>(dead.size()), membership, -1, n_threads);
}

void MistakeCounts::add(const Row* rows, std::int64_t n, const Membership& membership,
                        std::int64_t sign, int n_threads) {
  std::vector<std::int64_t> weights(n);
  std::vector<std::int32_t> nearest(n);
  std::vector<std::int64_t> totals(k_, 0);
  for (std::int64_t i = 0; i < n; ++i) {
    weights[i] = sign * (membership.weights ? membership.weights[rows[i]] : 1);
    nearest[i] = membership.nearest[rows[i]];
    totals[nearest[i]] += weights[i];
  }
  for (std::int64_t c = 0; c < k_; ++c) totals_[c] += totals[c];
#pragma omp parallel for schedule(dynamic, 4) num_threads(n_threads)
  for (std::int32_t slot = 0; slot < bins_.n_dense; ++slot) {
    const std::uint8_t* codes = bins_.codes[slot].get();
    std::int64_t* counts = counts_.data() + bins_.first[slot] * k_;
    for (std::int64_t i = 0; i < n; ++i) counts[codes[rows[i]] * k_ + nearest[i]] += weights[i];
  }
  if (bins_.n_slots() == bins_.n_dense) return;
  std::int64_t* counts = counts_.data() + bins_.sparse_begin() * k_;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t e = bins_.indptr[rows[i]]; e < bins_.indptr[rows[i] + 1]; ++e)
      counts[bins_.entries[e] * k_ + nearest[i]] += weights[i];
  // Rows without an entry: the total less the rest.
  for (std::int32_t slot = bins_.n_dense; slot < bins_.n_slots(); ++slot) {
    const std::int64_t first = bins_.first[slot];
    const std::int64_t missing = first + bins_.default_bin[slot - bins_.n_dense];
    std::int64_t* at = counts_.data() + missing * k_;
    std::copy(totals_.begin(), totals_.end(), at);
    for (std::int64_t b = first; b < bins_.first[slot + 1]; ++b)
      for (std::int64_t c = 0; b != missing && c < k_; ++c) at[c] -= counts_[b * k_ + c];
  }
}

void MistakeCounts::refine(const Points& points, const Node& node, const Suspect& suspect,
                           Place& best) const {
  std::vector<double> values(node.n);
  points.column(suspect.feature, node.rows, node.n, values.data());
  std::vector<Point> inside;
  for (std::int64_t i = 0; i < node.n; ++i) {
    const Row row = node.rows[i];
    if (!node.membership.alive[row]) continue;
    if (values[i] < bins_.low[suspect.bin] || values[i] > bins_.high[suspect.bin]) continue;
    inside.push_back({values[i], node.membership.nearest[row],
                      node.membership.weights ? node.membership.weights[row] : 1});
  }
  Sweep sweep(totals_, node.members);
  sweep.start(suspect.feature, node.centers, bins_.n_features);
  for (std::int64_t b = bins_.first[suspect.slot]; b < suspect.bin; ++b)
    if (occurs(bins_, b)) pass_bin(bins_, b, counts_.data() + b * k_, sweep, best);
  scan_points(inside, bins_.high[suspect.bin], k_, sweep, best);
}

// From the last value or center that counts up to the next value or center of any kind.
Cut MistakeCounts::close_gap(const Points& points, const Node& node, const Place& place) const {
  Cut cut{place.mistakes, place.feature, -std::numeric_limits<double>::infinity(),
          std::numeric_limits<double>::infinity()};
  std::vector<double> values(node.n), centers;
  points.column(cut.feature, node.rows, node.n, values.data());
  for (std::int32_t c : node.members)
    centers.push_back(node.centers[std::int64_t{c} * bins_.n_features + cut.feature]);
  for (double at : centers)
    if (at <= place.at) cut.low = std::max(cut.low, at);
  for (std::int64_t i = 0; i < node.n; ++i)
    if (values[i] <= place.at && node.membership.alive[node.rows[i]])
      cut.low = std::max(cut.low, values[i]);
  for (double at : centers)
    if (at > cut.low) cut.high = std::min(cut.high, at);
  for (double value : values)
    if (value > cut.low) cut.high = std::min(cut.high, value);
  return cut;
}

std::optional<Cut> MistakeCounts::least_mistakes_cut(const Points& points, const Node& node,
                                                     int n_threads) const {
  Findings all;
#pragma omp parallel num_threads(n_threads)
  {
    Findings mine;
    Sweep sweep(totals_, node.members);
#pragma omp for schedule(dynamic, 16) nowait
    for (std::int32_t slot = 0; slot < bins_.n_slots(); ++slot) {
      sweep.start(bins_.feature[slot], node.centers, bins_.n_features);
      if (sweep.separable()) scan_slot(bins_, slot, counts_.data(), k_, sweep, mine);
    }
#pragma omp critical
    {
      all.best = std::min(all.best, mine.best);
      all.suspects.insert(all.suspects.end(), mine.suspects.begin(), mine.suspects.end());
    }
  }
  std::sort(all.suspects.begin(), all.suspects.end(), [](const Suspect& a, const Suspect& b) {
    return std::tie(a.bound, a.feature, a.low) < std::tie(b.bound, b.feature, b.low);
  });
  for (const Suspect& suspect : all.suspects) {
    if (std::tie(suspect.bound, suspect.feature, suspect.low) <=
        std::tie(all.best.mistakes, all.best.feature, all.best.at))
      refine(points, node, suspect, all.best);
  }
  if (all.best.mistakes == kNever) return std::nullopt;
  return close_gap(points, node, all.best);
}

}  // namespace treemeans
