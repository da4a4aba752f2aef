// Parts of a pattern as text, for explanations.
#pragma once

#include <string>

#include "core/pattern/pattern.h"

namespace ruleengine::pattern {

// The literal that an attribute must equal: "[1, 0]", "\"SAME\"". Empty for
// "any" and for a variable.
std::string literal_text(const AttributePattern& attribute);

}  // namespace ruleengine::pattern
