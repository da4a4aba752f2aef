// What rule code asks about the ranks that run a model together: how values lie
// on them, and where each may work on its share of the tokens. Internal to
// bindings/lua.
#ifndef RULEENGINE_BINDINGS_LUA_NODES_RANK_API_H_
#define RULEENGINE_BINDINGS_LUA_NODES_RANK_API_H_

#include "bindings/lua/nodes/handle.h"

namespace ruleengine::lua {

// v.layout: {placement = "sharded", axis = 1, ranks = {0, 1}}; nil when nothing
// is proven.
void push_layout(Runtime& rt, lua_State* state, ir::ValueId value);

// v:replicated(ranks): whether it is the same on all of them, proven or
// assumed.
int replicated(Runtime& rt, lua_State* state);

// n:along(axis): the node works on each position of that axis of its first
// input (-1: the last one) by itself, and its other inputs do not vary along
// it: the list of the axes of its outputs; else nil.
int along(Runtime& rt, lua_State* state);

// graph:residual_chains{slices = false}: a list of
//   sum             the node that it begins at, the first sum over the ranks
//   ranks           the group
//   nodes           in computation order: what brings in shares, what works on
//                   them
//   axes            value -> axis along which there is a share of it
//   entries         values that each rank takes its share of
//   broken, culprit why the chain is to stay as it is, and where; nil
//   sliceable       whether `slices` would let the culprit pass
int residual_chains(Runtime& rt, lua_State* state);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_NODES_RANK_API_H_
