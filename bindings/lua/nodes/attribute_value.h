// Attributes and constants between ONNX and Lua. Numbers are numbers: an int
// beyond 2^53 loses its last bits, except that INT64_MAX and INT64_MIN survive
// the way there and back. What Lua has no type for (tensors, graphs) travels as
// an opaque handle. Internal to bindings/lua.
#ifndef RULEENGINE_BINDINGS_LUA_NODES_ATTRIBUTE_VALUE_H_
#define RULEENGINE_BINDINGS_LUA_NODES_ATTRIBUTE_VALUE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "bindings/lua/nodes/handle.h"

namespace ruleengine::lua {

void push_attribute(Runtime& rt, lua_State* state,
                    const ir::Attribute& attribute);
// The schema's default; nil where it has none.
void push_default(Runtime& rt, lua_State* state,
                  const ir::FormalAttribute& formal);

// The Lua value at `index` as an attribute of that name, which must outlive the
// model. `formal` says the kind; without one the Lua value does, but a whole
// number in the place of a FLOAT is one too: `before` is what stood there, or
// nullptr. False after a fail() or, for a symbolic dimension, a reject().
bool read_attribute(Runtime& rt, lua_State* state, int index,
                    std::string_view name, const ir::FormalAttribute* formal,
                    const ir::Attribute* before, ir::Attribute& out);

// The exact integer that `number` is; none when it is not one.
std::optional<std::int64_t> to_integer(double number);

// An integer of the model as a number of Lua. One beyond 2^53 that would come
// back as another rejects the match.
void push_integer(Runtime& rt, lua_State* state, std::int64_t integer);

// A number at `index`; a symbolic dimension ends the match, anything else is
// the rule's mistake. None after either.
std::optional<double> read_number(Runtime& rt, lua_State* state, int index,
                                  std::string_view what);

// A constant of these elements: 0-D (`scalar`) or 1-D. Numbers are rounded to
// the type; one that would become another (300 as int8, 1e6 as float16) rejects
// the match: nullptr. `place` is where the constant was to stand.
const ir::Tensor* make_tensor(Runtime& rt, ir::DataType type,
                              std::span<const double> numbers, bool scalar,
                              std::string_view place);
bool fits_float(double number);
void reject_number(Runtime& rt, double number, ir::DataType type,
                   std::string_view place);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_NODES_ATTRIBUTE_VALUE_H_
