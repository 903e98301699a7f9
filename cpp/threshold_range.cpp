#include "threshold_range.hpp"

#include <algorithm>
#include <array>

#include "bin_contents.hpp"
#include "parallel.hpp"
#include "simd.hpp"

namespace treemeans {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The first place by which a side that weighs `sum` before it is heavy enough.
template <class Weight>
std::int64_t first_enough(const Limits& limits, std::int64_t n, std::int64_t sum, Weight weight) {
  std::int64_t i = 0;
  while (i < n && !limits.permits_side(sum += weight(i))) ++i;
  return i;
}

// One slot: the bins that hold the ends of the range, then, if it matters, the values in them.
class SlotRange {
 public:
  SlotRange(const Bins& bins, const Points& points, const CenterNode& node, const Limits& limits)
      : bins_(bins), points_(points), node_(node), limits_(limits) {}

  // weights: of the slot's bins.
  ThresholdRange find(std::int32_t slot, const std::int64_t* weights) const {
    const std::int64_t first = bins_.first[slot], n = bins_.first[slot + 1] - first;
    const std::int64_t low = first_enough(limits_, n, 0, [&](auto b) { return weights[b]; });
    const std::int64_t high =
        n - 1 - first_enough(limits_, n, 0, [&](auto b) { return weights[n - 1 - b]; });
    if (low == n || high < low) return {kInfinity, -kInfinity};  // none
    ThresholdRange range{bins_.high[first + low], bins_.low[first + high]};
    const double* at = node_.coordinates(bins_.feature[slot]);
    const auto by_place = [&](std::int32_t a, std::int32_t b) { return at[a] < at[b]; };
    const auto [least, greatest] =
        std::minmax_element(node_.members.begin(), node_.members.end(), by_place);
    // Thresholds lie from the least center up to the greatest: what is beyond is never asked for.
    const bool low_inside = bins_.wide(first + low) && at[*least] < range.low;
    const bool high_inside = bins_.wide(first + high) && range.high < at[*greatest];
    if (at[*least] < at[*greatest] && (low_inside || high_inside))
      look(slot, weights, low, high, low_inside, high_inside, range);
    return range;
  }

 private:
  void look(std::int32_t slot, const std::int64_t* weights, std::int64_t low, std::int64_t high,
            bool low_inside, bool high_inside, ThresholdRange& range) const {
    std::vector<std::int64_t> wanted;
    if (low_inside) wanted.push_back(low);
    if (high_inside && (wanted.empty() || low < high)) wanted.push_back(high);
    const auto found = rows_in_bins(points_, bins_.view(slot), node_.rows, node_.n, wanted);
    const auto n_bins = bins_.first[slot + 1] - bins_.first[slot];
    if (low_inside) {
      std::int64_t before = 0;
      for (std::int64_t b = 0; b < low; ++b) before += weights[b];
      range.low = end(found.front(), before, false);
    }
    if (high_inside) {
      std::int64_t after = 0;
      for (std::int64_t b = high + 1; b < n_bins; ++b) after += weights[b];
      range.high = end(found.back(), after, true);
    }
  }

  // The value by which a side is heavy enough, from below or from above.
  double end(const std::vector<BinValue>& rows, std::int64_t beyond, bool from_above) const {
    const auto n = static_cast<std::int64_t>(rows.size());
    const auto at = [&](std::int64_t i) -> const BinValue& {
      return rows[from_above ? n - 1 - i : i];
    };
    return at(first_enough(
                  limits_, n, beyond,
                  [&](std::int64_t i) { return limits_.weight(node_.rows[at(i).position]); }))
        .value;
  }

  const Bins& bins_;
  const Points& points_;
  const CenterNode& node_;
  const Limits& limits_;
};

// Weight of the node's rows by sparse bin; rows without an entry are the total less the rest.
std::vector<std::int64_t> weigh_entries(const Bins& bins, const CenterNode& node,
                                        const Limits& limits) {
  const std::int64_t base = bins.sparse_begin();
  std::vector<std::int64_t> sums(bins.n_bins() - base, 0);
  if (sums.empty()) return sums;
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < node.n; ++i) {
    const Row row = node.rows[i];
    const std::int64_t weight = limits.weight(row);
    total += weight;
    for (std::int64_t e = bins.indptr[row]; e < bins.indptr[row + 1]; ++e)
      sums[bins.entries[e]] += weight;
  }
  for (std::int32_t slot = bins.n_dense; slot < bins.n_slots(); ++slot) {
    std::int64_t* missing = &sums[bins.first[slot] - base + bins.default_bin[slot - bins.n_dense]];
    *missing = total;
    for (std::int64_t b = bins.first[slot] - base; b < bins.first[slot + 1] - base; ++b)
      if (&sums[b] != missing) *missing -= sums[b];
  }
  return sums;
}

void weigh_codes(const std::uint8_t* TM_RESTRICT codes, const CenterNode& node,
                 const Limits& limits, std::int64_t* TM_RESTRICT sums) {
  std::fill(sums, sums + Bins::kMax, std::int64_t{0});
  for (std::int64_t i = 0; i < node.n; ++i)
    sums[codes[node.rows[i]]] += limits.weight(node.rows[i]);
}

}  // namespace

std::vector<ThresholdRange> find_threshold_ranges(const Bins& bins, const Points& points,
                                                  const CenterNode& node, const Limits& limits,
                                                  int n_threads) {
  std::vector<ThresholdRange> ranges(bins.n_slots());
  if (limits.permits_empty()) return ranges;
  const SlotRange slot_range(bins, points, node, limits);
  const std::vector<std::int64_t> sparse = weigh_entries(bins, node, limits);
  parallel_for(bins.n_slots(), 1, threads_for(node.n * bins.n_slots(), n_threads),
               [&](std::int64_t i) {
                 const auto slot = static_cast<std::int32_t>(i);
                 std::array<std::int64_t, Bins::kMax> dense;
                 const std::int64_t* weights = dense.data();
                 if (slot < bins.n_dense) {
                   weigh_codes(bins.codes[slot].get(), node, limits, dense.data());
                 } else {
                   weights = sparse.data() + (bins.first[slot] - bins.sparse_begin());
                 }
                 ranges[slot] = slot_range.find(slot, weights);
               });
  return ranges;
}

}  // namespace treemeans
