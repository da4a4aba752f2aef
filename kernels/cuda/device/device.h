// What kernels for the GPU are written with. A kernel is one entry with one
// argument, a struct that the host fills; nvcc compiles it for the GPU, and
// tests/cuda compiles the same source for the host, where that folder's
// emulator stands for what is defined here.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#ifdef __CUDACC__

// RULEENGINE_KERNEL(name, Args, threads) { ... args ... }
// `threads`: the most of a block.
#define RULEENGINE_KERNEL(name, Args, threads)          \
  extern "C" __global__ void __launch_bounds__(threads) \
      name(const __grid_constant__ Args args)
// Shared memory of a size that the compiler knows, aligned to 16 bytes.
#define RULEENGINE_SHARED(Type, name, count) \
  __shared__ __align__(16) Type name[count]
// Shared memory whose size the launch tells, aligned to 16 bytes.
#define RULEENGINE_DYNAMIC_SHARED(Type, name)              \
  extern __shared__ __align__(16) unsigned char name##_[]; \
  Type* name = reinterpret_cast<Type*>(name##_)

namespace ruleengine::kernels::device {

template <int bytes>
using Vector = std::conditional_t<
    bytes == 16, uint4,
    std::conditional_t<
        bytes == 8, uint2,
        std::conditional_t<
            bytes == 4, unsigned,
            std::conditional_t<bytes == 2, unsigned short, unsigned char>>>>;

// One instruction each, of global memory at a multiple of `bytes`, which the
// emulator checks. nvcc would split a plain store of halves into pieces.
template <int bytes>
__device__ __forceinline__ void load_vector(void* to, const void* memory) {
  using V = Vector<bytes>;
  const V value = *static_cast<const V*>(memory);
  memcpy(to, &value, bytes);
}
template <int bytes>
__device__ __forceinline__ void store_vector(void* memory, const void* from) {
  using V = Vector<bytes>;
  V value;
  memcpy(&value, from, bytes);
  __stwb(static_cast<V*>(memory), value);
}

}  // namespace ruleengine::kernels::device

#endif  // __CUDACC__

namespace ruleengine::kernels::device {

using f16 = __half;
using bf16 = __nv_bfloat16;
using f32 = float;
using i8 = std::int8_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr unsigned kWarp = 32;
constexpr unsigned kWholeWarp = 0xffffffff;
constexpr int kVectorBytes = 16;

// What is computed in float is rounded once, at the end.
template <typename T>
__device__ __forceinline__ T widen(T x) {
  return x;
}
__device__ __forceinline__ float widen(f16 x) { return __half2float(x); }
__device__ __forceinline__ float widen(bf16 x) { return __bfloat162float(x); }

template <typename To, typename From>
__device__ __forceinline__ To narrow(From x) {
  if constexpr (std::is_same_v<To, f16>) {
    return __float2half_rn(x);
  } else if constexpr (std::is_same_v<To, bf16>) {
    return __float2bfloat16_rn(x);
  } else {
    return static_cast<To>(x);
  }
}

// What the elements of T are computed in.
template <typename T>
using Wide = decltype(widen(T()));

// Elements that one instruction loads or stores.
template <typename T, int n>
struct alignas(sizeof(T) * n) Pack {
  T values[n];
};

template <typename T, int n>
__device__ __forceinline__ Pack<T, n> load_pack(const T* from) {
  Pack<T, n> pack;
  load_vector<sizeof(pack)>(&pack, from);
  return pack;
}

template <typename T, int n>
__device__ __forceinline__ void store_pack(T* to, const Pack<T, n>& pack) {
  store_vector<sizeof(pack)>(to, &pack);
}

__device__ __forceinline__ bool is_aligned(const void* data, int bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
}

// The vector that has this byte.
template <typename T>
__device__ __forceinline__ const T* aligned_down(const T* data) {
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  return reinterpret_cast<const T*>(at & ~std::uintptr_t{kVectorBytes - 1});
}

// Of i64 where `is_wide`, else of i32.
__device__ __forceinline__ i64 load_index(const void* indices, bool is_wide,
                                          i64 at) {
  return is_wide ? static_cast<const i64*>(indices)[at]
                 : static_cast<const i32*>(indices)[at];
}

__device__ __forceinline__ bool is_nan(float x) { return x != x; }

// Of numbers that are not negative; small ones take a fifth of the time.
__device__ __forceinline__ i64 divide(i64 x, i64 by) {
  if (((x | by) >> 32) == 0) return static_cast<u32>(x) / static_cast<u32>(by);
  return x / by;
}

// This thread among those of the launch, and how many these are. Grids are
// lines.
__device__ __forceinline__ i64 thread_of_grid() {
  return i64{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ i64 threads_of_grid() {
  return i64{gridDim.x} * blockDim.x;
}

// f(i) for each of so many pieces of work, which the threads of the launch
// share.
template <typename F>
__device__ __forceinline__ void for_each(i64 count, F f) {
  const i64 step = threads_of_grid();
  for (i64 i = thread_of_grid(); i < count; i += step) f(i);
}

// KERNEL(suffix, type, ...) of each float type, of all numbers, and of elements
// that are moved, by their bytes.
#define RULEENGINE_FLOATS(KERNEL, ...) \
  KERNEL(f32, f32, __VA_ARGS__)        \
  KERNEL(f16, f16, __VA_ARGS__)        \
  KERNEL(bf16, bf16, __VA_ARGS__)
#define RULEENGINE_NUMBERS(KERNEL, ...)  \
  RULEENGINE_FLOATS(KERNEL, __VA_ARGS__) \
  KERNEL(i32, i32, __VA_ARGS__)          \
  KERNEL(i64, i64, __VA_ARGS__)
#define RULEENGINE_WIDTHS(KERNEL, ...) \
  KERNEL(1, u8, __VA_ARGS__)           \
  KERNEL(2, u16, __VA_ARGS__)          \
  KERNEL(4, u32, __VA_ARGS__)          \
  KERNEL(8, u64, __VA_ARGS__)

// The kernel NAME_<suffix>, which is name<T>(args).
#define RULEENGINE_KERNEL_OF(suffix, T, name, Args, threads) \
  RULEENGINE_KERNEL(name##_##suffix, Args, threads) { name<T>(args); }

}  // namespace ruleengine::kernels::device
