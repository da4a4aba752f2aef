// What the variables of a pattern are bound to, as values of Lua: values,
// nodes, dimensions, attributes, lists, and records of steps. Internal to
// bindings/lua.
#pragma once

#include "bindings/lua/session/handle.h"

namespace ruleengine::lua {

// Pushes what `variable` of `pattern` stands for; nil if its branch was not
// taken.
void push_bound(Host& host, lua_State* state, const pattern::Pattern& pattern,
                pattern::VariableId variable, const match::Bound& bound);

}  // namespace ruleengine::lua
