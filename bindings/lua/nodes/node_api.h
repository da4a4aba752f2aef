// Nodes and the graph as rule code sees them: n.op, n.inputs.w_scale,
// n.attrs.axis, graph:nodes{op = "Softmax"}. Internal to bindings/lua.
#ifndef RULEENGINE_BINDINGS_LUA_NODES_NODE_API_H_
#define RULEENGINE_BINDINGS_LUA_NODES_NODE_API_H_

#include "bindings/lua/session/handle.h"

namespace ruleengine::lua {

// Metatables of nodes, their inputs and attributes, and graphs.
void make_node_metatables(Host& host, lua_State* state);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_NODES_NODE_API_H_
