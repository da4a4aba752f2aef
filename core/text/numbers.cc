#include "core/text/numbers.h"

#include <charconv>
#include <cmath>
#include <iterator>
#include <system_error>

namespace ruleengine::text {
namespace {

// from_chars fails for numbers outside the range of its type, but too small
// ones are to become 0 or a subnormal. A wider type tells which case it is.
template <typename T, typename Wider>
std::optional<T> parse(std::string_view token) {
  const char* const end = token.data() + token.size();
  T value = 0;
  const auto read = std::from_chars(token.data(), end, value);
  if (read.ec == std::errc() && read.ptr == end) return value;
  if (read.ec != std::errc::result_out_of_range || read.ptr != end) {
    return std::nullopt;
  }
  Wider wide = 0;
  const auto again = std::from_chars(token.data(), end, wide);
  if (again.ec == std::errc()) {
    value = static_cast<T>(wide);
    return std::isinf(value) ? std::nullopt : std::optional<T>(value);
  }
  // Out of the wider range as well: the sign of the exponent tells.
  const std::size_t e = token.find_first_of("eE");
  const bool tiny = e != std::string_view::npos && e + 1 < token.size() &&
                    token[e + 1] == '-';
  if (!tiny) return std::nullopt;
  return token[0] == '-' ? -T{0} : T{0};
}

template <typename T>
std::string shortest(T value) {
  char buffer[64];
  return {buffer, std::to_chars(buffer, std::end(buffer), value).ptr};
}

}  // namespace

std::optional<float> to_float(std::string_view token) {
  return parse<float, double>(token);
}

std::optional<double> to_double(std::string_view token) {
  return parse<double, long double>(token);
}

std::string number_text(float value) { return shortest(value); }
std::string number_text(double value) { return shortest(value); }

std::string real_text(float value) {
  std::string out = shortest(value);
  if (out.find_first_of(".en") == std::string::npos) out += ".0";
  return out;
}

}  // namespace ruleengine::text
