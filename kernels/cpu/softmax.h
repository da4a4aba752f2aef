// Softmax of one row, for attention as well. Internal to kernels/cpu.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/cpu/fold.h"

namespace ruleengine::kernels {

// e to the power of `x`, to about one unit in the last place; without a branch,
// so that loops over it are vectorized. Below -87.3 it is 0 or denormal in
// truth and 0 here.
inline float fast_exp(float x) {
  const float bounded = std::min(std::max(-87.3f, x), 88.72f);
  // x = n * log(2) + r, |r| <= log(2) / 2; adding 1.5 * 2^23 rounds.
  constexpr float kRound = 12582912.0f;
  const float n = (bounded * 1.44269504f + kRound) - kRound;
  const float r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.98756915e-4f;
  p = p * r + 1.39819994e-3f;
  p = p * r + 8.33345205e-3f;
  p = p * r + 4.16657969e-2f;
  p = p * r + 1.66666657e-1f;
  p = p * r + 5.00000000e-1f;
  p = p * (r * r) + r + 1.0f;
  // 2^n in two factors, since 2^128 overflows a float.
  const auto whole = static_cast<std::int32_t>(n);
  const std::int32_t half = whole >> 1;
  const float a = std::bit_cast<float>((half + 127) << 23);
  const float b = std::bit_cast<float>((whole - half + 127) << 23);
  const float y = x < -87.3f ? 0.0f : p * a * b;
  const float high = std::numeric_limits<float>::infinity();
  return x > 88.72f ? high : (x != x ? x : y);
}
inline double fast_exp(double x) { return std::exp(x); }

template <typename T>
T largest_of(const T* x, std::int64_t n) {
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  const auto max = [](T& a, T b) { a = a > b || a != a ? a : b; };
  return fold_lanes(
      n, kLowest, [&](T& a, std::int64_t i) { max(a, x[i]); }, max);
}

// y[i] = exp(x[i] - largest); gives their sum. `y` may be `x`. In blocks of a
// fixed size, which compilers vectorize.
template <typename T>
double exponentials(const T* x, std::int64_t n, T largest, T* y) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    T block[kLanes];
    for (int j = 0; j < kLanes; ++j) block[j] = fast_exp(x[i + j] - largest);
    for (int j = 0; j < kLanes; ++j) y[i + j] = block[j];
  }
  for (; i < n; ++i) y[i] = fast_exp(x[i] - largest);
  return sum_of(n, [&](std::int64_t at) { return y[at]; });
}

// `y` may be `x`. A row of -infinity gives NaN.
template <typename T>
void softmax_row(const T* x, std::int64_t n, T* y) {
  const double sum = exponentials(x, n, largest_of(x, n), y);
  const T by = static_cast<T>(1 / sum);
  for (std::int64_t i = 0; i < n; ++i) y[i] *= by;
}

// `y` may be `x`.
template <typename T>
void log_softmax_row(const T* x, std::int64_t n, T* y) {
  const T largest = largest_of(x, n);
  const double sum =
      sum_of(n, [&](std::int64_t i) { return fast_exp(x[i] - largest); });
  const T log = static_cast<T>(std::log(sum));
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] - largest - log;
}

}  // namespace ruleengine::kernels
