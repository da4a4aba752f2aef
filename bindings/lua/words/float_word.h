// float(x): marks a number or a list of numbers that an attribute without a
// schema must hold as FLOAT or FLOATS, even if the numbers are whole. Lua has
// one kind of number, so without `float` an op of an unknown domain takes a
// whole number for an INT. The result of `float` refers to nothing in a graph
// and may be kept. Lists read from FLOATS of a model are of the same kind.
// Internal to bindings/lua.
#pragma once

#include "bindings/lua/session/handle.h"

namespace ruleengine::lua {

void make_float_metatable(Host& host, lua_State* state);
// Adds `float` to the table on top of the stack. May raise a Lua error.
void install_float_word(lua_State* state);

void push_float(Host& host, lua_State* state, double number);
// The number of the `float` result at `index`; none for anything else.
std::optional<double> float_at(const Host& host, lua_State* state, int index);

}  // namespace ruleengine::lua
