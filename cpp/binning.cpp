#include "binning.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "parallel.hpp"
#include "simd.hpp"

namespace treemeans {
namespace {

constexpr std::int64_t kSample =
    sized(1024, 16);  // rows looked at, at the most, to choose a feature's bins
constexpr std::int64_t kLeastSample = sized(512, 8);
constexpr int kMostBins = sized(Bins::kMax, 4);   // of a feature
constexpr double kMostUnits = sized(255.0, 3.0);  // between whole numbers, one bin each
constexpr double kSparseShare = 15.0 / 16.0;      // of the default value, to store the others only
constexpr std::int64_t kTileRows = DensePoints::kTileRows, kStride = DensePoints::kTileStride;
constexpr std::int32_t kTileColumns = DensePoints::kTileColumns;
constexpr std::int32_t kStripColumns = 4 * kTileColumns;  // binned in one walk over the rows
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Bin of v: the number of edges below it; so bin b holds (edges[b - 1], edges[b]].
struct Edges {
  std::array<double, Bins::kMax> at;  // 255 of them, padded with infinity
  Edges() { at.fill(kInfinity); }
};

// Edges of whole numbers that lie close together: the bin of each is looked up. As many as fit the
// nearest cache, with the flags beside them.
constexpr std::int64_t kMostWhole = sized(8192, 16);

enum class Kind { unit, whole, edges, sparse };

// How one feature is binned, and what has been learnt of its bins.
struct Plan {
  Kind kind = Kind::edges;
  double base = 0.0;  // unit: bin b holds the value base + b; whole: the first of the table
  double default_value = 0.0;  // sparse
  Edges edges;
  bool failed = false;  // the sample misled: a value does not fit
  bool finite = true;
  bool whole = true;                       // edges: all values are integers
  std::uint8_t least = 255, greatest = 0;  // unit: codes that occur
  std::array<double, Bins::kMax> low, high;
  std::vector<std::uint8_t> code_of, occurs;  // whole: of the values base, base + 1, ...
  std::vector<Row> rows;  // sparse: rows that differ from the default, and their values
  std::vector<double> values;

