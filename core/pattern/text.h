// Parts of a pattern as text, for its dump and for explanations.
#ifndef RULEENGINE_CORE_PATTERN_TEXT_H_
#define RULEENGINE_CORE_PATTERN_TEXT_H_

#include <string>

#include "core/pattern/pattern.h"

namespace ruleengine::pattern {

// The literal that an attribute is to be: "[1, 0]", "\"SAME\"". "any" and a
// variable's place are empty.
std::string literal_text(const AttributePattern& attribute);

}  // namespace ruleengine::pattern

#endif  // RULEENGINE_CORE_PATTERN_TEXT_H_
