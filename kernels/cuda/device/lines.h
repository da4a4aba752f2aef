// The arguments of lines.cu, which goes along an axis of a tensor [outer, n,
// inner] where the order of the elements matters.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/split.h"

namespace ruleengine::kernels::device {

constexpr unsigned kLineThreads = 256;  // of each block, no fewer
// Lines up to this size have a thread each, longer ones a block.
constexpr std::int64_t kLineOfThread = 64;

struct LineSizes {
  std::int64_t outer, n, inner;
};

// The blocks of a launch, where lines are whole.
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
// k is n at most. Where lines are split: top_k_parts_<type>, and then
// top_k_join_<type> with line_blocks() and the same arguments.
struct TopKArgs {
  LineSizes sizes;
  const void* in;
  void* values;           // [outer, k, inner]; nullptr: not asked for
  std::int64_t* indices;  // the same
  std::int64_t k;
  bool is_largest;    // the order is descending
  bool is_nan_first;  // or last
  bool is_last_first;
  // Into how many parts each line is split, and their elements, fewer in the
  // last one.
  std::int64_t splits = 1, size = 0;
  // Above 1: [lines, splits, k], where the first elements of parts are; -1
  // where there are fewer.
  std::int64_t* parts = nullptr;
};

// The blocks of top_k_parts_<type>.
inline std::int64_t part_blocks(const TopKArgs& args) {
  return line_blocks(args.sizes) * args.splits;
}

// Splits lines so that there is work for so many processors. Each part is read
// k times, and so is what the parts of a line have found.
inline void split_lines(TopKArgs& args, std::int64_t processors) {
  constexpr std::int64_t kLeast = 1024, kLeastOfEach = 32;
  const std::int64_t n = args.sizes.n;
  if (n <= kLineOfThread) return;
  const std::int64_t wanted = kLeastOfEach * args.k;
  const Split split = split_of(n, line_blocks(args.sizes), processors,
                               wanted > kLeast ? wanted : kLeast);
  args.splits = split.parts;
  args.size = split.size;
}

}  // namespace ruleengine::kernels::device
