// Functions of single numbers that several kernels use. NaN stays NaN.
#pragma once

#include <type_traits>

#include "kernels/cuda/device/device.h"

namespace ruleengine::kernels::device {

__device__ __forceinline__ float sigmoid(float x) {
  return 1.0f / (1.0f + expf(-x));
}

// erfc keeps the digits that 1 + erf(x) loses below 0.
__device__ __forceinline__ float gelu(float x) {
  return 0.5f * x * erfcf(-0.70710678118654752f * x);
}

__device__ __forceinline__ float gelu_tanh(float x) {
  const float u = 0.79788456080286536f * (x + 0.044715f * x * x * x);
  return 0.5f * x * (1.0f + tanhf(u));
}

// Integers wrap around, which only unsigned ones may.
template <typename T>
using UnsignedOf =
    std::conditional_t<std::is_same_v<T, i32>, u32,
                       std::conditional_t<std::is_same_v<T, i64>, u64, T>>;

template <typename T>
__device__ __forceinline__ UnsignedOf<T> wrapping(T x) {
  return static_cast<UnsignedOf<T>>(x);
}

struct Add {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return static_cast<T>(wrapping(a) + wrapping(b));
  }
};
// NaN wins, as in numpy.
struct Larger {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};
struct Smaller {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};

template <typename T>
constexpr bool kIsFloat = std::is_same_v<T, float>;

}  // namespace ruleengine::kernels::device
