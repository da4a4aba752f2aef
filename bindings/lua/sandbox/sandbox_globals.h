// The globals of rule code: a fixed set of pure functions in read-only tables.
// Each install_ function adds to the table on top of the stack; all may raise a
// Lua error and run under Sandbox::protect. Stateless.
#pragma once

#include <string_view>

struct lua_State;
struct luaL_Reg;

namespace ruleengine::lua {

// All libraries: basic functions, math, bit, string, table, coroutine.
void install_globals(lua_State* state);
void install_protected_calls(lua_State* state);  // pcall, xpcall, coroutine
void install_tables(lua_State* state);           // table, unpack
void install_walks(lua_State* state);            // pairs, next

// The parts of the string library: Lua's own functions, each with a bound on
// time and size, without dump and without printing addresses.
extern const luaL_Reg kPatternFunctions[];  // find, match, gmatch, gsub
int format_string(lua_State* state);
int repeat_string(lua_State* state);

// Replaces the table on top by a read-only view of it.
void freeze(lua_State* state);

// Pushes a fresh environment: reads look in the table at `words` (nil: none),
// then in the one on top; an unknown word and any write are errors.
void push_environment(lua_State* state, int words);

// What to write instead of an operator of newer Luas or other languages that
// caused a syntax error; "" for other errors.
std::string_view syntax_hint(std::string_view what);

// Pushes the result of tostring, never with an address.
void push_text(lua_State* state, int index);

// Raises unless the argument is a table that rule code may change.
void check_own_table(lua_State* state, int argument);

}  // namespace ruleengine::lua
