#include "kernels/cuda/device/chunks.h"
#include "kernels/cuda/device/elementwise.h"
#include "kernels/cuda/device/formulas.h"

namespace ruleengine::kernels::device {
namespace {

template <typename T>
__device__ __forceinline__ T divided(T a, T b) {
  if constexpr (!kIsFloat<T>) {
    if (b == 0) return 0;
    if (b == -1) return static_cast<T>(-wrapping(a));
  }
  return a / b;
}

// The sign of the dividend, as in C; 0 of a division by 0.
template <typename T>
__device__ __forceinline__ T truncated_mod(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return fmodf(a, b);
  } else {
    return b == 0 || b == -1 ? 0 : a % b;
  }
}

// The sign of the divisor, as in Python; the same.
template <typename T>
__device__ __forceinline__ T floor_mod(T a, T b) {
  const T rest = truncated_mod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

template <typename In, typename Out, typename F>
__device__ __forceinline__ void binary(const BinaryArgs& args, F f) {
  constexpr int size = kVectorBytes / sizeof(In);
  for_each(args.loop.total, [&](i64 i) {
    const Place<3> place = place_of(args, i, size);
    const auto a =
        load_chunk<In, size>(args.operands[1], place.offsets[1], place.count);
    const auto b =
        load_chunk<In, size>(args.operands[2], place.offsets[2], place.count);
    Pack<Out, size> out;
#pragma unroll
    for (int k = 0; k < size; ++k) {
      out.values[k] = narrow<Out>(f(widen(a.values[k]), widen(b.values[k])));
    }
    store_chunk(args.operands[0], place.offsets[0], place.count, out);
  });
}

template <typename T>
__device__ __forceinline__ void where(const WhereArgs& args) {
  constexpr int size = kVectorBytes / sizeof(T);
  for_each(args.loop.total, [&](i64 i) {
    const Place<4> place = place_of(args, i, size);
    const auto holds =
        load_chunk<u8, size>(args.operands[1], place.offsets[1], place.count);
    auto out =
        load_chunk<T, size>(args.operands[2], place.offsets[2], place.count);
    const auto other =
        load_chunk<T, size>(args.operands[3], place.offsets[3], place.count);
#pragma unroll
    for (int k = 0; k < size; ++k) {
      if (holds.values[k] == 0) out.values[k] = other.values[k];
    }
    store_chunk(args.operands[0], place.offsets[0], place.count, out);
  });
}

template <typename T>
__device__ __forceinline__ void find_zero(const ZeroArgs& args) {
  const T* in = static_cast<const T*>(args.in);
  for (i64 i = thread_of_grid(); i < args.count; i += threads_of_grid()) {
    if (in[i] == 0) *args.found = 1;
  }
}

}  // namespace

#define RULEENGINE_PAIRS(suffix, T, Out, name, formula)                 \
  RULEENGINE_KERNEL(name##_##suffix, BinaryArgs, kElementwiseThreads) { \
    binary<T, Out>(args, [](Wide<T> a, Wide<T> b) { return formula; }); \
  }
#define RULEENGINE_BINARY(suffix, T, name, formula) \
  RULEENGINE_PAIRS(suffix, T, T, name, formula)
#define RULEENGINE_COMPARISON(suffix, T, name, formula) \
  RULEENGINE_PAIRS(suffix, T, u8, name, formula)

RULEENGINE_NUMBERS(RULEENGINE_BINARY, add, Add()(a, b))
RULEENGINE_NUMBERS(RULEENGINE_BINARY, sub, wrapping(a) - wrapping(b))
RULEENGINE_NUMBERS(RULEENGINE_BINARY, mul, wrapping(a) * wrapping(b))
RULEENGINE_NUMBERS(RULEENGINE_BINARY, div, divided(a, b))
RULEENGINE_FLOATS(RULEENGINE_BINARY, pow, powf(a, b))
RULEENGINE_NUMBERS(RULEENGINE_BINARY, floor_mod, floor_mod(a, b))
RULEENGINE_NUMBERS(RULEENGINE_BINARY, truncated_mod, truncated_mod(a, b))
RULEENGINE_NUMBERS(RULEENGINE_BINARY, min, Smaller()(a, b))
RULEENGINE_NUMBERS(RULEENGINE_BINARY, max, Larger()(a, b))
RULEENGINE_NUMBERS(RULEENGINE_COMPARISON, equal, a == b)
RULEENGINE_COMPARISON(bool, u8, equal, a == b)
RULEENGINE_NUMBERS(RULEENGINE_COMPARISON, less, a < b)
RULEENGINE_NUMBERS(RULEENGINE_COMPARISON, less_or_equal, a <= b)
RULEENGINE_NUMBERS(RULEENGINE_COMPARISON, greater, a > b)
RULEENGINE_NUMBERS(RULEENGINE_COMPARISON, greater_or_equal, a >= b)
RULEENGINE_BINARY(bool, u8, and, a != 0 && b != 0)
RULEENGINE_BINARY(bool, u8, or, a != 0 || b != 0)
RULEENGINE_BINARY(bool, u8, xor, (a != 0) != (b != 0))
RULEENGINE_FLOATS(RULEENGINE_BINARY, swiglu, a* sigmoid(a) * b)
RULEENGINE_FLOATS(RULEENGINE_BINARY, bias_gelu, gelu(a + b))
RULEENGINE_FLOATS(RULEENGINE_BINARY, bias_gelu_tanh, gelu_tanh(a + b))
RULEENGINE_WIDTHS(RULEENGINE_KERNEL_OF, where, WhereArgs, kElementwiseThreads)
RULEENGINE_KERNEL_OF(i32, i32, find_zero, ZeroArgs, kElementwiseThreads)
RULEENGINE_KERNEL_OF(i64, i64, find_zero, ZeroArgs, kElementwiseThreads)

}  // namespace ruleengine::kernels::device
