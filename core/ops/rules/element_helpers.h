// What the rules for elements share. Internal to core/ops.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/ops/op_row.h"
#include "core/ops/rules/index_math.h"

namespace ruleengine::ops {

using Elements = std::vector<ir::Dim>;

MaybeElements copied(const NodeView& v, std::size_t i);

// The sizes of a shape, which are known where elements are.
Ints sizes_of(std::span<const ir::Dim> shape);

Elements picked(std::span<const ir::Dim> from, const Ints& places);

// The elements of input `i`, broadcast to `dims`.
Elements spread(const NodeView& v, std::size_t i, const Ints& dims);

// The broadcast of the first `n` inputs' shapes; none when one is not followed.
std::optional<Ints> common_shape(const NodeView& v, std::size_t n);

// `f` of every element that is known.
template <typename F>
MaybeElements mapped(const NodeView& v, F f) {
  auto out = copied(v, 0);
  if (!out) return out;
  for (ir::Dim& d : *out) d = d == kUnknown ? d : f(d);
  return out;
}

// `f` over the elements of two inputs, broadcast.
template <typename F>
MaybeElements zip(const NodeView& v, std::size_t left, std::size_t right, F f) {
  const auto dims = common_shape(v, 2);
  if (!dims) return std::nullopt;
  Elements out = spread(v, left, *dims);
  const Elements other = spread(v, right, *dims);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const ir::Dim x = out[i], y = other[i];
    out[i] = x == kUnknown || y == kUnknown ? kUnknown : f(x, y);
  }
  return out;
}

// The number of elements that the output's type says.
std::optional<std::size_t> wanted(const NodeView& v);

}  // namespace ruleengine::ops
