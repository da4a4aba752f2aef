// Objects of C++ that rule code holds, recognized by their metatables; elements
// of lists.
#pragma once

#include <cstddef>
#include <lua.hpp>
#include <new>

namespace ruleengine::lua {

// A userdata of T with that metatable; nullptr if it is something else.
template <typename T>
T* to_object(lua_State* state, int index, const char* metatable) {
  void* data = lua_touserdata(state, index);
  if (data == nullptr || lua_getmetatable(state, index) == 0) return nullptr;
  luaL_getmetatable(state, metatable);
  const bool same = lua_rawequal(state, -1, -2) != 0;
  lua_pop(state, 2);
  return same ? static_cast<T*>(data) : nullptr;
}

template <typename T>
void push_object(lua_State* state, const T& object, const char* metatable) {
  new (lua_newuserdata(state, sizeof(T))) T(object);
  luaL_getmetatable(state, metatable);
  lua_setmetatable(state, -2);
}

// Calls visit(index) with each of the first `count` elements of a list on top
// of the stack, until one says false; whether none did.
template <typename Visit>
bool all_elements(lua_State* state, int list, std::size_t count,
                  const Visit& visit) {
  for (std::size_t i = 1; i <= count; ++i) {
    lua_rawgeti(state, list, static_cast<int>(i));
    const bool good = visit(lua_gettop(state));
    lua_pop(state, 1);
    if (!good) return false;
  }
  return true;
}

}  // namespace ruleengine::lua
