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
__device__ __forceinline__ void random(const RandomArgs& args) {
  T* out = static_cast<T*>(args.out);
  for_each(args.count, [&](i64 i) {
    const u32 bits = scramble(scramble(static_cast<u32>(i)) ^ args.seed ^
                              static_cast<u32>(i >> 32));
    // Multiples of 1/128 are exact in both types.
    out[i] = narrow<T>(static_cast<f32>(bits >> 24) / 128.0f - 1.0f);
  });
}

template <typename T>
__device__ __forceinline__ void differ(const DifferArgs& args) {
  const T* as = static_cast<const T*>(args.a);
  const T* bs = static_cast<const T*>(args.b);
  for_each(args.count, [&](i64 i) {
    const f32 a = widen(as[i]), b = widen(bs[i]);
    if (a == b || (is_nan(a) && is_nan(b))) return;
    // Written so that one NaN differs.
    const bool is_close =
        fabsf(a - b) <= args.absolute + args.relative * fabsf(b);
    if (!is_close) *args.differs = 1;
  });
}

}  // namespace

RULEENGINE_KERNEL_OF(f16, f16, random, RandomArgs, kTrialThreads)
RULEENGINE_KERNEL_OF(bf16, bf16, random, RandomArgs, kTrialThreads)
RULEENGINE_KERNEL_OF(f16, f16, differ, DifferArgs, kTrialThreads)
RULEENGINE_KERNEL_OF(bf16, bf16, differ, DifferArgs, kTrialThreads)

}  // namespace ruleengine::kernels::device
