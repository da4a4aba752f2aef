// Where the rules that ship with the program lie.
#ifndef RULEENGINE_BINDINGS_LUA_LOAD_SHIPPED_H_
#define RULEENGINE_BINDINGS_LUA_LOAD_SHIPPED_H_

#include <filesystem>
#include <vector>

#include "core/base/result.h"

namespace ruleengine::lua {

// The places for rules/ of this program, the first one that is there counts:
// beside the build folder, where it was installed, where it was built.
std::vector<std::filesystem::path> shipped_places();
// kRule when there is none.
Result<std::filesystem::path> shipped_rules();

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_LOAD_SHIPPED_H_
