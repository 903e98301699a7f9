// When a second thread is worth its start.
#pragma once

#include <cstdint>

namespace treemeans {

// Elementary steps (a value read and added, say) below which one thread is faster than two.
constexpr std::int64_t kParallelSteps = 1 << 16;

inline int threads_for(std::int64_t n_steps, int n_threads) {
  return n_steps < kParallelSteps ? 1 : n_threads;
}

}  // namespace treemeans
