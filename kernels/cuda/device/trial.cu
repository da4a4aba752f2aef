#include "kernels/cuda/device/trial.h"

#include "kernels/cuda/device/device.h"

namespace ruleengine::kernels::device {
namespace {

// A step of a generator with good high bits (PCG, by M. O'Neill).
__device__ __forceinline__ u32 scramble(u32 x) {
  x = x * 747796405u + 2891336453u;
  x = ((x >> ((x >> 28) + 4)) ^ x) * 277803737u;
  return (x >> 22) ^ x;
}

template <typename T>
__device__ __forceinline__ void make_random(const RandomArgs& args) {
  T* out = static_cast<T*>(args.out);
  for (i64 i = thread_of_grid(); i < args.count; i += threads_of_grid()) {
    const u32 bits = scramble(scramble(static_cast<u32>(i)) ^ args.seed ^
                              static_cast<u32>(i >> 32));
    // Multiples of 1/128 are exact in both types.
    out[i] = Narrow<T>::from(static_cast<f32>(bits >> 24) / 128.0f - 1.0f);
  }
}

template <typename T>
__device__ __forceinline__ void find_difference(const DifferArgs& args) {
  const T* as = static_cast<const T*>(args.a);
  const T* bs = static_cast<const T*>(args.b);
  for (i64 i = thread_of_grid(); i < args.count; i += threads_of_grid()) {
    const f32 a = widen(as[i]), b = widen(bs[i]);
    if (a == b || (is_nan(a) && is_nan(b))) continue;
    // Written so that one NaN differs.
    const bool is_close =
        fabsf(a - b) <= args.absolute + args.relative * fabsf(b);
    if (!is_close) *args.differs = 1;
  }
}

}  // namespace

RULEENGINE_KERNEL(random_f16, RandomArgs, kTrialThreads) {
  make_random<f16>(args);
}
RULEENGINE_KERNEL(random_bf16, RandomArgs, kTrialThreads) {
  make_random<bf16>(args);
}
RULEENGINE_KERNEL(differ_f16, DifferArgs, kTrialThreads) {
  find_difference<f16>(args);
}
RULEENGINE_KERNEL(differ_bf16, DifferArgs, kTrialThreads) {
  find_difference<bf16>(args);
}

}  // namespace ruleengine::kernels::device
