// Nodes and the graph as rule code sees them: n.op, n.inputs.w_scale,
// n.attrs.axis, graph:nodes{op = "Softmax"}. Internal to bindings/lua.
#pragma once

#include "bindings/lua/session/handle.h"

namespace ruleengine::lua {

// Metatables of nodes, their inputs and attributes, and graphs.
void make_node_metatables(Host& host, lua_State* state);

}  // namespace ruleengine::lua
