// Activations: functions of one number, most with attributes.
#include <cmath>
#include <numbers>
#include <type_traits>

#include "kernels/cpu/elementwise/unary.h"
#include "kernels/cpu/number.h"
#include "kernels/shapes.h"

namespace ruleengine::kernels {
namespace {

// Attributes are floats; computing is in the type of the elements.
struct Attribute {
  Attribute(const Preparation& p, std::string_view name)
      : value(p.attribute_float(name)) {}
  float value;
};

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

}  // namespace

void relu(Call& c) {
  unary<Numbers>(c, [](auto v) { return v < 0 ? decltype(v)(0) : v; });
}

Op leaky_relu(const Preparation& p) {
  const Attribute alpha(p, "alpha");
  return unary_op<Floats>([=](auto v) {
    const auto below = static_cast<decltype(v)>(alpha.value) * v;
    return v < 0 ? below : v;
  });
}

Op thresholded_relu(const Preparation& p) {
  const Attribute alpha(p, "alpha");
  return unary_op<Floats>([=](auto v) {
    using T = decltype(v);
    return v > static_cast<T>(alpha.value) ? v : T(0);
  });
}

Op elu(const Preparation& p) {
  const Attribute alpha(p, "alpha");
  return unary_op<Floats>([=](auto v) {
    const auto below = static_cast<decltype(v)>(alpha.value) * std::expm1(v);
    return v < 0 ? below : v;
  });
}

Op selu(const Preparation& p) {
  const Attribute alpha(p, "alpha"), gamma(p, "gamma");
  return unary_op<Floats>([=](auto v) {
    using T = decltype(v);
    const T below = static_cast<T>(alpha.value) * std::expm1(v);
    return static_cast<T>(gamma.value) * (v < 0 ? below : v);
  });
}

Op celu(const Preparation& p) {
  const Attribute alpha(p, "alpha");
  if (alpha.value == 0) p.wrong_attribute("alpha", "a number other than 0");
  return unary_op<Floats>([=](auto v) {
    const auto a = static_cast<decltype(v)>(alpha.value);
    // alpha may be negative; then the two parts overlap.
    const auto curve = a * std::expm1(v / a);
    return (v > 0 ? v : decltype(v)(0)) + (curve > 0 ? decltype(v)(0) : curve);
  });
}

Op gelu(const Preparation& p) {
  if (p.choice("approximate", {"none", "tanh"}) == "tanh") {
    return unary_op<Floats>([](auto v) {
      using T = decltype(v);
      // sqrt(2 / pi)
      constexpr T kScale =
          std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
      // (1 + tanh(u)) / 2 is exact to the last bits for negative u only so.
      return v * logistic(2 * kScale * (v + T(0.044715) * v * v * v));
    });
  }
  return unary_op<Floats>([](auto v) {
    using T = decltype(v);
    return T(0.5) * v * (1 + std::erf(v / std::numbers::sqrt2_v<T>));
  });
}

void mish(Call& c) {
  unary<Floats>(c, [](auto v) { return v * std::tanh(soft_plus(v)); });
}

void sigmoid(Call& c) {
  unary<Floats>(c, [](auto v) { return logistic(v); });
}

Op hard_sigmoid(const Preparation& p) {
  const Attribute alpha(p, "alpha"), beta(p, "beta");
  return unary_op<Floats>([=](auto v) {
    using T = decltype(v);
    return to_unit(static_cast<T>(alpha.value) * v +
                   static_cast<T>(beta.value));
  });
}

void hard_swish(Call& c) {
  unary<Floats>(c, [](auto v) {
    using T = decltype(v);
    return v * to_unit(v / T(6) + T(0.5));
  });
}

void softplus(Call& c) {
  unary<Floats>(c, [](auto v) { return soft_plus(v); });
}

void softsign(Call& c) {
  unary<Floats>(c, [](auto v) { return v / (1 + std::abs(v)); });
}

Op swish(const Preparation& p) {
  const Attribute alpha(p, "alpha");
  return unary_op<Floats>([=](auto v) {
    return v * logistic(static_cast<decltype(v)>(alpha.value) * v);
  });
}

Op swiglu(const Preparation& p) {
  return [alpha = Attribute(p, "alpha")](Call& c) {
    const Tensor& a = c.input(0);
    const Tensor& b = c.expect_shape(1, a.dims(), a.dtype());
    dispatch(Floats(), a.dtype(), [&]<typename T>() {
      const T scale = static_cast<T>(alpha.value);
      Tensor& y = c.output_in_place(0, 0, a.dtype(), a.dims());
      map_binary<T, T, T>(
          c, a, b, y, [=](T v, T w) { return v * logistic(scale * v) * w; });
    });
  };
}

// Integers are computed in double, as they may be of 64 bits.
Op shrink(const Preparation& p) {
  const Attribute bias(p, "bias"), lambd(p, "lambd");
  return unary_op<Numbers>([=](auto v) {
    using T = decltype(v);
    using Real = std::conditional_t<std::is_floating_point_v<T>, T, double>;
    const auto x = static_cast<Real>(v), edge = static_cast<Real>(lambd.value),
               by = static_cast<Real>(bias.value);
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
      if constexpr (std::is_integral_v<T>) {
        // Products wrap around.
        using U = std::make_unsigned_t<T>;
        return v < T(0) ? static_cast<T>(static_cast<U>(v) * static_cast<U>(by))
                        : v;
      } else {
        return v < 0 ? v * by : v;
      }
    });
  });
}

}  // namespace ruleengine::kernels
