#include "resplit.hpp"

#include <vector>

#include "parallel.hpp"
#include "scan.hpp"
#include "simd.hpp"

namespace treemeans {
namespace {

// A line: what going left adds, the same where that is negative, and the row's weight.
constexpr int kAdds = 0, kSaves = 1, kWeight = 2, kColumns = 4;

// All go right, to begin with; a cut sends those left of it left. Within a stretch none costs less
// than one that takes along every row which saves something, and no other.
struct SmallestPrefix {
  static constexpr int kWidth = kColumns;
  std::int64_t all_right;

  TM_INLINE std::int64_t cost(const std::int64_t* left) const { return all_right + left[kAdds]; }
  TM_INLINE std::int64_t quick_bound(const std::int64_t* before, const std::int64_t* after) const {
    return all_right + before[kAdds] + (after[kSaves] - before[kSaves]);
  }
  TM_INLINE std::int64_t bound(const std::int64_t* before, const std::int64_t* after) const {
    return quick_bound(before, after);
  }
};

}  // namespace

std::optional<Cut> least_fork_cut(const Bins& bins, const Points& points, const Fork& fork,
                                  int n_threads) {
  thread_local std::vector<std::int64_t>
      kept;  // fresh memory of this size costs more than the sums
  if (static_cast<std::int64_t>(kept.size()) < fork.n * kColumns) kept.resize(fork.n * kColumns);
  std::int64_t* lines = kept.data();
  std::int64_t sums[kColumns] = {0, 0, 0, 0}, all_right = 0;
  for (std::int64_t i = 0; i < fork.n; ++i) {
    const std::int64_t adds = fork.left[i] - fork.right[i];
    std::int64_t* line = lines + i * kColumns;
    line[kAdds] = adds;
    line[kSaves] = adds < 0 ? adds : 0;
    line[kWeight] = fork.terms.weight(fork.rows[i]);
    line[kColumns - 1] = 0;
    for (int c = 0; c < kColumns; ++c) sums[c] += line[c];
    all_right += fork.right[i];
  }
  const std::int64_t start[kColumns] = {0, 0, 0, 0};
  const scan::Node node{{fork.rows, fork.n, kColumns, lines}, kWeight, sums, start, fork.terms};
  return scan::least_cut(SmallestPrefix{all_right}, points, node, bins,
                         threads_for(fork.n * bins.n_slots(), n_threads));
}

}  // namespace treemeans
