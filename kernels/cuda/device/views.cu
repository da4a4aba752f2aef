#include "kernels/cuda/device/views.h"

#include "kernels/cuda/device/chunks.h"

namespace ruleengine::kernels::device {
namespace {

template <typename T>
__device__ __forceinline__ void copy(const CopyArgs& args) {
  constexpr int size = kVectorBytes / sizeof(T);
  for_each(args.loop.total, [&](i64 i) {
    const Place<2> place = place_of(args, i, size);
    store_chunk(
        args.operands[0], place.offsets[0], place.count,
        load_chunk<T, size>(args.operands[1], place.offsets[1], place.count));
  });
}

// A tile of the input, whose rows are read and whose columns are written.
template <typename T>
__device__ __forceinline__ void transpose(const TransposeArgs& args) {
  constexpr int kSide = kTile;
  // One more column, so that a column lies in different banks.
  RULEENGINE_SHARED(T, tile, kSide * (kSide + 1));
  const i64 tiles_across = (args.columns + kSide - 1) / kSide;
  const i64 tiles_down = (args.rows + kSide - 1) / kSide;
  const i64 line = blockIdx.x / tiles_across;
  const i64 column = (blockIdx.x - line * tiles_across) * kSide;
  const i64 batch = line / tiles_down;
  const i64 row = (line - batch * tiles_down) * kSide;
  const int lane = threadIdx.x % kSide;
  const int first = threadIdx.x / kSide;
  const int step = kViewThreads / kSide;
  const i64 start = batch * args.rows * args.columns;
  const T* in = static_cast<const T*>(args.in) + start;
  T* out = static_cast<T*>(args.out) + start;
  for (int i = first; i < kSide; i += step) {
    if (row + i < args.rows && column + lane < args.columns) {
      tile[i * (kSide + 1) + lane] =
          in[(row + i) * args.columns + column + lane];
    }
  }
  __syncthreads();
  for (int i = first; i < kSide; i += step) {
    if (column + i < args.columns && row + lane < args.rows) {
      out[(column + i) * args.rows + row + lane] = tile[lane * (kSide + 1) + i];
    }
  }
}

__device__ __forceinline__ i64 index_of(const GatherArgs& args, i64 at) {
  const i64 index = load_index(args.indices, args.is_wide, at);
  return index < 0 ? index + args.n : index;
}

template <typename T>
__device__ __forceinline__ void gather(const GatherArgs& args) {
  const T* in = static_cast<const T*>(args.in);
  T* out = static_cast<T*>(args.out);
  const i64 total = args.outer * args.count * args.inner;
  const i64 step = threads_of_grid();
  for (i64 i = thread_of_grid(); i < total; i += step) {
    const i64 row = divide(i, args.inner);
    const i64 outer = divide(row, args.count);
    const i64 index = index_of(args, row - outer * args.count);
    if (index < 0 || index >= args.n) {
      *args.beyond = 1;
      out[i] = T{};
      continue;
    }
    const i64 from = (outer * args.n + index) * args.inner;
    out[i] = in[from + i - row * args.inner];
  }
}

template <typename T>
__device__ __forceinline__ void fill(const FillArgs& args) {
  constexpr int size = kVectorBytes / sizeof(T);
  T* out = static_cast<T*>(args.out);
  const T value = static_cast<T>(args.value);
  const bool is_wide = is_aligned(out, kVectorBytes);
  Pack<T, size> pack;
#pragma unroll
  for (int i = 0; i < size; ++i) pack.values[i] = value;
  const i64 step = threads_of_grid() * size;
  for (i64 at = thread_of_grid() * size; at < args.count; at += step) {
    if (is_wide && at + size <= args.count) {
      store_pack(out + at, pack);
      continue;
    }
    for (i64 i = at; i < at + size && i < args.count; ++i) out[i] = value;
  }
}

}  // namespace

RULEENGINE_WIDTHS(RULEENGINE_KERNEL_OF, copy, CopyArgs, kViewThreads)
RULEENGINE_WIDTHS(RULEENGINE_KERNEL_OF, transpose, TransposeArgs, kViewThreads)
RULEENGINE_WIDTHS(RULEENGINE_KERNEL_OF, fill, FillArgs, kViewThreads)
RULEENGINE_WIDTHS(RULEENGINE_KERNEL_OF, gather, GatherArgs, kViewThreads)
using Unit = Pack<u32, 4>;
RULEENGINE_KERNEL_OF(16, Unit, gather, GatherArgs, kViewThreads)

}  // namespace ruleengine::kernels::device
