// Mathematical functions of one number; the rows of activations, too.
#include "kernels/cpu/unary.h"

#include <cmath>
#include <type_traits>

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

void neg(KernelContext& c) { unary<Numbers>(c, Neg()); }

void abs(KernelContext& c) {
  unary<Numbers>(c, [](auto v) {
    using T = decltype(v);
    if constexpr (std::is_floating_point_v<T>) {
      return std::abs(v);
    } else {
      return v < T(0) ? Neg()(v) : v;
    }
  });
}

void sign(KernelContext& c) {
  unary<Numbers>(c, [](auto v) {
    using T = decltype(v);
    if (v != v) return v;
    return static_cast<T>((v > T(0)) - (v < T(0)));
  });
}

void ceil(KernelContext& c) {
  unary<Floats>(c, [](auto v) { return std::ceil(v); });
}
void floor(KernelContext& c) {
  unary<Floats>(c, [](auto v) { return std::floor(v); });
}
// Halves to even.
void round(KernelContext& c) {
  unary<Floats>(c, [](auto v) { return std::nearbyint(v); });
}
void sqrt(KernelContext& c) {
  unary<Floats>(c, [](auto v) { return std::sqrt(v); });
}
void reciprocal(KernelContext& c) {
  unary<Floats>(c, [](auto v) { return 1 / v; });
}
void exp(KernelContext& c) {
  unary<Floats>(c, [](auto v) { return std::exp(v); });
}
void log(KernelContext& c) {
  unary<Floats>(c, [](auto v) { return std::log(v); });
}
// Opset 9 has it for integers as well.
void erf(KernelContext& c) {
  unary<Numbers>(c, [](auto v) {
    using T = decltype(v);
    if constexpr (std::is_floating_point_v<T>) {
      return std::erf(v);
    } else {
      return to_number<T>(std::erf(static_cast<double>(v)));
    }
  });
}
void sin(KernelContext& c) {
  unary<Floats>(c, [](auto v) { return std::sin(v); });
}
void cos(KernelContext& c) {
  unary<Floats>(c, [](auto v) { return std::cos(v); });
}
void tan(KernelContext& c) {
  unary<Floats>(c, [](auto v) { return std::tan(v); });
}
void asin(KernelContext& c) {
  unary<Floats>(c, [](auto v) { return std::asin(v); });
}
void acos(KernelContext& c) {
  unary<Floats>(c, [](auto v) { return std::acos(v); });
}
void atan(KernelContext& c) {
  unary<Floats>(c, [](auto v) { return std::atan(v); });
}
void sinh(KernelContext& c) {
  unary<Floats>(c, [](auto v) { return std::sinh(v); });
}
void cosh(KernelContext& c) {
  unary<Floats>(c, [](auto v) { return std::cosh(v); });
}
void tanh(KernelContext& c) {
  unary<Floats>(c, [](auto v) { return std::tanh(v); });
}
void asinh(KernelContext& c) {
  unary<Floats>(c, [](auto v) { return std::asinh(v); });
}
void acosh(KernelContext& c) {
  unary<Floats>(c, [](auto v) { return std::acosh(v); });
}
void atanh(KernelContext& c) {
  unary<Floats>(c, [](auto v) { return std::atanh(v); });
}

void bitwise_not(KernelContext& c) {
  unary<Integers>(c, [](auto v) { return static_cast<decltype(v)>(~v); });
}

void is_nan(KernelContext& c) {
  dispatch(Floats(), c.input(0).dtype(), [&]<typename T>() {
    map_unary<T, bool>(c, [](T v) { return v != v; });
  });
}

void is_inf(KernelContext& c) {
  const bool negative = c.attribute_flag("detect_negative");
  const bool positive = c.attribute_flag("detect_positive");
  dispatch(Floats(), c.input(0).dtype(), [&]<typename T>() {
    map_unary<T, bool>(
        c, [=](T v) { return std::isinf(v) && (v < 0 ? negative : positive); });
  });
}

constexpr Kernel kUnaryKernels[] = {
    {"", "Abs", abs, Adapt::kWiden},
    {"", "Acos", acos, Adapt::kWiden},
    {"", "Acosh", acosh, Adapt::kWiden},
    {"", "Asin", asin, Adapt::kWiden},
    {"", "Asinh", asinh, Adapt::kWiden},
    {"", "Atan", atan, Adapt::kWiden},
    {"", "Atanh", atanh, Adapt::kWiden},
    {"", "BitwiseNot", bitwise_not},
    {"", "Ceil", ceil, Adapt::kWiden},
    {"", "Celu", celu, Adapt::kWiden},
    {"", "Clip", clip, Adapt::kWiden},
    {"", "Cos", cos, Adapt::kWiden},
    {"", "Cosh", cosh, Adapt::kWiden},
    {"", "Dropout", dropout, Adapt::kWiden},
    {"", "Elu", elu, Adapt::kWiden},
    {"", "Erf", erf, Adapt::kWiden},
    {"", "Exp", exp, Adapt::kWiden},
    {"", "Floor", floor, Adapt::kWiden},
    {"", "Gelu", gelu, Adapt::kWiden},
    {"", "HardSigmoid", hard_sigmoid, Adapt::kWiden},
    {"", "HardSwish", hard_swish, Adapt::kWiden},
    {"", "IsInf", is_inf, Adapt::kWiden},
    {"", "IsNaN", is_nan, Adapt::kWiden},
    {"", "LeakyRelu", leaky_relu, Adapt::kWiden},
    {"", "Log", log, Adapt::kWiden},
    {"", "Mish", mish, Adapt::kWiden},
    {"", "Neg", neg, Adapt::kWiden},
    {"", "PRelu", prelu, Adapt::kWiden},
    {"", "Reciprocal", reciprocal, Adapt::kWiden},
    {"", "Relu", relu, Adapt::kWiden},
    {"", "Round", round, Adapt::kWiden},
    {"", "Selu", selu, Adapt::kWiden},
    {"", "Shrink", shrink, Adapt::kWiden},
    {"", "Sigmoid", sigmoid, Adapt::kWiden},
    {"", "Sign", sign, Adapt::kWiden},
    {"", "Sin", sin, Adapt::kWiden},
    {"", "Sinh", sinh, Adapt::kWiden},
    {"", "Softplus", softplus, Adapt::kWiden},
    {"", "Softsign", softsign, Adapt::kWiden},
    {"", "Sqrt", sqrt, Adapt::kWiden},
    {"", "SwiGLU", swiglu, Adapt::kWiden},
    {"", "Swish", swish, Adapt::kWiden},
    {"", "Tan", tan, Adapt::kWiden},
    {"", "Tanh", tanh, Adapt::kWiden},
    {"", "ThresholdedRelu", thresholded_relu, Adapt::kWiden},
};

}  // namespace

KernelRows unary_kernels() { return kUnaryKernels; }

}  // namespace ruleengine::kernels
