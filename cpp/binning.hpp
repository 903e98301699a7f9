// Bins: every feature's values mapped to at most 256 ascending bins. Few-valued features get a bin
// a value; others get coarse bins, and whoever needs the exact cut looks inside those that matter.
// A feature that is nearly always one value (its default) stores only the rows that differ. Columns
// of categories and columns with missing values have slots of their own, which only the searches
// that know them look at.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "buffer_pool.hpp"
#include "points.hpp"

namespace treemeans {

// What a thread of a search works with.
struct SearchBuffers {
  std::vector<std::int64_t> histograms;  // all zero between uses
  std::vector<std::int64_t> sums;
  std::vector<std::int64_t> row_stats;
  std::vector<std::int64_t>
      groups;  // sums of a column of more categories than a histogram has bins
};

// A column of categories, or of numbers of which some are missing. Groups [0, n_values) are the
// categories by their code, or bins of values; the next one has the rows without a value.
struct MixedSlot {
  std::int32_t feature = 0;
  bool categorical = false, has_missing = false;
  std::int32_t n_values = 0;
  std::vector<double> low, high;                // of bins of values
  std::unique_ptr<std::uint8_t[]> codes;        // of each row, its group: if there are at most 256
  std::unique_ptr<std::uint16_t[]> wide_codes;  // otherwise

  std::int32_t n_groups() const { return n_values + (has_missing ? 1 : 0); }
};

// The bins of values of one slot. codes: null for a sparse one.
struct SlotView {
  std::int32_t slot, feature;
  std::int64_t n_bins;
  const double *low, *high;
  const std::uint8_t* codes;

  // Holds more than one value, so a cut may lie inside.
  bool wide(std::int64_t bin) const { return low[bin] < high[bin]; }
};

// A slot is a feature's place in the bins. Slots [0, n_dense) have a code for every row; those up
// to n_slots() have entries, row by row, for the rows whose bin is not the default one; those from
// there on are `mixed`.
struct Bins {
  static constexpr int kMax = 256;

  std::int64_t n_rows = 0;
  std::int32_t n_features = 0;
  std::int32_t n_dense = 0;
  std::vector<std::int32_t> feature;      // of each slot
  std::vector<std::int64_t> first;        // first bin of each slot; one more at the end
  std::vector<double> low, high;          // of each bin: least and greatest value that occurs in it
  std::vector<std::uint8_t> has_wide;     // of each slot; if not, all its bins occur
  std::vector<std::uint8_t> whole;        // of each dense slot: whether all values are integers
  std::vector<std::int32_t> default_bin;  // of each sparse slot, counted from its first bin
  std::vector<std::unique_ptr<std::uint8_t[]>> codes;  // of each dense slot: n_rows bins
  std::vector<std::int64_t> indptr;                    // n_rows + 1; empty without sparse slots
  std::vector<std::uint32_t> entries;  // bins, counted from sparse_begin(), ascending in a row
  std::vector<MixedSlot> mixed;
  mutable BufferPool<SearchBuffers> buffers;  // of the searches of these bins

  std::int32_t n_slots() const { return static_cast<std::int32_t>(feature.size()); }
  bool is_mixed(std::int32_t slot) const { return slot >= n_slots(); }
  const MixedSlot& mixed_at(std::int32_t slot) const { return mixed[slot - n_slots()]; }
  SlotView view(std::int32_t slot) const {
    if (is_mixed(slot)) {
      const MixedSlot& own = mixed_at(slot);
      return {slot, own.feature, own.n_values, own.low.data(), own.high.data(), own.codes.get()};
    }
    return {slot,
            feature[slot],
            first[slot + 1] - first[slot],
            low.data() + first[slot],
            high.data() + first[slot],
            slot < n_dense ? codes[slot].get() : nullptr};
  }
  // The dense slot of a feature; -1 if it has none.
  std::int32_t dense_slot(std::int32_t wanted) const {
    const auto last = feature.begin() + n_dense;
    const auto at = std::lower_bound(feature.begin(), last, wanted);  // features ascend
    return at != last && *at == wanted ? static_cast<std::int32_t>(at - feature.begin()) : -1;
  }
  std::int64_t n_bins() const { return first.back(); }
  std::int64_t sparse_begin() const { return first[n_dense]; }
  // Holds more than one value, so a cut may lie inside.
  bool wide(std::int64_t bin) const { return low[bin] < high[bin]; }
  bool occurs(std::int64_t bin) const { return low[bin] <= high[bin]; }
  std::int64_t n_bytes() const;
};

// allowed: for each feature, whether it gets a slot (null: all do). A NaN or an infinity, anywhere,
// makes them return false; the bins are then not usable. categorical: for each feature, whether it
// holds codes of categories (null: none does); where it is given, a NaN is a missing value.
bool make_bins(const DensePoints& points, const std::uint8_t* allowed,
               const std::uint8_t* categorical, int n_threads, Bins& bins);
bool make_bins(const SparsePoints& points, const std::uint8_t* allowed, int n_threads, Bins& bins);

}  // namespace treemeans
