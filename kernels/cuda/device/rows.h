// How a team goes through a row that lies in one piece: in chunks of 16 bytes.
#pragma once

#include "kernels/cuda/device/team.h"

namespace ruleengine::kernels::device {

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

template <typename T>
__device__ __forceinline__ void store_values(T* to, const Values<T>& values,
                                             int held, bool is_wide) {
  Pack<T, kChunk<T>> pack;
#pragma unroll
  for (int i = 0; i < kChunk<T>; ++i) {
    pack.values[i] = Narrow<T>::from(values.at[i]);
  }
  if (is_wide) return store_pack(to, pack);
#pragma unroll
  for (int i = 0; i < kChunk<T>; ++i) {
    if (i < held) to[i] = pack.values[i];
  }
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
