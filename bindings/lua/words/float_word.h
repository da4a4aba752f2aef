// float(x): a number, or a list of numbers, that an attribute without a schema
// is to hold as FLOAT or FLOATS, whole or not. Lua has one kind of number, so
// an op of an unknown domain takes a whole one for an INT. What `float` gives
// names nothing of a graph and may be kept. Lists that are read from a model's
// FLOATS are of the same kind. Internal to bindings/lua.
#ifndef RULEENGINE_BINDINGS_LUA_WORDS_FLOAT_WORD_H_
#define RULEENGINE_BINDINGS_LUA_WORDS_FLOAT_WORD_H_

#include "bindings/lua/nodes/handle.h"

namespace ruleengine::lua {

void make_float_metatable(Runtime& rt, lua_State* state);
// Adds `float` to the table on top of the stack. May raise a Lua error.
void install_float_word(lua_State* state);

void push_float(Runtime& rt, lua_State* state, double number);
// The number at `index` that was said to be a float; none: it is something
// else.
std::optional<double> float_at(const Runtime& rt, lua_State* state, int index);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_WORDS_FLOAT_WORD_H_
