// What ops say whose elements depend on where they are, whatever computes them:
// Range, OneHot, Trilu. Internal to kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/shapes.h"

namespace ruleengine::kernels {

// How many numbers a range has; 128 bits hold any difference of 64.
template <typename T>
std::int64_t range_count(T start, T limit, T delta) {
  if (delta == T(0)) fail("wrong value of input 'delta'", "not 0", "0");
  if constexpr (std::is_floating_point_v<T>) {
    const double count =
        std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                  static_cast<double>(delta));
    if (std::isnan(count) || count > 1e15) {
      fail("the range is too long", "1e15 elements at most",
           std::to_string(count));
    }
    return count > 0 ? static_cast<std::int64_t>(count) : 0;
  } else {
    __extension__ using Wide = __int128;
    const Wide span = Wide(limit) - Wide(start), step = delta;
    if ((span > 0) != (step > 0) || span == 0) return 0;
    const Wide count = (span + step - (step > 0 ? 1 : -1)) / step;
    return static_cast<std::int64_t>(
        std::min<Wide>(count, std::numeric_limits<std::int64_t>::max()));
  }
}

// The diagonal of Trilu, input 1, at most one beyond the matrices of input 0.
inline std::int64_t diagonal_of(const Call& c) {
  const Tensor& x = c.input(0);
  const std::int64_t height = x.dim(x.rank() - 2), width = x.dim(x.rank() - 1);
  return std::clamp(c.has_input(1) ? c.scalar_int(1) : 0, -height - 1,
                    width + 1);
}

// The indices of OneHot are [outer, inner], the result [outer, depth, inner].
struct OneHotShape {
  Dims dims;
  std::int64_t depth, inner;
};
inline OneHotShape one_hot_shape(const Call& c, std::int64_t depth,
                                 AttributeAxis axis_said) {
  if (depth < 0) c.wrong_value(1, "0 or more", std::to_string(depth));
  const Shape old = c.input(0).dims();
  const std::size_t axis = axis_said.of(c, old.size() + 1);
  OneHotShape out{.dims = Dims(old.first(axis)),
                  .depth = depth,
                  .inner = product(old, axis, old.size())};
  out.dims.push_back(depth);
  out.dims.append(old.subspan(axis));
  return out;
}

}  // namespace ruleengine::kernels
