// A node of a tree that separates the reference centers: its rows, and the centers it still holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "points.hpp"

namespace treemeans {

// All rows that fall into the node (ascending), the centers (n_features x k: a feature's
// coordinates lie together) and which of them are the node's.
struct CenterNode {
  const Row* rows;
  std::int64_t n;
  const double* centers;
  std::int64_t k;
  std::vector<std::int32_t> members;

  const double* coordinates(std::int32_t feature) const {
    return centers + std::int64_t{feature} * k;
  }
};

// A node's centers in ascending order on one feature; equals by index.
struct Ordered {
  std::vector<std::int32_t> center;
  std::vector<double> at;

  void sort(const CenterNode& node, std::int32_t feature) {
    const double* value = node.coordinates(feature);
    center = node.members;
    std::sort(center.begin(), center.end(), [&](std::int32_t a, std::int32_t b) {
      return std::tie(value[a], a) < std::tie(value[b], b);
    });
    at.clear();
    for (std::int32_t c : center) at.push_back(value[c]);
  }
  std::size_t size() const { return center.size(); }
  // Whether some threshold separates them.
  bool differ() const { return at.front() < at.back(); }
};

// Values of a feature in the node's rows, then in its centers.
inline std::vector<double> values_of(const Points& points, const CenterNode& node,
                                     std::int32_t feature, int n_threads) {
  std::vector<double> values(node.n);
  points.column(feature, node.rows, node.n, values.data(), n_threads);
  for (std::int32_t c : node.members) values.push_back(node.coordinates(feature)[c]);
  return values;
}

}  // namespace treemeans
