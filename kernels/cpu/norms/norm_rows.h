// Statistics of rows, and rows that are shifted and scaled. Internal to
// kernels/cpu.
#pragma once

#include <cmath>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/reductions/fold.h"

namespace ruleengine::kernels {

struct Moments {
  double mean = 0, variance = 0;
};

template <typename T>
double squares_around(const T* x, std::int64_t n, double mean) {
  return sum_of(n, [x, mean](std::int64_t i) {
    const double d = static_cast<double>(x[i]) - mean;
    return d * d;
  });
}

template <typename T>
Moments moments_of(const T* x, std::int64_t n) {
  Moments m;
  const auto count = static_cast<double>(n);
  m.mean = sum_of(n, [x](std::int64_t i) { return x[i]; }) / count;
  m.variance = squares_around(x, n, m.mean) / count;
  return m;
}

// A mean in two parts: beside a large one few digits of x would be left.
template <typename T>
struct Mean {
  explicit Mean(double mean)
      : high(static_cast<T>(mean)), low(static_cast<T>(mean - double(high))) {}
  T away_from(T x) const { return (x - high) - low; }
  T high, low;
};

// y = (x - mean) * scale + shift.
template <typename T>
void affine_row(const T* x, std::int64_t n, double mean, T scale, T shift,
                T* y) {
  const Mean<T> m(mean);
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = m.away_from(x[i]) * scale + shift;
  }
}

// Rows of so many elements that one piece of a loop takes.
inline std::int64_t row_grain(std::int64_t elements) {
  return kGrain / std::max<std::int64_t>(1, elements) + 1;
}

// Input `i`, one number for each of `count`, as elements of this type.
inline Tensor parameters(Call& c, std::size_t i, std::int64_t count,
                         DataType dtype) {
  const Tensor& x = c.expect_count(i, count);
  if (x.dtype() == dtype) return x;
  Tensor out = c.allocate(dtype, x.dims());
  dispatch(Floats(), x.dtype(), [&]<typename From>() {
    dispatch(Floats(), dtype, [&]<typename To>() {
      std::transform(x.data<From>(), x.data<From>() + count,
                     out.mutable_data<To>(),
                     [](From v) { return static_cast<To>(v); });
    });
  });
  return out;
}

}  // namespace ruleengine::kernels
