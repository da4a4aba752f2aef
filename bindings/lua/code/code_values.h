// Converts attributes and tensors of a file of code from Lua. Internal to
// bindings/lua.
#pragma once

#include "bindings/lua/code/code_objects.h"
#include "core/base/arena.h"
#include "core/ir/attribute.h"
#include "core/ops/op_facts.h"

namespace ruleengine::lua {

// tensor("float", {2}, {1, 2}): arguments from index 1; raises.
const ir::Literal* read_tensor(lua_State* state, Arena& arena,
                               code::Budget& budget);

// Reads a number, text, list or tensor at `index`: as the schema requires
// (`formal`), or by its Lua type. False if it does not fit.
bool read_plain(lua_State* state, Arena& arena, int index,
                const ops::FormalAttribute* formal, ir::Attribute& out);

}  // namespace ruleengine::lua
