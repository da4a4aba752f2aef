// Helpers of the C functions of code: texts, errors, and userdata with our
// metatables. Internal to bindings/lua.
#pragma once

#include <algorithm>
#include <cstddef>
#include <lua.hpp>
#include <string>
#include <string_view>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/stack.h"

namespace ruleengine::lua::code {

inline constexpr const char* kTensorMetatable = "ruleengine.code.tensor";

inline std::string found_at(lua_State* state, int index) {
  return lua_isnoneornil(state, index)
             ? "nil"
             : std::string("a ") + luaL_typename(state, index);
}

inline int line_of(lua_State* state) {
  return std::max(0, Sandbox::line_of(Sandbox::here(state)));
}

// The limit on what a file of code stores outside of Lua's memory: a loop could
// add nodes, and repeat one long text, for ever.
class Budget {
 public:
  // Accounts for bytes that will be stored; raises if it is too much.
  void take(lua_State* state, std::size_t bytes) {
    taken_ += bytes;
    Sandbox::charge(state, bytes);
    if (taken_ <= kMost) return;
    Sandbox::fail(state, {.kind = ErrorKind::kLimit,
                          .what = "the code is too large",
                          .expected = "at most 1 GiB of nodes and names"});
  }
  // The same for a text or a list at `index`.
  void take_at(lua_State* state, int index) {
    if (lua_type(state, index) == LUA_TSTRING) {
      return take(state, lua_objlen(state, index) + 64);
    }
    if (!lua_istable(state, index)) return;
    const std::size_t size = lua_objlen(state, index);
    take(state, size * 64);
    for (std::size_t i = 1; i <= size; ++i) {
      lua_rawgeti(state, index, static_cast<int>(i));
      if (lua_type(state, -1) == LUA_TSTRING) {
        take(state, lua_objlen(state, -1));
      }
      lua_pop(state, 1);
    }
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 30;
  std::size_t taken_ = 0;
};

}  // namespace ruleengine::lua::code
