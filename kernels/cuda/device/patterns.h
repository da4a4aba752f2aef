// The arguments of patterns.cu, whose elements depend on where they are. Blocks
// of up to kPatternThreads threads; as many threads as the output has elements
// are best.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/strided.h"
#include "kernels/pad_source.h"

namespace ruleengine::kernels::device {

constexpr unsigned kPatternThreads = 256;

// trilu_1 trilu_2 trilu_4 trilu_8, by the bytes of an element: 0 on one side of
// a diagonal of matrices.
struct TriluArgs {
  const void* in;
  void* out;  // may be `in`
  std::int64_t count;
  bool is_small;  // fewer than 2^31 elements
  Divisor height, width;
  std::int64_t diagonal;  // how far it is above the main one
  bool is_upper;          // what is at the diagonal and above it stays
};

// range (f32 f16 bf16 i32 i64). Floats are computed in double.
struct RangeArgs {
  void* out;
  std::int64_t count;
  double start, delta;                // of floats
  std::int64_t int_start, int_delta;  // of integers, which wrap around
};

// one_hot_1 one_hot_2 one_hot_4 one_hot_8: the output is [count / inner, depth,
// inner]. A negative index counts from the end.
struct OneHotArgs {
  const void* indices;  // [count], i32 or i64
  const void* values;   // of all others, and where the index says
  void* out;
  std::int64_t count, depth, inner;
  bool is_wide;  // whether indices are i64
};

// pad_1 pad_2 pad_4 pad_8.
struct PadArgs {
  struct Axis {
    std::int64_t size, step;  // of the output; of the input
    AxisSource source;
  };
  const void* in;
  const void* value;  // one element; nullptr: 0
  void* out;
  std::int64_t count;  // of the output
  std::int32_t rank;
  PadMode mode;
  Axis axes[kMaxRank];
};

}  // namespace ruleengine::kernels::device
