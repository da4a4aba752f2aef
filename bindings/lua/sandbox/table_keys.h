// The keys of a Lua table in a defined order. lua_next uses the order of a
// hash, which differs between processes; nothing else calls it
// (tests/layers_test.py checks), so that among several faults of a table the
// same one is always reported. All functions charge the sandbox and may raise a
// Lua error. Stateless.
#pragma once

#include <string>
#include <string_view>
#include <vector>

struct lua_State;

namespace ruleengine::lua {

struct TableKeys {
  std::vector<double> numbers;     // ascending
  std::vector<std::string> names;  // ascending
  // The type of a key that is neither: "a boolean". Empty if there is none.
  std::string other;
};
TableKeys table_keys(lua_State* state, int index);

// The string keys only; empty for values that are not tables.
std::vector<std::string> string_keys(lua_State* state, int index);

// Pushes the value at `name`, without metamethods.
void push_field(lua_State* state, int table, std::string_view name);

}  // namespace ruleengine::lua
