// Sums of floats without rounding: one integer for every exponent that a float can have.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "points.hpp"

namespace treemeans {

// What floats of one biased exponent (1 for subnormal ones) add up to: high * 2^32 + low, in units
// of the last bit of their mantissa.
struct ExponentSum {
  std::uint64_t high = 0, low = 0;
};

// For each column of n x k finite numbers that are not negative, times weights (null: 1) as floats
// are multiplied, the sums by exponent: k x kExponents. False if one is not finite.
constexpr std::int64_t kExponents = 2048;
inline bool exact_sums(const double* values, const double* weights, std::int64_t n, std::int64_t k,
                       ExponentSum* sums) {
  constexpr std::int64_t block = sized(1024, 4);  // rows whose columns are read one by one
  constexpr std::uint64_t fraction = (std::uint64_t{1} << 52) - 1;
  bool finite = true;
  for (std::int64_t begin = 0; begin < n; begin += block) {
    const std::int64_t end = begin + block < n ? begin + block : n;
    for (std::int64_t c = 0; c < k; ++c) {
      ExponentSum* by_exponent = sums + c * kExponents;
      for (std::int64_t r = begin; r < end; ++r) {
        const double value = weights ? values[r * k + c] * weights[r] : values[r * k + c];
        const auto bits = std::bit_cast<std::uint64_t>(value);
        std::uint64_t exponent = bits >> 52 & 2047, mantissa = bits & fraction;
        if (exponent == 2047) finite = false;
        if (exponent) {
          mantissa |= fraction + 1;
        } else {
          exponent = 1;
        }
        // Halves of a mantissa: 2^31 of them fit their sum.
        by_exponent[exponent].high += mantissa >> 32;
        by_exponent[exponent].low += mantissa & 0xffffffff;
      }
    }
  }
  return finite;
}

}  // namespace treemeans
