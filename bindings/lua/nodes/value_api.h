// Values, their shapes and dimensions as rule code sees them: m.x, v.shape,
// v:rank(), v:constant(). Internal to bindings/lua.
#ifndef RULEENGINE_BINDINGS_LUA_NODES_VALUE_API_H_
#define RULEENGINE_BINDINGS_LUA_NODES_VALUE_API_H_

#include <string_view>

#include "bindings/lua/nodes/handle.h"

namespace ruleengine::lua {

// Metatables of values, dimensions, shapes and lists.
void make_value_metatables(Runtime& rt, lua_State* state);

// Ends the match: `what` ("arithmetic", "num_heads") needs a number and the
// dimension is only known by name.
int reject_dim(Runtime& rt, std::string_view what, ir::Dim dim);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_NODES_VALUE_API_H_
