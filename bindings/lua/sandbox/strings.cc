#include "bindings/lua/sandbox/strings.h"

#include <algorithm>
#include <lua.hpp>
#include <string>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/sandbox_globals.h"
#include "bindings/lua/sandbox/sandbox_meter.h"

namespace ruleengine::lua {
namespace {

int rep(lua_State* state) {
  std::size_t size = 0, gap = 0;
  const char* text = luaL_checklstring(state, 1, &size);
  const double times = luaL_checknumber(state, 2);
  const char* separator = luaL_optlstring(state, 3, "", &gap);
  if (!(times >= 1) || size + gap == 0) {
    lua_pushliteral(state, "");
    return 1;
  }
  if (times * static_cast<double>(size + gap) >
      static_cast<double>(kMaxBlock)) {
    return too_long(state);
  }
  // By doubling, instead of copying a single letter a million times.
  std::string result(text, size);
  result.append(separator, gap);
  const std::size_t whole =
      static_cast<std::size_t>(times) * (size + gap) - gap;
  result.reserve(whole);
  while (result.size() < whole) {
    result.append(result, 0, std::min(result.size(), whole - result.size()));
  }
  result.resize(whole);
  Sandbox::charge(state, result.size());
  lua_pushlstring(state, result.data(), result.size());
  return 1;
}

// Functions of LuaJIT that go through their argument once.
constexpr const char* kStringFunctions[] = {"byte",  "char",    "len", "lower",
                                            "upper", "reverse", "sub"};

}  // namespace

void install_strings(lua_State* state) {
  lua_pushcfunction(state, &luaopen_string);
  lua_pushliteral(state, "string");
  lua_call(state, 1, 0);
  lua_newtable(state);
  lua_getglobal(state, "string");
  for (const char* name : kStringFunctions) {
    lua_getfield(state, -1, name);
    lua_setfield(state, -3, name);
  }
  lua_pop(state, 1);
  luaL_setfuncs(state, kPatternFunctions, 0);
  lua_pushcfunction(state, &rep);
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

}  // namespace ruleengine::lua
