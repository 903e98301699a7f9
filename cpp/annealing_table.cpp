#include "annealing_table.hpp"

#include <algorithm>
#include <limits>

namespace treemeans::annealing {

void BinTable::find_places() {
  if (first.back() > std::uint32_t{std::numeric_limits<std::uint16_t>::max()} + 1) return;
  places.resize(n_rows * n_slots);
  for (std::int64_t r = 0; r < n_rows; ++r)
    for (std::int32_t slot = 0; slot < n_slots; ++slot)
      places[r * n_slots + slot] =
          static_cast<std::uint16_t>(first[slot] + codes[r * n_slots + slot]);
}

std::shared_ptr<const Prices> Prices::of(const Space& space, const std::vector<double>& centers,
                                         std::int64_t k) {
  auto prices = std::make_shared<Prices>();
  prices->k = k;
  prices->centers = centers;
  prices->costs.resize(space.n * k);
  for (std::int64_t c = 0; c < k; ++c) prices->price(space, c);
  prices->settle(space.n);
  return prices;
}

std::shared_ptr<const Prices> Prices::with(const Space& space,
                                           const std::vector<double>& moved) const {
  auto prices = std::make_shared<Prices>(*this);
  for (std::int64_t c = 0; c < k; ++c) {
    const auto begin = moved.begin() + c * space.dimension;
    if (std::equal(begin, begin + space.dimension, centers.begin() + c * space.dimension)) continue;
    std::copy(begin, begin + space.dimension, prices->centers.begin() + c * space.dimension);
    prices->price(space, c);
  }
  prices->settle(space.n);
  return prices;
}

// Four sums, always the same four: they can be added side by side, in an order that no compiler
// may change.
void Prices::price(const Space& space, std::int64_t center) {
  const std::int64_t m = space.dimension;
  const double* c = centers.data() + center * m;
  const double scale = 1.0 / space.unit;
  for (Row r = 0; r < space.n; ++r) {
    const double* x = space.row(r);
    double sums[4] = {0.0, 0.0, 0.0, 0.0};
    std::int64_t j = 0;
    for (; j + 4 <= m; j += 4) {
      for (int a = 0; a < 4; ++a) {
        const double away = x[j + a] - c[j + a];
        sums[a] += away * away;
      }
    }
    for (; j < m; ++j) {
      const double away = x[j] - c[j];
      sums[0] += away * away;
    }
    const double cost = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    costs[r * k + center] = cost * space.weight(r) * scale;
  }
}

void Prices::settle(std::int64_t n) {
  constexpr double largest = std::numeric_limits<std::int32_t>::max();
  regrets.resize(n * k);
  nearest.resize(n);
  cheapest = 0.0;
  for (std::int64_t r = 0; r < n; ++r) {
    const double* own = costs.data() + r * k;
    std::int32_t best = 0;
    for (std::int32_t c = 1; c < k; ++c)
      if (own[c] < own[best]) best = c;
    for (std::int64_t c = 0; c < k; ++c)
      regrets[r * k + c] = static_cast<std::int32_t>(std::min(own[c] - own[best], largest));
    nearest[r] = best;
    cheapest += own[best];
  }
}

}  // namespace treemeans::annealing
