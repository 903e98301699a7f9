#include "kmeans_cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "distances.hpp"
#include "points.hpp"
#include "simd.hpp"

namespace treemeans {
namespace {

constexpr double kTolerance = 1e-4;  // of the mean variance of the columns, as in scikit-learn

TM_CLONES void add_row(const double* TM_RESTRICT row, double weight, std::int64_t d,
                       double* TM_RESTRICT sums) {
#pragma omp simd
  for (std::int64_t f = 0; f < d; ++f) sums[f] += weight * row[f];
}

// Dense rows; where most values are zero (words of texts, say), pricing passes over these.
class SmallRows {
 public:
  SmallRows(const double* rows, std::int64_t n, std::int32_t d) : dense_(rows, n, d, d, 1) {
    const std::int64_t n_values = n * d;
    if (n_values - std::count(rows, rows + n_values, 0.0) > n_values / kSparseShare) return;
    indptr_.push_back(0);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int32_t f = 0; f < d; ++f) {
        if (rows[i * d + f] == 0.0) continue;
        indices_.push_back(f);
        data_.push_back(rows[i * d + f]);
      }
      indptr_.push_back(static_cast<std::int64_t>(data_.size()));
    }
    sparse_.emplace(n, d, Compressed{indptr_.data(), indices_.data(), data_.data()}, Compressed{});
  }
  SmallRows(const SmallRows&) = delete;  // `sparse_` points into the vectors

  void price(const double* centers, const Regrets& out) const {
    if (sparse_)
      treemeans::price(*sparse_, centers, out, 1);
    else
      treemeans::price(dense_, centers, out, 1);
  }
  // sums += weight * row i
  void add_row(std::int64_t i, double weight, double* sums) const {
    if (!sparse_) {
      treemeans::add_row(dense_.row(i), weight, dense_.n_features, sums);
      return;
    }
    for (std::int64_t e = indptr_[i]; e < indptr_[i + 1]; ++e)
      sums[indices_[e]] += weight * data_[e];
  }

 private:
  static constexpr std::int64_t kSparseShare = 8;

  const StridedPoints<double> dense_;
  std::vector<std::int64_t> indptr_;
  std::vector<std::int32_t> indices_;
  std::vector<double> data_;
  std::optional<SparsePoints> sparse_;
};

// Random numbers that are the same on every machine: splitmix64.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}
  // A number below n, which is below 2^32.
  std::int64_t below(std::int64_t n) {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z = (z ^ (z >> 31)) >> 32;
    return static_cast<std::int64_t>((z * static_cast<std::uint64_t>(n)) >> 32);
  }

 private:
  std::uint64_t state_;
};

class SmallKMeans {
 public:
  SmallKMeans(const double* rows, const double* weights, std::int64_t n, std::int32_t d,
              std::int64_t k)
      : points_(rows, n, d),
        rows_(rows),
        weights_(weights),
        n_(n),
        d_(d),
        k_(k),
        base_(n),
        nearest_(n),
        centers_(k * d) {}

  void seed(const double* draws, std::int64_t trials) {
    std::vector<double> least(n_), upto(n_), tried(trials * d_), regret(n_ * trials), total(trials);
    sum_up(nullptr, upto);
    std::copy_n(row(drawn(upto, *draws++)), d_, centers_.begin());
    distances(centers_.data(), 1, regret);
    least = base_;
    for (std::int64_t c = 1; c < k_; ++c) {
      sum_up(least.data(), upto);
      for (std::int64_t t = 0; t < trials; ++t)
        std::copy_n(row(drawn(upto, *draws++)), d_, tried.begin() + t * d_);
      distances(tried.data(), trials, regret);
      std::fill(total.begin(), total.end(), 0.0);
      for (std::int64_t i = 0; i < n_; ++i)
        for (std::int64_t t = 0; t < trials; ++t)
          total[t] += weights_[i] * std::min(least[i], base_[i] + regret[i * trials + t]);
      const std::int64_t best = std::min_element(total.begin(), total.end()) - total.begin();
      for (std::int64_t i = 0; i < n_; ++i)
        least[i] = std::min(least[i], base_[i] + regret[i * trials + best]);
      std::copy_n(tried.begin() + best * d_, d_, centers_.begin() + c * d_);
    }
  }

  double run(int max_rounds, double aim) {
    const double tolerance = kTolerance * mean_variance();
    std::vector<std::int32_t> before;
    double last = std::numeric_limits<double>::infinity();
    for (int round = 0;; ++round) {
      const double cost = assign();
      if (round == max_rounds || nearest_ == before) return cost;
      if (cost - (last - cost) * (max_rounds - round) > aim) return cost;
      before = nearest_;
      last = cost;
      if (update() <= tolerance) return assign();
    }
  }

 private:
  const double* row(std::int64_t i) const { return rows_ + i * d_; }

  // An index drawn in proportion to numbers of which `upto` are the sums. One of share zero, which
  // ends where it begins, is never drawn.
  std::int64_t drawn(const std::vector<double>& upto, double draw) const {
    const auto at = std::upper_bound(upto.begin(), upto.end(), draw * upto.back());
    return std::min<std::int64_t>(at - upto.begin(), n_ - 1);
  }

