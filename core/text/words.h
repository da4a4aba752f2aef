// Words of ONNX text in the form that is printed. Pure functions.
#ifndef RULEENGINE_CORE_TEXT_WORDS_H_
#define RULEENGINE_CORE_TEXT_WORDS_H_

#include <string>
#include <string_view>

namespace ruleengine::text {

// In quotes, with escapes: \\, \", and \xNN for a byte that is not visible.
std::string quoted_text(std::string_view text);
// In quotes if it is not an identifier, or would be read as a type or a number.
std::string name_text(std::string_view name);
// "com.microsoft": names separated by points, in quotes if one of them is not
// an identifier.
std::string qualified_text(std::string_view name);
// "com.microsoft.Gelu:overload".
std::string op_text(std::string_view domain, std::string_view type,
                    std::string_view overload);

}  // namespace ruleengine::text

#endif  // RULEENGINE_CORE_TEXT_WORDS_H_
