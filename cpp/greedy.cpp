#include "greedy.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <tuple>
#include <vector>

#include "gaps.hpp"
#include "inside.hpp"
#include "parallel.hpp"

namespace treemeans {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int32_t kTogether = 4;  // slots summed in one walk over the rows
constexpr std::int64_t kBlock = 256;   // rows that stay in the cache while the slots take turns

// The first threshold found with so low a cost: just above the value `at`.
struct Place {
  std::int64_t cost = kNever;
  std::int32_t feature = std::numeric_limits<std::int32_t>::max();
  double at = 0.0;

  void offer(const Place& other) {
    if (std::tie(other.cost, other.feature, other.at) < std::tie(cost, feature, at)) *this = other;
  }
};

// A wide bin in which no cut costs less than `bound`.
struct Suspect {
  std::int64_t bound;
  std::int32_t feature, slot;
  std::int64_t bin;  // of the slot
  double low;
  std::size_t bases;  // where the costs of the gaps that reach into it are kept
};

struct Findings {
  Place best;
  std::vector<Suspect> suspects;
  std::vector<std::int64_t> bases;

  void take(const Findings& other) {
    best.offer(other.best);
    for (Suspect suspect : other.suspects) {
      suspect.bases += bases.size();
      suspects.push_back(suspect);
    }
    bases.insert(bases.end(), other.bases.begin(), other.bases.end());
  }
};

// What the search of a node reads.
struct Search {
  const Bins& bins;
  const Points& points;
  const GreedyNode& node;
  const Terms& terms;
  std::vector<Room> rooms;
  Choices choices;
};

// One slot of a node, as the threshold moves up it.
class SlotScan {
 public:
  explicit SlotScan(const Search& search) : search_(search) {}

  // False where no threshold that the room admits separates the node's centers.
  bool start(std::int32_t slot) {
    const Bins& bins = search_.bins;
    slot_ = slot;
    first_ = bins.first[slot];
    feature_ = bins.feature[slot];
    room_ = search_.rooms[slot];
    price_ = search_.terms.price(slot);
    gaps_.start(bins, search_.node, slot);
    return gaps_.centers().differ() && room_.low < room_.high;
  }

  void add(std::int64_t begin, std::int64_t end, const std::uint8_t* codes) {
    gaps_.add(search_.choices, begin, end, codes);
  }

