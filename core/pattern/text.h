// Parts of a pattern as text, for its dump and for explanations.
#ifndef RULEENGINE_CORE_PATTERN_TEXT_H_
#define RULEENGINE_CORE_PATTERN_TEXT_H_

#include <string>

#include "core/pattern/pattern.h"

namespace ruleengine::pattern {

// The literal that an attribute must equal: "[1, 0]", "\"SAME\"". Empty for
// "any" and for a variable.
std::string literal_text(const AttributePattern& attribute);

}  // namespace ruleengine::pattern

#endif  // RULEENGINE_CORE_PATTERN_TEXT_H_