  Plan() {
    low.fill(kInfinity);
    high.fill(-kInfinity);
  }
  // No values are coded: others than finite ones occur, or are categories.
  void give_up() { failed = true, finite = false; }
};

bool is_integral(const double* v, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    if (v[i] != std::nearbyint(v[i])) return false;
  return true;
}

// Edges from an ascending sample. A value seen often enough to fill a bin gets one of its own, shut
// off on both sides; the others are grouped into bins of about equal weight.
Edges choose_edges(const std::vector<double>& sorted, int max_bins) {
  struct Run {
    double value;
    std::int64_t count;
  };
  std::vector<Run> runs;
  for (double v : sorted) {
    if (runs.empty() || runs.back().value != v) runs.push_back({v, 0});
    ++runs.back().count;
  }
  const int max_edges = max_bins - 1;
  const auto n = static_cast<std::int64_t>(sorted.size());
  const bool isolate = 2 * static_cast<std::int64_t>(runs.size()) <= max_edges;
  const std::int64_t target = isolate ? 1 : std::max<std::int64_t>(1, n / (max_edges / 2));
  const std::int64_t heavy = std::max<std::int64_t>(2, target);
  std::vector<double> edges;
  std::int64_t filled = 0;
  for (const Run& run : runs) {
    const bool alone = isolate || run.count >= heavy;
    const double below = std::nextafter(run.value, -kInfinity);
    if (alone && (edges.empty() || edges.back() < below)) edges.push_back(below);
    filled = alone ? 0 : filled + run.count;
    if (alone || filled >= target) {
      edges.push_back(run.value);
      filled = 0;
    }
  }
  Edges chosen;
  // Too many (many heavy values): keep every second, and so on. Only the width of bins suffers.
  std::size_t stride = 1;
  while (edges.size() / stride > static_cast<std::size_t>(max_edges)) ++stride;
  std::size_t kept = 0;
  for (std::size_t i = stride - 1; i < edges.size() && kept < static_cast<std::size_t>(max_edges);
       i += stride)
    chosen.at[kept++] = edges[i];
  return chosen;
}

// Adds the two edges that give `value` a bin of its own, making room if need be.
void isolate_value(Edges& edges, double value, int max_bins) {
  std::vector<double> all(edges.at.begin(), edges.at.end());
  while (!all.empty() && all.back() == kInfinity) all.pop_back();
  while (static_cast<int>(all.size()) > max_bins - 3) all.erase(all.begin() + all.size() / 2);
  all.push_back(value);
  all.push_back(std::nextafter(value, -kInfinity));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  edges.at.fill(kInfinity);
  std::copy(all.begin(), all.end(), edges.at.begin());
}

// How far whole numbers are above the base, 0 to n_values - 1. False if one does not fit: it leaves
// an error behind, a fraction, an excess or a NaN.
TM_CLONES bool units_above(const double* TM_RESTRICT v, std::int64_t n, double base,
                           std::int64_t n_values, std::int32_t* TM_RESTRICT whole) {
  const auto last = static_cast<double>(n_values - 1);
  double error = 0.0;
#pragma omp simd reduction(+ : error)
  for (std::int64_t i = 0; i < n; ++i) {
    const double u = v[i] - base;
    const double floored = u > 0.0 ? u : 0.0;  // 0 for a NaN too, which must not be cast
    const double clipped = floored > last ? last : floored;
    whole[i] = static_cast<std::int32_t>(clipped);
    error += std::abs((base + static_cast<double>(whole[i])) - v[i]);  // base + whole is exact
  }
  return error == 0.0;
}

// n <= kTileRows.
TM_CLONES bool code_unit(const double* TM_RESTRICT v, std::int64_t n, double base,
                         std::uint8_t* TM_RESTRICT codes) {
  std::int32_t whole[kTileRows];
  const bool fit = units_above(v, n, base, 256, whole);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) codes[i] = static_cast<std::uint8_t>(whole[i]);
  return fit;
}

TM_CLONES void code_range(const std::uint8_t* TM_RESTRICT codes, std::int64_t n,
                          std::uint8_t& least, std::uint8_t& greatest) {
  std::uint8_t low = least, high = greatest;
  for (std::int64_t i = 0; i < n; ++i) {
    low = codes[i] < low ? codes[i] : low;
    high = codes[i] > high ? codes[i] : high;
  }
  least = low;
  greatest = high;
}

// How many edges lie below each value. The lanes of a vector are values: every 16th edge, which is
// the same for all of them, says among which 16 the bin is; these are searched by halves.
TM_CLONES void code_edges(const double* TM_RESTRICT v, std::int64_t n,
                          const double* TM_RESTRICT edges, std::uint8_t* TM_RESTRICT codes) {
  double every[15];
  for (int j = 0; j < 15; ++j) every[j] = edges[16 * j + 15];
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const double value = v[i];
    std::int64_t at = 0;
    for (int j = 0; j < 15; ++j) at += every[j] < value ? 16 : 0;
    at += edges[at + 7] < value ? 8 : 0;
    at += edges[at + 3] < value ? 4 : 0;
    at += edges[at + 1] < value ? 2 : 0;
    at += edges[at] < value ? 1 : 0;
    codes[i] = static_cast<std::uint8_t>(at);
  }
}

// n <= kTileRows. The same codes as those of code_edges, from the plan's table.
bool code_whole(const double* v, std::int64_t n, Plan& plan, std::uint8_t* codes) {
  std::int32_t whole[kTileRows];
  const bool fit =
      units_above(v, n, plan.base, static_cast<std::int64_t>(plan.code_of.size()), whole);
  const std::uint8_t* code_of = plan.code_of.data();
  std::uint8_t* occurs = plan.occurs.data();
  for (std::int64_t i = 0; i < n; ++i) {
    codes[i] = code_of[whole[i]];
    occurs[whole[i]] = 1;
  }
  return fit;
}

