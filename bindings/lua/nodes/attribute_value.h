// Attributes and constants between ONNX and Lua. All numbers are Lua numbers:
// an int beyond 2^53 loses its last bits, except that INT64_MAX and INT64_MIN
// survive the round trip. Kinds without a Lua type (tensors, graphs) are opaque
// handles. Internal to bindings/lua.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "bindings/lua/session/handle.h"

namespace ruleengine::lua {

void push_attribute(Host& host, lua_State* state,
                    const ir::Attribute& attribute);
// The schema's default; nil where it has none.
void push_default(Host& host, lua_State* state,
                  const ops::FormalAttribute& formal);

// The Lua value at `index` as an attribute of that name, which must outlive the
// model. `formal` gives the kind. Without `formal` the Lua value does, but a
// whole number that replaces a FLOAT stays a FLOAT: `before` is the attribute
// that is replaced, or nullptr. False after a fail() or, for a symbolic
// dimension, a reject().
bool read_attribute(Host& host, lua_State* state, int index,
                    std::string_view name, const ops::FormalAttribute* formal,
                    const ir::Attribute* before, ir::Attribute& out);

// A number at `index`; a symbolic dimension ends the match, anything else is
// the rule's mistake. None after either.
std::optional<double> read_number(Host& host, lua_State* state, int index,
                                  std::string_view what);

// A constant of these elements: 0-D (`scalar`) or 1-D. Numbers are rounded to
// the type; a number out of range (300 as int8, 1e6 as float16) rejects the
// match: nullptr. `place` names the input in the message.
const ir::Literal* make_tensor(Host& host, ir::DataType type,
                               std::span<const double> numbers, bool scalar,
                               std::string_view place);
Failed reject_number(Host& host, double number, ir::DataType type,
                     std::string_view place);

}  // namespace ruleengine::lua
