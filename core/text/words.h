// Words of ONNX text, as the printers write them. Pure functions.
#ifndef RULEENGINE_CORE_TEXT_WORDS_H_
#define RULEENGINE_CORE_TEXT_WORDS_H_

#include <string>
#include <string_view>

namespace ruleengine::text {

// In quotes, with escapes: \\, \", and \xNN for a byte of what does not show.
std::string quoted_text(std::string_view text);
// In quotes where it is no identifier, or would read as a type or a number.
std::string name_text(std::string_view name);
// "com.microsoft": names with points between them, in quotes where one of them
// is no identifier.
std::string qualified_text(std::string_view name);
// "com.microsoft.Gelu:overload".
std::string op_text(std::string_view domain, std::string_view type,
                    std::string_view overload);

}  // namespace ruleengine::text

#endif  // RULEENGINE_CORE_TEXT_WORDS_H_
