// The regrets of all rows, n x k, in fixed point: plain, or packed in about half of the memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "points.hpp"
#include "simd.hpp"

namespace treemeans {

constexpr std::int64_t kAhead = 8;  // rows; those of a leaf lie apart, where no prefetcher follows

TM_INLINE void prefetch(const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}

struct PlainRegrets {
  const std::int64_t* values;
  std::int64_t k;

  // The k regrets of a row.
  TM_INLINE const std::int64_t* row(std::int64_t r, std::int64_t*) const { return values + r * k; }
  TM_INLINE void fetch(std::int64_t r) const {
    const std::int64_t* next = values + r * k;
    for (std::int64_t c = 0; c < std::min<std::int64_t>(k, 32); c += 8) prefetch(next + c);
  }
};

// The same numbers, exactly. A row's cheapest center has the regret 0, which is not stored; of the
// others there are 48 bits each: the regrets of many rows are small parts of a sum of 61 bits.
class PackedRegrets {
 public:
  static constexpr std::int64_t kMost = std::int64_t{1} << 48;  // regrets are smaller
  static constexpr std::int64_t kMostCenters = 256;

  // cheapest: of each row, a center of regret 0; borrowed.
  PackedRegrets(std::int64_t n, std::int64_t k, const std::int32_t* cheapest)
      : n(n),
        k(k),
        low_(new std::uint32_t[n * (k - 1)]),
        high_(new std::uint16_t[n * (k - 1)]),
        cheapest_(cheapest) {}

  // Takes the regrets of m rows from `begin` on. False where a regret does not fit.
  bool pack(std::int64_t begin, std::int64_t m, const std::int64_t* regrets) {
    bool fits = true;
    for (std::int64_t i = 0; i < m; ++i, regrets += k) {
      const std::int64_t at = (begin + i) * (k - 1);
      const std::int32_t own = cheapest_[begin + i];
      fits = fits && regrets[own] == 0;
      for (std::int64_t c = 0; c < k - 1; ++c) {
        const std::int64_t regret = regrets[c + (c >= own ? 1 : 0)];
        fits = fits && regret >= 0 && regret < kMost;
        low_[at + c] = static_cast<std::uint32_t>(regret);
        high_[at + c] = static_cast<std::uint16_t>(regret >> 32);
      }
    }
    return fits;
  }

  // The k regrets of a row, written to `line`.
  TM_INLINE const std::int64_t* row(std::int64_t r, std::int64_t* TM_RESTRICT line) const {
    const std::uint32_t* TM_RESTRICT low = low_.get() + r * (k - 1);
    const std::uint16_t* TM_RESTRICT high = high_.get() + r * (k - 1);
    const std::int64_t own = cheapest_[r];
    for (std::int64_t c = 0; c < k - 1; ++c)
      line[c + (c >= own ? 1 : 0)] = std::int64_t{high[c]} << 32 | std::int64_t{low[c]};
    line[own] = 0;
    return line;
  }
  TM_INLINE void fetch(std::int64_t r) const {
    prefetch(low_.get() + r * (k - 1));
    prefetch(high_.get() + r * (k - 1));
    prefetch(cheapest_ + r);
  }

  const std::int64_t n, k;

 private:
  std::unique_ptr<std::uint32_t[]> low_;   // n x (k - 1)
  std::unique_ptr<std::uint16_t[]> high_;  // n x (k - 1)
  const std::int32_t* cheapest_;           // n
};

// Either of them.
struct RegretTable {
  PlainRegrets plain;
  const PackedRegrets* packed = nullptr;

  explicit RegretTable(PlainRegrets plain) : plain(plain) {}
  explicit RegretTable(const PackedRegrets& packed) : plain{nullptr, packed.k}, packed(&packed) {}

  std::int64_t k() const { return plain.k; }
  template <class Visit>
  decltype(auto) visit(Visit visit) const {
    return packed ? visit(*packed) : visit(plain);
  }
};

}  // namespace treemeans
