#include <cmath>

#include "kernels/cuda/device/chunks.h"
#include "kernels/cuda/device/elementwise.h"
#include "kernels/cuda/device/formulas.h"

namespace ruleengine::kernels::device {
namespace {

template <typename T>
__device__ __forceinline__ T absolute(T x) {
  if constexpr (kIsFloat<T>) return fabsf(x);
  return x < 0 ? static_cast<T>(-wrapping(x)) : x;
}

// log(1 + exp(x)), without overflow.
__device__ __forceinline__ float softplus(float x) {
  return log1pf(expf(-fabsf(x))) + (x < 0 ? 0.0f : x);
}

__device__ __forceinline__ float quick_gelu(float x, float alpha) {
  return x * sigmoid(alpha * x);
}

template <typename T>
__device__ __forceinline__ T sign(T x) {
  if (x != x) return x;
  return static_cast<T>((x > 0) - (x < 0));
}

// Where the bounds cross, the upper one wins.
template <typename T, typename W>
__device__ __forceinline__ void clip(const ClipArgs& args, W low, W high) {
  map_all<T, T>(args, [=](T x) {
    const W wide = widen(x);
    const W raised = wide < low ? low : wide;
    return narrow<T>(raised > high ? high : raised);
  });
}

}  // namespace

#define RULEENGINE_UNARY(suffix, T, name, formula)                     \
  RULEENGINE_KERNEL(name##_##suffix, UnaryArgs, kElementwiseThreads) { \
    [[maybe_unused]] const float alpha = args.alpha;                   \
    map_all<T, T>(args, [=](T value) {                                 \
      const Wide<T> x = widen(value);                                  \
      return narrow<T>(formula);                                       \
    });                                                                \
  }
// Whether something holds of each element.
#define RULEENGINE_TEST(suffix, T, name, formula)                      \
  RULEENGINE_KERNEL(name##_##suffix, UnaryArgs, kElementwiseThreads) { \
    map_all<T, u8>(args, [=](T value) -> u8 {                          \
      const Wide<T> x = widen(value);                                  \
      return formula;                                                  \
    });                                                                \
  }
#define RULEENGINE_CLIP(suffix, T, Bound, least, most)              \
  RULEENGINE_KERNEL(clip_##suffix, ClipArgs, kElementwiseThreads) { \
    clip<T, Bound>(args, static_cast<Bound>(args.least),            \
                   static_cast<Bound>(args.most));                  \
  }

RULEENGINE_NUMBERS(RULEENGINE_UNARY, abs, absolute(x))
RULEENGINE_NUMBERS(RULEENGINE_UNARY, neg, -wrapping(x))
RULEENGINE_NUMBERS(RULEENGINE_UNARY, relu, (x < 0 ? 0 : x))
RULEENGINE_NUMBERS(RULEENGINE_UNARY, sign, sign(x))
RULEENGINE_FLOATS(RULEENGINE_UNARY, exp, expf(x))
RULEENGINE_FLOATS(RULEENGINE_UNARY, log, logf(x))
RULEENGINE_FLOATS(RULEENGINE_UNARY, sqrt, sqrtf(x))
RULEENGINE_FLOATS(RULEENGINE_UNARY, reciprocal, 1.0f / x)
RULEENGINE_FLOATS(RULEENGINE_UNARY, erf, erff(x))
RULEENGINE_FLOATS(RULEENGINE_UNARY, tanh, tanhf(x))
RULEENGINE_FLOATS(RULEENGINE_UNARY, sigmoid, sigmoid(x))
RULEENGINE_FLOATS(RULEENGINE_UNARY, gelu, gelu(x))
RULEENGINE_FLOATS(RULEENGINE_UNARY, gelu_tanh, gelu_tanh(x))
RULEENGINE_FLOATS(RULEENGINE_UNARY, quick_gelu, quick_gelu(x, alpha))
RULEENGINE_FLOATS(RULEENGINE_UNARY, softplus, softplus(x))
RULEENGINE_FLOATS(RULEENGINE_UNARY, floor, floorf(x))
RULEENGINE_FLOATS(RULEENGINE_UNARY, ceil, ceilf(x))
RULEENGINE_FLOATS(RULEENGINE_UNARY, round, rintf(x))
RULEENGINE_FLOATS(RULEENGINE_UNARY, sin, sinf(x))
RULEENGINE_FLOATS(RULEENGINE_UNARY, cos, cosf(x))
RULEENGINE_FLOATS(RULEENGINE_UNARY, leaky_relu, (x < 0 ? alpha * x : x))
RULEENGINE_FLOATS(RULEENGINE_TEST, is_nan, x != x)
RULEENGINE_FLOATS(RULEENGINE_TEST, is_inf, fabsf(x) == INFINITY)
RULEENGINE_FLOATS(RULEENGINE_TEST, is_positive_inf, x == INFINITY)
RULEENGINE_FLOATS(RULEENGINE_TEST, is_negative_inf, x == -INFINITY)
RULEENGINE_UNARY(bool, u8, not, x == 0)
RULEENGINE_FLOATS(RULEENGINE_CLIP, f32, low, high)
RULEENGINE_CLIP(i32, i32, i32, int_low, int_high)
RULEENGINE_CLIP(i64, i64, i64, int_low, int_high)

}  // namespace ruleengine::kernels::device
