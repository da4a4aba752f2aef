// Softmax of one row, for loops in vectors (runtime/vectors.h). Internal to
// kernels/cpu.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/cpu/exponential.h"
#include "kernels/cpu/number.h"
#include "kernels/cpu/reductions/fold.h"
#include "runtime/vectors.h"

namespace ruleengine::kernels {

// NaN among the numbers may be passed over; the sum of exponentials has it.
template <typename T>
[[gnu::always_inline]] inline T largest_of(const T* x, std::int64_t n) {
  const auto max = [](T& a, T b) { a = a > b ? a : b; };
  return fold_lanes<64>(
      n, kLowest<T>, [&](T& a, std::int64_t i) { max(a, x[i]); }, max);
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
                      [=](T v) { return weight_of(v - largest); });
    // A lane adds up so few terms that floats do.
    sum += static_cast<double>(fold_lanes<64>(
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

// Softmax, or its logarithm, of `columns` lines along an axis, which lie side
// by side; their elements are `inner` apart. `y` may be `x`. tick(n): n
// elements are done.
inline constexpr std::int64_t kSoftmaxColumns = 256;
template <bool kIsLog, typename T, typename Tick>
[[gnu::always_inline]] inline void softmax_columns(const T* x, std::int64_t n,
                                                   std::int64_t inner,
                                                   std::int64_t columns, T* y,
                                                   Tick& tick) {
  T largest[kSoftmaxColumns];
  double sums[kSoftmaxColumns] = {};
  std::copy_n(x, columns, largest);
  const auto for_each = [&](auto f) {
    for (std::int64_t k = 0; k < n; ++k) {
      tick(columns);
#pragma GCC ivdep
      for (std::int64_t j = 0; j < columns; ++j) {
        f(x[k * inner + j], y[k * inner + j], largest[j], sums[j]);
      }
    }
  };
  for_each([](T v, T&, T& most, double&) { most = most > v ? most : v; });
  for_each([](T v, T& to, T most, double& sum) {
    const T weight = weight_of(v - most);
    if constexpr (!kIsLog) to = weight;
    sum += static_cast<double>(weight);
  });
  for (std::int64_t j = 0; j < columns; ++j) {
    sums[j] = kIsLog ? std::log(sums[j]) : 1 / sums[j];
  }
  const T* from = kIsLog ? x : y;
  for (std::int64_t k = 0; k < n; ++k) {
    tick(columns);
#pragma GCC ivdep
    for (std::int64_t j = 0; j < columns; ++j) {
      const T v = from[k * inner + j], by = static_cast<T>(sums[j]);
      y[k * inner + j] = kIsLog ? v - largest[j] - by : v * by;
    }
  }
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