// Look codes up where the sample is of whole numbers that lie close together, with room on both
// sides for those it did not see.
void plan_whole(const std::vector<double>& sorted, Plan& plan) {
  const double span = sorted.back() - sorted.front() + 1.0;
  const double size = std::min(2.0 * span, static_cast<double>(kMostWhole));
  if (span > size || std::abs(sorted.front()) + size > 1e15 ||
      !is_integral(sorted.data(), static_cast<std::int64_t>(sorted.size())))
    return;
  plan.kind = Kind::whole;
  plan.base = sorted.front() - std::floor((size - span) / 2.0);
  if (plan.base < 0.0 && sorted.front() >= 0.0) plan.base = 0.0;  // counts have no other side
  std::vector<double> values(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = plan.base + static_cast<double>(i);
  plan.code_of.resize(values.size());
  plan.occurs.assign(values.size(), 0);
  code_edges(values.data(), static_cast<std::int64_t>(values.size()), plan.edges.at.data(),
             plan.code_of.data());
}

TM_CLONES void subtract(std::uint8_t* codes, std::int64_t n, std::uint8_t by) {
  for (std::int64_t i = 0; i < n; ++i) codes[i] = static_cast<std::uint8_t>(codes[i] - by);
}

TM_CLONES bool all_equal(const double* TM_RESTRICT v, std::int64_t n, double value) {
  int differs = 0;
#pragma omp simd reduction(| : differs)
  for (std::int64_t i = 0; i < n; ++i) differs |= v[i] != value ? 1 : 0;
  return differs == 0;
}

void widen_bins(const double* v, std::int64_t n, const std::uint8_t* codes, Plan& plan) {
  for (std::int64_t i = 0; i < n; ++i) {  // soon neither is true: no store to wait for
    const std::uint8_t b = codes[i];
    if (v[i] < plan.low[b]) plan.low[b] = v[i];
    if (v[i] > plan.high[b]) plan.high[b] = v[i];
  }
}

TM_CLONES bool all_finite(const double* TM_RESTRICT v, std::int64_t n) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += v[i] * 0.0;
  return sum == 0.0;
}

// Room on both sides of what the sample saw, for values it did not see; bytes need none.
double unit_base(double least, double greatest) {
  if (least >= 0.0 && greatest <= 255.0) return 0.0;
  return least - std::floor((255.0 - (greatest - least)) / 2.0);
}

// sample: finite values, at least one; left sorted or not.
void plan_feature(std::vector<double>& sample, Plan& plan) {
  const auto [least, greatest] = std::minmax_element(sample.begin(), sample.end());
  const double base = unit_base(*least, *greatest);
  const bool unit = *greatest - *least <= kMostUnits && std::abs(base) < 1e15 &&
                    is_integral(sample.data(), static_cast<std::int64_t>(sample.size()));
  std::int64_t most = 0;
  if (unit) {
    std::array<std::int64_t, 256> counts{};
    for (double v : sample) ++counts[static_cast<int>(v - base)];
    const auto top = std::max_element(counts.begin(), counts.end());
    most = *top;
    plan.default_value = base + static_cast<double>(top - counts.begin());
    plan.base = base;
    plan.kind = Kind::unit;
  } else {
    std::sort(sample.begin(), sample.end());
    plan.edges = choose_edges(sample, kMostBins);
    plan_whole(sample, plan);
    for (std::size_t i = 0, j; i < sample.size(); i = j) {
      for (j = i; j < sample.size() && sample[j] == sample[i];) ++j;
      if (static_cast<std::int64_t>(j - i) > most) {
        most = static_cast<std::int64_t>(j - i);
        plan.default_value = sample[i];
      }
    }
  }
  if (static_cast<double>(most) >= kSparseShare * static_cast<double>(sample.size()))
    plan.kind = Kind::sparse;
}

