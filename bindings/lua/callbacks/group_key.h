// The key that `together` returns, as text: equal keys, equal texts, whatever
// the run. Internal to bindings/lua.
#ifndef RULEENGINE_BINDINGS_LUA_CALLBACKS_GROUP_KEY_H_
#define RULEENGINE_BINDINGS_LUA_CALLBACKS_GROUP_KEY_H_

#include <string>

#include "bindings/lua/nodes/handle.h"

namespace ruleengine::lua {

// Writes the whole stack. A Diagnostic for what is no key.
Status write_key(Runtime& rt, lua_State* state, std::string& out);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_CALLBACKS_GROUP_KEY_H_
