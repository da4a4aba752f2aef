#include "bindings/lua/sandbox/sandbox_globals.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <lua.hpp>
#include <span>
#include <utility>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/sandbox_meter.h"
#include "bindings/lua/sandbox/table_keys.h"
#include "core/base/diagnostic.h"
#include "core/base/suggest.h"

namespace ruleengine::lua {
namespace {

bool is_protected(lua_State* state, int index) {
  if (lua_getmetatable(state, index) == 0) return false;
  lua_pushliteral(state, "__metatable");
  lua_rawget(state, -2);
  const bool locked = !lua_isnil(state, -1);
  lua_pop(state, 2);
  return locked;
}

int frozen_write(lua_State* state) {
  return Sandbox::fail(state, "a library table cannot be changed", {}, {},
                       "use a local");
}

std::string printable_word(lua_State* state, int index) {
  const auto word = string_at(state, index);
  return word ? printable(*word, 60) : luaL_typename(state, index);
}

int global_write(lua_State* state) {
  return Sandbox::fail(
      state, "'" + printable_word(state, 2) + "' is assigned as a global", {},
      {},
      "write `local` before it; no state is shared between "
      "rules or between matches");
}

// Words of other Lua versions, and their replacements here.
std::string_view hint_of_lua(std::string_view word) {
  constexpr std::pair<std::string_view, std::string_view> kHints[] = {
      {"print",
       "error(tostring(m.x)) stops the rule and shows a value, a node or a "
       "match"},
      {"require", "lib \"name\" loads a lib"},
      {"dofile", "lib \"name\" loads a lib"},
      {"io", "rule code cannot use files"},
      {"os", "rule code cannot use files, the clock or programs"},
      {"load", "rule code cannot compile code"},
      {"loadstring", "rule code cannot compile code"},
      {"utf8", "this is Lua 5.1"},
  };
  const auto* found = std::ranges::find(
      kHints, word, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kHints) ? "" : found->second;
}

// Upvalues: the words of the file, and those of the sandbox.
int global_read(lua_State* state) {
  for (int i = 1; i <= 2; ++i) {
    if (!lua_istable(state, lua_upvalueindex(i))) continue;
    lua_pushvalue(state, 2);
    lua_rawget(state, lua_upvalueindex(i));
    if (!lua_isnil(state, -1)) return 1;
    lua_pop(state, 1);
  }
  std::vector<std::string> known = string_keys(state, lua_upvalueindex(1));
  std::ranges::move(string_keys(state, lua_upvalueindex(2)),
                    std::back_inserter(known));
  const std::string word = printable_word(state, 2);
  std::string hint(hint_of_lua(word));
  if (!hint.empty()) {
    return Sandbox::fail(state, "unknown word '" + word + "'", {}, {},
                         std::move(hint));
  }
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string_view near = nearest(word, views);
  return Sandbox::fail(
      state, "unknown word '" + word + "'", {}, {},
      Sandbox::of(state).word_hint(
          word, near.empty() ? std::string() : did_you_mean({&near, 1})));
}

int rawget(lua_State* state) {
  luaL_checktype(state, 1, LUA_TTABLE);
  luaL_checkany(state, 2);
  lua_settop(state, 2);
  lua_rawget(state, 1);
  return 1;
}

int rawset(lua_State* state) {
  check_own_table(state, 1);
  luaL_checkany(state, 2);
  luaL_checkany(state, 3);
  const bool nan =
      lua_type(state, 2) == LUA_TNUMBER && std::isnan(lua_tonumber(state, 2));
  if (lua_isnil(state, 2) || nan) {
    return Sandbox::fail(state,
                         std::string("a key is ") + (nan ? "NaN" : "nil"));
  }
  lua_settop(state, 3);
  lua_rawset(state, 1);
  return 1;
}

int rawlen(lua_State* state) {
  luaL_argcheck(state,
                lua_istable(state, 1) || lua_type(state, 1) == LUA_TSTRING, 1,
                "table or string expected");
  lua_pushinteger(state, static_cast<lua_Integer>(lua_objlen(state, 1)));
  return 1;
}

int getmetatable(lua_State* state) {
  luaL_checkany(state, 1);
  if (!lua_istable(state, 1)) {
    lua_pushnil(state);  // those of strings and handles belong to the host
    return 1;
  }
  if (luaL_getmetafield(state, 1, "__metatable") != 0) return 1;
  if (lua_getmetatable(state, 1) == 0) lua_pushnil(state);
  return 1;
}

int setmetatable(lua_State* state) {
  check_own_table(state, 1);
  if (!lua_isnil(state, 2)) luaL_checktype(state, 2, LUA_TTABLE);
  if (lua_istable(state, 2)) {
    for (const char* key : {"__gc", "__mode"}) {
      lua_pushstring(state, key);
      lua_rawget(state, 2);
      if (!lua_isnil(state, -1)) {
        return Sandbox::fail(state,
                             std::string(key) + " is not available in rules");
      }
      lua_pop(state, 1);
    }
  }
  lua_settop(state, 2);
  lua_setmetatable(state, 1);
  return 1;
}

int tostring(lua_State* state) {
  luaL_checkany(state, 1);
  push_text(state, 1);
  return 1;
}

// Copies the named fields of the table on top into the one below, which stays.
void copy_fields(lua_State* state, std::span<const char* const> names) {
  for (const char* name : names) {
    lua_getfield(state, -1, name);
    lua_setfield(state, -3, name);
  }
  lua_pop(state, 1);
}

// Functions of LuaJIT that go through their argument once.
constexpr const char* kStringFunctions[] = {"byte",  "char",    "len", "lower",
                                            "upper", "reverse", "sub"};

// Runs a library's opener and leaves its table for copying.
void open_library(lua_State* state, lua_CFunction open, const char* name) {
  lua_pushcfunction(state, open);
  lua_pushstring(state, name);
  lua_call(state, 1, 0);
}

void install_library(lua_State* state, const char* name, lua_CFunction open,
                     std::span<const char* const> names) {
  open_library(state, open, name);
  lua_newtable(state);
  lua_getglobal(state, name);
  copy_fields(state, names);
  freeze(state);
  lua_setfield(state, -2, name);
}

void install_strings(lua_State* state) {
  open_library(state, &luaopen_string, "string");
  lua_newtable(state);
  lua_getglobal(state, "string");
  copy_fields(state, kStringFunctions);
  luaL_setfuncs(state, kPatternFunctions, 0);
  lua_pushcfunction(state, &repeat_string);
  lua_setfield(state, -2, "rep");
  lua_pushcfunction(state, &format_string);
  lua_setfield(state, -2, "format");
  // The metatable of all strings, instead of the one that luaopen_string set.
  lua_pushliteral(state, "");
  lua_newtable(state);
  lua_pushvalue(state, -3);
  lua_setfield(state, -2, "__index");
  hide_metatable(state);
  lua_setmetatable(state, -2);
  lua_pop(state, 1);
  freeze(state);
  lua_setfield(state, -2, "string");
}

// The tables of the openers are not reachable from rule code; they are cleared
// nevertheless.
void forget_openers(lua_State* state) {
  lua_newtable(state);
  lua_replace(state, LUA_GLOBALSINDEX);
  for (const char* name : {"_LOADED", "_PRELOAD"}) {
    lua_pushnil(state);
    lua_setfield(state, LUA_REGISTRYINDEX, name);
  }
}

constexpr luaL_Reg kBasic[] = {
    {"rawget", rawget},
    {"rawset", rawset},
    {"rawlen", rawlen},
    {"getmetatable", getmetatable},
    {"setmetatable", setmetatable},
    {"tostring", tostring},
    {nullptr, nullptr},
};
// Functions of LuaJIT that are pure and fast.
constexpr const char* kBuiltIn[] = {"assert", "error",    "ipairs", "rawequal",
                                    "select", "tonumber", "type"};
constexpr const char* kMath[] = {
    "abs",   "acos", "asin",  "atan",  "atan2", "ceil",  "cos",
    "cosh",  "deg",  "exp",   "floor", "fmod",  "frexp", "huge",
    "ldexp", "log",  "log10", "max",   "min",   "modf",  "pi",
    "pow",   "rad",  "sin",   "sinh",  "sqrt",  "tan",   "tanh"};
constexpr const char* kBit[] = {"arshift", "band",   "bnot",   "bor",
                                "bswap",   "bxor",   "lshift", "rol",
                                "ror",     "rshift", "tobit",  "tohex"};

}  // namespace

std::string_view syntax_hint(std::string_view what) {
  constexpr std::pair<std::string_view, std::string_view> kHints[] = {
      {" near '/'", "this is Lua 5.1: math.floor(a / b) for a // b"},
      {" near '<'", "this is Lua 5.1: bit.lshift(a, b) for a << b"},
      {" near '>'", "this is Lua 5.1: bit.rshift(a, b) for a >> b"},
      {" near '&'", "this is Lua 5.1: a and b, or bit.band(a, b)"},
      {" near '|'", "this is Lua 5.1: a or b, or bit.bor(a, b)"},
      {" near '!'", "Lua writes a ~= b, and not a"},
  };
  for (const auto& [end, hint] : kHints) {
    if (what.ends_with(end)) return hint;
  }
  return {};
}

void freeze(lua_State* state) {
  lua_newtable(state);  // the view
  lua_newtable(state);  // its metatable
  lua_pushvalue(state, -3);
  lua_setfield(state, -2, "__index");
  lua_pushcfunction(state, &frozen_write);
  lua_setfield(state, -2, "__newindex");
  hide_metatable(state);
  lua_setmetatable(state, -2);
  lua_remove(state, -2);
}

void push_environment(lua_State* state, int words) {
  lua_newtable(state);
  lua_newtable(state);
  lua_pushvalue(state, words);
  lua_pushvalue(state, -4);
  lua_pushcclosure(state, &global_read, 2);
  lua_setfield(state, -2, "__index");
  lua_pushcfunction(state, &global_write);
  lua_setfield(state, -2, "__newindex");
  hide_metatable(state);
  lua_setmetatable(state, -2);
}

void push_text(lua_State* state, int index) {
  index = absolute(state, index);
  if (luaL_getmetafield(state, index, "__tostring") != 0) {
    Nested nested(state);
    lua_pushvalue(state, index);
    lua_call(state, 1, 1);
    if (lua_type(state, -1) != LUA_TSTRING) {
      Sandbox::fail(state, "__tostring did not return a string");
    }
    return;
  }
  switch (lua_type(state, index)) {
    case LUA_TSTRING:
      lua_pushvalue(state, index);
      return;
    case LUA_TNUMBER:
      lua_pushvalue(state, index);
      lua_tolstring(state, -1, nullptr);
      return;
    case LUA_TBOOLEAN:
      lua_pushstring(state, lua_toboolean(state, index) ? "true" : "false");
      return;
    default:
      lua_pushstring(state, luaL_typename(state, index));
  }
}

void check_own_table(lua_State* state, int argument) {
  luaL_checktype(state, argument, LUA_TTABLE);
  if (is_protected(state, argument)) {
    Sandbox::fail(state, "this table is protected and cannot be changed");
  }
}

void install_globals(lua_State* state) {
  open_library(state, &luaopen_base, "");
  lua_pushvalue(state, LUA_GLOBALSINDEX);
  copy_fields(state, kBuiltIn);
  luaL_setfuncs(state, kBasic, 0);
  install_walks(state);
  install_library(state, "math", &luaopen_math, kMath);
  install_library(state, "bit", &luaopen_bit, kBit);
  install_strings(state);
  install_tables(state);
  install_protected_calls(state);
  forget_openers(state);
}

}  // namespace ruleengine::lua
