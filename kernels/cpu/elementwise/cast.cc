// Cast, CastLike and BitCast. A cast goes through types of C++: narrow floats
// and elements below a byte are widened before and narrowed after.
#include "kernels/cpu/elementwise/cast.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/ir/narrow_float.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/number.h"
#include "runtime/conversions.h"

namespace ruleengine::kernels {
namespace {

// A float8e8m0 is the exponent of a float; the sign is left out, and what is
// not finite is NaN.
std::uint8_t scale_bits(float value, const CastMode& mode) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t exponent = bits >> 23 & 0xff, rest = bits & 0x7fffff;
  constexpr std::uint32_t kHalf = 0x400000;
  if (exponent == 0xff) return 0xff;
  bool up = false;
  if (mode.rounding == ScaleRounding::kUp) up = rest != 0;
  if (mode.rounding == ScaleRounding::kNearest) {
    // A tie goes up, but for numbers below the first normal one.
    up = rest > kHalf || (rest == kHalf && exponent > 0);
  }
  if (mode.saturate && exponent == 0xfe) up = false;
  return static_cast<std::uint8_t>(exponent + (up ? 1 : 0));
}

// The largest number of a float8 type, and whether it is odd, so that a number
// half way to the next one rounds beyond it.
struct Float8 {
  double largest = 0, beyond = 0;
  bool is_odd = false;
};

Float8 float8_of(DataType type) {
  switch (type) {
    case DataType::kFloat8E4M3FN:
      return {448, 464, false};
    case DataType::kFloat8E4M3FNUZ:
      return {240, 248, true};
    default:  // the two of E5M2
      return {57344, 61440, true};
  }
}

std::uint8_t float8_bits(DataType type, const Float8& range, double v,
                         bool saturate) {
  const bool is_fnuz =
      type == DataType::kFloat8E4M3FNUZ || type == DataType::kFloat8E5M2FNUZ;
  if (saturate) {
    if (v > range.largest) v = range.largest;
    if (v < -range.largest) v = -range.largest;
  } else if (type != DataType::kFloat8E5M2) {
    const double size = std::abs(v);
    if (size > range.beyond || (range.is_odd && size == range.beyond)) {
      v = std::copysign(std::numeric_limits<double>::quiet_NaN(), v);
    }
  }
  std::uint32_t bits = ir::narrow(type, v);
  if (std::isnan(v) && !is_fnuz && std::signbit(v)) bits |= 0x80;
  return static_cast<std::uint8_t>(bits);
}

// float8_bits of floats, for loops in vectors.
struct Float8Rounding {
  Float8Rounding(DataType type, const Float8& range, bool saturate) {
    const bool is_e5m2 =
        type == DataType::kFloat8E5M2 || type == DataType::kFloat8E5M2FNUZ;
    is_fnuz =
        type == DataType::kFloat8E4M3FNUZ || type == DataType::kFloat8E5M2FNUZ;
    const int mantissa = is_e5m2 ? 2 : 3;
    const int bias = (is_e5m2 ? 15 : 7) + (is_fnuz ? 1 : 0);
    shift = 23 - mantissa;
    rebias = static_cast<std::uint32_t>(127 - bias) << mantissa;
    least_normal = std::ldexp(1.0F, 1 - bias);
    step = std::ldexp(1.0F, shift + 1 - bias);
    if (saturate) {
      most = static_cast<float>(range.largest);
    } else if (type == DataType::kFloat8E5M2) {
      most = std::ldexp(1.0F, 16);  // infinity
    } else {
      const auto beyond = static_cast<float>(range.beyond);
      held = range.is_odd ? std::nextafter(beyond, 0.0F) : beyond;
    }
    nan = ir::narrow(type, std::numeric_limits<double>::quiet_NaN());
  }

