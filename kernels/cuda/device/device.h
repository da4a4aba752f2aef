// What kernels for the GPU are written with. A kernel is one entry with one
// argument, a struct that the host fills; nvcc compiles it for the GPU, and
// tests/cuda compiles the same source for the host, where that folder's
// emulator stands for what is defined here.
#pragma once

#ifdef __CUDACC__

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

// RULEENGINE_KERNEL(name, Args, threads) { ... args ... }
// `threads`: the most of a block.
#define RULEENGINE_KERNEL(name, Args, threads)          \
  extern "C" __global__ void __launch_bounds__(threads) \
      name(const __grid_constant__ Args args)
// Shared memory whose size the launch tells, aligned to 16 bytes.
#define RULEENGINE_DYNAMIC_SHARED(Type, name)              \
  extern __shared__ __align__(16) unsigned char name##_[]; \
  Type* name = reinterpret_cast<Type*>(name##_)

#endif  // __CUDACC__
