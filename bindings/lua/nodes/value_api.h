// Values, their shapes and dimensions as rule code sees them: m.x, v.shape,
// v:rank(), v:constant(). Internal to bindings/lua.
#pragma once

#include "bindings/lua/session/handle.h"
#include "bindings/lua/words/shape_words.h"

namespace ruleengine::lua {

// Metatables of values, dimensions, shapes and lists.
void make_value_metatables(Host& host, lua_State* state);

// --- What dim_api.cc and value_api.cc share

void make_dim_metatables(Host& host, lua_State* state);

// v.shape: a table of numbers and dimensions, or the unknown shape.
int push_shape(Host& host, lua_State* state, const Handle& value);

// Pushes whether the shape text at stack index `text` holds for `value`.
int answer_shape(Host& host, lua_State* state, const Handle& value, int text,
                 ShapeTest test);

}  // namespace ruleengine::lua
