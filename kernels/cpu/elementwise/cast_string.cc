// Numbers as text and back.
#include <charconv>
#include <cmath>
#include <limits>

#include "core/ir/narrow_float.h"
#include "kernels/cpu/elementwise/cast.h"
#include "kernels/cpu/number.h"
#include "runtime/conversions.h"

namespace ruleengine::kernels {
namespace {

constexpr std::string_view kBlank = " \t\n\v\f\r";

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

[[noreturn]] void fail_text(std::string_view text, DataType to) {
  constexpr std::size_t kShown = 40;
  fail("a string is not a number of the type",
       std::string(ir::data_type_name(to)),
       "'" + std::string(text.substr(0, kShown)) + "'");
}

template <typename T>
struct Parsed {
  T value = 0;
  bool is_number = false, fits = true;
};

// The whole of `text`, which may begin with a plus sign.
template <typename T>
Parsed<T> parsed(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return {};
  }
  Parsed<T> out;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out.value);
  out.is_number = at == end && error != std::errc::invalid_argument;
  out.fits = error != std::errc::result_out_of_range;
  return out;
}

// Beyond the range: infinity, or zero where the number is tiny.
template <typename T>
T beyond_range(std::string_view text) {
  const auto wide = parsed<long double>(text);
  if (wide.fits) return static_cast<T>(wide.value);
  const auto e = text.find_first_of("eE");
  const bool is_tiny = e != std::string_view::npos &&
                       text.find('-', e) != std::string_view::npos;
  const T size = is_tiny ? T(0) : std::numeric_limits<T>::infinity();
  return text.starts_with('-') ? -size : size;
}

template <typename T>
T number_of(std::string_view text, DataType to) {
  const std::string_view body = trimmed(text);
  if constexpr (std::is_same_v<T, bool>) {
    return !text.empty();  // as in Python
  } else if constexpr (std::is_floating_point_v<T>) {
    const auto out = parsed<T>(body);
    if (!out.is_number) fail_text(text, to);
    return out.fits ? out.value : beyond_range<T>(body);
  } else {
    const auto whole = parsed<T>(body);
    if (whole.is_number && whole.fits) return whole.value;
    // "100.5" may be 100, and "1e3" is 1000.
    const auto real = parsed<double>(body);
    const double value = std::trunc(real.value);
    const double least = static_cast<double>(std::numeric_limits<T>::min());
    // A power of two, so exact; what is above all of T.
    const double above =
        2.0 * static_cast<double>((std::numeric_limits<T>::max() >> 1) + 1);
    if (!real.is_number || !real.fits || !(value >= least && value < above)) {
      fail_text(text, to);
    }
    return to_number<T>(value);
  }
}

// Where numbers of a type change to the scientific form: ten to the number of
// digits that it surely holds.
double positional_end(DataType type) {
  switch (type) {
    case DataType::kDouble:
      return 1e16;
    case DataType::kFloat16:
      return 1e3;
    default:
      return 1e6;
  }
}

// The digits, plain or scientific.
template <typename T, typename... Precision>
std::string digits(T value, std::chars_format form, Precision... precision) {
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, form, precision...)
          .ptr;
  return {buffer, end};
}

std::string with_point(std::string text) {
  const bool is_whole = text.find_first_not_of("-0123456789") == text.npos;
  return is_whole ? text + ".0" : text;
}

// The fewest digits that give the same bits of a narrow type again, as a
// double.
double rounded_to_few_digits(DataType type, double value) {
  const std::uint32_t bits = ir::narrow(type, value);
  for (int precision = 0; precision < 17; ++precision) {
    const std::string text =
        digits(value, std::chars_format::scientific, precision);
    const double again = parsed<double>(text).value;
    if (ir::narrow(type, again) == bits) return again;
  }
  return value;
}

template <typename T>
std::string print(T value, DataType type) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const double size = std::abs(static_cast<double>(value));
  const bool is_plain =
      size == 0 || (size >= 1e-4 && size < positional_end(type));
  return is_plain ? with_point(digits(value, std::chars_format::fixed))
                  : digits(value, std::chars_format::scientific);
}

std::string print_narrow(DataType type, std::uint32_t bits) {
  const double value = ir::widen(type, bits);
  return print(
      std::isfinite(value) ? rounded_to_few_digits(type, value) : value, type);
}

}  // namespace

Tensor parse_strings(const Call& c, const Tensor& x, DataType to) {
  Tensor out = c.allocate(to, x.dims());
  dispatch(NumbersAndBool(), to, [&]<typename T>() {
    T* result = out.mutable_data<T>();
    for (const String& each : x.strings()) {
      *result++ = number_of<T>(each, to);
    }
  });
  return out;
}

Tensor print_numbers(const Call& c, const Tensor& x) {
  Tensor out = c.allocate(DataType::kString, x.dims());
  runtime::Strings& texts = out.mutable_strings();
  if (ir::is_narrow_float(x.dtype())) {
    const Tensor bytes = runtime::unpacked(x, c.run());
    const bool wide = ir::bit_width(x.dtype()) == 16;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      texts[i] = print_narrow(x.dtype(), wide ? bytes.data<std::uint16_t>()[i]
                                              : bytes.data<std::uint8_t>()[i]);
    }
    return out;
  }
  dispatch(NumbersAndBool(), x.dtype(), [&]<typename T>() {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const T value = x.data<T>()[i];
      if constexpr (std::is_same_v<T, bool>) {
        texts[i] = value ? "True" : "False";
      } else if constexpr (std::is_floating_point_v<T>) {
        texts[i] = print(value, x.dtype());
      } else {
        texts[i] = std::to_string(value);
      }
    }
  });
  return out;
}

}  // namespace ruleengine::kernels
