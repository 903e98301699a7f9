// What a split asks of a value: the one rule by which rows go left or right, everywhere.
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "simd.hpp"

namespace treemeans {

// A split by a threshold, which no NaN comes to: the fast kind.
struct ThresholdSplit {
  double threshold;

  static constexpr bool by_threshold() { return true; }
  TM_INLINE bool goes_left(double value) const { return value <= threshold; }
};

// A split of any kind: by a threshold or by a set of categories, with a side for missing values.
struct Split {
  double threshold = 0.0;
  const std::uint64_t* categories = nullptr;  // a bit for each code that goes left; null: none
  std::int64_t n_categories = 0;              // bits there are
  std::int8_t missing_left = -1;              // NaN: 1 goes left, 0 right, -1 is not accepted

  bool by_threshold() const { return !categories; }
  bool accepts(double value) const { return missing_left >= 0 || !std::isnan(value); }

  // A code that is in no set, a negative one and a fraction go right.
  bool goes_left(double value) const {
    if (std::isnan(value)) return missing_left == 1;
    if (!categories) return ThresholdSplit{threshold}.goes_left(value);
    if (!(value >= 0.0 && value < static_cast<double>(n_categories))) return false;
    const auto code = static_cast<std::int64_t>(value);
    if (static_cast<double>(code) != value) return false;
    return (categories[code / 64] >> (code % 64) & 1) != 0;
  }
};

// The categories of a split as bits. Codes are at most kMaxCode - 1: sets stay within 2 MB.
class CategorySet {
 public:
  static constexpr std::int32_t kMaxCode = 1 << 24;

  CategorySet() = default;
  CategorySet(const std::int32_t* codes, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (codes[i] < 0 || codes[i] >= kMaxCode)
        throw std::invalid_argument("category codes must be between 0 and 2**24 - 1");
      const auto word = static_cast<std::size_t>(codes[i] / 64);
      if (bits_.size() <= word) bits_.resize(word + 1, 0);
      bits_[word] |= std::uint64_t{1} << (codes[i] % 64);
    }
  }
  // Good as long as the set is.
  Split split(double threshold, std::int8_t missing_left) const {
    return {threshold, bits_.empty() ? nullptr : bits_.data(),
            static_cast<std::int64_t>(bits_.size()) * 64, missing_left};
  }

 private:
  std::vector<std::uint64_t> bits_;
};

// A split of any kind, with its own set. Calls visit with the fast kind where it is one.
struct SplitRule {
  double threshold = 0.0;
  std::int8_t missing_left = -1;
  std::vector<std::int32_t> categories{};  // codes that go left, ascending

  bool operator==(const SplitRule&) const = default;
  template <class Visit>
  auto visit(Visit visit) const {
    if (categories.empty() && missing_left < 0) return visit(ThresholdSplit{threshold});
    const CategorySet set(categories.data(), static_cast<std::int64_t>(categories.size()));
    return visit(set.split(threshold, missing_left));
  }
};

// Nodes of a tree as flat arrays; feature < 0 marks a leaf. The last three are null in a tree that
// has nothing but thresholds and accepts no NaN.
struct TreeView {
  const std::int32_t* feature;
  const double* threshold;
  const std::int32_t* left;
  const std::int32_t* right;
  const std::int32_t* outcome;  // what to report for rows that end in a node
  std::int32_t n_nodes;
  const std::int8_t* missing_left = nullptr;     // as in Split
  const std::int64_t* category_first = nullptr;  // n_nodes + 1: where a node's codes begin
  const std::int32_t* category_codes = nullptr;  // that go left; none at a node: a threshold

  bool thresholds_only() const { return !missing_left && !category_first; }
};

// The splits of a tree, with the sets of categories as bits.
class TreeSplits {
 public:
  explicit TreeSplits(const TreeView& tree) : splits_(tree.n_nodes), sets_(tree.n_nodes) {
    for (std::int32_t node = 0; node < tree.n_nodes; ++node) {
      if (tree.category_first) {
        const std::int64_t begin = tree.category_first[node], end = tree.category_first[node + 1];
        sets_[node] = CategorySet(tree.category_codes + begin, end - begin);
      }
      const std::int8_t missing = tree.missing_left ? tree.missing_left[node] : std::int8_t{-1};
      splits_[node] = sets_[node].split(tree.threshold[node], missing);
    }
  }

  const Split& operator[](std::int32_t node) const { return splits_[node]; }

 private:
  std::vector<Split> splits_;
  std::vector<CategorySet> sets_;
};

}  // namespace treemeans
