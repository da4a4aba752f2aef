#include "bindings/lua/callbacks/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "bindings/lua/callbacks/match_value.h"
#include "bindings/lua/nodes/build.h"
#include "bindings/lua/nodes/handle.h"
#include "bindings/lua/nodes/node_api.h"
#include "bindings/lua/nodes/value_api.h"
#include "bindings/lua/words/float_word.h"
#include "core/ir/model.h"

namespace ruleengine::lua {
namespace {

char registry_key;  // its address is the key

int collect(lua_State* state) {
  static_cast<Runtime*>(lua_touserdata(state, 1))->~Runtime();
  return 0;
}

// Places the Runtime in a userdata, so that closing the state destroys it.
Runtime& create(lua_State* state) {
  lua_pushlightuserdata(state, &registry_key);
  auto* rt = new (lua_newuserdata(state, sizeof(Runtime))) Runtime();
  lua_createtable(state, 0, 1);
  lua_pushcfunction(state, collect);
  lua_setfield(state, -2, "__gc");
  lua_setmetatable(state, -2);
  lua_rawset(state, LUA_REGISTRYINDEX);
  return *rt;
}

int run_task(lua_State* state) {
  auto& rt = *static_cast<Runtime*>(lua_touserdata(state, lua_upvalueindex(1)));
  const Body task = [](Runtime& runtime, lua_State* inner) {
    (*runtime.task)(inner);
    return 0;
  };
  return bounded(task, rt, state);
}

// A slot of the registry that can be set without allocating.
int reserve(lua_State* state) {
  lua_pushboolean(state, 0);  // nil would get no slot of its own
  return luaL_ref(state, LUA_REGISTRYINDEX);
}

}  // namespace

Runtime& Runtime::of(lua_State* state) {
  lua_pushlightuserdata(state, &registry_key);
  lua_rawget(state, LUA_REGISTRYINDEX);
  auto* found = static_cast<Runtime*>(lua_touserdata(state, -1));
  lua_pop(state, 1);
  if (found != nullptr) return *found;
  Runtime& rt = create(state);
  rt.cache = reserve(state);
  for (int& slot : rt.arguments) slot = reserve(state);
  push_function(state, rt, run_task);
  rt.runner = luaL_ref(state, LUA_REGISTRYINDEX);
  make_value_metatables(rt, state);
  make_node_metatables(rt, state);
  make_match_metatables(rt, state);
  make_float_metatable(rt, state);
  make_builders(rt, state);
  Sandbox::of(state).set_word_hint(
      [&rt](std::string_view word, std::string near) {
        std::string hint = match_name_hint(rt, word);
        return hint.empty() ? near : hint;
      });
  return rt;
}

bool Runtime::alive(std::uint64_t epoch) const {
  const std::vector<std::uint64_t>& alive = session.epochs;
  return !alive.empty() &&
         (alive.back() == epoch || std::ranges::binary_search(alive, epoch));
}

int fail(Runtime& rt, std::string what, std::string expected, std::string found,
         std::string hint) {
  return fail(rt, Diagnostic{.kind = ErrorKind::kRule,
                             .what = std::move(what),
                             .expected = std::move(expected),
                             .found = std::move(found),
                             .hint = std::move(hint)});
}

int fail(Runtime& rt, Diagnostic error) {
  rt.session.error = std::move(error);
  return kFailed;
}

int reject(Runtime& rt, rewrite::Rejection why) {
  if (!rt.session.rejection) rt.session.rejection = std::move(why);
  return kFailed;
}

int reject(Runtime& rt, std::string reason, std::string value) {
  return reject(rt, rewrite::Rejection{std::move(reason), std::move(value)});
}

int raise(lua_State* state, Runtime& rt) {
  if (rt.session.rejection) return Sandbox::stop(state);
  Diagnostic error = rt.session.error.value_or(
      Diagnostic{.kind = ErrorKind::kRule, .what = "unknown error"});
  rt.session.error.reset();
  return Sandbox::fail(state, std::move(error));
}

int bounded(Body body, Runtime& rt, lua_State* state) {
  int results = kFailed;
  bool exhausted = false;
  try {
    results = body(rt, state);
  } catch (const std::bad_alloc&) {
    exhausted = true;
  }
  if (rt.session.edit != nullptr) {
    const ir::Model& model = rt.session.graph->model();
    if (model.is_full()) {
      exhausted = true;
      Sandbox::of(state).set_beside(model.growth());
    }
  }
  return exhausted ? Sandbox::out_of_memory(state) : results;
}

void push_function(lua_State* state, Runtime& rt, lua_CFunction function,
                   int upvalues) {
  lua_pushlightuserdata(state, &rt);
  lua_insert(state, -1 - upvalues);
  lua_pushcclosure(state, function, upvalues + 1);
}

std::optional<std::string_view> string_at(lua_State* state, int index) {
  if (lua_type(state, index) != LUA_TSTRING) return std::nullopt;
  std::size_t size = 0;
  const char* text = lua_tolstring(state, index, &size);
  return std::string_view(text, size);
}

void push(lua_State* state, std::string_view text) {
  lua_pushlstring(state, text.data(), text.size());
}

std::string kind_of(lua_State* state, int index) {
  switch (lua_type(state, index)) {
    case LUA_TNONE:
    case LUA_TNIL:
      return "nil";
    case LUA_TBOOLEAN:
      return lua_toboolean(state, index) != 0 ? "true" : "false";
    case LUA_TNUMBER:
      return fmt::format("the number {}", lua_tonumber(state, index));
    case LUA_TSTRING:
      return "the string '" + printable(*string_at(state, index), 60) + "'";
    case LUA_TUSERDATA: {
      const Handle* handle = to_handle(Runtime::of(state), state, index);
      if (handle != nullptr) return std::string(handle_name(handle->kind));
      return "an object";
    }
    default:
      return std::string("a ") + luaL_typename(state, index);
  }
}

}  // namespace ruleengine::lua
