// Softmax of one row, for loops in vectors (runtime/vectors.h). Internal to
// kernels/cpu.
#pragma once

#include <algorithm>
#include <bit>
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

// e^x. Those of <cmath> go to the slow loop for scores that a mask hides.
[[gnu::always_inline]] inline double weight_of(double x) { return std::exp(x); }
// To about 1 ulp; 0 below the least normal number. The polynomial is that of
// Cephes (expf); x = n ln 2 + r, where ln 2 is in two parts so that n times the
// first is exact.
[[gnu::always_inline]] inline float weight_of(float x) {
  constexpr float kLeast = -87.33654F, kMost = 88.72283F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23
  float y = x > kMost ? kMost : x;
  y = y > kLeast ? y : kLeast;  // NaN as well
  const float n = (y * 1.44269504F + kRound) - kRound;
  const float r = (y - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  // In two steps, since 2^128 overflows a float.
  const auto whole = static_cast<std::int32_t>(n);
  const std::int32_t half = whole >> 1;
  p *= std::bit_cast<float>((half + 127) << 23);
  p *= std::bit_cast<float>((whole - half + 127) << 23);
  p = x < kLeast ? 0.0F : p;
  p = x > kMost ? std::numeric_limits<float>::infinity() : p;
  return x != x ? x : p;
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
