#include "bindings/lua/sandbox/table_keys.h"

#include <algorithm>
#include <lua.hpp>
#include <utility>

#include "bindings/lua/sandbox/sandbox.h"

namespace ruleengine::lua {
namespace {

std::string charged_text_at(lua_State* state, int index) {
  Sandbox::charge(state, 64 + lua_objlen(state, index));
  return std::string(text_at(state, index));
}

}  // namespace

TableKeys table_keys(lua_State* state, int index) {
  TableKeys keys;
  if (!lua_istable(state, index)) return keys;
  const int table = absolute(state, index);
  int other = LUA_TTHREAD + 1;
  lua_pushnil(state);
  while (lua_next(state, table) != 0) {
    Sandbox::charge(state, 16);
    lua_pop(state, 1);
    const int type = lua_type(state, -1);
    if (type == LUA_TNUMBER) {
      keys.numbers.push_back(lua_tonumber(state, -1));
    } else if (type == LUA_TSTRING) {
      keys.names.push_back(charged_text_at(state, -1));
    } else {
      other = std::min(other, type);
    }
  }
  if (other <= LUA_TTHREAD) {
    keys.other = std::string("a ") + lua_typename(state, other);
  }
  std::ranges::sort(keys.numbers);
  std::ranges::sort(keys.names);
  return keys;
}

std::vector<std::string> string_keys(lua_State* state, int index) {
  return std::move(table_keys(state, index).names);
}

void push_field(lua_State* state, int table, std::string_view name) {
  const int index = absolute(state, table);
  push(state, name);
  lua_rawget(state, index);
}

}  // namespace ruleengine::lua