std::vector<Row> sample_rows(std::int64_t n_rows) {
  const std::int64_t m = std::min(n_rows, std::clamp(n_rows / 32, kLeastSample, kSample));
  std::vector<Row> rows(m);
  std::uint64_t state = 0x9E3779B97F4A7C15ull;
  for (std::int64_t j = 0; j < m; ++j) {  // one from each of m strata, at a scrambled place
    const std::int64_t from = j * n_rows / m, to = (j + 1) * n_rows / m;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    rows[j] = static_cast<Row>(from + static_cast<std::int64_t>((state >> 33) % (to - from)));
  }
  return rows;
}

// The column's next rows, [r0, r0 + n), under its plan.
void code_rows(const double* v, std::int64_t r0, std::int64_t n, Plan& plan, std::uint8_t* codes) {
  if (plan.failed) return;
  switch (plan.kind) {
    case Kind::unit:
      plan.failed = !code_unit(v, n, plan.base, codes + r0);
      code_range(codes + r0, n, plan.least, plan.greatest);
      break;
    case Kind::whole:
      plan.failed = !code_whole(v, n, plan, codes + r0);
      break;
    case Kind::edges:
      plan.finite = all_finite(v, n) && plan.finite;
      plan.whole = plan.whole && is_integral(v, n);
      code_edges(v, n, plan.edges.at.data(), codes + r0);
      widen_bins(v, n, codes + r0, plan);
      break;
    case Kind::sparse:
      if (all_equal(v, n, plan.default_value)) break;
      for (std::int64_t i = 0; i < n; ++i) {
        if (v[i] == plan.default_value) continue;
        plan.rows.push_back(static_cast<Row>(r0 + i));
        plan.values.push_back(v[i]);
      }
      break;
  }
}

// A feature that has been through its plan.
struct Column {
  std::unique_ptr<std::uint8_t[]> codes;  // none: sparse
  std::vector<double> low, high;
  double default_value = 0.0;
  std::vector<Row> rows;
  std::vector<double> values;
  bool finite = true, whole = true;
};

void finish_dense(Plan& plan, std::int64_t n, Column& column) {
  for (std::size_t i = 0; i < plan.occurs.size(); ++i) {  // ascending
    if (!plan.occurs[i]) continue;
    const double value = plan.base + static_cast<double>(i);
    plan.low[plan.code_of[i]] = std::min(plan.low[plan.code_of[i]], value);
    plan.high[plan.code_of[i]] = value;
  }
  if (plan.kind == Kind::unit) {
    subtract(column.codes.get(), n, plan.least);
    for (int b = plan.least; b <= plan.greatest; ++b) column.low.push_back(plan.base + b);
    column.high = column.low;
    return;
  }
  int last = Bins::kMax - 1;
  while (last > 0 && plan.low[last] > plan.high[last]) --last;
  column.low.assign(plan.low.begin(), plan.low.begin() + last + 1);
  column.high.assign(plan.high.begin(), plan.high.begin() + last + 1);
}

// Bins a few neighbouring features in one walk over the rows.
class Strip {
 public:
  // categorical: as in make_bins.
  Strip(const DensePoints& points, const std::vector<Row>& sample, const std::uint8_t* categorical)
      : points_(points),
        sampled_(sample),
        categorical_(categorical),
        tile_(kStride * kTileColumns) {}

  void run(std::int32_t begin, std::int32_t end, std::vector<Column>& columns) {
    plans_.assign(end - begin, Plan());
    for (std::int32_t f = begin; f < end; ++f) {
      read_sample(f);
      plan_feature(sample_, plans_[f - begin]);
      // Those get slots of another kind; see add_mixed_slots().
      if (categorical_ && (categorical_[f] || some_missing_)) plans_[f - begin].give_up();
    }
    code(begin, end, begin, columns);
    for (std::int32_t f = begin; f < end; ++f) {
      Plan& plan = plans_[f - begin];
      const bool given_up = categorical_ && !plan.finite;
      if (!given_up &&
          (plan.failed || static_cast<std::int64_t>(plan.rows.size()) > points_.n_rows / 4)) {
        plan = Plan();  // the sample misled: once more, with bins that fit anything
        read_sample(f);
        std::sort(sample_.begin(), sample_.end());
        plan.edges = choose_edges(sample_, kMostBins);
        code(f, f + 1, begin, columns);
      }
      Column& column = columns[f];
      column.finite = plan.finite;
      if (categorical_ && !plan.finite) {
        column.codes.reset();
        continue;
      }
      column.whole = plan.whole;
      column.default_value = plan.default_value;
      column.rows = std::move(plan.rows);
      column.values = std::move(plan.values);
      if (plan.kind != Kind::sparse) finish_dense(plan, points_.n_rows, column);
    }
  }

