// Which side of a split rows go to. Where a column has codes they decide, but for the values in the
// bin that the threshold is in: codes take an eighth of the memory that values do.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "binning.hpp"
#include "column_cache.hpp"
#include "points.hpp"
#include "split.hpp"

namespace treemeans {

class RowSides {
 public:
  RowSides(const Points& points, const Bins& bins)
      : points_(points), bins_(bins), columns_(points) {}

  // goes_left[i]: 1 if rows[i] goes left, else 0; rows ascend. Good until the next call.
  const std::vector<std::uint8_t>& read(std::int32_t feature, const SplitRule& rule,
                                        const Row* rows, std::int64_t n) {
    goes_left_.resize(n);
    const bool by_threshold = rule.categories.empty() && rule.missing_left < 0;
    if (const std::int32_t slot = by_threshold ? bins_.dense_slot(feature) : -1; slot >= 0) {
      by_codes(bins_.view(slot), rule.threshold, rows, n);
    } else {
      values_.resize(n);
      columns_.read(feature, rows, n, values_.data());
      rule.visit([&](const auto& split) {
        for (std::int64_t i = 0; i < n; ++i) goes_left_[i] = split.goes_left(values_[i]) ? 1 : 0;
      });
    }
    return goes_left_;
  }

 private:
  static constexpr std::uint8_t kBoth = 2;  // a bin with values on both sides

  void by_codes(const SlotView& view, double threshold, const Row* rows, std::int64_t n) {
    std::array<std::uint8_t, Bins::kMax> side{};
    for (std::int64_t b = 0; b < view.n_bins; ++b)
      side[b] = view.low[b] > threshold ? 0 : view.high[b] <= threshold ? 1 : kBoth;
    std::uint8_t seen = 0;
    for (std::int64_t i = 0; i < n; ++i) seen |= goes_left_[i] = side[view.codes[rows[i]]];
    if ((seen & kBoth) == 0) return;
    some_.clear();
    for (std::int64_t i = 0; i < n; ++i)
      if (goes_left_[i] == kBoth) some_.push_back(rows[i]);
    values_.resize(some_.size());
    points_.column(view.feature, some_.data(), std::ssize(some_), values_.data());
    const double* value = values_.data();
    for (std::int64_t i = 0; i < n; ++i)
      if (goes_left_[i] == kBoth) goes_left_[i] = *value++ <= threshold ? 1 : 0;
  }

  const Points& points_;
  const Bins& bins_;
  ColumnCache columns_;
  std::vector<std::uint8_t> goes_left_;
  std::vector<Row> some_;
  std::vector<double> values_;
};

}  // namespace treemeans
