// Loops shared out among threads. The only place that opens a parallel region, so that in none of
// them an exception leaves a thread: OpenMP would end the process.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include "block_size.hpp"

// The thread sanitizer does not see that GNU OpenMP's regions begin and end for all threads at
// once.
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define TM_HAPPENS_BEFORE(address) __tsan_release(address)
#define TM_HAPPENS_AFTER(address) __tsan_acquire(address)
#else
#define TM_HAPPENS_BEFORE(address)
#define TM_HAPPENS_AFTER(address)
#endif

namespace treemeans {

// Elementary steps (a value read and added, say) below which one thread is faster than two.
constexpr std::int64_t kParallelSteps = sized(1 << 16, 1);

inline int threads_for(std::int64_t n_steps, int n_threads) {
  return n_steps < kParallelSteps ? 1 : n_threads;
}

// The first exception of a team of threads, kept until the region is over.
class ParallelErrors {
 public:
  template <class Body>
  void run(Body&& body) noexcept {
    try {
      body();
    } catch (...) {
      if (!failed_.exchange(true)) error_ = std::current_exception();
    }
  }
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  // After the region: its end is a barrier, so `error_` is seen.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

// Calls body(state, i) for every i in [0, n), where each thread has a state of its own, made by
// make(); in the end finish(state) for each of these, one after the other. Which thread does what
// is not defined, nor the order of the calls: results must not depend on either. Threads take
// `chunk` numbers at a time.
template <class Make, class Body, class Finish>
void parallel_for(std::int64_t n, std::int64_t chunk, int n_threads, Make make, Body body,
                  Finish finish) {
  if (n_threads <= 1 || n <= chunk) {
    auto state = make();
    for (std::int64_t i = 0; i < n; ++i) body(state, i);
    finish(state);
    return;
  }
  std::atomic<std::int64_t> next{0};
  std::mutex finishing;
  ParallelErrors errors;
  TM_HAPPENS_BEFORE(&next);
#pragma omp parallel num_threads(n_threads)
  errors.run([&] {
    TM_HAPPENS_AFTER(&next);
    auto state = make();
    while (!errors.failed()) {
      const std::int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= n) break;
      const std::int64_t end = std::min(begin + chunk, n);
      for (std::int64_t i = begin; i < end; ++i) body(state, i);
    }
    const std::lock_guard<std::mutex> lock(finishing);
    finish(state);
    TM_HAPPENS_BEFORE(&finishing);
  });
  TM_HAPPENS_AFTER(&finishing);
  errors.rethrow();
}

struct NoState {};

// The same where threads need nothing of their own: body(i).
template <class Body>
void parallel_for(std::int64_t n, std::int64_t chunk, int n_threads, Body body) {
  parallel_for(
      n, chunk, n_threads, [] { return NoState{}; }, [&](NoState&, std::int64_t i) { body(i); },
      [](NoState&) {});
}

// Calls body(begin, end) for blocks of at most `block` of n items.
template <class Body>
void parallel_blocks(std::int64_t n, std::int64_t block, int n_threads, Body body) {
  parallel_for((n + block - 1) / block, 1, n_threads,
               [&](std::int64_t i) { body(i * block, std::min((i + 1) * block, n)); });
}

}  // namespace treemeans