 private:
  void read_sample(std::int32_t feature) {
    sample_.resize(sampled_.size());
    points_.column(feature, sampled_.data(), static_cast<std::int64_t>(sampled_.size()),
                   sample_.data());
    some_missing_ = std::erase_if(sample_, [](double v) { return !std::isfinite(v); }) > 0;
    if (sample_.empty()) sample_.push_back(0.0);
  }

  void code(std::int32_t begin, std::int32_t end, std::int32_t first_plan,
            std::vector<Column>& columns) {
    for (std::int32_t f = begin; f < end; ++f)
      if (plans_[f - first_plan].kind != Kind::sparse && !plans_[f - first_plan].failed &&
          !columns[f].codes)
        columns[f].codes.reset(new std::uint8_t[points_.n_rows]);
    for (std::int64_t r0 = 0; r0 < points_.n_rows; r0 += kTileRows) {
      const std::int64_t r1 = std::min(r0 + kTileRows, points_.n_rows);
      for (std::int32_t f0 = begin; f0 < end; f0 += kTileColumns) {
        const std::int32_t f1 = std::min(f0 + kTileColumns, end);
        points_.tile(r0, r1, f0, f1, tile_.data());
        for (std::int32_t f = f0; f < f1; ++f)
          code_rows(tile_.data() + (f - f0) * kStride, r0, r1 - r0, plans_[f - first_plan],
                    columns[f].codes.get());
      }
    }
  }

  const DensePoints& points_;
  const std::vector<Row>& sampled_;
  const std::uint8_t* categorical_;
  bool some_missing_ = false;  // in the sample
  std::vector<double> tile_, sample_;
  std::vector<Plan> plans_;
};

// ---- columns of categories, and columns with missing values ------------------------------------

// Calls visit(values, first row, number) for the rows of a column, a tile at a time.
template <class Visit>
void each_tile(const DensePoints& points, std::int32_t feature, Visit visit) {
  std::vector<double> tile(kStride);
  for (std::int64_t r0 = 0; r0 < points.n_rows; r0 += kTileRows) {
    const std::int64_t r1 = std::min(r0 + kTileRows, points.n_rows);
    points.tile(r0, r1, feature, feature + 1, tile.data());
    visit(tile.data(), r0, r1 - r0);
  }
}

template <class Code>
void code_categories(const DensePoints& points, const MixedSlot& slot, Code* codes) {
  each_tile(points, slot.feature, [&](const double* v, std::int64_t r0, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i)
      codes[r0 + i] = static_cast<Code>(std::isnan(v[i]) ? slot.n_values : v[i]);
  });
}

void bin_categories(const DensePoints& points, MixedSlot& slot) {
  constexpr double most = 65534;  // codes fit 16 bits, with one for missing values
  double greatest = -1.0;
  bool valid = true;
  each_tile(points, slot.feature, [&](const double* v, std::int64_t, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (std::isnan(v[i])) {
        slot.has_missing = true;
      } else {
        valid = valid && v[i] >= 0.0 && v[i] <= most && v[i] == std::nearbyint(v[i]);
        greatest = std::max(greatest, v[i]);
      }
    }
  });
  if (!valid)
    throw std::invalid_argument("column " + std::to_string(slot.feature) +
                                " must hold codes of categories: whole numbers from 0 to 65534");
  slot.categorical = true;
  slot.n_values = static_cast<std::int32_t>(greatest) + 1;
  if (slot.n_groups() <= Bins::kMax) {
    slot.codes.reset(new std::uint8_t[points.n_rows]);
    code_categories(points, slot, slot.codes.get());
  } else {
    slot.wide_codes.reset(new std::uint16_t[points.n_rows]);
    code_categories(points, slot, slot.wide_codes.get());
  }
}

