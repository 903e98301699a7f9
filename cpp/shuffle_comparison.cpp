#include "shuffle_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "kmeans_cost.hpp"
#include "small_rows.hpp"

namespace treemeans {
namespace {

constexpr double kClearGap = 4.0;   // differences of shuffles, by which rows that cost less are
                                    // clearly more compact
constexpr double kLeastGap = 0.02;  // of the cost, at least
constexpr double kFar = 1.25;  // times the cost: a shuffle that costs more is not looked at closely
constexpr double kClear = 0.8;  // share of a shuffle's cost below which rows are far more compact
constexpr std::int64_t kLeastRows = 5;  // of a cluster; fewer say nothing about its spread
constexpr int kFirstRounds = 4;         // of k-means on the first shuffle
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kShuffleWork = 40.0, kUniformWork = 40.0;  // of a value, in units of SmallRows

// Random numbers that are the same on every machine: splitmix64.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}
  // A number below n, which is below 2^32.
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(((next() >> 32) * static_cast<std::uint64_t>(n)) >> 32);
  }
  // A number in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

// Every column in a random order of its own. out: n x d zeros.
void shuffle_columns(const SmallTable& table, SplitMix& random, double* out) {
  constexpr std::int32_t kColumns = 8;  // of doubles in a cache line, which are read together
  const std::int64_t n = table.n;
  const std::int32_t d = table.d;
  std::vector<std::int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::vector<double> values(kColumns * n);
  for (std::int32_t f0 = 0; f0 < d; f0 += kColumns) {
    const std::int32_t width = std::min(kColumns, d - f0);
    std::int64_t stored[kColumns] = {};  // values of each column that are not zero
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int32_t f = 0; f < width; ++f) {
        const double value = table.rows[i * d + f0 + f];
        values[f * n + stored[f]] = value;
        stored[f] += value != 0.0;
      }
    }
    for (std::int32_t f = 0; f < width; ++f) {
      // The first places of a random order, one for each value. `order` need not be put back: any
      // order is as good to start from.
      for (std::int64_t i = 0; i < stored[f]; ++i) {
        std::swap(order[i], order[i + random.below(n - i)]);
        out[order[i] * d + f0 + f] = values[f * n + i];
      }
    }
  }
}

std::int64_t as_cheap(double cost, const std::vector<double>& others) {
  return std::count_if(others.begin(), others.end(),
                       [&](double other) { return other <= cost * (1.0 + 1e-12); });
}

// The p-value of a permutation test: the table counts as one of its own shuffles.
double p_value(double cost, const std::vector<double>& others) {
  return static_cast<double>(1 + as_cheap(cost, others)) / static_cast<double>(others.size() + 1);
}

// Whether all others cost so much more that another one would hardly be as cheap.
bool clearly_cheaper(double cost, const std::vector<double>& others) {
  if (others.size() < 2) return false;
  const auto [least, most] = std::minmax_element(others.begin(), others.end());
  if (*least > kFar * cost) return true;
  return *least - cost > std::max(kClearGap * (*most - *least), kLeastGap * cost);
}

class Comparison {
 public:
  Comparison(const SmallTable& table, const double* centers, std::int64_t k,
             const ShuffleEffort& effort, std::uint64_t seed, double& work)
      : table_(table),
        centers_(centers),
        k_(k),
        effort_(effort),
        random_(seed),
        work_(work),
        values_(table.n * table.d),
        base_(table.n),
        nearest_(table.n),
        rows_(table.rows, table.n, table.d) {}

