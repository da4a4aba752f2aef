// Threads that work on one row: a warp, or a block; or a block on the columns
// of 32 lanes. All of them get the result, whose order of operations is always
// the same.
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

}  // namespace ruleengine::kernels::device
