#include "greedy.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <tuple>
#include <vector>

#include "greedy_score.hpp"
#include "parallel.hpp"
#include "search.hpp"

namespace treemeans {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int32_t kTogether = 4;  // slots summed in one walk over the rows
constexpr std::int64_t kBlock =
    sized(256, 4);  // rows that stay in the cache while the slots take turns

// What the search of a node reads.
struct GreedyData {
  const Bins& bins;
  const Points& points;
  const GreedyNode& node;
  const Limits& limits;
  std::vector<ThresholdRange> ranges;
  Choices choices;
};

// One slot of a node, as the threshold moves up it.
class SlotScan {
 public:
  explicit SlotScan(const GreedyData& search) : search_(search) {}

  // False where no threshold that the range admits separates the node's centers.
  bool start(std::int32_t slot) {
    const Bins& bins = search_.bins;
    slot_ = slot;
    first_ = bins.first[slot];
    feature_ = bins.feature[slot];
    range_ = search_.ranges[slot];
    price_ = search_.limits.price(slot);
    gaps_.start(bins, search_.node, slot);
    return gaps_.centers().differ() && range_.low < range_.high;
  }

  void add(std::int64_t begin, std::int64_t end, const std::uint8_t* codes) {
    gaps_.add(search_.choices, begin, end, codes);
  }

  // All rows have been added: the cuts between bins, and the bins that may hold better ones.
  void run(Findings<std::int64_t>& found) {
    const std::vector<double>& at = gaps_.centers().at;
    bases_ = gaps_.bases();
    std::int32_t passed = 0;
    std::int64_t sum = 0;  // what the bins passed in this gap add
    const auto pass_centers_below = [&](double value) {
      while (passed < gaps_.n_centers() && at[passed] < value) {
        const double place = at[passed];
        while (passed < gaps_.n_centers() && at[passed] == place) ++passed;
        sum = 0;
        offer(bases_[passed], passed, place, found.best);
      }
    };
    for (std::int64_t b = 0; b < gaps_.n_bins(); ++b) {
      if (!search_.bins.occurs(first_ + b)) continue;
      pass_centers_below(low(b));
      if (passed < gaps_.before(b)) passed = gaps_.before(b), sum = 0;  // centers at its low end
      if (search_.bins.wide(first_ + b)) suspect(b, sum, found);
      if (passed < gaps_.after(b)) {
        passed = gaps_.after(b), sum = 0;
      } else {
        sum += gaps_.sum(b).left - gaps_.sum(b).right;
      }
      offer(bases_[passed] + sum, passed, high(b), found.best);
    }
    pass_centers_below(kInfinity);
  }

  // Every distinct value inside a bin: the rows there, by value; bases: as kept for a suspect.
  void run_inside(std::int64_t b, const std::vector<BinValue>& rows, const std::int64_t* bases,
                  Candidate<std::int64_t>& best) const {
    for (std::int32_t j = gaps_.before(b); j <= gaps_.after(b); ++j, ++bases)
      if (reaches_into(j, b)) run_gap(j, b, rows, *bases, best);
  }

  // The least that any cut of a sparse slot can cost. A row parted from its center costs at least
  // its second choice: `seconds` are the sums of those, by center, of all rows.
  std::int64_t bound(const std::vector<std::int64_t>& seconds,
                     const std::vector<std::int32_t>& rows,
                     const std::vector<std::uint8_t>& codes) {
    const std::int32_t n = gaps_.n_centers();
    std::vector<std::int64_t> missing(n);  // rows without an entry, by their center's rank
    for (std::int32_t j = 0; j < n; ++j) missing[j] = seconds[gaps_.centers().center[j]];
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Choice* choices = search_.choices.of(rows[i]);
      const std::int32_t own = gaps_.rank(choices[0].center);
      missing[own] -= choices[1].cost;
      gaps_.add_sure(choices[1].cost, own, codes[i]);
    }
    const std::vector<std::int64_t> sure = gaps_.bases();
    const std::int32_t at = gaps_.before(search_.bins.default_bin[slot_ - search_.bins.n_dense]);
    std::int64_t right = 0, left = 0;  // what the missing rows cost on that side
    for (std::int64_t cost : missing) left += cost;
    std::int64_t least = kNoCost - price_;
    for (std::int32_t j = 0; j < n; ++j) {
      const std::int64_t cost = j == at ? std::min(left, right) : j < at ? right : left;
      if (gaps_.open(j)) least = std::min(least, sure[j] + cost);
      right += missing[j], left -= missing[j];
    }
    return least + price_;
  }