  std::uint8_t operator()(float v) const {
    const float size = std::abs(v), x = size > most ? most : size;
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t half = (1u << (shift - 1)) - 1 + (bits >> shift & 1);
    const std::uint32_t normal = ((bits + half) >> shift) - rebias;
    // The sum is rounded to steps of the numbers below the first normal one.
    const std::uint32_t small = std::bit_cast<std::uint32_t>(x + step) -
                                std::bit_cast<std::uint32_t>(step);
    const std::uint32_t number = x < least_normal ? small : normal;
    const bool is_held = size <= held;
    const std::uint32_t all = is_held ? number : nan;
    const bool unsigned_one = is_fnuz & (!is_held | (number == 0));
    const std::uint32_t sign = std::bit_cast<std::uint32_t>(v) >> 24 & 0x80;
    return static_cast<std::uint8_t>(all | (unsigned_one ? 0 : sign));
  }

  static constexpr float kInfinity = std::numeric_limits<float>::infinity();
  bool is_fnuz = false;
  int shift = 0;
  std::uint32_t rebias = 0, nan = 0;
  // Larger ones become `most`; beyond `held` is NaN.
  float least_normal = 0, step = 0, most = kInfinity, held = kInfinity;
};

// From float or double.
template <typename T>
Tensor narrow(const Call& c, const Tensor& x, DataType to,
              const CastMode& mode) {
  switch (to) {
    case DataType::kFloat8E8M0:
      return runtime::mapped<T, std::uint8_t>(x, to, c.run(), [&](T v) {
        return scale_bits(static_cast<float>(v), mode);
      });
    case DataType::kFloat8E4M3FN:
    case DataType::kFloat8E4M3FNUZ:
    case DataType::kFloat8E5M2:
    case DataType::kFloat8E5M2FNUZ: {
      const Float8 range = float8_of(to);
      if constexpr (std::is_same_v<T, float>) {
        return runtime::mapped<T, std::uint8_t, true>(
            x, to, c.run(), Float8Rounding(to, range, mode.saturate));
      }
      return runtime::mapped<T, std::uint8_t>(x, to, c.run(), [&](T v) {
        return float8_bits(to, range, v, mode.saturate);
      });
    }
    default:
      return runtime::narrowed(x, to, c.run());
  }
}

DataType byte_type(DataType packed) {
  return packed == DataType::kInt4 || packed == DataType::kInt2
             ? DataType::kInt8
             : DataType::kUint8;
}

[[noreturn]] void fail_unheld() {
  fail("a number is cast to a type that does not hold it");
}

// What a float becomes that no integer of the type is near to depends on the
// processor.
template <typename From, typename To>
void expect_to_fit(const Tensor& x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> &&
                !std::is_same_v<To, bool>) {
    using Limits = std::numeric_limits<To>;
    constexpr auto kLow = static_cast<From>(Limits::min());
    constexpr auto kHigh = static_cast<From>(Limits::max() / 2 + 1) * 2;
    for (const From v : x.values<From>()) {
      const From whole = std::trunc(v);
      if (!(whole >= kLow && whole < kHigh)) {
        fail_unheld();
      }
    }
  }
}

}  // namespace

Tensor in_type(const Call& c, const Tensor& x, DataType to) {
  if (x.dtype() == to) return x;
  // As bytes, which fit vectors.
  if (x.dtype() == DataType::kBool) {
    return in_type(c, x.as(DataType::kUint8), to);
  }
  Tensor out;
  dispatch(NumbersAndBool(), x.dtype(), [&]<typename From>() {
    dispatch(NumbersAndBool(), to, [&]<typename To>() {
      if (c.run().agreed_only) expect_to_fit<From, To>(x);
      out = runtime::mapped<From, To, true>(
          x, to, c.run(), [](From v) { return to_number<To>(v); });
    });
  });
  return out;
}

Tensor as_computed(const Call& c, const Tensor& x) {
  return ir::is_narrow_float(x.dtype()) ? runtime::widened(x, c.run())
                                        : runtime::unpacked(x, c.run());
}

