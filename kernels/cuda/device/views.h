// The arguments of views.cu, which moves elements and computes nothing.
#pragma once

#include <cstdint>

#include "kernels/cuda/device/strided.h"

namespace ruleengine::kernels::device {

constexpr unsigned kViewThreads = 256;

// copy_1 copy_2 copy_4 copy_8, by the bytes of an element: any strides, also
// negative ones, of the output and of the input. A Transpose, a Slice, an
// Expand, a Split, one input of a Concat, the inside of a Pad. Operands: the
// output, the input. Chunks: chunk_of(bytes). Up to kViewThreads threads.
using CopyArgs = StridedArgs<2>;

// transpose_1 transpose_2 transpose_4 transpose_8: the input is [batch, rows,
// columns], the output [batch, columns, rows]. Blocks of kViewThreads threads,
// no fewer; transpose_blocks() of them.
struct TransposeArgs {
  const void* in;
  void* out;
  std::int64_t batch, rows, columns;
};

constexpr std::int64_t kTile = 32;

inline std::int64_t transpose_blocks(const TransposeArgs& args) {
  return args.batch * ((args.rows + kTile - 1) / kTile) *
         ((args.columns + kTile - 1) / kTile);
}

// gather_1 gather_2 gather_4 gather_8 gather_16: the output is [outer, count,
// inner], of an input [outer, n, inner]. A negative index counts from the end.
// An index beyond the axis gives zeros and sets *beyond to 1. gather_16 is for
// rows that are whole units of 16 bytes at such addresses; `inner` counts
// units. Up to kViewThreads threads, as many as the output has units.
struct GatherArgs {
  const void* in;
  const void* indices;  // [count], i32 or i64
  void* out;
  std::int32_t* beyond;  // of the device, 0 before; never nullptr
  std::int64_t outer, n, inner, count;
  bool is_wide;  // whether indices are i64
};

// fill_1 fill_2 fill_4 fill_8: each element becomes the first bytes of `value`.
struct FillArgs {
  void* out;
  std::int64_t count;  // of elements
  std::uint64_t value;
};

}  // namespace ruleengine::kernels::device
