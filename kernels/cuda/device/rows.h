// Threads that work on one row: a warp, or a block; or a block on the columns
// of 32 lanes. All of them get the result, whose order of operations is always
// the same. And how a team goes through a row that lies in one piece: in chunks
// of 16 bytes.
#pragma once

#include "kernels/cuda/device/device.h"

namespace ruleengine::kernels::device {

template <typename T, typename Op>
__device__ __forceinline__ T reduce_warp(T value, Op op) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value = op(value, __shfl_xor_sync(kWholeWarp, value, distance));
  }
  return value;
}

struct WarpTeam {
  __device__ unsigned rank() const { return threadIdx.x % kWarp; }
  __device__ unsigned size() const { return kWarp; }
  __device__ i64 row() const { return thread_of_grid() / kWarp; }

  template <typename T, typename Op>
  __device__ __forceinline__ T reduce(T value, Op op) const {
    return reduce_warp(value, op);
  }
};

// Of whole warps, at most 32.
struct BlockTeam {
  __device__ unsigned rank() const { return threadIdx.x; }
  __device__ unsigned size() const { return blockDim.x; }
  __device__ i64 row() const { return blockIdx.x; }

  template <typename T, typename Op>
  __device__ __forceinline__ T reduce(T value, Op op) const {
    RULEENGINE_SHARED(T, values, kWarp);
    value = reduce_warp(value, op);
    __syncthreads();  // an earlier result was read
    if (threadIdx.x % kWarp == 0) values[threadIdx.x / kWarp] = value;
    __syncthreads();
    // Each thread repeats the last steps, which saves a barrier.
    const unsigned warps = blockDim.x / kWarp;
    value = values[0];
    for (unsigned i = 1; i < warps; ++i) value = op(value, values[i]);
    return value;
  }
};

// Lane i of each warp works on column i.
template <unsigned warps>
struct ColumnTeam {
  static constexpr unsigned kThreads = warps * kWarp;

  __device__ unsigned rank() const { return threadIdx.x / kWarp; }
  __device__ unsigned size() const { return warps; }
  __device__ unsigned column() const { return threadIdx.x % kWarp; }

  template <typename T, typename Op>
  __device__ __forceinline__ T reduce(T value, Op op) const {
    RULEENGINE_SHARED(T, values, kThreads);
    __syncthreads();  // an earlier result was read
    values[threadIdx.x] = value;
    __syncthreads();
    value = values[column()];
#pragma unroll
    for (unsigned i = 1; i < warps; ++i) {
      value = op(value, values[i * kWarp + column()]);
    }
    return value;
  }
};

// Chunks of a row that a thread keeps in registers between the passes; what is
// beyond them is read again.
constexpr int kKept = 4;

template <typename T>
constexpr int kChunk = kVectorBytes / sizeof(T);

template <typename T>
struct Values {
  Wide<T> at[kChunk<T>];
};

// `held` elements, and 0 for others.
template <typename T>
__device__ __forceinline__ Pack<T, kChunk<T>> load_held(const T* from, int held,
                                                        bool is_wide) {
  if (is_wide) return load_pack<T, kChunk<T>>(from);
  Pack<T, kChunk<T>> pack;
#pragma unroll
  for (int i = 0; i < kChunk<T>; ++i) {
    pack.values[i] = i < held ? from[i] : T{};
  }
  return pack;
}

template <typename T>
__device__ __forceinline__ Values<T> widen_all(const Pack<T, kChunk<T>>& pack) {
  Values<T> values;
#pragma unroll
  for (int i = 0; i < kChunk<T>; ++i) values.at[i] = widen(pack.values[i]);
  return values;
}

template <typename T>
__device__ __forceinline__ Values<T> load_values(const T* from, int held,
                                                 bool is_wide) {
  return widen_all<T>(load_held<T>(from, held, is_wide));
}

template <typename T, int n>
__device__ __forceinline__ void store_held(T* to, const Pack<T, n>& pack,
                                           int held, bool is_wide) {
  if (is_wide) return store_pack(to, pack);
#pragma unroll
  for (int i = 0; i < n; ++i) {
    if (i < held) to[i] = pack.values[i];
  }
}

template <typename T>
__device__ __forceinline__ void store_values(T* to, const Values<T>& values,
                                             int held, bool is_wide) {
  Pack<T, kChunk<T>> pack;
#pragma unroll
  for (int i = 0; i < kChunk<T>; ++i) pack.values[i] = narrow<T>(values.at[i]);
  store_held(to, pack, held, is_wide);
}

// A row of a tensor that is whole.
template <typename T>
struct PlainRow {
  const T* in;
  i64 n;
  bool is_wide;

  __device__ PlainRow(const void* data, i64 row, i64 size)
      : in(static_cast<const T*>(data) + row * size),
        n(size),
        is_wide(size % kChunk<T> == 0 && is_aligned(data, kVectorBytes)) {}

  // Its elements from `begin`, which is a multiple of kChunk, to before `end`.
  __device__ PlainRow(const PlainRow& row, i64 begin, i64 end)
      : in(row.in + begin), n(end - begin), is_wide(row.is_wide) {}

  __device__ i64 chunks() const { return (n + kChunk<T> - 1) / kChunk<T>; }
  __device__ int count(i64 chunk) const {
    const i64 rest = n - chunk * kChunk<T>;
    return static_cast<int>(rest < kChunk<T> ? rest : kChunk<T>);
  }
  // Halves are kept as they are, which takes half the registers.
  using Kept = Pack<T, kChunk<T>>;
  __device__ __forceinline__ Kept input(i64 chunk) const {
    return load_held<T>(in + chunk * kChunk<T>, count(chunk), is_wide);
  }
  static __device__ __forceinline__ Values<T> values(const Kept& kept) {
    return widen_all<T>(kept);
  }
};

// The chunks of a thread: the first ones are kept.
template <typename T, typename Row, typename Team>
struct Part {
  const Row& row;
  const Team team;
  typename Row::Kept kept[kKept];

  __device__ Part(const Row& of, const Team& by) : row(of), team(by) {
    const i64 chunks = row.chunks();
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      const i64 chunk = team.rank() + i64{k} * team.size();
      if (chunk < chunks) kept[k] = row.input(chunk);
    }
  }

  // f(chunk, its values) for each chunk.
  template <typename F>
  __device__ __forceinline__ void each(F f) const {
    const i64 chunks = row.chunks();
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      const i64 chunk = team.rank() + i64{k} * team.size();
      if (chunk < chunks) f(chunk, row.values(kept[k]));
    }
    for (i64 chunk = team.rank() + i64{kKept} * team.size(); chunk < chunks;
         chunk += team.size()) {
      f(chunk, row.values(row.input(chunk)));
    }
  }
};

}  // namespace ruleengine::kernels::device
