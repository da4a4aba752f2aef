// The arguments of lines.cu, which goes along an axis of a tensor [outer, n,
// inner] where the order of the elements matters.
#pragma once

#include <cstdint>

namespace ruleengine::kernels::device {

constexpr unsigned kLineThreads = 256;  // of each block, no fewer
// Lines up to this size have a thread each, longer ones a block.
constexpr std::int64_t kLineOfThread = 64;

struct LineSizes {
  std::int64_t outer, n, inner;
};

// The blocks of a launch.
inline std::int64_t line_blocks(const LineSizes& sizes) {
  const std::int64_t lines = sizes.outer * sizes.inner;
  if (sizes.n > kLineOfThread) return lines;
  return (lines + kLineThreads - 1) / kLineThreads;
}

// cum_sum (f32 f16 bf16 i32 i64): sums of the elements up to each one. Floats
// are added in double, integers wrap around.
struct CumSumArgs {
  LineSizes sizes;
  const void* in;
  void* out;          // may be `in`
  bool is_exclusive;  // without the element itself
  bool is_reverse;    // from the last one on
};

// top_k (f32 f16 bf16 i32 i64): the first k elements of each line in order, and
// where they were; of equal ones the earlier is first, unless `is_last_first`.
// k is n at most.
struct TopKArgs {
  LineSizes sizes;
  const void* in;
  void* values;           // [outer, k, inner]; nullptr: not asked for
  std::int64_t* indices;  // the same
  std::int64_t k;
  bool is_largest;    // the order is descending
  bool is_nan_first;  // or last
  bool is_last_first;
};

}  // namespace ruleengine::kernels::device
