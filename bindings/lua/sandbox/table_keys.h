// The keys of a Lua table, in an order of their own: lua_next's is that of a
// hash, which differs from process to process. Nothing else calls lua_next
// (tests/layers_test.py looks), so that of several faults of one table it is
// always the same that is reported. All charge the sandbox and may raise a Lua
// error. No state.
#ifndef RULEENGINE_BINDINGS_LUA_SANDBOX_TABLE_KEYS_H_
#define RULEENGINE_BINDINGS_LUA_SANDBOX_TABLE_KEYS_H_

#include <string>
#include <string_view>
#include <vector>

struct lua_State;

namespace ruleengine::lua {

struct TableKeys {
  std::vector<double> numbers;     // ascending
  std::vector<std::string> names;  // ascending
  // The kind of a key that is neither: "a boolean". Empty: there is none.
  std::string other;
};
TableKeys table_keys(lua_State* state, int index);

// The string keys alone; none of what is no table.
std::vector<std::string> string_keys(lua_State* state, int index);

// Pushes what the table has under `name`, without its metamethods.
void push_field(lua_State* state, int table, std::string_view name);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_SANDBOX_TABLE_KEYS_H_