  ShuffleFindings compare() {
    double cost = first_cost(rows_, kInfinity);
    const std::vector<double> own = spreads_of(rows_, kLeastRows);
    std::vector<double> costs;
    std::vector<int> as_close(k_, 0);  // shuffles whose rows are as close to each center
    int n_shuffles = 0;
    bool clear = false;  // of all clusters together; more shuffles are for some of them
    const auto is_loose = [&](std::int64_t c) { return 2 * as_close[c] >= n_shuffles; };
    const auto any_loose = [&] {
      for (std::int64_t c = 0; c < k_; ++c)
        if (is_loose(c)) return true;
      return false;
    };
    while (n_shuffles < effort_.shuffles && !as_cheap(cost, costs) && work_ > 0.0) {
      const SmallRows& shuffle = shuffled();
      count_as_close(spreads_of(shuffle, 1), own, as_close);
      ++n_shuffles;
      if (!clear) {
        costs.push_back(first_cost(shuffle, kFar * cost));
        if (effort_.more_starts && as_cheap(cost, costs)) {
          cost = std::min(cost, more_cost(rows_, costs.back()));
          if (!effort_.until_clear || !as_cheap(cost, costs))
            costs.back() = std::min(costs.back(), more_cost(shuffle, cost));
        }
        clear = effort_.until_clear && clearly_cheaper(cost, costs);
      }
      if (clear && !any_loose()) break;
    }
    ShuffleFindings found{1.0 / (effort_.shuffles + 1), 0.0, 1.0, {}};
    if (as_cheap(cost, costs)) {
      found.share = p_value(cost, costs);
      // Without more starts this is a first look, and the one that confirms it looks there.
      found.uniform_share = effort_.more_starts ? p_value(cost, uniform_costs(cost)) : 1.0;
    }
    const double total = std::accumulate(costs.begin(), costs.end(), 0.0);
    if (total > 0.0) found.ratio = cost * static_cast<double>(costs.size()) / total;
    for (std::int64_t c = 0; c < k_; ++c)
      if (is_loose(c)) found.loose.push_back(static_cast<std::int32_t>(c));
    if (!found.loose.empty()) keep_loose_in_uniform(found.loose, own, n_shuffles);
    return found;
  }

  bool is_doubtful() {
    const std::vector<double> own = spreads_of(rows_, kLeastRows);
    // Centers that were fitted to all rows: no search on these few is needed to compare costs.
    double cost = 0.0;
    for (std::int64_t i = 0; i < table_.n; ++i) cost += table_.weights[i] * base_[i];
    const SmallRows& shuffle = shuffled();
    const std::vector<double> other = spreads_of(shuffle, 1);
    for (std::int64_t c = 0; c < k_; ++c)
      if (own[c] > kClear * other[c]) return true;
    const double doubtful = cost / kClear;
    const KMeansStart start{centers_, nullptr, 0, kFirstRounds, doubtful};
    return kmeans_cost(shuffle, table_.weights, k_, start, work_) < doubtful;
  }

 private:
  // Cost of k-means from fresh starts: the model's own centers were searched for on the table, and
  // would give it an advantage. Where only the comparison with another cost counts, not to the end.
  double cost_of(const SmallRows& rows, int starts, std::int64_t trials, double other) {
    const double aim = effort_.until_clear ? other : kInfinity;
    std::vector<double> draws(1 + trials * (k_ - 1));
    double least = kInfinity;
    for (int start = 0; start < starts && work_ > 0.0; ++start) {
      if (std::isfinite(aim) && least <= aim) break;
      for (double& draw : draws) draw = random_.uniform();
      const KMeansStart how{nullptr, draws.data(), trials, effort_.rounds, aim};
      least = std::min(least, kmeans_cost(rows, table_.weights, k_, how, work_));
    }
    return least;
  }

  double first_cost(const SmallRows& rows, double other) {
    // A quick start may end badly; then there are more.
    return cost_of(rows, effort_.starts, effort_.until_clear ? 1 : greedy_trials(), other);
  }

  double more_cost(const SmallRows& rows, double other) {
    return cost_of(rows, effort_.more_starts, greedy_trials(), other);
  }

  std::int64_t greedy_trials() const {
    return 2 + static_cast<std::int64_t>(std::log(static_cast<double>(k_)));
  }

  // Mean squared distance to each center of the rows nearest to it; NaN for fewer than `least`.
  std::vector<double> spreads_of(const SmallRows& rows, std::int64_t least) {
    work_ -= rows.work(k_);
    rows.price(centers_, {k_, base_.data(), nearest_.data(), nullptr});
    std::vector<double> weight(k_, 0.0), total(k_, 0.0);
    std::vector<std::int64_t> count(k_, 0);
    for (std::int64_t i = 0; i < table_.n; ++i) {
      weight[nearest_[i]] += table_.weights[i];
      total[nearest_[i]] += table_.weights[i] * base_[i];
      ++count[nearest_[i]];
    }
    for (std::int64_t c = 0; c < k_; ++c)
      total[c] = weight[c] > 0.0 && count[c] >= least ? total[c] / weight[c]
                                                      : std::numeric_limits<double>::quiet_NaN();
    return total;
  }

