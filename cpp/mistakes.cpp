#include "mistakes.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <numeric>
#include <tuple>

#include "bin_contents.hpp"
#include "parallel.hpp"
#include "score.hpp"
#include "search.hpp"
#include "simd.hpp"

namespace treemeans {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class Count>
TM_CLONES void add_to(const Count* TM_RESTRICT values, std::int64_t n, Count* TM_RESTRICT sums) {
#pragma omp simd
  for (std::int64_t b = 0; b < n; ++b) sums[b] += values[b];
}

template <class Count>
TM_CLONES void take_from(const Count* TM_RESTRICT values, std::int64_t n, Count* TM_RESTRICT sums) {
#pragma omp simd
  for (std::int64_t b = 0; b < n; ++b) sums[b] -= values[b];
}

template <class Count>
TM_CLONES Count sum_of(const Count* TM_RESTRICT values, std::int64_t n) {
  Count sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t b = 0; b < n; ++b) sum += values[b];
  return sum;
}

// One slot, as the threshold moves up it. Points of a center that is still on the right are
// mistakes once they pass to the left; those of a center on the left cease to be.
template <class Count>
class SlotScan {
 public:
  SlotScan(const Bins& bins, const std::vector<Count>& counts, const std::vector<Count>& totals)
      : bins_(bins), counts_(counts), totals_(totals) {}

  // False where no threshold that the range admits separates the node's centers.
  bool start(const MistakeNode& node, std::int32_t slot, const ThresholdRange& range,
             std::int64_t price) {
    slot_ = slot;
    feature_ = bins_.feature[slot];
    first_ = bins_.first[slot];
    n_bins_ = bins_.first[slot + 1] - first_;
    rule_ = node.rule;
    shift_ = node.shift;
    range_ = range;
    price_ = price;
    centers_.sort(node, feature_);
    return centers_.differ() && range.low < range.high;
  }

  void run(Findings<MistakeScore>& found) {
    place_centers();
    count_changes();
    const bool wide = bins_.has_wide[slot_];
    std::int64_t mistakes = 0, b = 0;
    std::size_t passed = 0;
    while (passed < size()) {
      std::int64_t most = worth(passed, found.best);
      for (; b < bin_of_[passed]; ++b) {  // bins that hold no center
        if (wide) suspect(b, mistakes, passed, passed, found);
        mistakes += change_[b];
        if (mistakes > most || !bins_.occurs(first_ + b)) continue;
        offer(mistakes, passed, high(b), found.best);
        most = worth(passed, found.best);
      }
      const double start = b < n_bins_ ? low(b) : kInfinity;
      while (passed < size() && centers_.at[passed] < start) {  // centers in the gap before bin b
        const double at = centers_.at[passed];
        for (; passed < size() && centers_.at[passed] == at; ++passed) mistakes += jump_[passed];
        offer(mistakes, passed, at, found.best);
      }
      if (b == n_bins_) break;
      std::size_t after = passed;
      while (after < size() && bin_of_[after] == b) ++after;
      if (wide) suspect(b, mistakes, passed, after, found);
      for (; passed < after; ++passed) mistakes += jump_[passed];
      mistakes += change_[b];
      offer(mistakes, passed, high(b), found.best);
      ++b;
    }
  }

  // Every distinct value inside bin b: the rows there that count, by value.
  struct Point {
    double value;
    std::int32_t center;
    std::int64_t weight;
  };
  void run_inside(std::int64_t b, const std::vector<Point>& points, Candidate<MistakeScore>& best) {
    std::vector<std::int64_t> left(size());
    std::vector<std::size_t> order(totals_.size(), 0);
    std::int64_t mistakes = 0;
    std::size_t passed = 0;
    for (std::size_t j = 0; j < size(); ++j) {
      order[centers_.center[j]] = j;
      left[j] = sum_of(of(j), b);
      if (centers_.at[j] < low(b)) ++passed;
      mistakes += centers_.at[j] < low(b) ? total(j) - left[j] : left[j];
    }
    const auto pass_center = [&] { mistakes += total(passed) - 2 * left[passed], ++passed; };
    const auto pass_centers_below = [&](double value) {
      while (passed < size() && centers_.at[passed] < value) {
        const double at = centers_.at[passed];
        while (passed < size() && centers_.at[passed] == at) pass_center();
        offer(mistakes, passed, at, best);
      }
    };
    for (std::size_t i = 0; i < points.size();) {
      const double value = points[i].value;
      pass_centers_below(value);
      for (; i < points.size() && points[i].value == value; ++i) {
        const std::size_t j = order[points[i].center];
        left[j] += points[i].weight;
        mistakes += j < passed ? -points[i].weight : points[i].weight;
      }
      while (passed < size() && centers_.at[passed] == value) pass_center();
      offer(mistakes, passed, value, best);
    }
    pass_centers_below(high(b));
  }

