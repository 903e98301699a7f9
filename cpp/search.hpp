// The search for the best cut of a node, written once for every score: price the cuts between bins,
// bound those inside wide bins, look inside the bins whose bound is low enough, and find the two
// values around the cut that is best.
//
// A Search says what cuts cost (see score.hpp for the arithmetic):
//   Cost                                what is compared; has an order
//   Worker                              what a thread works with
//   make_worker()                       one for each thread
//   n_tasks()                           pieces of the bins that threads share out
//   search_bins(worker, task, found)    the cuts between bins, and the wide bins that may matter
//   open_slot(worker, slot)             before bins of a slot are looked into
//   search_inside(worker, bin, values, kept, best)
//                                       the cuts inside a wide bin: its rows by value
//   finish(worker)                      after the last task of a thread
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "bin_contents.hpp"
#include "binning.hpp"
#include "cut.hpp"
#include "findings.hpp"
#include "parallel.hpp"
#include "points.hpp"
#include "prefix_scan.hpp"
#include "score.hpp"
#include "subset_search.hpp"

namespace treemeans {

// The best cut; none has slot -1. rows: the node's.
template <class Search>
Candidate<typename Search::Cost> find_best(const Search& search, const Bins& bins,
                                           const Points& points, const Row* rows, std::int64_t n,
                                           int n_threads) {
  using Cost = typename Search::Cost;
  using Worker = typename Search::Worker;
  Findings<Cost> found;
  struct Task {
    Worker worker;
    Findings<Cost> found;
  };
  parallel_for(
      search.n_tasks(), search.chunk(), n_threads, [&] { return Task{search.make_worker(), {}}; },
      [&](Task& own, std::int64_t task) { search.search_bins(own.worker, task, own.found); },
      [&](Task& own) {
        found.merge(own.found);
        search.finish(own.worker);
      });
  Candidate<Cost> best = found.best;
  std::erase_if(found.wide, [&](const WideBin<Cost>& bin) { return !bin.can_beat(best); });
  const std::vector<const WideBin<Cost>*> starts = sort_by_slot(found.wide);
  const auto n_slots = static_cast<std::int64_t>(starts.size()) - 1;
  if (n_slots == 0) return best;
  struct Look {
    Worker worker;
    Candidate<Cost> best;
  };
  const Candidate<Cost> start = best;  // `best` may be written while another thread starts
  parallel_for(
      n_slots, 1, n_threads, [&] { return Look{search.make_worker(), start}; },
      [&](Look& own, std::int64_t i) {
        std::vector<const WideBin<Cost>*> chosen;
        std::vector<std::int64_t> wanted;
        std::vector<std::size_t> place;  // of each chosen one among the wanted
        for (const WideBin<Cost>* bin = starts[i]; bin != starts[i + 1]; ++bin) {
          if (!bin->can_beat(own.best)) continue;
          chosen.push_back(bin);
          // A bin comes twice where missing values may take either side.
          if (wanted.empty() || wanted.back() != bin->bin) wanted.push_back(bin->bin);
          place.push_back(wanted.size() - 1);
        }
        if (wanted.empty()) return;
        const std::int32_t slot = starts[i]->slot;
        search.open_slot(own.worker, slot);
        const auto inside = rows_in_bins(points, bins.view(slot), rows, n, wanted);  // in one walk
        for (std::size_t j = 0; j < chosen.size(); ++j)
          if (chosen[j]->can_beat(own.best))
            search.search_inside(own.worker, *chosen[j], inside[place[j]],
                                 found.kept.data() + chosen[j]->kept, own.best);
      },
      [&](Look& own) {
        best.offer(own.best);
        search.finish(own.worker);
      });
  return best;
}

// The cut with the two values around it, of the given ones: known where it was found inside a bin.
template <class Cost>
Cut close_gap(const Candidate<Cost>& best, std::int64_t cost, const std::vector<double>& values) {
  Cut cut{cost, best.feature, best.at, best.next};
  if (std::isnan(best.next)) {
    cut.low = -std::numeric_limits<double>::infinity();
    cut.high = std::numeric_limits<double>::infinity();
    narrow(values.data(), static_cast<std::int64_t>(values.size()), best.at, cut.low, cut.high);
  }
  return cut;
}

namespace scan {

// The search for scores of prefixes.
template <class Score>
class PrefixSearch {
 public:
  using Cost = std::int64_t;
  using Worker = std::unique_ptr<SearchBuffers>;

  PrefixSearch(const Score& score, const Node& node, const Bins& bins, int n_threads)
      : score_(score), node_(node), bins_(bins), parts_(share_sparse(bins, n_threads)) {
    for (std::int32_t slot = 0; slot < bins.n_dense; ++slot)
      if (node.limits.open(slot)) dense_.push_back(slot);
    for (std::size_t i = 0; i < bins.mixed.size(); ++i) {
      const auto slot = static_cast<std::int32_t>(bins.n_slots() + i);
      if (node.limits.open(slot)) (bins.mixed[i].codes ? dense_ : many_).push_back(slot);
    }
    n_sparse_ = bins.n_slots() > bins.n_dense ? n_threads : 0;
  }

  Worker make_worker() const {
    Worker worker = bins_.buffers.take();
    worker->sums.resize(3 * node_.row_stats.width);
    return worker;
  }
  void finish(Worker& worker) const { bins_.buffers.give_back(std::move(worker)); }
  std::int64_t chunk() const { return 1; }
  std::int64_t n_tasks() const {
    return n_sparse_ + static_cast<std::int64_t>(many_.size()) +
           (static_cast<std::int64_t>(dense_.size()) + kTogether - 1) / kTogether;
  }

