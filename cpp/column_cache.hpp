// Values of single features, row by row, for whoever reads the same few again and again. Those of a
// large dense table are copied out once: in the table each lies in a cache line of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "points.hpp"

namespace treemeans {

class ColumnCache {
 public:
  explicit ColumnCache(const Points& points)
      : points_(points),
        keep_(points.n_rows >= kMany && dynamic_cast<const DensePoints*>(&points) != nullptr),
        most_(std::max<std::int64_t>(1, kMostValues / std::max<std::int64_t>(1, points.n_rows))) {}

  // out[i] = value of `feature` in rows[i]; rows ascend.
  void read(std::int32_t feature, const Row* rows, std::int64_t n, double* out) {
    if (!keep_) return points_.column(feature, rows, n, out);
    if (static_cast<std::int64_t>(kept_.size()) >= most_ && !kept_.contains(feature)) kept_.clear();
    std::vector<double>& kept = kept_[feature];
    if (kept.empty()) copy_out(feature, kept);
    for (std::int64_t i = 0; i < n; ++i) out[i] = kept[rows[i]];
  }

 private:
  static constexpr std::int64_t kMany = sized(1 << 15, 8);
  static constexpr std::int64_t kMostValues = sized(1 << 25, 64);  // copied at a time: 256 MB

  void copy_out(std::int32_t feature, std::vector<double>& kept) {
    std::vector<Row> all(points_.n_rows);
    for (std::int64_t r = 0; r < points_.n_rows; ++r) all[r] = static_cast<Row>(r);
    kept.resize(points_.n_rows);
    points_.column(feature, all.data(), points_.n_rows, kept.data());
  }

  const Points& points_;
  const bool keep_;
  const std::int64_t most_;  // columns kept; the next one makes room by dropping all
  std::map<std::int32_t, std::vector<double>> kept_;
};

}  // namespace treemeans
