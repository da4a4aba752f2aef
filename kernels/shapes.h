// Shapes that are known: broadcasting, axes, strides. Each throws Failure where
// shapes do not fit. Internal to kernels.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "kernels/dispatch.h"

namespace ruleengine::kernels {

// ONNX's multidirectional broadcasting.
Dims broadcast(Shape a, Shape b);
Dims broadcast(std::span<const Shape> shapes);

// An axis in [-rank, rank) counted from 0.
std::size_t axis_of(std::int64_t axis, std::size_t rank);
// The axis that an attribute says.
class AttributeAxis {
 public:
  explicit AttributeAxis(const runtime::Attributes& a,
                         std::string_view name = "axis")
      : name_(name), axis_(a.attribute_int(name)) {}
  // In [-rank, rank), counted from 0.
  std::size_t of(const Call& c, std::size_t rank) const;

 private:
  std::string_view name_;
  std::int64_t axis_;
};

// The axis or place that input `i` says, in [-count, count), counted from 0.
std::size_t input_place(const Call& c, std::size_t i, std::size_t count);
// The axes that input `i` names, counted from 0 and each once; the first
// `count` where it is absent.
std::vector<std::size_t> input_axes(const Call& c, std::size_t i,
                                    std::size_t count, std::size_t rank);
// Axes counted from 0, each once, ascending.
std::vector<std::size_t> axes_of(const Ints& axes, std::size_t rank);

// The integers of input `i`, each in [0, most].
Ints ints_up_to(const Call& c, std::size_t i, std::int64_t most);
// Fails unless `t`, which is input `i`, broadcasts to these sizes.
void expect_broadcast(const Call& c, std::size_t i, const Tensor& t,
                      Shape target);

// Elements from one place to the next along each axis, row-major.
Dims strides_of(Shape dims);
// The same for a shape that is broadcast to `target`: 0 where it is stretched.
Dims broadcast_strides(Shape dims, Shape target);
// Whether it can be.
bool is_broadcast(Shape dims, Shape target);

// The product of dims [begin, end).
std::int64_t product(Shape dims, std::size_t begin, std::size_t end);
inline std::int64_t product(Shape dims) {
  return product(dims, 0, dims.size());
}

// Calls f(place in the result, places in the operands) for each row along the
// last axis of a shape, after axes were joined where all operands allow it. The
// operands have the strides inner() along the row.
template <std::size_t N>
class Rows {
 public:
  Rows(Shape target, const std::array<Dims, N>& strides) {
    for (std::size_t i = 0; i < target.size(); ++i) add(target[i], strides, i);
    if (dims_.empty()) {
      dims_.push_back(1);
      for (Dims& s : strides_) s.push_back(0);
    }
  }

  std::int64_t length() const { return dims_.back(); }
  std::int64_t count() const { return product(dims(), 0, dims_.size() - 1); }
  std::int64_t inner(std::size_t operand) const {
    return strides_[operand].back();
  }
  // The axes that are left, one or more, and the steps of an operand along
  // them.
  Shape dims() const { return dims_; }
  const Dims& strides(std::size_t operand) const { return strides_[operand]; }

  // For rows [begin, end).
  template <typename F>
  void for_each(std::int64_t begin, std::int64_t end, F f) const {
    const std::size_t outer = dims_.size() - 1;
    Dims at(outer, 0);
    std::array<std::int64_t, N> place{};
    std::int64_t rest = begin;
    for (std::size_t i = outer; i-- > 0;) {
      at[i] = rest % dims_[i];
      rest /= dims_[i];
      for (std::size_t k = 0; k < N; ++k) place[k] += at[i] * strides_[k][i];
    }
    for (std::int64_t row = begin; row < end; ++row) {
      f(row * length(), place);
      for (std::size_t i = outer; i-- > 0;) {
        for (std::size_t k = 0; k < N; ++k) place[k] += strides_[k][i];
        if (++at[i] < dims_[i]) break;
        for (std::size_t k = 0; k < N; ++k) {
          place[k] -= strides_[k][i] * dims_[i];
        }
        at[i] = 0;
      }
    }
  }

 private:
  void add(std::int64_t size, const std::array<Dims, N>& strides,
           std::size_t axis) {
    if (size == 1) return;
    bool joins = !dims_.empty();
    for (std::size_t k = 0; joins && k < N; ++k) {
      joins = strides_[k].back() == strides[k][axis] * size;
    }
    if (joins) {
      dims_.back() *= size;
      for (std::size_t k = 0; k < N; ++k) strides_[k].back() = strides[k][axis];
      return;
    }
    dims_.push_back(size);
    for (std::size_t k = 0; k < N; ++k) {
      strides_[k].push_back(strides[k][axis]);
    }
  }

  Dims dims_;
  std::array<Dims, N> strides_;
};

}  // namespace ruleengine::kernels
