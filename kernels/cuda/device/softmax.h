// The arguments of softmax.cu and reduce.cu, which go along an axis of a tensor
// [outer, n, inner].
#pragma once

#include <cstdint>

namespace ruleengine::kernels::device {

constexpr unsigned kAxisThreads = 256;  // of each block, no fewer
constexpr unsigned kAxisWarps = kAxisThreads / 32;
// Rows up to this size have a warp each where inner is 1, longer ones a block.
constexpr std::int64_t kAxisOfWarp = 1024;

// softmax log_softmax (f32 f16 bf16): `out` is as large as `in`, and may be it.
// reduce_sum reduce_mean reduce_max reduce_min (f32 f16 bf16, all but the mean
// also i32 i64): `out` is [outer, inner]. A NaN gives NaN, and so does a
// softmax of nothing but -inf. n is 1 or more.
struct AxisArgs {
  const void* in;
  void* out;
  std::int64_t outer, n, inner;
};

// The blocks of a launch.
inline std::int64_t axis_blocks(const AxisArgs& args) {
  if (args.inner > 1) return args.outer * ((args.inner + 31) / 32);
  if (args.n > kAxisOfWarp) return args.outer;
  return (args.outer + kAxisWarps - 1) / kAxisWarps;
}

}  // namespace ruleengine::kernels::device
