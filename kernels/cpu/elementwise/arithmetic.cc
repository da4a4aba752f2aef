// Arithmetic of two operands that broadcast to each other, and of many.
#include <cmath>
#include <type_traits>

#include "kernels/cpu/elementwise/cast.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/number.h"

namespace ruleengine::kernels {
namespace {

struct Sub {
  template <typename T>
  T operator()(T a, T b) const {
    using Wide = typename WrappingType<T>::type;
    return static_cast<T>(static_cast<Wide>(a) - static_cast<Wide>(b));
  }
};
struct Div {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) fail("an integer is divided by zero");
      // The least number divided by -1 wraps around.
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return Sub()(T(0), a);
      }
    }
    return static_cast<T>(a / b);
  }
};
// Of integers of 32 bits and fewer, where no `b` is 0: as doubles, which give
// the same in less time.
struct QuickDiv {
  template <typename T>
  T operator()(T a, T b) const {
    const bool negates = std::is_signed_v<T> && b == T(-1);
    const T by = negates ? T(1) : b;
    const auto quotient =
        static_cast<T>(static_cast<double>(a) / static_cast<double>(by));
    return negates ? Sub()(T(0), a) : quotient;
  }
};

// The remainder of a division towards 0. The quotient of floats is exact enough
// as a double, and the product then exact.
template <typename T>
T remainder(T a, T b) {
  if constexpr (std::is_same_v<T, float>) {
    const double x = a, y = b, whole = std::trunc(x / y);
    constexpr double kExact = 1 << 28;
    if (std::abs(whole) < kExact && !std::isinf(b)) {
      return std::copysign(static_cast<float>(x - whole * y), a);
    }
  }
  return std::fmod(a, b);
}

// The sign of the divisor, as in Python.
struct FloorMod {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) fail("an integer is divided by zero");
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return 0;
      }
      const T rest = static_cast<T>(a % b);
      const bool other = rest != 0 && ((rest < 0) != (b < 0));
      return other ? static_cast<T>(rest + b) : rest;
    } else {
      const T rest = remainder(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
  }
};
// The sign of the dividend, as in C.
struct TruncMod {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) fail("an integer is divided by zero");
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return 0;
      }
      return static_cast<T>(a % b);
    } else {
      return remainder(a, b);
    }
  }
};
// NaN wins, as in numpy.
struct Max {
  template <typename T>
  T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};
struct Min {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};

struct Power {
  template <typename A, typename B>
  A operator()(A x, B y) const {
    if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
      if (y < 0) {
        if constexpr (std::is_signed_v<A>) {
          if (x == -1) return y % 2 == 0 ? A(1) : A(-1);
        }
        return x == 1 ? A(1) : A(0);
      }
      A power = 1;
      for (auto n = static_cast<std::uint64_t>(y); n != 0; n >>= 1) {
        if (n & 1) power = Mul()(power, x);
        x = Mul()(x, x);
      }
      return power;
    } else if constexpr (std::is_same_v<A, float> &&
                         std::is_floating_point_v<B>) {
      const auto square = x * x, power = std::pow(x, A(y));
      return y == 2 ? square : power;
    } else {
      return static_cast<A>(
          std::pow(static_cast<double>(x), static_cast<double>(y)));
    }
  }
};

template <typename List, typename F>
void binary(Call& c, F f) {
  const Tensor& a = c.input(0);
  const Tensor& b = c.expect_type(1, a.dtype());
  const Dims dims = broadcast(a.dims(), b.dims());
  dispatch(List(), a.dtype(), [&]<typename T>() {
    Tensor& out = runtime::is_same_shape(dims, a.dims())
                      ? c.output_in_place(0, 0, a.dtype(), dims)
                      : c.output_in_place(0, 1, a.dtype(), dims);
    if constexpr (std::is_same_v<F, Div> && std::is_integral_v<T> &&
                  sizeof(T) <= 4) {
      if (std::ranges::find(b.values<T>(), T(0)) == b.values<T>().end()) {
        return map_binary<T, T, T>(c, a, b, out, QuickDiv());
      }
    }
    map_binary<T, T, T>(c, a, b, out, f);
  });
}

// The op that does so.
template <typename List, typename F>
Op binary_op(F f) {
  return [f](Call& c) { binary<List>(c, f); };
}

// The kernel of a function that no attribute changes.
template <typename List, auto kFunction>
void binary(Call& c) {
  binary<List>(c, kFunction);
}

Op mod(const Preparation& p) {
  if (p.attribute_flag("fmod")) return binary_op<Numbers>(TruncMod());
  return binary_op<Numbers>(FloorMod());
}

// 1 divided by an integer zero.
template <typename A, typename B>
void expect_no_power_of_zero(const Call& c, const Tensor& a, const Tensor& b) {
  if constexpr (std::is_integral_v<A> && std::is_signed_v<B>) {
    const auto has = [](const auto& values, auto is) {
      return std::ranges::any_of(values, is);
    };
    if (c.run().agreed_only && has(a.values<A>(), [](A x) { return x == 0; }) &&
        has(b.values<B>(), [](B y) { return y < 0; })) {
      fail("a negative power of an integer zero");
    }
  }
}

