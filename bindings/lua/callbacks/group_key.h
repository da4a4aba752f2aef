// The key that `together` returns, as text. Equal keys give equal texts in
// every run. Internal to bindings/lua.
#pragma once

#include <string>

#include "bindings/lua/session/handle.h"

namespace ruleengine::lua {

// Writes all values on the stack. A Diagnostic if one of them cannot be a key.
Status write_key(Host& host, lua_State* state, std::string& out);

}  // namespace ruleengine::lua
