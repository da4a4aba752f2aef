#include "kernels/cuda/device/chunks.h"
#include "kernels/cuda/device/elementwise.h"

namespace ruleengine::kernels::device {
namespace {

// A byte that is 0 or 1.
struct Bool {
  u8 value;
};

// What an integer of this type is made of: a number that it does not hold, and
// NaN, becomes the least one.
template <typename T>
struct Whole {
  using Type = i32;
  static constexpr float kEnd = 0x1p31f;
  static constexpr i32 kLeast = INT32_MIN;
};
template <>
struct Whole<i64> {
  using Type = i64;
  static constexpr float kEnd = 0x1p63f;
  static constexpr i64 kLeast = INT64_MIN;
};

template <typename To, typename From>
struct Cast {  // among integers
  static __device__ To of(From x) { return static_cast<To>(x); }
};
template <typename To>
struct Cast<To, float> {
  static __device__ To of(float x) {
    using W = Whole<To>;
    const bool is_held = x >= -W::kEnd && x < W::kEnd;
    // Without a branch.
    const auto whole = static_cast<typename W::Type>(is_held ? x : 0.0f);
    return static_cast<To>(is_held ? whole : W::kLeast);
  }
};
template <typename From>
struct Cast<float, From> {
  static __device__ float of(From x) { return static_cast<float>(x); }
};
template <>
struct Cast<float, float> {
  static __device__ float of(float x) { return x; }
};
template <typename From>
struct Cast<Bool, From> {
  static __device__ Bool of(From x) { return {x != 0}; }
};
template <>
struct Cast<Bool, float> {
  static __device__ Bool of(float x) { return {x != 0}; }
};
// Two roundings of an integer, to float and on, could differ from one.
template <typename From>
struct Cast<f16, From> {
  static __device__ f16 of(From x) { return __ll2half_rn(x); }
};
template <typename From>
struct Cast<bf16, From> {
  static __device__ bf16 of(From x) { return __ll2bfloat16_rn(x); }
};
template <>
struct Cast<f16, float> {
  static __device__ f16 of(float x) { return Narrow<f16>::from(x); }
};
template <>
struct Cast<bf16, float> {
  static __device__ bf16 of(float x) { return Narrow<bf16>::from(x); }
};

__device__ __forceinline__ u8 widen(Bool x) { return x.value; }
using device::widen;

}  // namespace

#define RULEENGINE_CAST(from, From, to, To)                               \
  RULEENGINE_KERNEL(cast_##from##_##to, UnaryArgs, kElementwiseThreads) { \
    map_all<From, To>(args, [](From x) {                                  \
      return Cast<To, decltype(widen(x))>::of(widen(x));                  \
    });                                                                   \
  }
// To the same type, too: a copy.
#define RULEENGINE_CASTS(from, From)      \
  RULEENGINE_CAST(from, From, f32, f32)   \
  RULEENGINE_CAST(from, From, f16, f16)   \
  RULEENGINE_CAST(from, From, bf16, bf16) \
  RULEENGINE_CAST(from, From, i32, i32)   \
  RULEENGINE_CAST(from, From, i64, i64)   \
  RULEENGINE_CAST(from, From, u8, u8)     \
  RULEENGINE_CAST(from, From, i8, i8)     \
  RULEENGINE_CAST(from, From, bool, Bool)

RULEENGINE_CASTS(f32, f32)
RULEENGINE_CASTS(f16, f16)
RULEENGINE_CASTS(bf16, bf16)
RULEENGINE_CASTS(i32, i32)
RULEENGINE_CASTS(i64, i64)
RULEENGINE_CASTS(u8, u8)
RULEENGINE_CASTS(i8, i8)
RULEENGINE_CASTS(bool, Bool)

}  // namespace ruleengine::kernels::device
