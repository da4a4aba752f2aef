#include "core/ir/narrow_float.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ruleengine::ir {
namespace {

enum class Special : std::uint8_t {
  kIeee,       // highest exponent: infinities and NaNs
  kAllOnes,    // NaN is every bit but the sign's; no infinity
  kMinusZero,  // NaN is where -0 would be; no infinity
  kNone,       // every pattern is a number
};

struct Format {
  int exponent = 0, mantissa = 0, bias = 0;
  Special special = Special::kIeee;

  std::uint32_t sign_bit() const { return 1u << (exponent + mantissa); }
  std::uint32_t mask() const { return sign_bit() - 1; }
  std::uint32_t highest() const {  // of the exponent, as it stands in the bits
    return (1u << exponent) - 1;
  }
  // The bits of the largest number.
  std::uint32_t largest() const {
    if (special == Special::kIeee) return (highest() << mantissa) - 1;
    return special == Special::kAllOnes ? mask() - 1 : mask();
  }
  std::uint32_t not_a_number() const {
    switch (special) {
      case Special::kIeee:
        return (highest() << mantissa) | (1u << (mantissa - 1));
      case Special::kAllOnes:
        return mask();
      case Special::kMinusZero:
        return sign_bit();
      case Special::kNone:
        return 0;
    }
    return 0;
  }
};

Format format(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return {5, 10, 15, Special::kIeee};
    case DataType::kBfloat16:
      return {8, 7, 127, Special::kIeee};
    case DataType::kFloat8E4M3FN:
      return {4, 3, 7, Special::kAllOnes};
    case DataType::kFloat8E4M3FNUZ:
      return {4, 3, 8, Special::kMinusZero};
    case DataType::kFloat8E5M2:
      return {5, 2, 15, Special::kIeee};
    case DataType::kFloat8E5M2FNUZ:
      return {5, 2, 16, Special::kMinusZero};
    case DataType::kFloat4E2M1:
      return {2, 1, 1, Special::kNone};
    default:
      return {};
  }
}

// A float8e8m0: exponent bits alone; no sign, no zero, all ones is NaN.
double widen_scale(std::uint32_t bits) {
  if ((bits & 0xff) == 0xff) return std::numeric_limits<double>::quiet_NaN();
  return std::ldexp(1.0, static_cast<int>(bits & 0xff) - 127);
}

std::uint32_t narrow_scale(double value) {
  if (std::isnan(value) || value < 0) return 0xff;
  if (value == 0) return 0;
  if (std::isinf(value)) return 254;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // [0.5, 1)
  exponent += fraction >= 0.75 ? 127 : 126;
  return static_cast<std::uint32_t>(std::min(std::max(exponent, 0), 254));
}

// The bits of a finite magnitude; the result may be beyond the largest number.
std::uint32_t round_magnitude(const Format& f, double value) {
  if (value == 0) return 0;
  int exponent = 0;
  std::frexp(value, &exponent);
  // 2^(exponent - 1) <= value; below the first normal the steps stay equal.
  const int power = std::max(exponent - 1, 1 - f.bias);
  const double steps = std::nearbyint(std::ldexp(value, f.mantissa - power));
  const double base =
      std::ldexp(static_cast<double>(power + f.bias - 1), f.mantissa);
  // If rounding carries, it increments the exponent, as it should.
  const double bits = base + steps;
  if (bits > static_cast<double>(f.mask())) return f.mask() + 1;
  return static_cast<std::uint32_t>(bits);
}

}  // namespace

bool is_narrow_float(DataType type) {
  return is_float(type) && bit_width(type) <= 16;
}

double widen(DataType type, std::uint32_t bits) {
  if (type == DataType::kFloat8E8M0) return widen_scale(bits);
  const Format f = format(type);
  const bool negative = (bits & f.sign_bit()) != 0;
  const std::uint32_t magnitude = bits & f.mask();
  const std::uint32_t exponent = magnitude >> f.mantissa;
  const std::uint32_t mantissa = magnitude & ((1u << f.mantissa) - 1);
  if (f.special == Special::kIeee && exponent == f.highest()) {
    if (mantissa != 0) return std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    return negative ? -infinity : infinity;
  }
  if ((f.special == Special::kAllOnes && magnitude == f.mask()) ||
      (f.special == Special::kMinusZero && magnitude == 0 && negative)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const std::uint32_t whole = exponent == 0 ? 0 : 1u << f.mantissa;
  const int power = std::max(static_cast<int>(exponent), 1) - f.bias;
  const double value =
      std::ldexp(static_cast<double>(whole + mantissa), power - f.mantissa);
  return negative ? -value : value;
}

std::uint32_t narrow(DataType type, double value) {
  if (type == DataType::kFloat8E8M0) return narrow_scale(value);
  const Format f = format(type);
  const std::uint32_t sign = std::signbit(value) ? f.sign_bit() : 0;
  if (std::isnan(value)) return f.not_a_number();
  std::uint32_t magnitude =
      std::isinf(value) ? f.mask() : round_magnitude(f, std::fabs(value));
  if (magnitude > f.largest()) {
    magnitude = f.special == Special::kIeee ? f.largest() + 1 : f.largest();
  }
  if (magnitude == 0 && f.special == Special::kMinusZero) return 0;
  return sign | magnitude;
}

}  // namespace ruleengine::ir
