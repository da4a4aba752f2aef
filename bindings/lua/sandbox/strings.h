// The string library of rule code: Lua's own functions, each with a bound on
// time and size, without dump and without printing addresses; also the
// metatable of strings. install_strings adds `string` to the table on top of
// the stack; it may raise a Lua error. Stateless.
#pragma once

struct lua_State;
struct luaL_Reg;

namespace ruleengine::lua {

void install_strings(lua_State* state);

// The parts of the library.
extern const luaL_Reg kPatternFunctions[];  // find, match, gmatch, gsub
int format_string(lua_State* state);        // string.format

}  // namespace ruleengine::lua
