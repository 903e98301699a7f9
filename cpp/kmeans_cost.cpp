#include "kmeans_cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "simd.hpp"

namespace treemeans {
namespace {

constexpr double kTolerance = 1e-4;  // of the mean variance of the columns, as in scikit-learn

TM_CLONES void add_weighted(const double* TM_RESTRICT row, double weight, std::int64_t d,
                            double* TM_RESTRICT sums) {
#pragma omp simd
  for (std::int64_t f = 0; f < d; ++f) sums[f] += weight * row[f];
}

class SmallKMeans {
 public:
  SmallKMeans(const SmallRows& points, const double* weights, std::int64_t k, double& work)
      : points_(points),
        weights_(weights),
        n_(points.n_rows()),
        d_(points.n_features()),
        k_(k),
        base_(n_),
        nearest_(n_),
        centers_(k * d_),
        work_(work) {}

  void start_at(const double* centers) { std::copy_n(centers, k_ * d_, centers_.begin()); }

  void seed(const double* draws, std::int64_t trials) {
    std::vector<double> least(n_), upto(n_), tried(trials * d_), regret(n_ * trials), total(trials);
    sum_up(nullptr, upto);
    std::copy_n(points_.row(drawn(upto, *draws++)), d_, centers_.begin());
    distances(centers_.data(), 1, regret);
    least = base_;
    for (std::int64_t c = 1; c < k_; ++c) {
      sum_up(least.data(), upto);
      for (std::int64_t t = 0; t < trials; ++t)
        std::copy_n(points_.row(drawn(upto, *draws++)), d_, tried.begin() + t * d_);
      distances(tried.data(), trials, regret);
      std::int64_t best = 0;
      if (trials == 1) {
        for (std::int64_t i = 0; i < n_; ++i) least[i] = std::min(least[i], base_[i]);
      } else {
        std::fill(total.begin(), total.end(), 0.0);
        for (std::int64_t i = 0; i < n_; ++i)
          for (std::int64_t t = 0; t < trials; ++t)
            total[t] += weights_[i] * std::min(least[i], base_[i] + regret[i * trials + t]);
        best = std::min_element(total.begin(), total.end()) - total.begin();
        for (std::int64_t i = 0; i < n_; ++i)
          least[i] = std::min(least[i], base_[i] + regret[i * trials + best]);
      }
      std::copy_n(tried.begin() + best * d_, d_, centers_.begin() + c * d_);
    }
  }

  double run(int max_rounds, double aim) {
    const double tolerance = kTolerance * mean_variance();
    std::vector<std::int32_t> before;
    double last = std::numeric_limits<double>::infinity();
    for (int round = 0;; ++round) {
      const double cost = assign();
      if (round == max_rounds || nearest_ == before || work_ < 0.0) return cost;
      if (cost - (last - cost) * (max_rounds - round) > aim) return cost;
      before = nearest_;
      last = cost;
      if (update() <= tolerance) return assign();
    }
  }

 private:
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
    work_ -= points_.work(m);
    points_.price(to, {m, base_.data(), nearest_.data(), m > 1 ? regret.data() : nullptr});
  }

  double assign() {
    work_ -= points_.work(k_);
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

  const SmallRows& points_;
  const double* weights_;
  const std::int64_t n_, d_, k_;
  std::vector<double> base_;
  std::vector<std::int32_t> nearest_;
  std::vector<double> centers_;
  double& work_;
};

}  // namespace

void SmallRows::add_row(std::int64_t i, double weight, double* sums) const {
  if (!sparse_) {
    add_weighted(row(i), weight, n_features(), sums);
    return;
  }
  for (std::int64_t e = indptr_[i]; e < indptr_[i + 1]; ++e) sums[indices_[e]] += weight * data_[e];
}

double kmeans_cost(const SmallRows& points, const double* weights, std::int64_t k,
                   const KMeansStart& start, double& work) {
  SmallKMeans search(points, weights, k, work);
  if (start.centers)
    search.start_at(start.centers);
  else
    search.seed(start.draws, start.trials);
  return search.run(start.max_rounds, start.aim);
}

}  // namespace treemeans