 private:
  std::size_t size() const { return centers_.size(); }
  double low(std::int64_t b) const { return bins_.low[first_ + b]; }
  double high(std::int64_t b) const { return bins_.high[first_ + b]; }
  std::int64_t total(std::size_t j) const { return totals_[centers_.center[j]]; }
  const Count* of(std::size_t j) const {
    return counts_.data() + first_ * static_cast<std::int64_t>(totals_.size()) +
           centers_.center[j] * n_bins_;
  }

  std::int64_t divisor(std::size_t passed) const {
    if (rule_ == Rule::mistakes) return 1;
    return static_cast<std::int64_t>(std::min(passed, size() - passed));
  }

  MistakeScore score(std::int64_t mistakes, std::size_t passed) const {
    return MistakeScore::of(mistakes << shift_, divisor(passed), price_);
  }

  void offer(std::int64_t mistakes, std::size_t passed, double at,
             Candidate<MistakeScore>& best) const {
    if (passed == 0 || passed >= size() || !range_.admits(at)) return;
    const MistakeScore cost = score(mistakes, passed);
    if (cost.whole <= best.cost.whole) best.offer({cost, feature_, slot_, at});  // mostly not
  }

  // The most mistakes a cut may make and still be as good as the best.
  std::int64_t worth(std::size_t passed, const Candidate<MistakeScore>& best) const {
    if (passed == 0 || best.cost.whole < price_) return -1;
    const std::int64_t by = divisor(passed), most = best.cost.whole - price_;
    constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
    if (by == 1) return most >> shift_;
    return most >= any / by ? any : (most * by + (by - 1)) >> shift_;
  }

  // A center belongs to the first bin whose values reach it, or to the gap before that bin.
  void place_centers() {
    bin_of_.assign(size(), n_bins_);
    std::int64_t b = 0;
    for (std::size_t j = 0; j < size(); ++j) {
      if (!bins_.has_wide[slot_]) {  // then every bin occurs, and `high` ascends
        const double* from = bins_.high.data() + first_;
        b = std::lower_bound(from + b, from + n_bins_, centers_.at[j]) - from;
      }
      while (b < n_bins_ && high(b) < centers_.at[j]) ++b;
      bin_of_[j] = b;
    }
  }

  // change_[b]: what passing the points of bin b adds, each center on the side it is on after it;
  // jump_[j]: what passing center j adds just before its bin's points do.
  void count_changes() {
    change_.assign(n_bins_, 0);
    jump_.resize(size());
    for (std::size_t j = 0; j < size(); ++j) {
      const Count* counts = of(j);
      add_to(counts, bin_of_[j], change_.data());
      take_from(counts + bin_of_[j], n_bins_ - bin_of_[j], change_.data() + bin_of_[j]);
      jump_[j] = total(j) - 2 * std::int64_t{sum_of(counts, bin_of_[j])};
    }
  }

  // Centers [0, passed) are left of bin b, [passed, after) inside it or at its end. The least each
  // can add: a left one's points that lie beyond the bin, a right one's that lie before it. The
  // divisor is greatest next to the middle.
  void suspect(std::int64_t b, std::int64_t mistakes, std::size_t passed, std::size_t after,
               Findings<MistakeScore>& found) const {
    if (!bins_.wide(first_ + b) || !range_.meets(low(b), high(b))) return;
    if (passed == size() || (passed == 0 && !(centers_.at[0] < high(b)))) return;
    std::int64_t bound = mistakes;
    for (std::size_t j = 0; j < passed; ++j) bound -= of(j)[b];
    for (std::size_t j = passed; j < after; ++j) {
      const std::int64_t before = sum_of(of(j), b);
      bound += std::min<std::int64_t>(0, total(j) - 2 * before - of(j)[b]);
    }
    const std::size_t middle = std::clamp(size() / 2, std::max<std::size_t>(passed, 1),
                                          std::min(std::max<std::size_t>(after, 1), size() - 1));
    const MistakeScore least = score(bound, middle);
    if (least <= found.best.cost) found.wide.push_back({least, feature_, slot_, b, low(b), 0});
  }