  // upto[i]: weights of the rows up to i, times their costs (null: 1).
  void sum_up(const double* costs, std::vector<double>& upto) const {
    double sum = 0.0;
    for (std::int64_t i = 0; i < n_; ++i)
      upto[i] = sum += costs ? weights_[i] * costs[i] : weights_[i];
  }

  // base_ + regret: squared distances to some points.
  void distances(const double* to, std::int64_t m, std::vector<double>& regret) {
    points_.price(to, {m, base_.data(), nearest_.data(), regret.data()});
  }

  double assign() {
    points_.price(centers_.data(), {k_, base_.data(), nearest_.data(), nullptr});
    double cost = 0.0;
    for (std::int64_t i = 0; i < n_; ++i) cost += weights_[i] * base_[i];
    return cost;
  }

  // Moves the centers to the means of their rows; the sum of the squared distances they move.
  double update() {
    std::vector<double> weight = cluster_weights();
    if (std::find(weight.begin(), weight.end(), 0.0) != weight.end()) {
      for (std::int64_t c = 0; c < k_; ++c)
        if (weight[c] == 0.0) take_costliest(static_cast<std::int32_t>(c));
      weight = cluster_weights();
    }
    std::vector<double> sums(k_ * d_, 0.0);
    for (std::int64_t i = 0; i < n_; ++i)
      points_.add_row(i, weights_[i], sums.data() + nearest_[i] * d_);
    double moved = 0.0;
    for (std::int64_t c = 0; c < k_; ++c) {
      if (weight[c] == 0.0) continue;
      for (std::int64_t f = 0; f < d_; ++f) {
        const double mean = sums[c * d_ + f] / weight[c], step = mean - centers_[c * d_ + f];
        moved += step * step;
        centers_[c * d_ + f] = mean;
      }
    }
    return moved;
  }

  std::vector<double> cluster_weights() const {
    std::vector<double> weight(k_, 0.0);
    for (std::int64_t i = 0; i < n_; ++i) weight[nearest_[i]] += weights_[i];
    return weight;
  }

  void take_costliest(std::int32_t c) {
    std::int64_t most = 0;
    for (std::int64_t i = 1; i < n_; ++i)
      if (weights_[i] * base_[i] > weights_[most] * base_[most]) most = i;
    if (!(weights_[most] * base_[most] > 0.0)) return;  // every row has a center of its own
    nearest_[most] = c;
    base_[most] = 0.0;
  }

  double mean_variance() {
    double total = 0.0, variance = 0.0;
    std::vector<double> mean(d_, 0.0);
    for (std::int64_t i = 0; i < n_; ++i) {
      total += weights_[i];
      points_.add_row(i, weights_[i], mean.data());
    }
    for (double& each : mean) each /= total;
    points_.price(mean.data(), {1, base_.data(), nearest_.data(), nullptr});
    for (std::int64_t i = 0; i < n_; ++i) variance += weights_[i] * base_[i];
    return variance / total / static_cast<double>(d_);
  }

  const SmallRows points_;
  const double *rows_, *weights_;
  const std::int64_t n_, d_, k_;
  std::vector<double> base_;
  std::vector<std::int32_t> nearest_;
  std::vector<double> centers_;
};

}  // namespace

double kmeans_cost(const double* rows, const double* weights, std::int64_t n, std::int32_t d,
                   std::int64_t k, const KMeansStart& start) {
  SmallKMeans search(rows, weights, n, d, k);
  search.seed(start.draws, start.trials);
  return search.run(start.max_rounds, start.aim);
}

void spread_around(const double* rows, const double* weights, std::int64_t n, std::int32_t d,
                   const double* centers, std::int64_t k, std::int64_t least, double* out) {
  std::vector<double> base(n), weight(k, 0.0), total(k, 0.0);
  std::vector<std::int32_t> nearest(n);
  std::vector<std::int64_t> count(k, 0);
  SmallRows(rows, n, d).price(centers, {k, base.data(), nearest.data(), nullptr});
  for (std::int64_t i = 0; i < n; ++i) {
    weight[nearest[i]] += weights[i];
    total[nearest[i]] += weights[i] * base[i];
    ++count[nearest[i]];
  }
  for (std::int64_t c = 0; c < k; ++c)
    out[c] = weight[c] > 0 && count[c] >= least ? total[c] / weight[c]
                                                : std::numeric_limits<double>::quiet_NaN();
}

void shuffle_columns(const double* rows, std::int64_t n, std::int32_t d, std::uint64_t seed,
                     double* out) {
  constexpr std::int32_t kColumns = 8;  // of doubles in a cache line, which are read together
  SplitMix random(seed);
  std::vector<std::int32_t> order(n);
  for (std::int64_t i = 0; i < n; ++i) order[i] = static_cast<std::int32_t>(i);
  std::vector<double> values(kColumns * n);
  for (std::int32_t f0 = 0; f0 < d; f0 += kColumns) {
    const std::int32_t width = std::min(kColumns, d - f0);
    std::int64_t stored[kColumns] = {};  // values of each column that are not zero
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int32_t f = 0; f < width; ++f) {
        const double value = rows[i * d + f0 + f];
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

}  // namespace treemeans
