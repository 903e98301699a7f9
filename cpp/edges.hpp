// Where values lie among ascending edges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "simd.hpp"

namespace treemeans {

// place[i] = the number of edges below value[i]. There are 2 * half - 1 edges, half a power of two.
TM_CLONES inline void locate(const double* TM_RESTRICT edges, std::int64_t most,
                             const double* TM_RESTRICT value, std::int64_t n,
                             std::int64_t* TM_RESTRICT place) {
  for (std::int64_t i = 0; i < n; ++i) place[i] = 0;
  for (std::int64_t half = most; half > 0; half /= 2)
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i)
      place[i] += edges[place[i] + half - 1] < value[i] ? half : 0;
}

// Edges, filled up with infinities to one less than a power of two.
class Edges {
 public:
  void load(const double* edges, std::int64_t n) {
    half_ = 1;
    while (2 * half_ <= n) half_ *= 2;
    padded_.assign(2 * half_ - 1, std::numeric_limits<double>::infinity());
    std::copy(edges, edges + n, padded_.begin());
    n_ = n;
  }
  void locate(const double* value, std::int64_t n, std::int64_t* place) const {
    treemeans::locate(padded_.data(), half_, value, n, place);
  }
  // Whether a place lies between two edges.
  bool inside(std::int64_t place) const { return place > 0 && place < n_; }

 private:
  std::vector<double> padded_;
  std::int64_t half_ = 1, n_ = 0;
};

}  // namespace treemeans
