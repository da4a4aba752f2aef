// Mathematical functions of one number.
#include "kernels/cpu/elementwise/unary.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/cpu/exponential.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/number.h"

namespace ruleengine::kernels {
namespace {

// The least number wraps around to itself.
struct Neg {
  template <typename T>
  T operator()(T v) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(0 - static_cast<std::uint64_t>(v));
    } else {
      return -v;
    }
  }
};

constexpr auto kAbs = [](auto v) {
  using T = decltype(v);
  if constexpr (std::is_floating_point_v<T>) {
    return std::abs(v);
  } else {
    return v < T(0) ? Neg()(v) : v;
  }
};

constexpr auto kSign = [](auto v) {
  using T = decltype(v);
  if (v != v) return v;
  return static_cast<T>((v > T(0)) - (v < T(0)));
};

// Opset 9 has it for integers as well.
constexpr auto kErf = [](auto v) {
  using T = decltype(v);
  if constexpr (std::is_floating_point_v<T>) {
    return std::erf(v);
  } else {
    return to_number<T>(std::erf(static_cast<double>(v)));
  }
};

// The kernel of a function of numbers.
template <auto kFunction>
void numbers(Call& c) {
  unary<Numbers>(c, kFunction);
}

void bitwise_not(Call& c) {
  unary<Integers>(c, [](auto v) { return static_cast<decltype(v)>(~v); });
}

void is_nan(Call& c) {
  dispatch(Floats(), c.input(0).dtype(), [&]<typename T>() {
    map_unary<T, bool>(c, [](T v) { return v != v; });
  });
}

void is_inf(Call& c, bool negative, bool positive) {
  dispatch(Floats(), c.input(0).dtype(), [&]<typename T>() {
    map_unary<T, bool>(
        c, [=](T v) { return std::isinf(v) && (v < 0 ? negative : positive); });
  });
}

// Those of <cmath> go to the slow loop for negative numbers.
constexpr auto kLogarithm = [](auto v) {
  const auto of_size = std::log(std::abs(v));
  return v < 0 ? std::numeric_limits<decltype(v)>::quiet_NaN() : of_size;
};

}  // namespace

const KernelRows kUnaryRows = {
    {"", "Abs", numbers<kAbs>, Adapt::kWiden},
    {"", "Acos", floats<[](auto v) { return std::acos(v); }>, Adapt::kWiden},
    {"", "Acosh", floats<[](auto v) { return std::acosh(v); }>, Adapt::kWiden},
    {"", "Asin", floats<[](auto v) { return std::asin(v); }>, Adapt::kWiden},
    {"", "Asinh", floats<[](auto v) { return std::asinh(v); }>, Adapt::kWiden},
    {"", "Atan", floats<[](auto v) { return std::atan(v); }>, Adapt::kWiden},
    {"", "Atanh", floats<[](auto v) { return std::atanh(v); }>, Adapt::kWiden},
    {"", "BitwiseNot", bitwise_not},
    {"", "Ceil", floats<[](auto v) { return std::ceil(v); }>, Adapt::kWiden},
    {"", "Cos", floats<[](auto v) { return std::cos(v); }>, Adapt::kWiden},
    {"", "Cosh", floats<[](auto v) { return std::cosh(v); }>, Adapt::kWiden},
    {"", "Erf", numbers<kErf>, Adapt::kWiden},
    {"", "Exp", floats<[](auto v) { return power_of_e(v); }>, Adapt::kWiden},
    {"", "Floor", floats<[](auto v) { return std::floor(v); }>, Adapt::kWiden},
    {"", "IsInf",
     keeping<is_inf, flag_attribute<"detect_negative">,
             flag_attribute<"detect_positive">>,
     Adapt::kWiden},
    {"", "IsNaN", is_nan, Adapt::kWiden},
    {"", "Log", floats<kLogarithm>, Adapt::kWiden},
    {"", "Neg", numbers<Neg{}>, Adapt::kWiden},
    {"", "Reciprocal", floats<[](auto v) { return 1 / v; }>, Adapt::kWiden},
    {"", "Round", floats<[](auto v) { return std::nearbyint(v); }>,
     Adapt::kWiden},  // halves to even
    {"", "Sign", numbers<kSign>, Adapt::kWiden},
    {"", "Sin", floats<[](auto v) { return std::sin(v); }>, Adapt::kWiden},
    {"", "Sinh", floats<[](auto v) { return std::sinh(v); }>, Adapt::kWiden},
    {"", "Sqrt", floats<[](auto v) { return std::sqrt(v); }>, Adapt::kWiden},
    {"", "Tan", floats<[](auto v) { return std::tan(v); }>, Adapt::kWiden},
    {"", "Tanh", floats<[](auto v) { return std::tanh(v); }>, Adapt::kWiden},
};

}  // namespace ruleengine::kernels
