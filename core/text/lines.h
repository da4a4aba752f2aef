// The lines of a text, one after the other. Pure.
#pragma once

#include <algorithm>
#include <string_view>

namespace ruleengine::text {

// Takes the next line, without its end, from `text`.
inline std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

}  // namespace ruleengine::text