template <typename B>
void pow_of(Call& c, const Tensor& a, const Tensor& b) {
  const Dims dims = broadcast(a.dims(), b.dims());
  Tensor& out = c.output(0, a.dtype(), dims);
  if (a.dtype() == DataType::kFloat && b.count() == 1) {
    const B y = *b.data<B>();
    const auto by = [&](auto f) {
      map_binary<float, B, float>(c, a, b, out, f);
    };
    if (y == 2) return by([](float x, B) { return x * x; });
    if (y == 3) return by([](float x, B) { return x * x * x; });
  }
  dispatch(Numbers(), a.dtype(), [&]<typename A>() {
    expect_no_power_of_zero<A, B>(c, a, b);
    map_binary<A, B, A>(c, a, b, out, Power());
  });
}

// The exponent may be of another type; the result has that of the base. It is
// computed as the type of its kind that holds them all; most are one number.
void pow(Call& c) {
  const Tensor a = c.input(0), b = c.input(1);
  const ir::DataType type = b.dtype();
  if (type == DataType::kFloat && a.dtype() == type) {
    return pow_of<float>(c, a, b);
  }
  if (type == DataType::kFloat || type == DataType::kDouble) {
    return pow_of<double>(c, a, in_type(c, b, DataType::kDouble));
  }
  if (type == DataType::kUint64) return pow_of<std::uint64_t>(c, a, b);
  pow_of<std::int64_t>(c, a, in_type(c, b, DataType::kInt64));
}

// f over all inputs, from left to right.
template <auto f>
void fold(Call& c) {
  Tensor sum = c.input(0);
  for (std::size_t i = 1; i < c.input_count(); ++i) {
    const Tensor& next = c.expect_type(i, sum.dtype());
    const Dims dims = broadcast(sum.dims(), next.dims());
    Tensor out = c.allocate(sum.dtype(), dims);
    dispatch(Numbers(), sum.dtype(),
             [&]<typename T>() { map_binary<T, T, T>(c, sum, next, out, f); });
    sum = std::move(out);
  }
  c.set_output(0, std::move(sum));
}

void mean(Call& c) {
  fold<Add{}>(c);
  Tensor& out = c.outputs()[0].tensor();
  Tensor scaled = c.allocate(out.dtype(), out.dims());
  dispatch(Floats(), out.dtype(), [&]<typename T>() {
    const T count = static_cast<T>(c.input_count());
    for (std::int64_t i = 0; i < out.count(); ++i) {
      scaled.mutable_data<T>()[i] = out.data<T>()[i] / count;
    }
  });
  c.set_output(0, std::move(scaled));
}

// Shifts by the width or more, or by a negative number, leave only what is
// filled in: the sign to the right, else 0.
Op bit_shift(const Preparation& p) {
  const bool is_left = p.choice("direction", {"LEFT", "RIGHT"}) == "LEFT";
  return binary_op<Integers>([is_left](auto a, auto b) {
    using T = decltype(a);
    constexpr auto kWidth = static_cast<std::uint64_t>(sizeof(T) * 8);
    const bool is_far = b < 0 || static_cast<std::uint64_t>(b) >= kWidth;
    if (is_left) {
      const auto bits = static_cast<std::uint64_t>(a);
      return is_far ? T(0) : static_cast<T>(bits << b);
    }
    return is_far ? static_cast<T>(a < 0 ? -1 : 0) : static_cast<T>(a >> b);
  });
}

}  // namespace

const KernelRows kArithmeticRows = {
    {"", "Add", binary<Numbers, Add{}>, Adapt::kWiden},
    {"", "BitShift", bit_shift},
    {"", "BitwiseAnd",
     binary<Integers,
            [](auto a, auto b) { return static_cast<decltype(a)>(a & b); }>},
    {"", "BitwiseOr",
     binary<Integers,
            [](auto a, auto b) { return static_cast<decltype(a)>(a | b); }>},
    {"", "BitwiseXor",
     binary<Integers,
            [](auto a, auto b) { return static_cast<decltype(a)>(a ^ b); }>},
    {"", "Div", binary<Numbers, Div{}>, Adapt::kWiden},
    {"", "Max", fold<Max{}>, Adapt::kWiden},
    {"", "Mean", mean, Adapt::kWiden},
    {"", "Min", fold<Min{}>, Adapt::kWiden},
    {"", "Mod", mod, Adapt::kWiden},
    {"", "Mul", binary<Numbers, Mul{}>, Adapt::kWiden},
    {"", "Pow", pow, Adapt::kWiden},
    {"", "Sub", binary<Numbers, Sub{}>, Adapt::kWiden},
    {"", "Sum", fold<Add{}>, Adapt::kWiden},
};

}  // namespace ruleengine::kernels
