// Characters of UTF-8 text, and which of them are visible as themselves. The
// others are invisible, control a terminal or the writing direction, end a
// line, or are not characters at all: a name with them can look like another
// name or forge the text around it. Some are also not allowed in XML. Pure
// functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace ruleengine {

// The size in bytes of the character at `i`; 0 where the text is not UTF-8.
std::size_t utf8_size(std::string_view text, std::size_t i);
bool is_utf8(std::string_view text);

// The same, but 0 for a character that is not visible.
std::size_t shown_size(std::string_view text, std::size_t i);

}  // namespace ruleengine
