// Clip.
#include <limits>

#include "kernels/cpu/elementwise/unary.h"

namespace ruleengine::kernels {
namespace {

template <typename T>
struct Bounds {
  T low, high;
};

// The element of input `i`; `other` if it is absent.
template <typename T>
T bound(Call& c, std::size_t i, T other) {
  if (!c.has_input(i)) return other;
  return c.expect_count(i, 1, c.input(0).dtype()).data<T>()[0];
}

template <typename T>
Bounds<T> range(Call& c) {
  using Limits = std::numeric_limits<T>;
  Bounds<T> all = {Limits::lowest(), Limits::max()};
  if constexpr (Limits::has_infinity)
    all = {-Limits::infinity(), Limits::infinity()};
  return {bound(c, 1, all.low), bound(c, 2, all.high)};
}

}  // namespace

// Where the bounds cross, the upper one wins; NaN stays.
void clip(Call& c) {
  dispatch(Numbers(), c.input(0).dtype(), [&]<typename T>() {
    const Bounds<T> r = range<T>(c);
    map_unary<T, T>(c, [r](T v) {
      const T raised = v < r.low ? r.low : v;
      return raised > r.high ? r.high : raised;
    });
  });
}

}  // namespace ruleengine::kernels