  const Bins& bins_;
  const std::vector<Count>& counts_;
  const std::vector<Count>& totals_;
  Ordered centers_;
  Rule rule_ = Rule::mistakes;
  ThresholdRange range_;
  std::int64_t price_ = 0;
  int shift_ = 0;
  std::int32_t slot_ = 0, feature_ = 0;
  std::int64_t first_ = 0, n_bins_ = 0;
  std::vector<std::int64_t> bin_of_, jump_;
  std::vector<Count> change_;
};

// See search.hpp.
template <class Count>
class MistakeSearch {
 public:
  using Cost = MistakeScore;
  using Worker = SlotScan<Count>;

  MistakeSearch(const Bins& bins, const std::vector<Count>& counts,
                const std::vector<Count>& totals, const MistakeNode& node, const Limits& limits,
                const std::vector<ThresholdRange>& ranges)
      : bins_(bins),
        counts_(counts),
        totals_(totals),
        node_(node),
        limits_(limits),
        ranges_(ranges) {}

  Worker make_worker() const { return Worker(bins_, counts_, totals_); }
  void finish(Worker&) const {}
  std::int64_t chunk() const { return 16; }
  std::int64_t n_tasks() const { return bins_.n_slots(); }

  void search_bins(Worker& scan, std::int64_t task, Findings<Cost>& found) const {
    if (open_slot(scan, static_cast<std::int32_t>(task))) scan.run(found);
  }

  bool open_slot(Worker& scan, std::int32_t slot) const {
    return scan.start(node_, slot, ranges_[slot], limits_.price(slot));
  }

  // Rows that are alive count. The range may begin at one that is not, so all values are looked at
  // where there are limits.
  void search_inside(Worker& scan, const WideBin<Cost>& bin, const std::vector<BinValue>& inside,
                     const std::int64_t*, Candidate<Cost>& best) const {
    const Membership& membership = node_.membership;
    std::vector<typename SlotScan<Count>::Point> counted;
    for (const BinValue& found : inside) {
      const Row row = node_.rows[found.position];
      if (membership.alive[row]) {
        counted.push_back({found.value, membership.nearest[row],
                           membership.weights ? membership.weights[row] : 1});
      } else if (!limits_.permits_empty()) {
        counted.push_back({found.value, node_.members.front(), 0});
      }
    }
    scan.run_inside(bin.bin, counted, best);
  }

 private:
  const Bins& bins_;
  const std::vector<Count>& counts_;
  const std::vector<Count>& totals_;
  const MistakeNode& node_;
  const Limits& limits_;
  const std::vector<ThresholdRange>& ranges_;
};

// From the last value or center that counts up to the next value or center of any kind. Where the
// range begins, a separated row counts too.
Cut close_gap(const Points& points, const MistakeNode& node, const Candidate<MistakeScore>& best,
              double begin, int n_threads) {
  Cut cut{best.cost.whole, best.feature, -kInfinity, kInfinity};
  const std::vector<double> values = values_of(points, node, cut.feature, n_threads);
  const auto counts = [&](std::size_t i) {
    return static_cast<std::int64_t>(i) >= node.n || node.membership.alive[node.rows[i]] != 0 ||
           values[i] == begin;
  };
  double edge = best.at;
  for (bool found = false; !found; edge = std::nextafter(cut.low, -kInfinity)) {
    cut.low = -kInfinity, cut.high = kInfinity;
    narrow(values.data(), static_cast<std::int64_t>(values.size()), edge, cut.low, cut.high);
    for (std::size_t i = values.size(); i-- > 0 && !found;)
      found = values[i] == cut.low && counts(i);
  }
  return cut;
}

// The same by the codes of the rows.
Cut close_gap(const Points& points, const SlotView& slot, const MistakeNode& node,
              const Candidate<MistakeScore>& best, double begin) {
  const auto alive = [&](std::int64_t i) { return node.membership.alive[node.rows[i]] != 0; };
  const NodeBins all(points, slot, node.rows, node.n, EveryRow());
  double low = NodeBins(points, slot, node.rows, node.n, alive).greatest_up_to(best.at);
  if (begin > low && begin <= best.at && all.greatest_up_to(begin) == begin) low = begin;
  const double* places = node.coordinates(best.feature);
  for (std::int32_t c : node.members)
    if (places[c] <= best.at) low = std::max(low, places[c]);
  double high = all.least_above(low);
  for (std::int32_t c : node.members)
    if (places[c] > low) high = std::min(high, places[c]);
  return {best.cost.whole, best.feature, low, high};
}