// One bin less than elsewhere: a code is for missing values. False where a value is infinite.
bool bin_with_missing(const DensePoints& points, const std::vector<Row>& sampled, MixedSlot& slot) {
  constexpr std::uint8_t missing = Bins::kMax - 1;
  std::vector<double> sample(sampled.size());
  points.column(slot.feature, sampled.data(), static_cast<std::int64_t>(sampled.size()),
                sample.data());
  std::erase_if(sample, [](double v) { return !std::isfinite(v); });
  std::sort(sample.begin(), sample.end());
  Plan plan;
  plan.edges = choose_edges(sample, Bins::kMax - 1);
  slot.codes.reset(new std::uint8_t[points.n_rows]);
  std::uint8_t* codes = slot.codes.get();
  each_tile(points, slot.feature, [&](const double* v, std::int64_t r0, std::int64_t n) {
    code_edges(v, n, plan.edges.at.data(), codes + r0);
    widen_bins(v, n, codes + r0, plan);  // no comparison with a NaN is true
    for (std::int64_t i = 0; i < n; ++i) {
      if (std::isnan(v[i])) codes[r0 + i] = missing, slot.has_missing = true;
      plan.finite = plan.finite && !std::isinf(v[i]);
    }
  });
  int n_bins = missing;
  while (n_bins > 0 && plan.low[n_bins - 1] > plan.high[n_bins - 1]) --n_bins;
  slot.n_values = n_bins;
  slot.low.assign(plan.low.begin(), plan.low.begin() + n_bins);
  slot.high.assign(plan.high.begin(), plan.high.begin() + n_bins);
  std::replace(codes, codes + points.n_rows, missing, static_cast<std::uint8_t>(n_bins));
  return plan.finite;
}

// Bins the columns that are neither plain nor sparse. A column that is all missing gets no slot.
bool add_mixed_slots(const DensePoints& points, const std::uint8_t* categorical,
                     const std::vector<Row>& sample, const std::vector<std::int32_t>& features,
                     int n_threads, Bins& bins) {
  std::vector<MixedSlot> slots(features.size());
  std::vector<std::uint8_t> finite(features.size(), 1);
  parallel_for(static_cast<std::int64_t>(features.size()), 1,
               threads_for(points.n_rows * static_cast<std::int64_t>(features.size()), n_threads),
               [&](std::int64_t i) {
                 slots[i].feature = features[i];
                 if (categorical[features[i]]) {
                   bin_categories(points, slots[i]);
                 } else {
                   finite[i] = bin_with_missing(points, sample, slots[i]);
                 }
               });
  std::erase_if(slots, [](const MixedSlot& slot) { return slot.n_values == 0; });
  bins.mixed = std::move(slots);
  return std::find(finite.begin(), finite.end(), 0) == finite.end();
}

// Appends a slot whose bins are `low`, `high`.
void add_slot(Bins& bins, std::int32_t feature, const std::vector<double>& low,
              const std::vector<double>& high) {
  bins.feature.push_back(feature);
  bins.has_wide.push_back(low != high);
  bins.low.insert(bins.low.end(), low.begin(), low.end());
  bins.high.insert(bins.high.end(), high.begin(), high.end());
  bins.first.push_back(static_cast<std::int64_t>(bins.low.size()));
}

// The entries of a sparse feature: rows ascend; values differ from the default.
struct Entries {
  std::int32_t feature;
  double default_value;
  const Row* rows;
  const double* values;
  std::int64_t n;
  std::vector<std::uint8_t> codes;
  std::vector<double> low, high;
  std::int32_t default_bin = 0;
  bool finite = true;
};