  static void count_as_close(const std::vector<double>& other, const std::vector<double>& own,
                             std::vector<int>& counts) {
    for (std::size_t c = 0; c < own.size(); ++c) counts[c] += other[c] <= own[c];
  }

  double size() const { return static_cast<double>(table_.n) * table_.d; }

  const SmallRows& shuffled() {
    work_ -= kShuffleWork * size();
    std::fill(values_.begin(), values_.end(), 0.0);
    shuffle_columns(table_, random_, values_.data());
    return other_.emplace(values_.data(), table_.n, table_.d);
  }

  // Uniform columns with the means and variances of the table's columns.
  const SmallRows& uniform() {
    work_ -= kUniformWork * size();
    const std::int64_t n = table_.n, d = table_.d;
    if (low_.empty()) find_ranges();
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t f = 0; f < d; ++f)
        values_[i * d + f] = low_[f] + width_[f] * random_.uniform();
    return other_.emplace(values_.data(), n, table_.d);
  }

  void find_ranges() {
    const std::int64_t n = table_.n, d = table_.d;
    std::vector<double> mean(d, 0.0), square(d, 0.0);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t f = 0; f < d; ++f)
        mean[f] += table_.rows[i * d + f] / static_cast<double>(n);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t f = 0; f < d; ++f) {
        const double away = table_.rows[i * d + f] - mean[f];
        square[f] += away * away / static_cast<double>(n);
      }
    }
    for (std::int64_t f = 0; f < d; ++f) {
      const double half = std::sqrt(3.0 * square[f]);
      low_.push_back(mean[f] - half);
      width_.push_back(2.0 * half);
    }
  }

  // Costs of k-means on uniform columns, up to the first that is as cheap.
  std::vector<double> uniform_costs(double cost) {
    std::vector<double> found;
    for (int i = 0; i < effort_.shuffles && !as_cheap(cost, found) && work_ > 0.0; ++i) {
      const SmallRows& table = uniform();
      found.push_back(first_cost(table, cost));
      if (!effort_.until_clear || !as_cheap(cost, found))
        found.back() = std::min(found.back(), more_cost(table, cost));
    }
    return found;
  }

  // Keeps the clusters whose spread is no less than in half of m uniform tables: single columns may
  // hold a cluster together.
  void keep_loose_in_uniform(std::vector<std::int32_t>& loose, const std::vector<double>& own,
                             int m) {
    std::vector<int> as_close(k_, 0);
    for (int done = 1; done <= m && work_ > 0.0; ++done) {
      count_as_close(spreads_of(uniform(), 1), own, as_close);
      const bool known = std::all_of(loose.begin(), loose.end(), [&](std::int32_t c) {
        return 2 * as_close[c] >= m || 2 * (as_close[c] + m - done) < m;
      });
      if (known) break;
    }
    std::erase_if(loose, [&](std::int32_t c) { return 2 * as_close[c] < m; });
  }

  const SmallTable table_;
  const double* centers_;
  const std::int64_t k_;
  const ShuffleEffort effort_;
  SplitMix random_;
  double& work_;
  std::vector<double> values_;  // of the table that is compared
  std::vector<double> low_, width_;
  std::vector<double> base_;
  std::vector<std::int32_t> nearest_;
  const SmallRows rows_;
  std::optional<SmallRows> other_;
};

}  // namespace

ShuffleFindings compare_with_shuffles(const SmallTable& table, const double* centers,
                                      std::int64_t k, const ShuffleEffort& effort,
                                      std::uint64_t seed, double& work) {
  return Comparison(table, centers, k, effort, seed, work).compare();
}

bool is_doubtful(const SmallTable& table, const double* centers, std::int64_t k, std::uint64_t seed,
                 double& work) {
  return Comparison(table, centers, k, ShuffleEffort{}, seed, work).is_doubtful();
}

std::vector<std::int64_t> draw_rows(std::int64_t n, std::int64_t m, std::uint64_t seed) {
  SplitMix random(seed);
  std::vector<std::int64_t> rows(m);
  for (std::int64_t i = 0; i < m; ++i) {
    const std::int64_t begin = i * n / m, end = (i + 1) * n / m;
    rows[i] = begin + random.below(end - begin);
  }
  return rows;
}

}  // namespace treemeans