  void search_bins(Worker& worker, std::int64_t task, Findings<Cost>& found) const {
    const auto n_many = static_cast<std::int64_t>(many_.size());
    if (task < n_sparse_) {
      search_sparse(score_, node_, bins_, parts_[task], parts_[task + 1], *worker, found);
    } else if (task < n_sparse_ + n_many) {
      search_many_categories(score_, node_, bins_, many_[task - n_sparse_], *worker, found);
    } else {
      const std::int64_t at = (task - n_sparse_ - n_many) * kTogether;
      search_dense(score_, node_, bins_, dense_.data() + at,
                   static_cast<std::int64_t>(dense_.size()) - at, *worker, found);
    }
  }

  void open_slot(Worker&, std::int32_t) const {}

  // Every distinct value inside one bin, in order. Cuts inside a bin lie below the boundary after
  // it, and so win a tie against it.
  void search_inside(Worker&, const WideBin<Cost>& bin, const std::vector<BinValue>& inside,
                     const std::int64_t* prefix, Candidate<Cost>& best) const {
    const int K = node_.row_stats.width;
    const std::int64_t price = node_.limits.price(bin.slot);
    std::vector<std::int64_t> sums(prefix, prefix + K), scratch(node_.source ? K : 0);
    for (std::size_t i = 0; i + 1 < inside.size(); ++i) {
      const std::int64_t* line = node_.line(inside[i].position, scratch.data());
      for (int c = 0; c < K; ++c) sums[c] += line[c];
      if (inside[i].value == inside[i + 1].value || !node_.permits(sums.data())) continue;
      best.offer({score_.cost(sums.data()) + price, bin.feature, bin.slot, inside[i].value,
                  inside[i + 1].value, bin.missing_left});
    }
  }

 private:
  const Score& score_;
  const Node& node_;
  const Bins& bins_;
  std::vector<std::int32_t> dense_, parts_, many_;
  std::int64_t n_sparse_ = 0;
};

// The categories of the best cut of a slot, found again: searches keep only what cuts cost.
template <class Score>
Cut find_categories(const Score& score, const Node& node, const Bins& bins, std::int32_t slot) {
  const MixedSlot& mixed = bins.mixed_at(slot);
  const int K = node.row_stats.width;
  std::vector<std::int64_t> histogram(std::size_t(mixed.n_groups()) * K, 0);
  std::vector<std::int64_t> lines;
  node.each_block(lines, [&](const RowStats& rows) {
    if (mixed.codes) {
      sum_column<Score::kWidth>(rows, mixed.codes.get(), histogram.data());
    } else {
      sum_column<Score::kWidth>(rows, mixed.wide_codes.get(), histogram.data());
    }
  });
  const Groups groups =
      Groups::of(histogram.data(), mixed.n_values, mixed.has_missing, K, node.counter);
  const Subset subset = SubsetSearch(score, groups, node.limits, node.start).run();
  return subset_cut(groups, subset, mixed.feature, mixed.has_missing, Score::kSymmetric);
}

// The cut of a column with missing values: the two values around it, where they are not known, and
// the side of missing values, which is the one that was found or, of a node without any, the
// heavier one. Values are read a block at a time.
inline Cut close_mixed_gap(const Points& points, const Node& node,
                           const Candidate<std::int64_t>& best, int n_threads) {
  constexpr std::int64_t block = sized(1 << 14, 4);
  const RowStats& stats = node.row_stats;
  std::vector<double> values(std::min(block, stats.n));
  Cut cut = close_gap(best, best.cost, {});
  std::int64_t left = 0, right = 0;
  bool any_missing = false;
  for (std::int64_t begin = 0; begin < stats.n; begin += block) {
    const Row* rows = stats.rows + begin;
    const std::int64_t n = std::min(block, stats.n - begin);
    points.column(best.feature, rows, n, values.data(), n_threads);
    if (std::isnan(best.next)) narrow(values.data(), n, best.at, cut.low, cut.high);
    for (std::int64_t i = 0; i < n && !any_missing; ++i) {
      any_missing = std::isnan(values[i]);
      (values[i] <= best.at ? left : right) += node.limits.weight(rows[i]);
    }
    if (any_missing && !std::isnan(best.next)) break;
  }
  cut.missing_left = any_missing ? best.missing_left != 0 : left > right;
  return cut;
}

// The cut of least cost that the limits permit; ties go to the lowest feature, then the lowest
// threshold, then missing values on the right. None where there is no such cut.
template <class Score>
std::optional<Cut> least_cut(const Score& score, const Points& points, const Node& node,
                             const Bins& bins, int n_threads) {
  const RowStats& stats = node.row_stats;
  const Candidate<std::int64_t> best = find_best(PrefixSearch<Score>(score, node, bins, n_threads),
                                                 bins, points, stats.rows, stats.n, n_threads);
  if (best.slot < 0) return std::nullopt;
  const bool mixed = bins.is_mixed(best.slot);
  if (mixed && bins.mixed_at(best.slot).categorical) {
    Cut cut = find_categories(score, node, bins, best.slot);
    cut.cost = best.cost;
    return cut;
  }
  std::vector<double> values;
  const SlotView slot = bins.view(best.slot);
  if (std::isnan(best.next) && !mixed && worth_coding(points, slot, stats.n)) {
    const NodeBins around(points, slot, stats.rows, stats.n, EveryRow());
    return Cut{best.cost, best.feature, around.greatest_up_to(best.at),
               around.least_above(best.at)};
  }
  if (mixed) return close_mixed_gap(points, node, best, n_threads);
  if (std::isnan(best.next)) {
    values.resize(stats.n);
    points.column(best.feature, stats.rows, stats.n, values.data(), n_threads);
  }
  return close_gap(best, best.cost, values);
}

}  // namespace scan

}  // namespace treemeans
