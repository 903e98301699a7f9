// What annealing reads: the bins of all features row by row, and the rows in the space of the
// centers with what they cost there.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "limits.hpp"
#include "points.hpp"

namespace treemeans::annealing {

// The bins that go left at a cut, as bits: one rule for thresholds and sides of missing values.
struct BinSet {
  std::array<std::uint64_t, 4> bits{};

  bool has(std::uint8_t bin) const { return (bits[bin >> 6] >> (bin & 63) & 1) != 0; }
  void add(std::int32_t bin) { bits[bin >> 6] |= std::uint64_t{1} << (bin & 63); }
};

// A cut between two bins of a slot: those up to `bin` go left, and missing values if so said.
struct BinCut {
  std::int32_t slot = -1, bin = 0;
  std::int8_t missing_left = -1;  // as in Split
  std::int64_t cost = 0;
};

// The bins of every row, one row after the other, so that the sums of all features take one walk
// over the rows. The caller keeps the arrays.
struct BinTable {
  std::int64_t n_rows = 0;
  std::int32_t n_slots = 0;
  const std::uint8_t* codes = nullptr;    // n_rows x n_slots
  std::vector<std::int32_t> n_values;     // bins of values of each slot
  std::vector<std::uint8_t> has_missing;  // of each slot: one more bin has the missing values
  std::vector<std::uint32_t> first;       // first bin of each slot; one more at the end
  // first[slot] + code of every row and slot, which adding up a row reads; empty if 16 bits are too
  // few for the number of bins.
  std::vector<std::uint16_t> places;

  const std::uint8_t* row(Row r) const { return codes + std::int64_t{r} * n_slots; }
  void find_places();
  BinSet left_of(const BinCut& cut) const {
    BinSet left;
    for (std::int32_t b = 0; b <= cut.bin; ++b) left.add(b);
    if (has_missing[cut.slot] && cut.missing_left == 1) left.add(n_values[cut.slot]);
    return left;
  }
};

// The rows in the space of the centers, less their mean, and their weights.
struct Space {
  std::int64_t n = 0, dimension = 0;
  const double* at = nullptr;       // n x dimension
  const double* weights = nullptr;  // null: all 1
  double unit = 1.0;                // of costs in fixed point
  double total = 0.0;               // cost of all rows with one center, their mean

  const double* row(Row r) const { return at + r * dimension; }
  double weight(Row r) const { return weights ? weights[r] : 1.0; }
};

// Centers, and what every row costs with each beyond its cheapest.
struct Prices {
  std::int64_t k = 0;
  std::vector<double> centers;        // k x dimension
  std::vector<double> costs;          // n x k, in units
  std::vector<std::int32_t> regrets;  // n x k; the largest number stands for all larger ones
  std::vector<std::int32_t> nearest;  // of each row
  double cheapest = 0.0;              // of all rows together

  static std::shared_ptr<const Prices> of(const Space& space, const std::vector<double>& centers,
                                          std::int64_t k);
  // The same with other centers; rows are priced for those that differ.
  std::shared_ptr<const Prices> with(const Space& space, const std::vector<double>& centers) const;
  std::int64_t regret(Row r, std::int32_t c) const { return regrets[r * k + c]; }

 private:
  void price(const Space& space, std::int64_t center);
  void settle(std::int64_t n);
};

}  // namespace treemeans::annealing
