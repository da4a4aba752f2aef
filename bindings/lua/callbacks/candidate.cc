#include "bindings/lua/callbacks/candidate.h"

#include <lua.hpp>

namespace ruleengine::lua {

LuaCandidate::LuaCandidate(Sandbox& sandbox, const match::Match& found)
    : match(found), sandbox_(sandbox) {}

LuaCandidate::~LuaCandidate() {
  if (computed != 0) {
    luaL_unref(sandbox_.state(), LUA_REGISTRYINDEX, computed);
  }
}

}  // namespace ruleengine::lua
