// The arguments of binary.cu, unary.cu and cast.cu, whose kernels compute each
// element for itself. Blocks of up to 256 threads in a line; a launch with a
// thread for each chunk is best, one with fewer is right.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/strided.h"

namespace ruleengine::kernels::device {

constexpr unsigned kElementwiseThreads = 256;

// add sub mul div floor_mod truncated_mod min max (f32 f16 bf16 i32 i64), equal
// less less_or_equal greater greater_or_equal (the same, equal also of bool; to
// bool), and or xor (bool), pow, swiglu: silu(a) * b, bias_gelu and
// bias_gelu_tanh: gelu(a + b) (f32 f16 bf16). Operands: the output, a, b.
// Chunks: chunk_of(bytes of an input). The output may be an input of the same
// sizes. Integers wrap around; a division by 0 gives 0.
using BinaryArgs = StridedArgs<3>;

// where_1 where_2 where_4 where_8, by the bytes of an element. Operands: the
// output, the condition (bool), what is taken where it holds, and elsewhere.
// Chunks: chunk_of(bytes of an output).
using WhereArgs = StridedArgs<4>;

// find_zero (i32 i64): *found becomes 1 where an element is 0.
struct ZeroArgs {
  const void* in;
  std::int64_t count;
  std::int32_t* found;
};

// unary.cu: abs neg relu sign (f32 f16 bf16 i32 i64), exp log sqrt reciprocal
// erf tanh sigmoid gelu gelu_tanh quick_gelu softplus floor ceil round sin cos
// leaky_relu (f32 f16 bf16), not_bool; to bool: is_nan is_inf is_positive_inf
// is_negative_inf (f32 f16 bf16). cast.cu: cast_<from>_<to> among f32 f16
// bf16 i32 i64 u8 i8 bool; floats become integers as on the CPU
// (kernels/cpu/number.h); wide integers wrap around.
struct UnaryArgs {
  const void* in;
  void* out;           // may be `in`, where the types are as wide
  std::int64_t count;  // of elements
  float alpha;         // of leaky_relu and quick_gelu
};

// clip (f32 f16 bf16 i32 i64).
struct ClipArgs {
  const void* in;
  void* out;  // may be `in`
  std::int64_t count;
  float low, high;                 // of floats; infinite where there is none
  std::int64_t int_low, int_high;  // of integers
};

}  // namespace ruleengine::kernels::device
