// Characters of UTF-8 text, and which of them show as what they are. Those that
// do not are invisible, steer a terminal or the direction of writing, end a
// line, or are no characters at all, so that a name that holds them reads as
// another or forges what stands around it; XML has no place for some either.
// Pure functions.
#ifndef RULEENGINE_CORE_BASE_UTF8_H_
#define RULEENGINE_CORE_BASE_UTF8_H_

#include <cstddef>
#include <string_view>

namespace ruleengine {

// The size of the character at `i`; 0 where none is, since it is not UTF-8.
std::size_t utf8_size(std::string_view text, std::size_t i);
bool is_utf8(std::string_view text);

// The same, and 0 for a character that does not show.
std::size_t shown_size(std::string_view text, std::size_t i);

}  // namespace ruleengine

#endif  // RULEENGINE_CORE_BASE_UTF8_H_
