// Conversion of one number to another type, and sums and products, defined for
// every value. Internal to kernels/cpu.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace ruleengine::kernels {

// Whole numbers wrap around; computing them unsigned keeps that defined.
template <typename T>
struct WrappingType {
  using type = T;
};
template <std::integral T>
struct WrappingType<T> {
  using type = std::conditional_t<(sizeof(T) < 4), std::uint32_t,
                                  std::make_unsigned_t<T>>;
};
template <>
struct WrappingType<bool> {
  using type = bool;
};
struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    using Wide = typename WrappingType<T>::type;
    return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
  }
};
struct Mul {
  template <typename T>
  T operator()(T a, T b) const {
    using Wide = typename WrappingType<T>::type;
    return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
  }
};

// The least and the greatest value of a type.
template <typename T, typename Limits = std::numeric_limits<T>>
inline constexpr T kLowest = Limits::has_infinity ? -Limits::infinity()
                                                  : Limits::lowest();
template <typename T, typename Limits = std::numeric_limits<T>>
inline constexpr T kHighest = Limits::has_infinity ? Limits::infinity()
                                                   : Limits::max();

// A float as an integer that is wide enough, its fraction cut off. What does
// not fit, and NaN, becomes the least number, as processors do.
template <typename Wide, typename From>
Wide truncated(From v) {
  constexpr auto kLeast = std::numeric_limits<Wide>::min();
  // Both are powers of two, so exact.
  constexpr From low = static_cast<From>(kLeast), high = -low;
  return v >= low && v < high ? static_cast<Wide>(v) : kLeast;
}

// Integers lose their high bits; floats lose their fraction, then their high
// bits; only zero is false.
template <typename To, typename From>
To to_number(From v) {
  if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (std::is_floating_point_v<To> ||
                       std::is_integral_v<From>) {
    return static_cast<To>(v);
  } else if constexpr (std::is_same_v<To, std::uint64_t>) {
    constexpr auto kHalf = static_cast<From>(std::uint64_t{1} << 63);
    if (v >= kHalf && v < 2 * kHalf) return static_cast<std::uint64_t>(v);
    return static_cast<std::uint64_t>(truncated<std::int64_t>(v));
  } else if constexpr (sizeof(To) == 8 || std::is_same_v<To, std::uint32_t>) {
    return static_cast<To>(truncated<std::int64_t>(v));
  } else {
    return static_cast<To>(truncated<std::int32_t>(v));
  }
}

}  // namespace ruleengine::kernels