Plan plan_entries(const Entries& entries) {
  Plan plan;
  double least = entries.default_value, greatest = entries.default_value;
  for (std::int64_t i = 0; i < entries.n; ++i) {
    least = std::min(least, entries.values[i]);
    greatest = std::max(greatest, entries.values[i]);
  }
  plan.base = least;
  if (greatest - least <= kMostUnits && std::abs(least) < 1e15 &&
      is_integral(&entries.default_value, 1) && is_integral(entries.values, entries.n)) {
    plan.kind = Kind::unit;
    return plan;
  }
  const std::int64_t m = std::min(entries.n, kSample);
  std::vector<double> sample(m);
  for (std::int64_t j = 0; j < m; ++j) sample[j] = entries.values[j * entries.n / m];
  std::sort(sample.begin(), sample.end());
  // Fewer bins for a short list: sums are kept for every bin of every sparse feature.
  const int max_bins = static_cast<int>(
      std::clamp<std::int64_t>(entries.n / 16, sized(16, 3), sized(Bins::kMax - 2, 3)));
  plan.edges = choose_edges(sample, max_bins);
  isolate_value(plan.edges, entries.default_value, Bins::kMax);
  return plan;
}

// Codes of the entries, bins that occur only.
void code_entries(Entries& entries) {
  entries.finite = all_finite(entries.values, entries.n);
  if (!entries.finite) return;
  Plan plan = plan_entries(entries);
  entries.codes.resize(entries.n);
  std::uint8_t default_code = 0;
  const auto code = [&](const double* v, std::int64_t n, std::uint8_t* out) {
    for (std::int64_t i = 0; i < n; i += kTileRows) {
      const std::int64_t m = std::min(kTileRows, n - i);
      if (plan.kind == Kind::unit) {
        code_unit(v + i, m, plan.base, out + i);
      } else {
        code_edges(v + i, m, plan.edges.at.data(), out + i);
      }
    }
    widen_bins(v, n, out, plan);
  };
  code(entries.values, entries.n, entries.codes.data());
  code(&entries.default_value, 1, &default_code);
  std::array<std::uint8_t, Bins::kMax> renumbered{};
  for (int b = 0; b < Bins::kMax; ++b) {
    if (plan.low[b] > plan.high[b]) continue;
    renumbered[b] = static_cast<std::uint8_t>(entries.low.size());
    entries.low.push_back(plan.low[b]);
    entries.high.push_back(plan.high[b]);
  }
  for (std::uint8_t& c : entries.codes) c = renumbered[c];
  entries.default_bin = renumbered[default_code];
}

// Adds the sparse slots, and turns their entries, which lie feature by feature, into rows.
void add_sparse_slots(Bins& bins, std::vector<Entries>& all) {
  if (all.empty()) return;  // no index of rows, which takes 8 bytes for each
  const std::int64_t begin = bins.first.back();
  bins.indptr.assign(bins.n_rows + 1, 0);
  for (const Entries& entries : all)
    for (std::int64_t i = 0; i < entries.n; ++i) ++bins.indptr[entries.rows[i] + 1];
  for (std::int64_t r = 0; r < bins.n_rows; ++r) bins.indptr[r + 1] += bins.indptr[r];
  bins.entries.resize(bins.indptr[bins.n_rows]);
  for (Entries& entries : all) {
    const std::int64_t first = bins.first.back() - begin;
    for (std::int64_t i = 0; i < entries.n; ++i)
      bins.entries[bins.indptr[entries.rows[i]]++] =
          static_cast<std::uint32_t>(first + entries.codes[i]);
    bins.default_bin.push_back(entries.default_bin);
    add_slot(bins, entries.feature, entries.low, entries.high);
  }
  // Filling moved each row's start to the next one's.
  for (std::int64_t r = bins.n_rows; r > 0; --r) bins.indptr[r] = bins.indptr[r - 1];
  bins.indptr[0] = 0;
}