 private:
  double low(std::int64_t b) const { return search_.bins.low[first_ + b]; }
  double high(std::int64_t b) const { return search_.bins.high[first_ + b]; }

  void offer(std::int64_t cost, std::int32_t passed, double at,
             Candidate<std::int64_t>& best) const {
    if (gaps_.open(passed) && range_.admits(at)) best.offer({cost + price_, feature_, slot_, at});
  }

  bool reaches_into(std::int32_t j, std::int64_t b) const {
    return gaps_.open(j) && gaps_.centers().at[j - 1] < high(b);
  }

  // The bin's rows may all go to the side where they cost nothing.
  void suspect(std::int64_t b, std::int64_t sum, Findings<std::int64_t>& found) const {
    const std::int32_t before = gaps_.before(b), after = gaps_.after(b);
    std::int64_t bound = kNoCost;
    for (std::int32_t j = before; j <= after; ++j) {
      if (!reaches_into(j, b)) continue;
      std::int64_t cost = bases_[j];
      if (j == before) {
        cost += sum - gaps_.sum(b).right;
      } else if (j == after) {
        cost -= gaps_.sum(b).left;
      }
      bound = std::min(bound, cost + price_);
    }
    if (bound == kNoCost || bound > found.best.cost || !range_.meets(low(b), high(b))) return;
    found.wide.push_back({bound, feature_, slot_, b, low(b), found.kept.size()});
    for (std::int32_t j = before; j <= after; ++j)
      found.kept.push_back(bases_[j] + (j == before ? sum : 0));
  }

  // What a row costs right of a cut in gap j (first), and left of it.
  std::pair<std::int64_t, std::int64_t> sides(const BinValue& row, std::int32_t j) const {
    const Choice* choice = search_.choices.of(row.position);
    const bool own_left = gaps_.rank(choice->center) < j;
    do {
      ++choice;
    } while ((gaps_.rank(choice->center) < j) == own_left);
    return own_left ? std::pair{choice->cost, std::int64_t{0}}
                    : std::pair{std::int64_t{0}, choice->cost};
  }

  void run_gap(std::int32_t j, std::int64_t b, const std::vector<BinValue>& rows, std::int64_t base,
               Candidate<std::int64_t>& best) const {
    std::vector<std::int64_t> change(rows.size());  // as a row passes from right to left
    std::int64_t cost = base;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto [right, left] = sides(rows[i], j);
      change[i] = left - right;
      if (j > gaps_.before(b)) cost += right - (j == gaps_.after(b) ? left : 0);
    }
    const double begin = gaps_.centers().at[j - 1], end = gaps_.centers().at[j];
    std::size_t i = 0;
    for (; i < rows.size() && rows[i].value <= begin; ++i) cost += change[i];
    if (begin >= low(b)) offer(cost, j, begin, best);
    while (i < rows.size() && rows[i].value < end) {
      const double value = rows[i].value;
      for (; i < rows.size() && rows[i].value == value; ++i) cost += change[i];
      offer(cost, j, value, best);
    }
  }

  const GreedyData& search_;
  GapSums gaps_;
  ThresholdRange range_;
  std::int64_t price_ = 0, first_ = 0;
  std::int32_t slot_ = 0, feature_ = 0;
  std::vector<std::int64_t> bases_;
};

// ---- the bins ----------------------------------------------------------------------------------