Tensor cast_tensor(const Call& c, const Tensor& x, DataType to,
                   const CastMode& mode) {
  // Only float8e5m2 has an infinity, which saturates even where the type stays.
  if (x.dtype() == to && !(to == DataType::kFloat8E5M2 && mode.saturate)) {
    return x;
  }
  if (to != DataType::kString && ir::bit_width(to) == 0) {
    fail("the type to cast to is not known", "a type of ONNX",
         std::to_string(static_cast<int>(to)));
  }
  if (to == DataType::kString && ir::is_narrow_float(x.dtype())) {
    return print_numbers(c, x);
  }
  Tensor from = as_computed(c, x);
  if (to == DataType::kString) return print_numbers(c, from);
  const bool narrows = ir::is_narrow_float(to);
  const bool packs = !narrows && runtime::is_packed(to);
  DataType native = packs ? byte_type(to) : to;
  if (narrows) {
    native = from.dtype() == DataType::kDouble ? DataType::kDouble
                                               : DataType::kFloat;
  }
  from = from.is_string() ? parse_strings(c, from, native)
                          : in_type(c, from, native);
  if (packs) {
    Tensor out = runtime::packed(from, to, c.run());
    if (c.run().agreed_only &&
        !std::ranges::equal(runtime::unpacked(out, c.run()).bytes(),
                            from.bytes())) {
      fail_unheld();
    }
    return out;
  }
  if (!narrows) return from;
  return native == DataType::kDouble ? narrow<double>(c, from, to, mode)
                                     : narrow<float>(c, from, to, mode);
}

namespace {

CastMode cast_mode_of(const Preparation& p) {
  return {.saturate = p.attribute_flag("saturate"),
          .rounding = choice_of<ScaleRounding>(p, "round_mode",
                                               {"up", "down", "nearest", ""})};
}

// A wide run keeps what the type would round, but not what it would cut off.
Tensor cut_off(const Call& c, const Tensor& x, DataType type) {
  if (x.dtype() != DataType::kDouble || !ir::is_narrow_float(type) ||
      ir::bit_width(type) > 8 || type == DataType::kFloat8E8M0) {
    return x;
  }
  const double most =
      type == DataType::kFloat4E2M1 ? 6 : float8_of(type).largest;
  return runtime::mapped<double, double>(
      x, DataType::kDouble, c.run(),
      [&](double v) { return std::isnan(v) ? v : std::clamp(v, -most, most); });
}

Op cast(const Preparation& p) {
  p.need_attribute("to");
  return [mode = cast_mode_of(p), to = p.attribute_type("to"),
          type = static_cast<DataType>(p.attribute_int("to"))](Call& c) {
    Tensor out = cast_tensor(c, c.input(0), to, mode);
    c.set_output(0, mode.saturate ? cut_off(c, out, type) : out);
  };
}

void cast_like(Call& c, const CastMode& mode) {
  c.set_output(0, cast_tensor(c, c.input(0), c.input(1).dtype(), mode));
}

void bit_cast(Call& c, DataType to) {
  const Tensor& x = c.input(0);
  const int bits = ir::bit_width(to);
  if (bits == 0 || bits != ir::bit_width(x.dtype())) {
    c.wrong_attribute("to", "a type as wide as " + x.text(),
                      std::string(ir::data_type_name(to)));
  }
  if (to == DataType::kBool && x.dtype() != to) {
    // A bool is 0 or 1.
    return c.set_output(0, in_type(c, x.as(DataType::kUint8), to));
  }
  c.set_output(0, x.as(to));
}

}  // namespace

const KernelRows kCastRows = {
    {"", "BitCast", keeping<bit_cast, needed<"to", type_attribute<"to">>>},
    {"", "Cast", cast},
    {"", "CastLike", keeping<cast_like, cast_mode_of>},
};

}  // namespace ruleengine::kernels
