// Values, their shapes and dimensions as rule code sees them: m.x, v.shape,
// v:rank(), v:constant(). Internal to bindings/lua.
#ifndef RULEENGINE_BINDINGS_LUA_NODES_VALUE_API_H_
#define RULEENGINE_BINDINGS_LUA_NODES_VALUE_API_H_

#include <string_view>

#include "bindings/lua/session/handle.h"

namespace ruleengine::lua {

// Metatables of values, dimensions, shapes and lists.
void make_value_metatables(Host& host, lua_State* state);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_NODES_VALUE_API_H_
