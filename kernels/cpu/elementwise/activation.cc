// Activations: functions of one number, most with attributes, and Clip. What an
// attribute says comes in the type of the elements.
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "kernels/cpu/elementwise/unary.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/number.h"

namespace ruleengine::kernels {
namespace {

template <typename T>
T logistic(T v) {
  return 1 / (1 + std::exp(-v));
}

// log(1 + exp(v)), without overflow.
template <typename T>
T soft_plus(T v) {
  return std::log1p(std::exp(-std::abs(v))) + (v < 0 ? T(0) : v);
}

// NaN stays.
template <typename T>
T to_unit(T v) {
  if (v < 0) return 0;
  return v > 1 ? T(1) : v;
}

constexpr auto kElu = [](auto v, auto alpha) {
  const auto below = alpha * std::expm1(v);
  return v < 0 ? below : v;
};

constexpr auto kHardSigmoid = [](auto v, auto alpha, auto beta) {
  return to_unit(alpha * v + beta);
};

constexpr auto kHardSwish = [](auto v) {
  using T = decltype(v);
  return v * to_unit(v / T(6) + T(0.5));
};

constexpr auto kLeakyRelu = [](auto v, auto alpha) {
  const auto below = alpha * v;
  return v < 0 ? below : v;
};

constexpr auto kMish = [](auto v) { return v * std::tanh(soft_plus(v)); };

constexpr auto kSelu = [](auto v, auto alpha, auto gamma) {
  return gamma * kElu(v, alpha);
};

constexpr auto kSoftsign = [](auto v) { return v / (1 + std::abs(v)); };

constexpr auto kSwish = [](auto v, auto alpha) {
  return v * logistic(alpha * v);
};

constexpr auto kThresholdedRelu = [](auto v, auto alpha) {
  return v > alpha ? v : decltype(v)(0);
};

Op celu(const Preparation& p) {
  if (p.attribute_float("alpha") == 0) {
    p.wrong_attribute("alpha", "a number other than 0");
  }
  constexpr auto kCelu = [](auto v, auto a) {
    // alpha may be negative; then the two parts overlap.
    const auto curve = a * std::expm1(v / a);
    return (v > 0 ? v : decltype(v)(0)) + (curve > 0 ? decltype(v)(0) : curve);
  };
  return floats<kCelu, "alpha">(p);
}

Op gelu(const Preparation& p) {
  if (p.choice("approximate", {"none", "tanh"}) == "tanh") {
    constexpr auto kNear = [](auto v) {
      using T = decltype(v);
      // sqrt(2 / pi)
      constexpr T kScale =
          std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
      // (1 + tanh(u)) / 2 is exact to the last bits for negative u only so.
      return v * logistic(2 * kScale * (v + T(0.044715) * v * v * v));
    };
    return floats<kNear>(p);
  }
  constexpr auto kExact = [](auto v) {
    using T = decltype(v);
    return T(0.5) * v * (1 + std::erf(v / std::numbers::sqrt2_v<T>));
  };
  return floats<kExact>(p);
}

void relu(Call& c) {
  unary<Numbers>(c, [](auto v) { return v < 0 ? decltype(v)(0) : v; });
}

void swiglu(Call& c, float alpha) {
  const Tensor& a = c.input(0);
  const Tensor& b = c.expect_shape(1, a.dims(), a.dtype());
  dispatch(Floats(), a.dtype(), [&]<typename T>() {
    const T scale = static_cast<T>(alpha);
    Tensor& y = c.output_in_place(0, 0, a.dtype(), a.dims());
    map_binary<T, T, T>(c, a, b, y,
                        [=](T v, T w) { return v * logistic(scale * v) * w; });
  });
}

// Integers are computed in double, as they may be of 64 bits.
void shrink(Call& c, float bias, float lambd) {
  unary<Numbers>(c, [=](auto v) {
    using T = decltype(v);
    using Real = std::conditional_t<std::is_floating_point_v<T>, T, double>;
    const auto x = static_cast<Real>(v), edge = static_cast<Real>(lambd),
               by = static_cast<Real>(bias);
    if (x < -edge) return to_number<T>(x + by);
    return x > edge ? to_number<T>(x - by) : T(0);
  });
}

void prelu(Call& c) {
  const Tensor& x = c.input(0);
  const Tensor& slope = c.expect_type(1, x.dtype());
  expect_broadcast(c, 1, slope, x.dims());
  Tensor& y = c.output_in_place(0, 0, x.dtype(), x.dims());
  using List = Types<float, double, std::int32_t, std::int64_t, std::uint32_t,
                     std::uint64_t>;
  dispatch(List(), x.dtype(), [&]<typename T>() {
    map_binary<T, T, T>(c, x, slope, y, [](T v, T by) {
      // Products of integers wrap around.
      using U = typename WrappingType<T>::type;
      return v < T(0) ? static_cast<T>(static_cast<U>(v) * static_cast<U>(by))
                      : v;
    });
  });
}

// The element of input `i`; `other` if it is absent.
template <typename T>
T bound(Call& c, std::size_t i, T other) {
  if (!c.has_input(i)) return other;
  return c.expect_count(i, 1, c.input(0).dtype()).data<T>()[0];
}

// Where the bounds cross, the upper one wins; NaN stays.
void clip(Call& c) {
  dispatch(Numbers(), c.input(0).dtype(), [&]<typename T>() {
    const T low = bound(c, 1, kLowest<T>), high = bound(c, 2, kHighest<T>);
    map_unary<T, T>(c, [=](T v) {
      const T raised = v < low ? low : v;
      return raised > high ? high : raised;
    });
  });
}

}  // namespace

const KernelRows kActivationRows = {
    {"", "Celu", celu, Adapt::kWiden},
    {"", "Clip", clip, Adapt::kWiden},
    {"", "Elu", floats<kElu, "alpha">, Adapt::kWiden},
    {"", "Gelu", gelu, Adapt::kWiden},
    {"", "HardSigmoid", floats<kHardSigmoid, "alpha", "beta">, Adapt::kWiden},
    {"", "HardSwish", floats<kHardSwish>, Adapt::kWiden},
    {"", "LeakyRelu", floats<kLeakyRelu, "alpha">, Adapt::kWiden},
    {"", "Mish", floats<kMish>, Adapt::kWiden},
    {"", "PRelu", prelu, Adapt::kWiden},
    {"", "Relu", relu, Adapt::kWiden},
    {"", "Selu", floats<kSelu, "alpha", "gamma">, Adapt::kWiden},
    {"", "Shrink",
     keeping<shrink, float_attribute<"bias">, float_attribute<"lambd">>,
     Adapt::kWiden},
    {"", "Sigmoid", floats<[](auto v) { return logistic(v); }>, Adapt::kWiden},
    {"", "Softplus", floats<[](auto v) { return soft_plus(v); }>,
     Adapt::kWiden},
    {"", "Softsign", floats<kSoftsign>, Adapt::kWiden},
    {"", "SwiGLU", keeping<swiglu, float_attribute<"alpha">>, Adapt::kWiden},
    {"", "Swish", floats<kSwish, "alpha">, Adapt::kWiden},
    {"", "ThresholdedRelu", floats<kThresholdedRelu, "alpha">, Adapt::kWiden},
};

}  // namespace ruleengine::kernels
