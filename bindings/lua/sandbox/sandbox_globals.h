// The globals of rule code: a fixed set of pure functions in tables that nobody
// can change. Each install_ function adds to the table on top of the stack;
// all may raise a Lua error and run under Sandbox::protect. No state of their
// own.
#ifndef RULEENGINE_BINDINGS_LUA_SANDBOX_SANDBOX_GLOBALS_H_
#define RULEENGINE_BINDINGS_LUA_SANDBOX_SANDBOX_GLOBALS_H_

#include <string_view>

struct lua_State;

namespace ruleengine::lua {

// Everything: basic functions, math, bit, string, table, coroutine.
void install_globals(lua_State* state);
void install_protected_calls(lua_State* state);  // pcall, xpcall, coroutine
void install_tables(lua_State* state);           // table, unpack
void install_walks(lua_State* state);            // pairs, next

// Puts an unchangeable view of the table on top in its place.
void freeze(lua_State* state);

// Pushes a fresh environment: reads of `words`, then of `base` (stack indices;
// `words` may be 0); an unknown word and any write are errors.
void push_environment(lua_State* state, int words, int base);

// What to write for an operator of newer Luas or of other languages that the
// compiler stumbled over; "" when it was none.
std::string_view syntax_hint(std::string_view what);

// Pushes what tostring gives; never an address.
void push_text(lua_State* state, int index);

// Raises unless the argument is a table that rule code may change.
void check_own_table(lua_State* state, int argument);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_SANDBOX_SANDBOX_GLOBALS_H_
