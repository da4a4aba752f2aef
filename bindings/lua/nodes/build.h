// Builders: the `op` parameter of `rewrite` and `pass`. op.Add(a, b) and
// op.Add{a, b} build one node through the session's Edit; a call gives one
// value, with `outputs = n` that many. Domains are fields:
// op.tensor_cast.quantize(x). Internal to bindings/lua.
#pragma once

#include <string_view>

#include "bindings/lua/session/handle.h"

namespace ruleengine::lua {

// Makes host.builders, the reference of `op`.
void make_builders(Host& host, lua_State* state);

// Builds from the arguments first..top: inputs, or one table that is the node.
// Pushes the values and returns how many; kFailed after a fail() or reject().
int build_op(Host& host, lua_State* state, std::string_view domain,
             std::string_view type, int first);
// The same for a node like `node`, with what the arguments change.
int build_like(Host& host, lua_State* state, ir::NodeId node, int first);

// n:with(s, w), n:with{s, axis = -1}
int build_with(Host& host, lua_State* state, const Handle& node);

// n:inline(): the values that the node computes, by its function body.
int build_inline(Host& host, lua_State* state, const Handle& node);
// n:pruned(): the same of a node with bodies, without what nothing reads.
int build_pruned(Host& host, lua_State* state, const Handle& node);

}  // namespace ruleengine::lua