  // All rows have been added: the cuts between bins, and the bins that may hold better ones.
  void run(Findings& found) {
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
  void run_inside(std::int64_t b, const std::vector<Inside>& rows, const std::int64_t* bases,
                  Place& best) const {
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
    std::int64_t least = kNever - price_;
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

  void offer(std::int64_t cost, std::int32_t passed, double at, Place& best) const {
    if (gaps_.open(passed) && room_.admits(at)) best.offer({cost + price_, feature_, at});
  }

  bool reaches_into(std::int32_t j, std::int64_t b) const {
    return gaps_.open(j) && gaps_.centers().at[j - 1] < high(b);
  }

  // The bin's rows may all go to the side where they cost nothing.
  void suspect(std::int64_t b, std::int64_t sum, Findings& found) const {
    const std::int32_t before = gaps_.before(b), after = gaps_.after(b);
    std::int64_t bound = kNever;
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
    if (bound == kNever || bound > found.best.cost || !room_.meets(low(b), high(b))) return;
    found.suspects.push_back({bound, feature_, slot_, b, low(b), found.bases.size()});
    for (std::int32_t j = before; j <= after; ++j)
      found.bases.push_back(bases_[j] + (j == before ? sum : 0));
  }

  // What a row costs right of a cut in gap j (first), and left of it.
  std::pair<std::int64_t, std::int64_t> sides(const Inside& row, std::int32_t j) const {
    const Choice* choice = search_.choices.of(row.position);
    const bool own_left = gaps_.rank(choice->center) < j;
    do {
      ++choice;
    } while ((gaps_.rank(choice->center) < j) == own_left);
    return own_left ? std::pair{choice->cost, std::int64_t{0}}
                    : std::pair{std::int64_t{0}, choice->cost};
  }

  void run_gap(std::int32_t j, std::int64_t b, const std::vector<Inside>& rows, std::int64_t base,
               Place& best) const {
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

  const Search& search_;
  GapSums gaps_;
  Room room_;
  std::int64_t price_ = 0, first_ = 0;
  std::int32_t slot_ = 0, feature_ = 0;
  std::vector<std::int64_t> bases_;
};

// ---- the bins ----------------------------------------------------------------------------------

// Sums and scans the dense slots [begin, end).
void search_dense(const Search& search, std::int32_t begin, std::int32_t end,
                  std::vector<SlotScan>& scans, Findings& found) {
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
std::vector<std::int64_t> sum_seconds(const Search& search) {
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
std::vector<Promise> rank_sparse(const Search& search, const std::vector<Entries>& entries,
                                 int n_threads) {
  const std::int32_t n_dense = search.bins.n_dense;
  std::vector<Promise> promises(entries.size());
  const std::vector<std::int64_t> seconds = sum_seconds(search);
#pragma omp parallel num_threads(n_threads)
  {
    SlotScan scan(search);
#pragma omp for schedule(dynamic, 16)
    for (std::int32_t slot = n_dense; slot < search.bins.n_slots(); ++slot) {
      const Entries& own = entries[slot - n_dense];
      promises[slot - n_dense] = {
          scan.start(slot) ? scan.bound(seconds, own.rows, own.codes) : kNever, slot};
    }
  }
  std::erase_if(promises, [](const Promise& p) { return p.bound == kNever; });
  std::sort(promises.begin(), promises.end(), [](const Promise& a, const Promise& b) {
    return std::tie(a.bound, a.slot) < std::tie(b.bound, b.slot);
  });
  return promises;
}

void search_sparse(const Search& search, std::int32_t slot, const Entries& entries, SlotScan& scan,
                   std::vector<std::uint8_t>& codes, Findings& found) {
  const std::int32_t missing = search.bins.default_bin[slot - search.bins.n_dense];
  codes.assign(search.node.n, static_cast<std::uint8_t>(missing));
  for (std::size_t i = 0; i < entries.rows.size(); ++i) codes[entries.rows[i]] = entries.codes[i];
  scan.start(slot);
  scan.add(0, search.node.n, codes.data());
  scan.run(found);
}

Findings search_bins(const Search& search, int n_threads) {
  const Bins& bins = search.bins;
  const std::vector<Entries> entries = collect_entries(bins, search.node);
  const std::vector<Promise> promises = rank_sparse(search, entries, n_threads);
  const auto n_promises = static_cast<std::int64_t>(promises.size());
  Findings all;
  std::atomic<std::int64_t> best{kNever};
#pragma omp parallel num_threads(n_threads)
  {
    Findings mine;
    std::vector<SlotScan> scans(kTogether, SlotScan(search));
    std::vector<std::uint8_t> codes;
    const auto share = [&] {
      std::int64_t seen = best.load();
      while (mine.best.cost < seen && !best.compare_exchange_weak(seen, mine.best.cost)) {
      }
    };
#pragma omp for schedule(dynamic)
    for (std::int32_t slot = 0; slot < bins.n_dense; slot += kTogether) {
      search_dense(search, slot, std::min(slot + kTogether, bins.n_dense), scans, mine);
      share();
    }
#pragma omp for schedule(dynamic) nowait
    for (std::int64_t i = 0; i < n_promises; ++i) {
      if (promises[i].bound > best.load()) continue;
      search_sparse(search, promises[i].slot, entries[promises[i].slot - bins.n_dense],
                    scans.front(), codes, mine);
      share();
    }
#pragma omp critical
    all.take(mine);
  }
  return all;
}

// ---- inside the bins that can still hold the best cut ------------------------------------------

// A slot's suspects that can still beat `best`: all collected in one walk over the rows.
void refine_slot(const Search& search, const std::vector<std::int64_t>& bases, const Suspect* begin,
                 const Suspect* end, SlotScan& scan, Place& best) {
  std::vector<const Suspect*> suspects;
  std::vector<std::int64_t> wanted;
  for (const Suspect* s = begin; s != end; ++s) {
    if (std::tie(s->bound, s->feature, s->low) > std::tie(best.cost, best.feature, best.at))
      continue;
    suspects.push_back(s);
    wanted.push_back(s->bin);
  }
  if (wanted.empty()) return;
  const auto inside =
      look_inside(search.points, search.bins, begin->slot, search.node.rows, search.node.n, wanted);
  scan.start(begin->slot);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    scan.run_inside(wanted[i], inside[i], bases.data() + suspects[i]->bases, best);
}

Place refine(const Search& search, Findings& found, int n_threads) {
  const std::vector<const Suspect*> starts = sort_by_slot(found.suspects);
  const auto n_slots = static_cast<std::int64_t>(starts.size()) - 1;
  Place best = found.best;
#pragma omp parallel num_threads(n_slots < 2 ? 1 : n_threads)
  {
    Place mine = found.best;
    SlotScan scan(search);
#pragma omp for schedule(dynamic) nowait
    for (std::int64_t i = 0; i < n_slots; ++i)
      refine_slot(search, found.bases, starts[i], starts[i + 1], scan, mine);
#pragma omp critical
    best.offer(mine);
  }
  return best;
}

// ---- the node's choices ------------------------------------------------------------------------

Choices sort_choices(const GreedyNode& node, int n_threads) {
  const auto width = static_cast<int>(node.members.size());
  // Uninitialised on purpose: every element is written below.
  Choices choices{node.n, width, std::unique_ptr<Choice[]>(new Choice[node.n * width])};
#pragma omp parallel for schedule(static) num_threads(n_threads)
  for (std::int64_t i = 0; i < node.n; ++i) {
    const std::int64_t* regrets = node.regrets + node.rows[i] * node.k;
    Choice* own = choices.at.get() + i * width;
    for (int j = 0; j < width; ++j) own[j] = {regrets[node.members[j]], node.members[j]};
    std::sort(own, own + width, [](const Choice& a, const Choice& b) { return a.cost < b.cost; });
    for (int j = width; j-- > 0;) own[j].cost -= own[0].cost;
  }
  return choices;
}

}  // namespace

std::optional<Cut> least_greedy_cut(const Bins& bins, const Points& points, const GreedyNode& node,
                                    const Terms& terms, int n_threads) {
  n_threads = threads_for(node.n * bins.n_slots(), n_threads);
  const Search search{bins,
                      points,
                      node,
                      terms,
                      find_room(bins, points, node, terms, n_threads),
                      sort_choices(node, n_threads)};
  Findings found = search_bins(search, n_threads);
  const Place best = refine(search, found, n_threads);
  if (best.cost == kNever) return std::nullopt;
  Cut cut{best.cost, best.feature, -kInfinity, kInfinity};
  const std::vector<double> values = values_of(points, node, best.feature, n_threads);
  narrow(values.data(), static_cast<std::int64_t>(values.size()), best.at, cut.low, cut.high);
  return cut;
}

}  // namespace treemeans
