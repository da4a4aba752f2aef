#include "kernels/cuda/device/chunks.h"
#include "kernels/cuda/device/elementwise.h"
#include "kernels/cuda/device/formulas.h"

namespace ruleengine::kernels::device {
namespace {

struct Sub {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    using U = UnsignedOf<T>;
    return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
  }
};
struct Mul {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    using U = UnsignedOf<T>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  }
};
struct Div {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    if constexpr (!kIsFloat<T>) {
      if (b == 0) return 0;
      if (b == -1) return Sub()(T{0}, a);
    }
    return a / b;
  }
};
struct Pow {
  __device__ float operator()(float x, float y) const { return powf(x, y); }
  template <typename T>
  __device__ T operator()(T x, T y) const {
    if (y < 0) {
      if (x == -1) return y % 2 == 0 ? 1 : -1;
      return x == 1 ? 1 : 0;
    }
    T power = 1;
    for (; y != 0; y >>= 1) {
      if (y & 1) power = Mul()(power, x);
      x = Mul()(x, x);
    }
    return power;
  }
};

// The sign of the divisor, as in Python; 0 of a division by 0.
struct FloorMod {
  __device__ float operator()(float a, float b) const {
    const float rest = fmodf(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  template <typename T>
  __device__ T operator()(T a, T b) const {
    if (b == 0 || b == -1) return 0;
    const T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
};
// The sign of the dividend, as in C; the same.
struct TruncatedMod {
  __device__ float operator()(float a, float b) const { return fmodf(a, b); }
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return b == 0 || b == -1 ? 0 : a % b;
  }
};

struct Equal {
  template <typename T>
  __device__ u8 operator()(T a, T b) const {
    return a == b;
  }
};
struct Less {
  template <typename T>
  __device__ u8 operator()(T a, T b) const {
    return a < b;
  }
};
struct LessOrEqual {
  template <typename T>
  __device__ u8 operator()(T a, T b) const {
    return a <= b;
  }
};
struct Greater {
  template <typename T>
  __device__ u8 operator()(T a, T b) const {
    return a > b;
  }
};
struct GreaterOrEqual {
  template <typename T>
  __device__ u8 operator()(T a, T b) const {
    return a >= b;
  }
};

struct And {
  __device__ u8 operator()(u8 a, u8 b) const { return a != 0 && b != 0; }
};
struct Or {
  __device__ u8 operator()(u8 a, u8 b) const { return a != 0 || b != 0; }
};
struct Xor {
  __device__ u8 operator()(u8 a, u8 b) const { return (a != 0) != (b != 0); }
};

struct SwiGlu {
  __device__ float operator()(float gate, float up) const {
    return gate * sigmoid(gate) * up;
  }
};
struct BiasGelu {
  __device__ float operator()(float x, float bias) const {
    return gelu(x + bias);
  }
};
struct BiasGeluTanh {
  __device__ float operator()(float x, float bias) const {
    return gelu_tanh(x + bias);
  }
};

template <typename In, typename Out, typename Op>
__device__ __forceinline__ void binary(const BinaryArgs& args) {
  constexpr int size = kVectorBytes / sizeof(In);
  const i64 step = threads_of_grid();
  for (i64 i = thread_of_grid(); i < args.loop.total; i += step) {
    const Place<3> place = place_of(args, i, size);
    const auto a =
        load_chunk<In, size>(args.operands[1], place.offsets[1], place.count);
    const auto b =
        load_chunk<In, size>(args.operands[2], place.offsets[2], place.count);
    Pack<Out, size> out;
#pragma unroll
    for (int k = 0; k < size; ++k) {
      out.values[k] =
          Narrow<Out>::from(Op()(widen(a.values[k]), widen(b.values[k])));
    }
    store_chunk(args.operands[0], place.offsets[0], place.count, out);
  }
}

template <typename T>
__device__ __forceinline__ void where(const WhereArgs& args) {
  constexpr int size = kVectorBytes / sizeof(T);
  const i64 step = threads_of_grid();
  for (i64 i = thread_of_grid(); i < args.loop.total; i += step) {
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
  }
}

template <typename T>
__device__ __forceinline__ void find_zero(const ZeroArgs& args) {
  const T* in = static_cast<const T*>(args.in);
  for (i64 i = thread_of_grid(); i < args.count; i += threads_of_grid()) {
    if (in[i] == 0) *args.found = 1;
  }
}

}  // namespace

#define RULEENGINE_BINARY(suffix, T, name, Op)                          \
  RULEENGINE_KERNEL(name##_##suffix, BinaryArgs, kElementwiseThreads) { \
    binary<T, T, Op>(args);                                             \
  }
#define RULEENGINE_COMPARISON(suffix, T, name, Op)                      \
  RULEENGINE_KERNEL(name##_##suffix, BinaryArgs, kElementwiseThreads) { \
    binary<T, u8, Op>(args);                                            \
  }
#define RULEENGINE_WHERE(bytes, T)                                   \
  RULEENGINE_KERNEL(where_##bytes, WhereArgs, kElementwiseThreads) { \
    where<T>(args);                                                  \
  }

RULEENGINE_NUMBERS(RULEENGINE_BINARY, add, Add)
RULEENGINE_NUMBERS(RULEENGINE_BINARY, sub, Sub)
RULEENGINE_NUMBERS(RULEENGINE_BINARY, mul, Mul)
RULEENGINE_NUMBERS(RULEENGINE_BINARY, div, Div)
RULEENGINE_NUMBERS(RULEENGINE_BINARY, pow, Pow)
RULEENGINE_NUMBERS(RULEENGINE_BINARY, floor_mod, FloorMod)
RULEENGINE_NUMBERS(RULEENGINE_BINARY, truncated_mod, TruncatedMod)
RULEENGINE_NUMBERS(RULEENGINE_BINARY, min, Smaller)
RULEENGINE_NUMBERS(RULEENGINE_BINARY, max, Larger)
RULEENGINE_NUMBERS(RULEENGINE_COMPARISON, equal, Equal)
RULEENGINE_COMPARISON(bool, u8, equal, Equal)
RULEENGINE_NUMBERS(RULEENGINE_COMPARISON, less, Less)
RULEENGINE_NUMBERS(RULEENGINE_COMPARISON, less_or_equal, LessOrEqual)
RULEENGINE_NUMBERS(RULEENGINE_COMPARISON, greater, Greater)
RULEENGINE_NUMBERS(RULEENGINE_COMPARISON, greater_or_equal, GreaterOrEqual)
RULEENGINE_BINARY(bool, u8, and, And)
RULEENGINE_BINARY(bool, u8, or, Or)
RULEENGINE_BINARY(bool, u8, xor, Xor)
RULEENGINE_WHERE(1, u8)
RULEENGINE_WHERE(2, u16)
RULEENGINE_WHERE(4, u32)
RULEENGINE_WHERE(8, u64)
RULEENGINE_FLOATS(RULEENGINE_BINARY, swiglu, SwiGlu)
RULEENGINE_FLOATS(RULEENGINE_BINARY, bias_gelu, BiasGelu)
RULEENGINE_FLOATS(RULEENGINE_BINARY, bias_gelu_tanh, BiasGeluTanh)

RULEENGINE_KERNEL(find_zero_i32, ZeroArgs, kElementwiseThreads) {
  find_zero<i32>(args);
}
RULEENGINE_KERNEL(find_zero_i64, ZeroArgs, kElementwiseThreads) {
  find_zero<i64>(args);
}

}  // namespace ruleengine::kernels::device
