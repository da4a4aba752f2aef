// Finds the rules that ship with the program.
#pragma once

#include <filesystem>
#include <vector>

#include "core/base/result.h"

namespace ruleengine::lua {

// The possible places of rules/; the first existing one counts: beside the
// build folder, in it, where the program or the library was installed.
std::vector<std::filesystem::path> shipped_places();
// kRule if there is none.
Result<std::filesystem::path> shipped_rules();

}  // namespace ruleengine::lua