bool finish_sparse(Bins& bins, std::vector<Entries>& all, int n_threads) {
  const auto n = static_cast<std::int64_t>(all.size());
  parallel_for(n, 16, n_threads, [&](std::int64_t i) { code_entries(all[i]); });
  if (std::any_of(all.begin(), all.end(), [](const Entries& e) { return !e.finite; })) return false;
  add_sparse_slots(bins, all);
  return true;
}

void start(Bins& bins, const Points& points) {
  bins.n_rows = points.n_rows;
  bins.n_features = points.n_features;
  bins.first.assign(1, 0);
}

}  // namespace

std::int64_t Bins::n_bytes() const {
  return static_cast<std::int64_t>(n_dense) * n_rows +
         static_cast<std::int64_t>(entries.size() * sizeof(entries[0]) +
                                   indptr.size() * sizeof(indptr[0]) +
                                   (low.size() + high.size()) * sizeof(low[0])) +
         std::accumulate(mixed.begin(), mixed.end(), std::int64_t{0},
                         [&](std::int64_t sum, const MixedSlot& slot) {
                           return sum + n_rows * (slot.codes ? 1 : 2);
                         });
}

bool make_bins(const DensePoints& points, const std::uint8_t* allowed,
               const std::uint8_t* categorical, int n_threads, Bins& bins) {
  start(bins, points);
  const std::int32_t d = points.n_features;
  const std::vector<Row> sample = sample_rows(points.n_rows);
  std::vector<Column> columns(d);
  const int threads = threads_for(points.n_rows * d, n_threads);
  // Strips of several tiles, so that memory is read in long runs, unless that leaves a thread idle;
  // whole cache lines of a row.
  const std::int32_t width =
      threads == 1 ? kStripColumns : std::clamp(d / (2 * threads) / 8 * 8, 8, kStripColumns);
  parallel_for((d + width - 1) / width, 1, threads,
               [&] { return Strip(points, sample, categorical); },
               [&](Strip& strip, std::int64_t i) {
                 const auto f = static_cast<std::int32_t>(i) * width;
                 strip.run(f, std::min(f + width, d), columns);
               },
               [](Strip&) {});
  std::vector<Entries> sparse;
  std::vector<std::int32_t> mixed;
  for (std::int32_t f = 0; f < d; ++f) {
    Column& column = columns[f];
    const bool finite =
        column.finite &&
        all_finite(column.values.data(), static_cast<std::int64_t>(column.values.size()));
    if (!finite && !categorical) return false;
    if (allowed && !allowed[f]) {
      continue;
    } else if (categorical && (categorical[f] || !finite)) {
      mixed.push_back(f);
    } else if (!column.codes) {
      sparse.push_back({f,
                        column.default_value,
                        column.rows.data(),
                        column.values.data(),
                        static_cast<std::int64_t>(column.rows.size()),
                        {},
                        {},
                        {}});
    } else {
      add_slot(bins, f, column.low, column.high);
      bins.codes.push_back(std::move(column.codes));
      bins.whole.push_back(column.whole);
      ++bins.n_dense;
    }
  }
  return finish_sparse(bins, sparse, n_threads) &&
         (mixed.empty() || add_mixed_slots(points, categorical, sample, mixed, n_threads, bins));
}

bool make_bins(const SparsePoints& points, const std::uint8_t* allowed, int n_threads, Bins& bins) {
  start(bins, points);
  const Compressed& columns = points.by_column;
  std::vector<Entries> sparse;
  for (std::int32_t f = 0; f < points.n_features; ++f) {
    const std::int64_t begin = columns.indptr[f], n = columns.indptr[f + 1] - begin;
    if (allowed && !allowed[f]) {
      if (!all_finite(columns.data + begin, n)) return false;
      continue;
    }
    sparse.push_back({f, 0.0, columns.indices + begin, columns.data + begin, n, {}, {}, {}});
  }
  return finish_sparse(bins, sparse, n_threads);
}

}  // namespace treemeans
