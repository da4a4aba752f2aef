// Numbers as text and back to the same bits, independent of the locale.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ruleengine::text {

// The nearest float or double of a whole token; a number that is too small
// becomes a subnormal or 0. None for a token that is not a number or is too
// large.
std::optional<float> to_float(std::string_view token);
std::optional<double> to_double(std::string_view token);

// The shortest text that reads back to the same number.
std::string number_text(float value);
std::string number_text(double value);
// The same, but always with a point or an exponent, so that it is not an
// integer.
std::string real_text(float value);

}  // namespace ruleengine::text
