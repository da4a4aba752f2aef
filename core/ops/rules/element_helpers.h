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

// The shape of an input whose elements are known.
Ints shape_of(const NodeView& v, std::size_t i);

Elements picked(std::span<const ir::Dim> from, const Ints& places);

// Places in input `i` for every element of the broadcast to `dims`.
std::vector<std::size_t> spread(const NodeView& v, std::size_t i,
                                const Ints& dims);

// The broadcast of the first `n` inputs' shapes; none when one is not followed.
std::optional<Ints> common_shape(const NodeView& v, std::size_t n);

// `f` over the elements of two inputs, broadcast.
template <typename F>
MaybeElements zip(const NodeView& v, std::size_t left, std::size_t right, F f) {
  const auto dims = common_shape(v, 2);
  if (!dims) return std::nullopt;
  const auto a = spread(v, left, *dims), b = spread(v, right, *dims);
  const auto of_a = *v.elements(left), of_b = *v.elements(right);
  Elements out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const ir::Dim x = of_a[a[i]], y = of_b[b[i]];
    out.push_back(x == kUnknown || y == kUnknown ? kUnknown : f(x, y));
  }
  return out;
}

// The number of elements that the output's type says.
std::optional<std::size_t> wanted(const NodeView& v);

}  // namespace ruleengine::ops
