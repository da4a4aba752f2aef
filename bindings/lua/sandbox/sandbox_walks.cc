// pairs and next in an order that depends only on the keys: numbers, strings,
// booleans, each ascending. Other keys have no order and are rejected.
#include <algorithm>
#include <lua.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/sandbox_globals.h"

namespace ruleengine::lua {
namespace {

constexpr int kNoType = LUA_TTHREAD + 1;

enum KeyRank { kNumberKey, kStringKey, kBooleanKey, kOtherKey };

KeyRank rank_of(int type) {
  switch (type) {
    case LUA_TNUMBER:
      return kNumberKey;
    case LUA_TSTRING:
      return kStringKey;
    case LUA_TBOOLEAN:
      return kBooleanKey;
    default:
      return kOtherKey;
  }
}

// A key as plain data; a text is owned by the table.
struct Key {
  KeyRank rank;
  double number;
  std::string_view text;

  bool operator<(const Key& other) const {
    if (rank != other.rank) return rank < other.rank;
    if (rank == kStringKey) return text < other.text;
    return number < other.number;
  }
};

Key key_at(lua_State* state, int index) {
  Key key{rank_of(lua_type(state, index)), 0, {}};
  if (key.rank == kNumberKey) {
    key.number = lua_tonumber(state, index);
  } else if (key.rank == kStringKey) {
    key.text = text_at(state, index);
  } else if (key.rank == kBooleanKey) {
    key.number = lua_toboolean(state, index);
  }
  return key;
}

void push_key(lua_State* state, const Key& key) {
  if (key.rank == kNumberKey) {
    lua_pushnumber(state, key.number);
  } else if (key.rank == kStringKey) {
    push(state, key.text);
  } else {
    lua_pushboolean(state, key.number != 0);
  }
}

// `type`: the smallest type among the bad keys, so that it does not depend on
// their order.
int refuse_key(lua_State* state, int type) {
  return Sandbox::fail(state, "the table has a key without an order",
                       "numbers, strings or booleans as keys",
                       std::string("a ") + lua_typename(state, type));
}

std::vector<Key> sorted_keys(lua_State* state, int index) {
  std::vector<Key> keys;
  int other = kNoType;
  lua_pushnil(state);
  while (lua_next(state, index) != 0) {
    Sandbox::charge(state, 16);
    lua_pop(state, 1);
    keys.push_back(key_at(state, -1));
    if (keys.back().rank != kOtherKey) continue;
    other = std::min(other, lua_type(state, -1));
  }
  if (other != kNoType) refuse_key(state, other);
  std::sort(keys.begin(), keys.end());
  Sandbox::charge(state, keys.size() * 16);
  return keys;
}

// Upvalues: the keys in order, and the number of keys done.
int next_pair(lua_State* state) {
  int at = static_cast<int>(lua_tointeger(state, lua_upvalueindex(2)));
  while (true) {
    Sandbox::charge(state, 1);
    lua_rawgeti(state, lua_upvalueindex(1), ++at);
    if (lua_isnil(state, -1)) return 1;
    lua_pushvalue(state, -1);
    lua_rawget(state, 1);
    if (!lua_isnil(state, -1)) break;  // else it was removed meanwhile
    lua_pop(state, 2);
  }
  lua_pushinteger(state, at);
  lua_replace(state, lua_upvalueindex(2));
  return 2;
}

// In ascending order of keys: numbers, strings, booleans.
int pairs(lua_State* state) {
  luaL_checktype(state, 1, LUA_TTABLE);
  lua_settop(state, 1);
  const std::vector<Key> keys = sorted_keys(state, 1);
  lua_createtable(state, static_cast<int>(keys.size()), 0);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    push_key(state, keys[i]);
    lua_rawseti(state, -2, static_cast<int>(i) + 1);
  }
  lua_pushinteger(state, 0);
  lua_pushcclosure(state, &next_pair, 2);
  lua_pushvalue(state, 1);
  return 2;
}

// Returns the next key after the given one, and its value.
int next(lua_State* state) {
  luaL_checktype(state, 1, LUA_TTABLE);
  lua_settop(state, 2);
  const bool first = lua_isnil(state, 2);
  const Key after = key_at(state, 2);
  if (!first && after.rank == kOtherKey) refuse_key(state, lua_type(state, 2));
  bool found = false;
  Key best{};
  int other = kNoType;
  lua_pushnil(state);
  while (lua_next(state, 1) != 0) {
    Sandbox::charge(state, 16);
    lua_pop(state, 1);
    const Key key = key_at(state, -1);
    if (key.rank == kOtherKey) other = std::min(other, lua_type(state, -1));
    if ((first || after < key) && (!found || key < best)) {
      best = key;
      found = true;
    }
  }
  if (other != kNoType) refuse_key(state, other);
  if (!found) return 0;
  push_key(state, best);
  lua_pushvalue(state, -1);
  lua_rawget(state, 1);
  return 2;
}

int next_element(lua_State* state) {
  const lua_Integer at = lua_tointeger(state, 2) + 1;
  lua_settop(state, 1);
  lua_pushinteger(state, at);
  lua_pushvalue(state, -1);
  lua_gettable(state, 1);
  return lua_isnil(state, -1) ? 1 : 2;
}

// Also works for lists of the host, such as the matches of a group. Upvalue:
// LuaJIT's ipairs.
int ipairs(lua_State* state) {
  lua_settop(state, 1);
  const bool is_list = lua_isuserdata(state, 1) != 0 &&
                       luaL_getmetafield(state, 1, "__len") != 0;
  lua_settop(state, 1);
  if (is_list) {
    lua_pushcfunction(state, &next_element);
    lua_pushvalue(state, 1);
    lua_pushinteger(state, 0);
    return 3;
  }
  lua_pushvalue(state, lua_upvalueindex(1));
  lua_insert(state, 1);
  lua_call(state, 1, LUA_MULTRET);
  return lua_gettop(state);
}

constexpr luaL_Reg kWalks[] = {
    {"pairs", pairs}, {"next", next}, {nullptr, nullptr}};

}  // namespace

void install_walks(lua_State* state) {
  luaL_setfuncs(state, kWalks, 0);
  lua_getfield(state, -1, "ipairs");
  lua_pushcclosure(state, &ipairs, 1);
  lua_setfield(state, -2, "ipairs");
}

}  // namespace ruleengine::lua
