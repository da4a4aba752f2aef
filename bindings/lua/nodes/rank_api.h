// Queries of rule code about the ranks of a distributed model: how values are
// distributed, and where a rank can work on its share of the tokens. Internal
// to bindings/lua.
#pragma once

#include "bindings/lua/session/handle.h"

namespace ruleengine::lua {

// v.layout: {placement = "sharded", axis = 1, ranks = {0, 1}}; nil when nothing
// is proven.
int push_layout(Host& host, lua_State* state, const Handle& value);

// v:replicated(ranks): whether the value is the same on all of these ranks,
// proven or assumed.
int replicated(Host& host, lua_State* state, const Handle& value);

// n:along(axis): the axes of the outputs that correspond to that axis of the
// first input (-1: the last one), as a list. nil unless the node works on each
// position of the axis independently and its other inputs do not vary along it.
int along(Host& host, lua_State* state, const Handle& node);

// graph:residual_chains{slices = false}: a list of
//   sum             the node that starts it, the first sum over the ranks
//   ranks           the group
//   nodes           in computation order: nodes that make shares or use them
//   axes            value -> axis along which it is sharded
//   entries         values of which each rank takes its share
//   broken, culprit why the chain cannot be sharded, and at which value; or nil
//   sliceable       whether the option `slices` would permit the culprit
int residual_chains(Host& host, lua_State* state, const Handle& graph);

}  // namespace ruleengine::lua
