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
#include <optional>
#include <tuple>
#include <vector>

#include "bin_contents.hpp"
#include "binning.hpp"
#include "cut.hpp"
#include "parallel.hpp"
#include "points.hpp"
#include "score.hpp"

namespace treemeans {

// A cut: thresholds from `at` on, up to the next value; of a column of categories, the best one. Of
// equal costs the lowest feature wins, then the lowest value, then missing values on the right.
template <class Cost>
struct Candidate {
  Cost cost = worst_cost<Cost>();
  std::int32_t feature = std::numeric_limits<std::int32_t>::max();
  std::int32_t slot = -1;  // none found
  double at = 0.0;
  double next = std::numeric_limits<double>::quiet_NaN();  // value of the node, if it is known
  std::int8_t missing_left = 0;

  TM_INLINE void offer(const Candidate& other) {
    if (other.cost < cost ||
        (other.cost == cost && std::tie(other.feature, other.at, other.missing_left) <
                                   std::tie(feature, at, missing_left)))
      *this = other;
  }
};

// A bin of several values in which no cut costs less than `bound`, nor lies below `low`.
template <class Cost>
struct WideBin {
  Cost bound;
  std::int32_t feature, slot;
  std::int64_t bin;  // of the slot
  double low;
  std::size_t kept;  // where sums are kept that the look inside starts from
  std::int8_t missing_left = 0;

  bool can_beat(const Candidate<Cost>& best) const {
    return std::tie(bound, feature, low) <= std::tie(best.cost, best.feature, best.at);
  }
};

template <class Cost>
struct Findings {
  Candidate<Cost> best;
  std::vector<WideBin<Cost>> wide;
  std::vector<std::int64_t> kept;

  void merge(const Findings& other) {
    best.offer(other.best);
    for (WideBin<Cost> bin : other.wide) {
      bin.kept += kept.size();
      wide.push_back(bin);
    }
    kept.insert(kept.end(), other.kept.begin(), other.kept.end());
  }
};

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

}  // namespace treemeans
