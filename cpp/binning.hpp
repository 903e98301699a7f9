// Bins: every feature's values mapped to at most 256 ascending bins. Few-valued features get a bin
// a value; others get coarse bins, and whoever needs the exact cut looks inside those that matter.
// A feature that is nearly always one value (its default) stores only the rows that differ.
#pragma once

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
};

// A slot is a feature's place in the bins. Slots [0, n_dense) have a code for every row; the others
// have entries, row by row, for the rows whose bin is not the default one.
struct Bins {
  static constexpr int kMax = 256;

  std::int64_t n_rows = 0;
  std::int32_t n_features = 0;
  std::int32_t n_dense = 0;
  std::vector<std::int32_t> feature;      // of each slot
  std::vector<std::int64_t> first;        // first bin of each slot; one more at the end
  std::vector<double> low, high;          // of each bin: least and greatest value that occurs in it
  std::vector<std::uint8_t> has_wide;     // of each slot; if not, all its bins occur
  std::vector<std::int32_t> default_bin;  // of each sparse slot, counted from its first bin
  std::vector<std::unique_ptr<std::uint8_t[]>> codes;  // of each dense slot: n_rows bins
  std::vector<std::int64_t> indptr;                    // n_rows + 1
  std::vector<std::uint32_t> entries;  // bins, counted from sparse_begin(), ascending in a row
  mutable BufferPool<SearchBuffers> buffers;  // of the searches of these bins

  std::int32_t n_slots() const { return static_cast<std::int32_t>(feature.size()); }
  std::int64_t n_bins() const { return first.back(); }
  std::int64_t sparse_begin() const { return first[n_dense]; }
  // Holds more than one value, so a cut may lie inside.
  bool wide(std::int64_t bin) const { return low[bin] < high[bin]; }
  bool occurs(std::int64_t bin) const { return low[bin] <= high[bin]; }
  std::int64_t n_bytes() const;
};

// allowed: for each feature, whether it gets a slot (null: all do). A NaN or an infinity, anywhere,
// makes them return false; the bins are then not usable.
bool make_bins(const DensePoints& points, const std::uint8_t* allowed, int n_threads, Bins& bins);
bool make_bins(const SparsePoints& points, const std::uint8_t* allowed, int n_threads, Bins& bins);

}  // namespace treemeans
