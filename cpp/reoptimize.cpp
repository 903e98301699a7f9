#include "reoptimize.hpp"

#include <vector>

#include "parallel.hpp"
#include "score.hpp"
#include "search.hpp"
#include "simd.hpp"

namespace treemeans {
std::optional<Cut> reoptimized_cut(const Bins& bins, const Points& points,
                                   const SplitPrices& prices, int n_threads) {
  std::unique_ptr<SearchBuffers> buffers = bins.buffers.take();
  std::vector<std::int64_t>& kept = buffers->row_stats;
  if (static_cast<std::int64_t>(kept.size()) < prices.n * SmallestPrefix::kWidth)
    kept.resize(prices.n * SmallestPrefix::kWidth);
  std::int64_t* row_stats = kept.data();
  std::int64_t sums[SmallestPrefix::kWidth] = {0, 0, 0, 0}, all_right = 0;
  for (std::int64_t i = 0; i < prices.n; ++i) {
    const std::int64_t adds = prices.left[i] - prices.right[i];
    std::int64_t* line = row_stats + i * SmallestPrefix::kWidth;
    line[SmallestPrefix::kAdds] = adds;
    line[SmallestPrefix::kSaves] = adds < 0 ? adds : 0;
    line[SmallestPrefix::kWeight] = prices.limits.weight(prices.rows[i]);
    line[SmallestPrefix::kWidth - 1] = 0;
    for (int c = 0; c < SmallestPrefix::kWidth; ++c) sums[c] += line[c];
    all_right += prices.right[i];
  }
  const std::int64_t start[SmallestPrefix::kWidth] = {0, 0, 0, 0};
  const scan::Node node{{prices.rows, prices.n, SmallestPrefix::kWidth, row_stats},
                        SmallestPrefix::kWeight,
                        sums,
                        start,
                        prices.limits};
  const std::optional<Cut> cut = scan::least_cut(SmallestPrefix{all_right}, points, node, bins,
                                                 threads_for(prices.n * bins.n_slots(), n_threads));
  bins.buffers.give_back(std::move(buffers));
  return cut;
}

}  // namespace treemeans