constexpr std::int64_t kFew = sized(128, 2);  // rows; more are worth clearing the tables for
constexpr int kTogether = 4;                  // slots tallied in one walk over the rows

// tables[j][center][code] += weight, for each row and each of C slots; 256 codes a center.
template <int C, class Count>
void tally(const std::uint8_t* const* codes, const Row* TM_RESTRICT rows,
           const std::int32_t* TM_RESTRICT center, const Count* TM_RESTRICT weights, Count sign,
           std::int64_t n, Count* TM_RESTRICT tables, std::int64_t table_size) {
  for (std::int64_t i = 0; i < n; ++i) {
    const Count weight = weights ? sign * weights[i] : sign;
    Count* at = tables + center[i] * Bins::kMax;
    for (int j = 0; j < C; ++j) at[j * table_size + codes[j][rows[i]]] += weight;
  }
}

}  // namespace

template <class Count>
MistakeCounts<Count>::MistakeCounts(const Bins& bins, std::int64_t k, const Membership& rows,
                                    int n_threads)
    : bins_(bins), k_(k), counts_(bins.n_bins() * k, 0), totals_(k, 0) {
  for (std::int32_t slot = bins.n_dense; slot < bins.n_slots(); ++slot) {
    const std::int64_t n_bins = bins.first[slot + 1] - bins.first[slot];
    for (std::int64_t b = 0; b < n_bins; ++b)
      sparse_spots_.push_back({bins.first[slot] * k + b, n_bins});
  }
  if (bins.n_slots() == 0) return;
  constexpr std::int64_t block = sized(1 << 18, 8);  // of which copies are made
  std::vector<Row> some(std::min(block, bins.n_rows));
  for (std::int64_t begin = 0; begin < bins.n_rows; begin += block) {
    const std::int64_t n = std::min(block, bins.n_rows - begin);
    std::iota(some.begin(), some.begin() + n, static_cast<Row>(begin));
    add(some.data(), n, rows, 1, n_threads);
  }
}

template <class Count>
void MistakeCounts<Count>::remove_separated(const Row* rows, std::int64_t n, std::int64_t n_left,
                                            const Membership& membership, const std::uint8_t* left,
                                            int n_threads) {
  std::vector<Row> separated;
  for (std::int64_t i = 0; i < n; ++i) {
    const Row row = rows[i];
    const bool with_center = (i < n_left) == (left[membership.nearest[row]] != 0);
    if (with_center || !membership.alive[row]) continue;
    membership.alive[row] = 0;
    separated.push_back(row);
  }
  if (separated.empty()) return;
  std::sort(separated.begin(), separated.end());  // so that codes are read in their order
  add(separated.data(), static_cast<std::int64_t>(separated.size()), membership, -1, n_threads);
}

template <class Count>
void MistakeCounts<Count>::add(const Row* rows, std::int64_t n, const Membership& membership,
                               Count sign, int n_threads) {
  std::vector<std::int32_t> center(n);
  std::vector<Count> weights(membership.weights ? n : 0);
  for (std::int64_t i = 0; i < n; ++i) {
    center[i] = membership.nearest[rows[i]];
    if (membership.weights) weights[i] = static_cast<Count>(membership.weights[rows[i]]);
    totals_[center[i]] += sign * (membership.weights ? weights[i] : 1);
  }
  const Count* weighted = membership.weights ? weights.data() : nullptr;
  if (n < kFew) {
    add_few(rows, n, center.data(), weighted, sign);
  } else {
    add_many(rows, n, center.data(), weighted, sign, n_threads);
  }
  if (bins_.n_slots() == bins_.n_dense) return;
  for (std::int64_t i = 0; i < n; ++i) {
    const Count weight = sign * (membership.weights ? weights[i] : 1);
    for (std::int64_t e = bins_.indptr[rows[i]]; e < bins_.indptr[rows[i] + 1]; ++e) {
      const Spot& spot = sparse_spots_[bins_.entries[e]];
      counts_[spot.first + center[i] * spot.step] += weight;
    }
  }
  add_missing();
}

