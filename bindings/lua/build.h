// Builders: `op` as `rewrite` and `pass` get it. op.Add(a, b) and op.Add{a, b}
// build one node through the session's Edit; a call gives one value, with
// `outputs = n` that many. Domains are fields: op.tensor_cast.quantize(x).
// Internal to bindings/lua.
#ifndef RULEENGINE_BINDINGS_LUA_BUILD_H_
#define RULEENGINE_BINDINGS_LUA_BUILD_H_

#include <string_view>

#include "bindings/lua/handle.h"

namespace ruleengine::lua {

// Makes rt.builders, the reference of `op`.
void make_builders(Runtime& rt, lua_State* state);

// n:with(s, w), n:with{s, axis = -1}
int build_with(Runtime& rt, lua_State* state);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_BUILD_H_
