#include "bindings/lua/session/host.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "bindings/lua/session/handle.h"
#include "core/ir/model.h"

namespace ruleengine::lua {
namespace {

char registry_key;  // its address is the key

int collect(lua_State* state) {
  static_cast<Host*>(lua_touserdata(state, 1))->~Host();
  return 0;
}

int run_task(lua_State* state) {
  auto& host = *static_cast<Host*>(lua_touserdata(state, lua_upvalueindex(1)));
  const Body task = [](Host& its, lua_State* inner) {
    (*its.task)(inner);
    return 0;
  };
  return bounded(task, host, state);
}

// A slot of the registry that can be set without allocating.
int reserve(lua_State* state) {
  lua_pushboolean(state, 0);  // nil would get no slot of its own
  return luaL_ref(state, LUA_REGISTRYINDEX);
}

}  // namespace

Host& Host::of(lua_State* state) {
  lua_pushlightuserdata(state, &registry_key);
  lua_rawget(state, LUA_REGISTRYINDEX);
  auto* found = static_cast<Host*>(lua_touserdata(state, -1));
  lua_pop(state, 1);
  return *found;
}

// In a userdata, so that closing the state destroys it.
Host& Host::make(lua_State* state) {
  lua_pushlightuserdata(state, &registry_key);
  auto* host = new (lua_newuserdata(state, sizeof(Host))) Host();
  lua_createtable(state, 0, 1);
  lua_pushcfunction(state, collect);
  lua_setfield(state, -2, "__gc");
  lua_setmetatable(state, -2);
  lua_rawset(state, LUA_REGISTRYINDEX);
  host->cache = reserve(state);
  for (int& slot : host->arguments) slot = reserve(state);
  push_function(state, *host, run_task);
  host->runner = luaL_ref(state, LUA_REGISTRYINDEX);
  return *host;
}

bool Host::alive(std::uint64_t epoch) const {
  const std::vector<std::uint64_t>& alive = session.epochs;
  return !alive.empty() &&
         (alive.back() == epoch || std::ranges::binary_search(alive, epoch));
}

SessionScope::SessionScope(Host& host, const SessionStart& start)
    : host_(host), epoch_(host.last_epoch += 2) {
  static_cast<SessionStart&>(host.session) = start;
  host.session.epochs.push_back(epoch_);
}

// The vectors keep their memory for the next session.
SessionScope::~SessionScope() {
  Session& session = host_.session;
  static_cast<SessionStart&>(session) = {};
  static_cast<SessionCourse&>(session) = {};
  session.members.clear();
  session.epochs.clear();
  session.not_taken.clear();
}

Failed fail(Host& host, std::string what, std::string expected,
            std::string found, std::string hint) {
  return fail(host, wrong(std::move(what), std::move(expected),
                          std::move(found), std::move(hint)));
}

Failed fail(Host& host, Diagnostic error) {
  host.session.error = std::move(error);
  return {};
}

Failed reject(Host& host, rewrite::Rejection why) {
  if (!host.session.rejection) host.session.rejection = std::move(why);
  return {};
}

Failed reject(Host& host, std::string reason, std::string value) {
  return reject(host, rewrite::Rejection{std::move(reason), std::move(value)});
}

Failed reject_dim(Host& host, std::string_view what, ir::Dim dim) {
  std::string text = host.session.graph->model().dims.text(dim);
  std::string reason = std::string(what) + " needs dimension " + text +
                       ", which is not a known number";
  return reject(host, std::move(reason), std::move(text));
}

int raise(lua_State* state, Host& host) {
  if (host.session.rejection) return Sandbox::stop(state);
  Diagnostic error = host.session.error.value_or(wrong("unknown error"));
  host.session.error.reset();
  return Sandbox::fail(state, std::move(error));
}

int bounded(Body body, Host& host, lua_State* state) {
  int results = kFailed;
  bool exhausted = false;
  try {
    results = body(host, state);
  } catch (const std::bad_alloc&) {
    exhausted = true;
  }
  if (host.session.edit != nullptr || host.session.aside) {
    const ir::Model& model = host.session.graph->model();
    if (model.is_full()) {
      exhausted = true;
      Sandbox::of(state).set_beside(model.growth());
    }
  }
  return exhausted ? Sandbox::out_of_memory(state) : results;
}

void push_function(lua_State* state, Host& host, lua_CFunction function,
                   int upvalues) {
  lua_pushlightuserdata(state, &host);
  lua_insert(state, -1 - upvalues);
  lua_pushcclosure(state, function, upvalues + 1);
}

void set_function(lua_State* state, Host& host, const char* name,
                  lua_CFunction function, int upvalues) {
  push_function(state, host, function, upvalues);
  lua_setfield(state, -2, name);
}

const pattern::Pattern* pattern_of(const Host& host) {
  return host.session.frame->pattern;
}

std::optional<std::uint32_t> find_variable(Host& host, lua_State* state,
                                           int index) {
  lua_pushvalue(state, index);
  lua_rawgeti(state, LUA_REGISTRYINDEX, host.session.frame->names);
  lua_insert(state, -2);
  lua_rawget(state, -2);
  const auto found = static_cast<std::uint32_t>(lua_tointeger(state, -1));
  lua_pop(state, 2);
  if (found == 0) return std::nullopt;
  return found - 1;
}

std::optional<ir::Dim> bound_dim(Host& host, lua_State* state,
                                 std::string_view letter) {
  if (host.session.members.size() != 1 || pattern_of(host) == nullptr) {
    return std::nullopt;
  }
  push(state, letter);
  const auto id = find_variable(host, state, lua_gettop(state));
  lua_pop(state, 1);
  if (!id) return std::nullopt;
  const match::Bound& bound = host.session.members[0].match->bound[*id];
  if (bound.kind == match::Bound::Kind::kDim) return bound.dim;
  if (bound.kind == match::Bound::Kind::kAttribute &&
      bound.attribute->kind == ir::AttributeKind::kInt) {
    return ir::Dim(bound.attribute->i);
  }
  return std::nullopt;
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
      const Handle* handle = to_handle(Host::of(state), state, index);
      if (handle != nullptr) return std::string(handle_name(handle->kind));
      return "an object";
    }
    default:
      return std::string("a ") + luaL_typename(state, index);
  }
}

}  // namespace ruleengine::lua
