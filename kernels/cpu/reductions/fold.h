// Sums in lanes: as many partial sums as vector registers hold, merged in a
// fixed order, so that loops over them are vectorized and the result depends on
// the number of terms alone. Internal to kernels/cpu.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace ruleengine::kernels {

// Sums of whole numbers wrap around.
template <typename T>
using SumType =
    std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

inline constexpr int kSumLanes = 16;

// add(sum, i) takes term `i` of `n` into a sum that begins as `start`, which
// changes no sum that it is merged into. merge(sum, other) takes other terms'
// sum.
template <int kLanes = kSumLanes, typename Sum, typename Add, typename Merge>
[[gnu::always_inline]] inline Sum fold_lanes(std::int64_t n, const Sum& start,
                                             Add add, Merge merge) {
  Sum lanes[kLanes];
  std::fill_n(lanes, kLanes, start);
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    // Unrolled first, the loop is not always seen to fit vectors.
#pragma GCC ivdep
#pragma GCC unroll 1
    for (int j = 0; j < kLanes; ++j) add(lanes[j], i + j);
  }
  for (int j = 0; i < n; ++i, ++j) add(lanes[j], i);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) merge(lanes[j], lanes[j + width]);
  }
  return lanes[0];
}

// The sum of f(i) for `n` terms, in double.
template <typename F>
[[gnu::always_inline]] inline double sum_of(std::int64_t n, F f) {
  return fold_lanes(
      n, 0.0,
      [&](double& sum, std::int64_t i) { sum += static_cast<double>(f(i)); },
      [](double& sum, double other) { sum += other; });
}

}  // namespace ruleengine::kernels
