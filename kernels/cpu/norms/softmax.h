// Softmax of one row, for loops in vectors (runtime/vectors.h). Internal to
// kernels/cpu.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/cpu/reductions/fold.h"
#include "runtime/vectors.h"

namespace ruleengine::kernels {

// NaN among the numbers may be passed over; the sum of exponentials has it.
template <typename T>
[[gnu::always_inline]] inline T largest_of(const T* x, std::int64_t n) {
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  const auto max = [](T& a, T b) { a = a > b ? a : b; };
  return fold_lanes<64>(
      n, kLowest, [&](T& a, std::int64_t i) { max(a, x[i]); }, max);
}

// y[i] = exp(x[i] - largest), unless `y` is nullptr; gives their sum. `y` may
// be `x`.
template <typename T>
[[gnu::always_inline]] inline double exponentials(const T* x, std::int64_t n,
                                                  T largest, T* y) {
  constexpr std::int64_t kBlock = 512;
  T block[kBlock];
  double sum = 0;
  for (std::int64_t i = 0; i < n; i += kBlock) {
    const std::int64_t count = std::min(kBlock, n - i);
    T* to = y == nullptr ? block : y + i;
    runtime::map_line(x + i, to, count,
                      [=](T v) { return std::exp(v - largest); });
    // A lane adds up so few terms that floats do.
    sum += static_cast<double>(fold_lanes(
        count, T(0), [&](T& lane, std::int64_t at) { lane += to[at]; },
        [](T& lane, T other) { lane += other; }));
  }
  return sum;
}

// `y` may be `x`. A row of -infinity gives NaN.
template <typename T>
[[gnu::always_inline]] inline void softmax_row(const T* x, std::int64_t n,
                                               T* y) {
  const double sum = exponentials(x, n, largest_of(x, n), y);
  const T by = static_cast<T>(1 / sum);
  for (std::int64_t i = 0; i < n; ++i) y[i] *= by;
}

// `y` may be `x`.
template <typename T>
[[gnu::always_inline]] inline void log_softmax_row(const T* x, std::int64_t n,
                                                   T* y) {
  const T largest = largest_of(x, n);
  const double sum = exponentials<T>(x, n, largest, nullptr);
  const T log = static_cast<T>(std::log(sum));
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] - largest - log;
}

}  // namespace ruleengine::kernels
