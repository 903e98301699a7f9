// What the bindings have in common: array types, and arrays that Python comes to own. Arrays of the
// caller are borrowed, never copied; the interpreter lock is released while a kernel runs.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "limits.hpp"
#include "points.hpp"

namespace treemeans {

namespace nb = nanobind;
using namespace nb::literals;

template <class T, int N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, int N>
using InOut = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T>
using MaybeIn = std::optional<In<T, 1>>;
template <class T>
using Out = nb::ndarray<nb::numpy, T>;

template <class T>
Out<T> new_array(std::initializer_list<std::size_t> shape, bool zeroed = false) {
  std::size_t size = 1;
  for (std::size_t s : shape) size *= s;
  T* data = zeroed ? new T[size]() : new T[size];
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return Out<T>(data, shape, owner);
}

template <class T>
Out<T> array_of(const std::vector<T>& values) {
  auto array = new_array<T>({values.size()});
  std::copy(values.begin(), values.end(), array.data());
  return array;
}

template <class T>
const T* or_null(const MaybeIn<T>& array) {
  return array ? array->data() : nullptr;
}

// A side of missing values, as in Split.
inline std::int8_t missing_side(std::optional<bool> left) {
  return left ? static_cast<std::int8_t>(*left ? 1 : 0) : std::int8_t{-1};
}

inline std::optional<bool> side_of_missing(std::int8_t missing_left) {
  return missing_left < 0 ? std::nullopt : std::optional(missing_left == 1);
}

// Of the values that come to a cut the largest that goes left, the smallest that goes right, the
// extremes, and whether all are integers.
using MarginTuple = std::tuple<double, double, double, double, bool>;

inline MarginTuple margin_tuple(const Margin& margin) {
  return {margin.below, margin.above, margin.lowest, margin.highest, !margin.broken};
}

// Limits together with the arrays they are about.
class PyLimits {
 public:
  PyLimits(MaybeIn<std::int64_t> weights, std::int64_t min_weight, MaybeIn<std::int64_t> prices,
           std::optional<std::int32_t> max_depth, std::optional<std::int32_t> max_categories)
      : weights_(std::move(weights)), prices_(std::move(prices)) {
    // Weights matter only where more than a row is asked for.
    limits_.weights = min_weight > 1 ? or_null<std::int64_t>(weights_) : nullptr;
    limits_.min_weight = min_weight;
    limits_.prices = or_null<std::int64_t>(prices_);
    if (max_depth) limits_.max_depth = *max_depth;
    if (max_categories) limits_.max_categories = *max_categories;
  }

  const Limits& get() const { return limits_; }

 private:
  MaybeIn<std::int64_t> weights_, prices_;
  Limits limits_;
};

void bind_points(nb::module_& m);
void bind_costs(nb::module_& m);
void bind_searches(nb::module_& m);
void bind_surrogate(nb::module_& m);
void bind_mutable_tree(nb::module_& m);
void bind_kauri(nb::module_& m);
void bind_shuffle_comparison(nb::module_& m);
void bind_grouped_histogram(nb::module_& m);
void bind_code_histogram(nb::module_& m);
void bind_optimal(nb::module_& m);
void bind_annealing(nb::module_& m);

// tell(n_leaves), from code that has released the interpreter's lock; Ctrl-C ends the work.
inline std::function<void(std::int64_t)> told(const nb::callable& tell) {
  return [&tell](std::int64_t n_leaves) {
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    tell(n_leaves);
  };
}

}  // namespace treemeans
