// Finds the rules that ship with the program.
#pragma once

#include <filesystem>
#include <vector>

#include "bindings/lua/rule_texts.h"
#include "core/base/result.h"

namespace ruleengine::lua {

// The possible places of rules/; the first existing one counts: beside the
// build folder, in it, where the program or the library was installed. Only the
// place that `texts` name, if they name one; they may be null.
std::vector<std::filesystem::path> shipped_places(const RuleTexts* texts);
// kRule if there is none.
Result<std::filesystem::path> shipped_rules(const RuleTexts* texts);

}  // namespace ruleengine::lua