// Straight into the counts, which lie all over memory.
template <class Count>
void MistakeCounts<Count>::add_few(const Row* rows, std::int64_t n, const std::int32_t* center,
                                   const Count* weights, Count sign) {
  for (std::int32_t slot = 0; slot < bins_.n_dense; ++slot) {
    const std::int64_t n_bins = bins_.first[slot + 1] - bins_.first[slot];
    const std::uint8_t* codes = bins_.codes[slot].get();
    Count* counts = counts_.data() + bins_.first[slot] * k_;
    for (std::int64_t i = 0; i < n; ++i)
      counts[center[i] * n_bins + codes[rows[i]]] += weights ? sign * weights[i] : sign;
  }
}

// By way of tables that fit the nearest cache.
template <class Count>
void MistakeCounts<Count>::add_many(const Row* rows, std::int64_t n, const std::int32_t* center,
                                    const Count* weights, Count sign, int n_threads) {
  const std::int64_t size = k_ * Bins::kMax;
  std::vector<std::uint8_t> touched(k_, 0);
  for (std::int64_t i = 0; i < n; ++i) touched[center[i]] = 1;
  parallel_for(
      (bins_.n_dense + kTogether - 1) / kTogether, 1, threads_for(n * bins_.n_dense, n_threads),
      [&] { return std::vector<Count>(kTogether * size, 0); },
      [&](std::vector<Count>& tables, std::int64_t strip) {
        const auto slot = static_cast<std::int32_t>(strip * kTogether);
        const std::uint8_t* codes[kTogether];
        const int n_slots = std::min(kTogether, bins_.n_dense - slot);
        for (int j = 0; j < n_slots; ++j) codes[j] = bins_.codes[slot + j].get();
        if (n_slots == kTogether) {
          tally<kTogether>(codes, rows, center, weights, sign, n, tables.data(), size);
        } else {
          for (int j = 0; j < n_slots; ++j)
            tally<1>(codes + j, rows, center, weights, sign, n, tables.data() + j * size, size);
        }
        for (int j = 0; j < n_slots; ++j) {
          const std::int64_t n_bins = bins_.first[slot + j + 1] - bins_.first[slot + j];
          Count* counts = counts_.data() + bins_.first[slot + j] * k_;
          for (std::int64_t c = 0; c < k_; ++c) {
            if (!touched[c]) continue;
            Count* table = tables.data() + j * size + c * Bins::kMax;
            add_to(table, n_bins, counts + c * n_bins);
            std::fill(table, table + n_bins, Count{0});
          }
        }
      },
      [](std::vector<Count>&) {});
}

// Rows without an entry: the total less the rest.
template <class Count>
void MistakeCounts<Count>::add_missing() {
  for (std::int32_t slot = bins_.n_dense; slot < bins_.n_slots(); ++slot) {
    const std::int64_t n_bins = bins_.first[slot + 1] - bins_.first[slot];
    const std::int32_t missing = bins_.default_bin[slot - bins_.n_dense];
    for (std::int64_t c = 0; c < k_; ++c) {
      Count* counts = counts_.data() + bins_.first[slot] * k_ + c * n_bins;
      counts[missing] = 0;
      counts[missing] = totals_[c] - sum_of(counts, n_bins);
    }
  }
}

template <class Count>
std::optional<Cut> MistakeCounts<Count>::least_mistakes_cut(const Points& points,
                                                            const MistakeNode& node,
                                                            const Limits& limits,
                                                            int n_threads) const {
  const std::vector<ThresholdRange> ranges =
      find_threshold_ranges(bins_, points, node, limits, n_threads);
  const MistakeSearch<Count> search(bins_, counts_, totals_, node, limits, ranges);
  const auto n_members = static_cast<std::int64_t>(node.members.size());
  const Candidate<MistakeScore> best = find_best(
      search, bins_, points, node.rows, node.n, threads_for(bins_.n_bins() * n_members, n_threads));
  if (best.slot < 0) return std::nullopt;
  const SlotView slot = bins_.view(best.slot);
  const double begin = ranges[best.slot].low;
  return worth_coding(points, slot, node.n) ? close_gap(points, slot, node, best, begin)
                                            : close_gap(points, node, best, begin, n_threads);
}

template class MistakeCounts<std::int32_t>;
template class MistakeCounts<std::int64_t>;

}  // namespace treemeans