// Sums and scans the dense slots [begin, end).
void search_dense(const GreedyData& search, std::int32_t begin, std::int32_t end,
                  std::vector<SlotScan>& scans, Findings<std::int64_t>& found) {
  std::vector<std::pair<SlotScan*, const std::uint8_t*>> open;
  for (std::int32_t slot = begin; slot < end; ++slot)
    if (scans[slot - begin].start(slot))
      open.emplace_back(&scans[slot - begin], search.bins.codes[slot].get());
  std::array<std::uint8_t, kBlock> block;
  for (std::int64_t i = 0; i < search.node.n; i += kBlock) {
    const std::int64_t last = std::min(i + kBlock, search.node.n);
    for (const auto& [scan, codes] : open) {
      for (std::int64_t r = i; r < last; ++r) block[r - i] = codes[search.node.rows[r]];
      scan->add(i, last, block.data());
    }
  }
  for (const auto& [scan, codes] : open) scan->run(found);
}

// The node's sparse entries, slot by slot.
struct Entries {
  std::vector<std::int32_t> rows;  // positions among the node's rows
  std::vector<std::uint8_t> codes;
};

std::vector<Entries> collect_entries(const Bins& bins, const GreedyNode& node) {
  const std::int64_t base = bins.sparse_begin();
  std::vector<Entries> all(bins.n_slots() - bins.n_dense);
  std::vector<std::int32_t> slot_of(bins.n_bins() - base);
  for (std::int32_t slot = bins.n_dense; slot < bins.n_slots(); ++slot)
    std::fill(slot_of.begin() + (bins.first[slot] - base),
              slot_of.begin() + (bins.first[slot + 1] - base), slot);
  for (std::int64_t i = 0; i < node.n && !all.empty(); ++i) {
    const Row row = node.rows[i];
    for (std::int64_t e = bins.indptr[row]; e < bins.indptr[row + 1]; ++e) {
      const std::int32_t slot = slot_of[bins.entries[e]];
      Entries& entries = all[slot - bins.n_dense];
      entries.rows.push_back(static_cast<std::int32_t>(i));
      entries.codes.push_back(
          static_cast<std::uint8_t>(bins.entries[e] - (bins.first[slot] - base)));
    }
  }
  return all;
}

// Sums of the rows' second choices, by their first.
std::vector<std::int64_t> sum_seconds(const GreedyData& search) {
  std::vector<std::int64_t> sums(search.node.k, 0);
  for (std::int64_t i = 0; i < search.node.n; ++i) {
    const Choice* choices = search.choices.of(i);
    sums[choices[0].center] += choices[1].cost;
  }
  return sums;
}

struct Promise {
  std::int64_t bound;
  std::int32_t slot;
};

// Sparse slots, most promising first. Their entries alone give the bound.
std::vector<Promise> rank_sparse(const GreedyData& search, const std::vector<Entries>& entries,
                                 int n_threads) {
  const std::int32_t n_dense = search.bins.n_dense;
  std::vector<Promise> promises(entries.size());
  const std::vector<std::int64_t> seconds = sum_seconds(search);
  parallel_for(
      static_cast<std::int64_t>(entries.size()), 16, n_threads, [&] { return SlotScan(search); },
      [&](SlotScan& scan, std::int64_t i) {
        const auto slot = static_cast<std::int32_t>(n_dense + i);
        promises[i] = {
            scan.start(slot) ? scan.bound(seconds, entries[i].rows, entries[i].codes) : kNoCost,
            slot};
      },
      [](SlotScan&) {});
  std::erase_if(promises, [](const Promise& p) { return p.bound == kNoCost; });
  std::sort(promises.begin(), promises.end(), [](const Promise& a, const Promise& b) {
    return std::tie(a.bound, a.slot) < std::tie(b.bound, b.slot);
  });
  return promises;
}

void search_sparse(const GreedyData& search, std::int32_t slot, const Entries& entries,
                   SlotScan& scan, std::vector<std::uint8_t>& codes,
                   Findings<std::int64_t>& found) {
  const std::int32_t missing = search.bins.default_bin[slot - search.bins.n_dense];
  codes.assign(search.node.n, static_cast<std::uint8_t>(missing));
  for (std::size_t i = 0; i < entries.rows.size(); ++i) codes[entries.rows[i]] = entries.codes[i];
  scan.start(slot);
  scan.add(0, search.node.n, codes.data());
  scan.run(found);
}

