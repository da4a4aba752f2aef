// The arguments of softmax.cu and reduce.cu, which go along an axis of a tensor
// [outer, n, inner].
#pragma once

#include <cstdint>

#include "kernels/cuda/device/split.h"

namespace ruleengine::kernels::device {

constexpr unsigned kAxisThreads = 256;  // of each block, no fewer
constexpr unsigned kAxisWarps = kAxisThreads / 32;
// Rows up to this size have a warp each where inner is 1, longer ones a block.
constexpr std::int64_t kAxisOfWarp = 1024;

// softmax log_softmax (f32 f16 bf16): `out` is as large as `in`, and may be it.
// A NaN gives NaN, and so does a softmax of nothing but -inf. n is 1 or more.
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

// The least elements of a part of a row.
constexpr std::int64_t kLeastOfRow = 4096;

// Rows that are few, and inner is 1: softmax_sums (f32 f16 bf16), and then
// split_softmax or split_log_softmax, with the same arguments. A block for each
// part.
struct SplitSoftmaxArgs {
  AxisArgs axis;
  std::int64_t splits, size;  // as of ReduceArgs
  float* sums;  // [outer, splits, 2]: greatest numbers, sums of exponents
};

// reduce_sum reduce_mean reduce_max reduce_min (f32 f16 bf16, all but the mean
// also i32 i64): `out` is [outer, inner]. A NaN gives NaN. Where the axis is
// split, reduce_<sum>_parts_<f32> has to follow with the same arguments.
struct ReduceArgs {
  AxisArgs axis;
  // Into how many parts each axis is split, and their elements: a multiple of
  // 16, fewer in the last one.
  std::int64_t splits = 1, size;
  // Above 1: [outer, inner, splits] of f32, i32 or i64, as sums are made in.
  void* parts = nullptr;
};

inline std::int64_t reduce_blocks(const ReduceArgs& args) {
  return axis_blocks(args.axis) * args.splits;
}
// Of the second launch: a warp for each output.
inline std::int64_t join_parts_blocks(const ReduceArgs& args) {
  return (args.axis.outer * args.axis.inner + kAxisWarps - 1) / kAxisWarps;
}

// Splits an axis so that there is work for so many processors.
inline void split_axis(ReduceArgs& args, std::int64_t processors) {
  constexpr std::int64_t kLeastOfColumn = 128;
  const Split split =
      split_of(args.axis.n, axis_blocks(args.axis), processors,
               args.axis.inner > 1 ? kLeastOfColumn : kLeastOfRow);
  args.splits = split.parts;
  args.size = split.size;
}

}  // namespace ruleengine::kernels::device
