// The table library, bounded: positions must be inside the list, and sorting
// needs n log n comparisons for any comparator.
#include <cmath>
#include <lua.hpp>
#include <string>
#include <string_view>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/sandbox_globals.h"
#include "bindings/lua/sandbox/sandbox_meter.h"

namespace ruleengine::lua {
namespace {

// The most values that a C function may push (LUAI_MAXCSTACK is 8000).
constexpr int kMostValues = 7000;
// Larger than any index of a table.
constexpr int kFar = 1 << 30;

int length(lua_State* state, int index) {
  return static_cast<int>(lua_objlen(state, index));
}

// An integer argument inside [low, high].
int check_position(lua_State* state, int argument, int low, int high) {
  const double number = luaL_checknumber(state, argument);
  if (!(number >= low && number <= high) || number != std::floor(number)) {
    luaL_argerror(state, argument, "position outside of the list");
  }
  return static_cast<int>(number);
}

int insert(lua_State* state) {
  check_own_table(state, 1);
  const int size = length(state, 1);
  const int given = lua_gettop(state);
  if (given != 2 && given != 3) {
    return luaL_error(state, "wrong number of arguments to 'insert'");
  }
  if (given == 2) {
    lua_rawseti(state, 1, size + 1);
    return 0;
  }
  const int at = check_position(state, 2, 1, size + 1);
  for (int i = size; i >= at; --i) {
    Sandbox::charge(state, 8);
    lua_rawgeti(state, 1, i);
    lua_rawseti(state, 1, i + 1);
  }
  lua_rawseti(state, 1, at);
  return 0;
}

int remove(lua_State* state) {
  check_own_table(state, 1);
  const int size = length(state, 1);
  if (size == 0) return 0;
  const int at =
      lua_isnoneornil(state, 2) ? size : check_position(state, 2, 1, size);
  lua_rawgeti(state, 1, at);
  for (int i = at; i < size; ++i) {
    Sandbox::charge(state, 8);
    lua_rawgeti(state, 1, i + 1);
    lua_rawseti(state, 1, i);
  }
  lua_pushnil(state);
  lua_rawseti(state, 1, size);
  return 1;
}

int concat(lua_State* state) {
  luaL_checktype(state, 1, LUA_TTABLE);
  const std::string_view separator =
      lua_isnoneornil(state, 2) ? "" : check_text(state, 2);
  const int first =
      lua_isnoneornil(state, 3) ? 1 : check_position(state, 3, -kFar, kFar);
  const int last = lua_isnoneornil(state, 4)
                       ? length(state, 1)
                       : check_position(state, 4, -kFar, kFar);
  std::string text;
  for (int i = first; i <= last; ++i) {
    lua_rawgeti(state, 1, i);
    const int type = lua_type(state, -1);
    if (type != LUA_TSTRING && type != LUA_TNUMBER) {
      return luaL_error(state, "item %d is a %s, not a string", i,
                        lua_typename(state, type));
    }
    const std::string_view item = text_at(state, -1);
    const std::size_t more = item.size() + separator.size();
    Sandbox::charge(state, more + 8);
    if (text.size() + more > kMaxBlock) return too_long(state);
    text += item;
    if (i < last) text += separator;
    lua_pop(state, 1);
  }
  return push(state, text);
}

// Whether the value at `a` comes before the one at `b`; argument 2 is the
// comparator, or nil.
bool before(lua_State* state, int a, int b) {
  Sandbox::charge(state, 32);
  if (lua_isnil(state, 2)) return lua_lessthan(state, a, b) != 0;
  lua_pushvalue(state, 2);
  lua_pushvalue(state, a);
  lua_pushvalue(state, b);
  lua_call(state, 2, 1);
  const bool answer = lua_toboolean(state, -1) != 0;
  lua_pop(state, 1);
  return answer;
}

// Merges [low, middle) and [middle, high) of the table at `from` into `to`.
void merge(lua_State* state, int from, int to, int low, int middle, int high) {
  int left = low, right = middle;
  for (int out = low; out < high; ++out) {
    bool take_left = right >= high;
    if (!take_left && left < middle) {
      lua_rawgeti(state, from, left);
      lua_rawgeti(state, from, right);
      const int top = lua_gettop(state);
      take_left = !before(state, top, top - 1);
      lua_pop(state, 2);
    }
    lua_rawgeti(state, from, take_left ? left++ : right++);
    lua_rawseti(state, to, out);
  }
}

// A merge sort, bottom up and stable: the result depends on the comparator
// only.
int sort(lua_State* state) {
  check_own_table(state, 1);
  if (!lua_isnoneornil(state, 2)) luaL_checktype(state, 2, LUA_TFUNCTION);
  lua_settop(state, 2);
  const int size = length(state, 1);
  Nested nested(state);
  lua_createtable(state, size, 0);
  lua_createtable(state, size, 0);
  for (int i = 1; i <= size; ++i) {
    lua_rawgeti(state, 1, i);
    lua_rawseti(state, 3, i);
  }
  int from = 3, to = 4;
  for (long width = 1; width < size; width *= 2, std::swap(from, to)) {
    for (long low = 1; low <= size; low += 2 * width) {
      const long middle = std::min<long>(low + width, size + 1);
      const long high = std::min<long>(low + 2 * width, size + 1);
      merge(state, from, to, static_cast<int>(low), static_cast<int>(middle),
            static_cast<int>(high));
    }
  }
  for (int i = 1; i <= size; ++i) {
    lua_rawgeti(state, from, i);
    lua_rawseti(state, 1, i);
  }
  return 0;
}

int unpack(lua_State* state) {
  luaL_checktype(state, 1, LUA_TTABLE);
  const double first = luaL_optnumber(state, 2, 1);
  const double last = luaL_optnumber(state, 3, length(state, 1));
  if (first > last) return 0;
  if (!(last - first < kMostValues && std::fabs(first) < 1e9 &&
        std::fabs(last) < 1e9)) {
    return luaL_error(state, "too many values to unpack");
  }
  const int low = static_cast<int>(first), high = static_cast<int>(last);
  if (lua_checkstack(state, high - low + 1) == 0) {
    return luaL_error(state, "too many values to unpack");
  }
  for (int i = low; i <= high; ++i) lua_rawgeti(state, 1, i);
  return high - low + 1;
}

constexpr luaL_Reg kTable[] = {
    {"concat", concat}, {"insert", insert}, {"remove", remove},
    {"sort", sort},     {"unpack", unpack}, {nullptr, nullptr},
};

}  // namespace

void install_tables(lua_State* state) {
  lua_newtable(state);
  luaL_setfuncs(state, kTable, 0);
  freeze(state);
  lua_setfield(state, -2, "table");
  lua_pushcfunction(state, &unpack);
  lua_setfield(state, -2, "unpack");
}

}  // namespace ruleengine::lua
