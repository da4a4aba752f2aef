// How kernels go through the chunks of a Loop.
#pragma once

#include "kernels/cuda/device/device.h"
#include "kernels/cuda/device/strided.h"

namespace ruleengine::kernels::device {

__device__ __forceinline__ u32 high_product(u32 a, u32 b) {
  return static_cast<u32>((u64{a} * b) >> 32);
}

__device__ __forceinline__ i64 quotient(i64 x, const Divisor& by,
                                        bool is_small) {
  if (!is_small) return x / static_cast<i64>(by.divisor);
  const u32 small = static_cast<u32>(x);
  return (high_product(small, by.magic) + small) >> by.shift;
}

// Where a chunk begins in each of n operands, and how long it is.
template <int n>
struct Place {
  i64 offsets[n] = {};
  int count;
};

template <int n>
__device__ __forceinline__ Place<n> place_of(const StridedArgs<n>& args,
                                             i64 chunk, int size) {
  const Loop& loop = args.loop;
  Place<n> place;
  i64 row = quotient(chunk, loop.chunks, loop.is_small);
  const i64 start =
      (chunk - row * static_cast<i64>(loop.chunks.divisor)) * size;
  place.count =
      static_cast<int>(loop.inner - start < size ? loop.inner - start : size);
#pragma unroll
  for (int k = 0; k < n; ++k) {
    place.offsets[k] = start * args.operands[k].step;
  }
  for (int i = loop.rank - 1; i >= 0; --i) {
    const i64 rows = quotient(row, loop.sizes[i], loop.is_small);
    const i64 at = row - rows * static_cast<i64>(loop.sizes[i].divisor);
    row = rows;
#pragma unroll
    for (int k = 0; k < n; ++k) {
      place.offsets[k] += at * args.operands[k].strides[i];
    }
  }
  return place;
}

template <typename T, int size>
__device__ __forceinline__ Pack<T, size> load_chunk(const Operand& operand,
                                                    i64 offset, int count) {
  const T* from = static_cast<const T*>(operand.data) + offset;
  if (operand.is_wide && count == size) return load_pack<T, size>(from);
  Pack<T, size> pack;
#pragma unroll
  for (int i = 0; i < size; ++i) {
    pack.values[i] = i < count ? from[i * operand.step] : T{};
  }
  return pack;
}

template <typename T, int size>
__device__ __forceinline__ void store_chunk(const Operand& operand, i64 offset,
                                            int count,
                                            const Pack<T, size>& pack) {
  T* to = static_cast<T*>(operand.data) + offset;
  if (operand.is_wide && count == size) return store_pack<T, size>(to, pack);
#pragma unroll
  for (int i = 0; i < size; ++i) {
    if (i < count) to[i * operand.step] = pack.values[i];
  }
}

// Chunks of tensors that are whole: f(element) for each.
template <typename In, typename Out, typename Args, typename F>
__device__ __forceinline__ void map_all(const Args& args, F f) {
  constexpr int size =
      kVectorBytes / (sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out));
  const In* in = static_cast<const In*>(args.in);
  Out* out = static_cast<Out*>(args.out);
  const bool is_wide =
      is_aligned(in, sizeof(In) * size) && is_aligned(out, sizeof(Out) * size);
  const i64 step = threads_of_grid() * size;
  for (i64 at = thread_of_grid() * size; at < args.count; at += step) {
    if (is_wide && at + size <= args.count) {
      const Pack<In, size> from = load_pack<In, size>(in + at);
      Pack<Out, size> to;
#pragma unroll
      for (int i = 0; i < size; ++i) to.values[i] = f(from.values[i]);
      store_pack(out + at, to);
      continue;
    }
    for (i64 i = at; i < at + size && i < args.count; ++i) out[i] = f(in[i]);
  }
}

}  // namespace ruleengine::kernels::device
