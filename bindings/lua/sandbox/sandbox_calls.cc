// pcall, xpcall and coroutines: as in Lua, except that the error of a spent
// budget passes through, and that the nesting is limited.
#include <lua.hpp>

#include "bindings/lua/sandbox/sandbox.h"
#include "bindings/lua/sandbox/sandbox_globals.h"
#include "bindings/lua/sandbox/sandbox_meter.h"

namespace ruleengine::lua {
namespace {

int pcall(lua_State* state) {
  luaL_checkany(state, 1);
  const int status = guarded_call(state, lua_gettop(state) - 1);
  lua_pushboolean(state, status == 0);
  lua_insert(state, 1);
  return lua_gettop(state);
}

// The handler runs after the stack was unwound, so it cannot inspect the stack,
// and an error in it does not call it again.
int xpcall(lua_State* state) {
  luaL_checkany(state, 2);
  const int arguments = lua_gettop(state) - 2;
  lua_pushvalue(state, 2);
  lua_insert(state, 1);  // handler, function, handler, arguments...
  lua_remove(state, 3);
  const bool failed = guarded_call(state, arguments) != 0;
  if (failed) {
    lua_pushvalue(state, 1);
    lua_insert(state, 2);    // handler, handler, error
    guarded_call(state, 1);  // an error of the handler is the result too
  }
  lua_pushboolean(state, !failed);
  lua_replace(state, 1);
  return lua_gettop(state);
}

lua_State* check_thread(lua_State* state) {
  lua_State* thread = lua_tothread(state, 1);
  luaL_argcheck(state, thread != nullptr, 1, "coroutine expected");
  return thread;
}

enum class Life { kSuspended, kRunning, kNormal, kDead };

Life life(lua_State* state, lua_State* thread) {
  if (state == thread) return Life::kRunning;
  const int status = lua_status(thread);
  if (status == LUA_YIELD) return Life::kSuspended;
  if (status != 0) return Life::kDead;
  lua_Debug activation;
  if (lua_getstack(thread, 0, &activation) != 0) return Life::kNormal;
  return lua_gettop(thread) == 0 ? Life::kDead : Life::kSuspended;
}

constexpr const char* kLives[] = {"suspended", "running", "normal", "dead"};

// Moves `arguments` from the top to the thread, runs it, and leaves its values
// or its error on top. Returns the number of values, or -1 after an error.
int resume(lua_State* state, lua_State* thread, int arguments) {
  const Life now = life(state, thread);
  if (now != Life::kSuspended) {
    lua_pop(state, arguments);
    lua_pushfstring(state, "cannot resume a %s coroutine",
                    kLives[static_cast<int>(now)]);
    return -1;
  }
  Meter& meter = Meter::of(state);
  if (lua_checkstack(thread, arguments + 1) == 0) {
    luaL_error(state, "too many arguments to resume");
  }
  int status = 0;
  {
    Nested nested(state);
    const int depth = meter.nesting;
    lua_xmove(state, thread, arguments);
    status = lua_resume(thread, arguments);
    meter.nesting = depth;
  }
  meter.check(state);
  if (status != 0 && status != LUA_YIELD) {
    lua_xmove(thread, state, 1);
    return -1;
  }
  const int results = lua_gettop(thread);
  if (lua_checkstack(state, results + 1) == 0) {
    luaL_error(state, "too many results to resume");
  }
  lua_xmove(thread, state, results);
  return results;
}

int coroutine_create(lua_State* state) {
  luaL_argcheck(state, lua_isfunction(state, 1) && !lua_iscfunction(state, 1),
                1, "Lua function expected");
  lua_State* thread = lua_newthread(state);
  lua_pushvalue(state, 1);
  lua_xmove(state, thread, 1);
  return 1;
}

int coroutine_resume(lua_State* state) {
  lua_State* thread = check_thread(state);
  const int results = resume(state, thread, lua_gettop(state) - 1);
  lua_pushboolean(state, results >= 0);
  lua_insert(state, 2);
  return lua_gettop(state) - 1;
}

int wrapped(lua_State* state) {
  lua_State* thread = lua_tothread(state, lua_upvalueindex(1));
  const int results = resume(state, thread, lua_gettop(state));
  if (results < 0) return lua_error(state);
  return results;
}

int coroutine_wrap(lua_State* state) {
  coroutine_create(state);
  lua_pushcclosure(state, &wrapped, 1);
  return 1;
}

int coroutine_yield(lua_State* state) {
  return lua_yield(state, lua_gettop(state));
}

int coroutine_status(lua_State* state) {
  lua_pushstring(state,
                 kLives[static_cast<int>(life(state, check_thread(state)))]);
  return 1;
}

int coroutine_running(lua_State* state) {
  if (lua_pushthread(state) != 0) lua_pushnil(state);  // nil for the main one
  return 1;
}

constexpr luaL_Reg kCalls[] = {
    {"pcall", pcall}, {"xpcall", xpcall}, {nullptr, nullptr}};
constexpr luaL_Reg kCoroutine[] = {
    {"create", coroutine_create},
    {"resume", coroutine_resume},
    {"running", coroutine_running},
    {"status", coroutine_status},
    {"wrap", coroutine_wrap},
    {"yield", coroutine_yield},
    {nullptr, nullptr},
};

}  // namespace

void install_protected_calls(lua_State* state) {
  luaL_setfuncs(state, kCalls, 0);
  lua_newtable(state);
  luaL_setfuncs(state, kCoroutine, 0);
  freeze(state);
  lua_setfield(state, -2, "coroutine");
}

}  // namespace ruleengine::lua