// See search.hpp.
class GreedySearch {
 public:
  using Cost = std::int64_t;
  struct Worker {
    std::vector<SlotScan> scans;
    std::vector<std::uint8_t> codes;
  };

  GreedySearch(const GreedyData& data, int n_threads)
      : data_(data),
        entries_(collect_entries(data.bins, data.node)),
        promises_(rank_sparse(data, entries_, n_threads)),
        n_dense_((data.bins.n_dense + kTogether - 1) / kTogether) {}

  Worker make_worker() const { return {std::vector<SlotScan>(kTogether, SlotScan(data_)), {}}; }
  void finish(Worker&) const {}
  std::int64_t chunk() const { return 1; }
  std::int64_t n_tasks() const { return n_dense_ + static_cast<std::int64_t>(promises_.size()); }

  void search_bins(Worker& worker, std::int64_t task, Findings<Cost>& found) const {
    const Bins& bins = data_.bins;
    if (task < n_dense_) {
      const auto slot = static_cast<std::int32_t>(task * kTogether);
      search_dense(data_, slot, std::min(slot + kTogether, bins.n_dense), worker.scans, found);
    } else {
      const Promise& promise = promises_[task - n_dense_];
      if (promise.bound > best_.load()) return;
      search_sparse(data_, promise.slot, entries_[promise.slot - bins.n_dense],
                    worker.scans.front(), worker.codes, found);
    }
    // What one thread has found spares the others slots that promise less.
    std::int64_t seen = best_.load();
    while (found.best.cost < seen && !best_.compare_exchange_weak(seen, found.best.cost)) {
    }
  }

  void open_slot(Worker& worker, std::int32_t slot) const { worker.scans.front().start(slot); }

  void search_inside(Worker& worker, const WideBin<Cost>& bin, const std::vector<BinValue>& inside,
                     const std::int64_t* bases, Candidate<Cost>& best) const {
    worker.scans.front().run_inside(bin.bin, inside, bases, best);
  }

 private:
  const GreedyData& data_;
  const std::vector<Entries> entries_;
  const std::vector<Promise> promises_;
  const std::int64_t n_dense_;
  mutable std::atomic<std::int64_t> best_{kNoCost};
};

// ---- the node's choices ------------------------------------------------------------------------

Choices sort_choices(const GreedyNode& node, int n_threads) {
  const auto width = static_cast<int>(node.members.size());
  // Uninitialised on purpose: every element is written below.
  Choices choices{node.n, width, std::unique_ptr<Choice[]>(new Choice[node.n * width])};
  parallel_for(node.n, 1024, n_threads, [&](std::int64_t i) {
    const std::int64_t* regrets = node.regrets + node.rows[i] * node.k;
    Choice* own = choices.at.get() + i * width;
    for (int j = 0; j < width; ++j) own[j] = {regrets[node.members[j]], node.members[j]};
    std::sort(own, own + width, [](const Choice& a, const Choice& b) { return a.cost < b.cost; });
    for (int j = width; j-- > 0;) own[j].cost -= own[0].cost;
  });
  return choices;
}

}  // namespace

std::optional<Cut> least_greedy_cut(const Bins& bins, const Points& points, const GreedyNode& node,
                                    const Limits& limits, int n_threads) {
  n_threads = threads_for(node.n * bins.n_slots(), n_threads);
  const GreedyData data{bins,
                        points,
                        node,
                        limits,
                        find_threshold_ranges(bins, points, node, limits, n_threads),
                        sort_choices(node, n_threads)};
  const GreedySearch search(data, n_threads);
  const Candidate<std::int64_t> best =
      find_best(search, bins, points, node.rows, node.n, n_threads);
  if (best.slot < 0) return std::nullopt;
  return close_gap(best, best.cost, values_of(points, node, best.feature, n_threads));
}

}  // namespace treemeans
