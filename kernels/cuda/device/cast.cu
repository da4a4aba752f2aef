#include <limits>
#include <type_traits>

#include "kernels/cuda/device/chunks.h"
#include "kernels/cuda/device/elementwise.h"

namespace ruleengine::kernels::device {
namespace {

// A byte that is 0 or 1.
struct Bool {
  u8 value;
};

// A number that an integer does not hold, and NaN, becomes the least one.
template <typename To>
__device__ __forceinline__ To whole_of(float x) {
  using Int = std::conditional_t<std::is_same_v<To, i64>, i64, i32>;
  constexpr Int least = std::numeric_limits<Int>::min();
  constexpr float end = -static_cast<float>(least);
  const bool is_held = x >= -end && x < end;
  // Without a branch.
  const auto whole = static_cast<Int>(is_held ? x : 0.0f);
  return static_cast<To>(is_held ? whole : least);
}

// Two roundings of an integer to a half, by float, could differ from one.
template <typename To, typename From>
__device__ __forceinline__ To cast(From x) {
  constexpr bool is_float = std::is_same_v<From, float>;
  if constexpr (std::is_same_v<To, Bool>) {
    return {x != 0};
  } else if constexpr (is_float && std::is_integral_v<To>) {
    return whole_of<To>(x);
  } else if constexpr (!is_float && std::is_same_v<To, f16>) {
    return __ll2half_rn(x);
  } else if constexpr (!is_float && std::is_same_v<To, bf16>) {
    return __ll2bfloat16_rn(x);
  } else {
    return narrow<To>(x);
  }
}

__device__ __forceinline__ u8 widen(Bool x) { return x.value; }
using device::widen;

}  // namespace

#define RULEENGINE_CAST(to, To, from, From)                               \
  RULEENGINE_KERNEL(cast_##from##_##to, UnaryArgs, kElementwiseThreads) { \
    map_all<From, To>(args, [](From x) { return cast<To>(widen(x)); });   \
  }
// To the same type, too: a copy.
#define RULEENGINE_CASTS(from, From)              \
  RULEENGINE_NUMBERS(RULEENGINE_CAST, from, From) \
  RULEENGINE_CAST(u8, u8, from, From)             \
  RULEENGINE_CAST(i8, i8, from, From)             \
  RULEENGINE_CAST(bool, Bool, from, From)

RULEENGINE_CASTS(f32, f32)
RULEENGINE_CASTS(f16, f16)
RULEENGINE_CASTS(bf16, bf16)
RULEENGINE_CASTS(i32, i32)
RULEENGINE_CASTS(i64, i64)
RULEENGINE_CASTS(u8, u8)
RULEENGINE_CASTS(i8, i8)
RULEENGINE_CASTS(bool, Bool)

}  // namespace ruleengine::kernels::device
