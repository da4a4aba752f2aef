#include "bindings/lua/session/handle.h"

#include <cmath>
#include <iterator>
#include <new>

#include "bindings/lua/sandbox/table_keys.h"
#include "core/base/suggest.h"
#include "core/ir/model.h"

namespace ruleengine::lua {
namespace {

std::size_t slot(HandleKind kind) { return static_cast<std::size_t>(kind); }

bool has_metatable(lua_State* state, int index, const Metatable& metatable) {
  if (lua_getmetatable(state, index) == 0) return false;
  const void* id = lua_topointer(state, -1);
  lua_pop(state, 1);
  return id == metatable.id;
}

int refuse_assignment(Host& host, lua_State* state) {
  const Handle* handle = to_handle(host, state, 1);
  const std::string what(handle != nullptr ? handle_name(handle->kind)
                                           : "this object");
  return fail(host, what + " cannot be assigned to", {}, {},
              "m.name = x keeps something for rewrite; v:replace_with(w) and "
              "n:with{...} change the graph");
}

// Pushes the session's table of handles, an empty one at the first use.
void push_cache(Host& host, lua_State* state) {
  if (!host.session.has_cache) {
    lua_createtable(state, 0, 8);
    lua_pushvalue(state, -1);
    lua_rawseti(state, LUA_REGISTRYINDEX, host.cache);
    host.session.has_cache = true;
    return;
  }
  lua_rawgeti(state, LUA_REGISTRYINDEX, host.cache);
}

// Within one callback the same value or node gives the same handle, so that
// rule code can use handles as table keys.
void push_cached(Host& host, lua_State* state, const Handle& handle, int key) {
  push_cache(host, state);
  lua_rawgeti(state, -1, key);
  const auto* kept = static_cast<const Handle*>(lua_touserdata(state, -1));
  if (kept == nullptr || !host.alive(kept->epoch)) {
    lua_pop(state, 1);
    push_handle(host, state, handle);
    lua_pushvalue(state, -1);
    lua_rawseti(state, -3, key);
  }
  lua_remove(state, -2);
}

}  // namespace

std::string_view handle_name(HandleKind kind) {
  static constexpr std::string_view kNames[] = {
      "a value",           "a node",
      "a graph",           "a symbolic dimension",
      "an attribute",      "a node's attributes",
      "an unknown shape",  "a match",
      "a list of matches", "a float"};
  static_assert(std::size(kNames) == static_cast<int>(HandleKind::kCount));
  return kNames[slot(kind)];
}

const Handle* to_handle(const Host& host, lua_State* state, int index) {
  if (lua_type(state, index) != LUA_TUSERDATA ||
      lua_objlen(state, index) != sizeof(Handle)) {
    return nullptr;
  }
  const auto* handle = static_cast<const Handle*>(lua_touserdata(state, index));
  // The kind counts only if the metatable is that of the kind: rule code cannot
  // set metatables of userdata.
  if (slot(handle->kind) >= slot(HandleKind::kCount)) return nullptr;
  const Metatable& own = host.metatables[slot(handle->kind)];
  return has_metatable(state, index, own) ? handle : nullptr;
}

const Handle* to_handle(const Host& host, lua_State* state, int index,
                        HandleKind kind) {
  const Handle* handle = to_handle(host, state, index);
  return handle != nullptr && handle->kind == kind ? handle : nullptr;
}

bool check_alive(Host& host, const Handle& handle) {
  if (handle.kind == HandleKind::kFloat) return true;
  const std::string name(handle_name(handle.kind));
  // m and ms number the matches of their own callback.
  const bool own =
      handle.kind == HandleKind::kMatch || handle.kind == HandleKind::kGroup;
  if (!host.alive(handle.epoch) ||
      (own && handle.epoch != host.session.epochs.back())) {
    return fail(
        host, name + " was kept from an earlier callback", {}, {},
        "what `where` puts onto m reaches this match's `rewrite`; nothing "
        "else outlives a callback");
  }
  // Ids of what an edit built may be gone after a rollback.
  const ir::Graph& graph = *host.session.graph;
  bool removed = false;
  if (handle.kind == HandleKind::kValue) {
    removed =
        handle.id >= graph.value_count() || graph.value(handle.value()).removed;
  } else if (handle.kind == HandleKind::kNode ||
             handle.kind == HandleKind::kAttributes) {
    removed =
        handle.id >= graph.node_count() || graph.node(handle.node()).removed;
  }
  if (!removed) return true;
  // An earlier part of this pass removed it, which is not the rule's mistake.
  if (host.session.attempting) {
    reject(host, name + " is no longer in the graph");
  } else {
    fail(host, name + " is no longer in the graph");
  }
  return false;
}

const Handle* check_handle(Host& host, lua_State* state, int index,
                           HandleKind kind, const char* what) {
  const Handle* handle = to_handle(host, state, index, kind);
  if (handle == nullptr) {
    return fail(host,
                std::string(what) + " is not " + std::string(handle_name(kind)),
                std::string(handle_name(kind)), kind_of(state, index));
  }
  return check_alive(host, *handle) ? handle : nullptr;
}

const Handle* check_self(Host& host, lua_State* state, HandleKind kind) {
  if (const Handle* handle = to_handle(host, state, 1, kind)) {
    return check_alive(host, *handle) ? handle : nullptr;
  }
  const std::string name(handle_name(kind));
  return fail(host, "a method of " + name + " is called without the object",
              name, kind_of(state, 1),
              "write a colon instead of the dot: a:method()");
}

namespace {

// `float` also works outside of callbacks.
std::uint64_t epoch_of(const Session& session, const Handle& handle) {
  if (session.epochs.empty()) return 0;
  const bool is_node = handle.kind == HandleKind::kNode ||
                       handle.kind == HandleKind::kAttributes;
  const bool is_aside =
      session.aside && ((handle.kind == HandleKind::kValue &&
                         handle.id >= session.first_value) ||
                        (is_node && handle.id >= session.first_node));
  return is_aside ? session.epochs.front() : session.epochs.back();
}

}  // namespace

void push_handle(Host& host, lua_State* state, const Handle& handle) {
  auto* made = new (lua_newuserdata(state, sizeof(Handle))) Handle(handle);
  made->epoch = epoch_of(host.session, handle);
  set_metatable(state, host.metatables[slot(handle.kind)]);
}

void push_value(Host& host, lua_State* state, ir::ValueId value) {
  if (!value) return lua_pushnil(state);
  push_cached(host, state, {.kind = HandleKind::kValue, .id = value.index()},
              static_cast<int>(value.index()) + 1);
}

void push_constant(Host& host, lua_State* state, ir::ValueId value,
                   bool transposed) {
  if (!transposed) return push_value(host, state, value);
  push_handle(
      host, state,
      {.kind = HandleKind::kValue, .id = value.index(), .transposed = true});
}

void push_node(Host& host, lua_State* state, ir::NodeId node) {
  if (!node) return lua_pushnil(state);
  host.session.see(node);
  push_cached(host, state, {.kind = HandleKind::kNode, .id = node.index()},
              -static_cast<int>(node.index()) - 1);
}

ir::ValueId value_in(rewrite::Edit& edit, const Handle& value) {
  return value.transposed ? edit.transposed(value.value()) : value.value();
}

int handle_equal(Host& host, lua_State* state) {
  const Handle* a = to_handle(host, state, 1);
  const Handle* b = to_handle(host, state, 2);
  return push_bool(state, a != nullptr && b != nullptr && a->kind == b->kind &&
                              a->id == b->id &&
                              a->transposed == b->transposed &&
                              a->dim == b->dim && a->number == b->number);
}

std::optional<std::int64_t> to_integer(double number) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (std::trunc(number) != number || number < -kLimit || number > kLimit) {
    return std::nullopt;
  }
  // INT64_MAX itself became 2^63 as a Lua number.
  if (number == kLimit) return INT64_MAX;
  return static_cast<std::int64_t>(number);
}

void push_integer(Host& host, lua_State* state, std::int64_t integer) {
  const auto number = static_cast<double>(integer);
  if (to_integer(number) != integer) {
    reject(host, "a number of the model is too large for rule code",
           std::to_string(integer));
  }
  lua_pushnumber(state, number);
}

void push_dim(Host& host, lua_State* state, ir::Dim dim) {
  if (dim.known()) {
    return push_integer(host, state, dim.size());
  }
  Session& session = host.session;
  session.several_symbols |= session.symbol && *session.symbol != dim;
  session.symbol = dim;
  push_handle(host, state, {.kind = HandleKind::kDim, .dim = dim});
}

void push_list(Host& host, lua_State* state, int size, ListKind kind) {
  lua_createtable(state, size, 0);
  set_metatable(state, kind == ListKind::kFloats ? host.floats : host.lists);
}

bool is_list(const Host& host, lua_State* state, int index) {
  return lua_istable(state, index) &&
         (has_metatable(state, index, host.lists) ||
          has_metatable(state, index, host.floats));
}

bool is_floats(const Host& host, lua_State* state, int index) {
  return lua_istable(state, index) && has_metatable(state, index, host.floats);
}

bool is_shape(const Host& host, lua_State* state, int index) {
  return lua_istable(state, index) && has_metatable(state, index, host.shapes);
}

void make_metatable(Host& host, lua_State* state, HandleKind kind,
                    lua_CFunction index, std::span<const Field> fields,
                    std::initializer_list<luaL_Reg> metamethods) {
  lua_createtable(state, 0, 8);
  lua_createtable(state, 0, static_cast<int>(fields.size()));
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].method != nullptr) {
      push_function(state, host, fields[i].method);
    } else {
      lua_pushinteger(state, static_cast<lua_Integer>(i));
    }
    lua_setfield(state, -2, fields[i].name);
  }
  set_function(state, host, "__index", index, 1);
  set_function(state, host, "__newindex", entry<refuse_assignment>);
  for (const luaL_Reg& each : metamethods) {
    set_function(state, host, each.name, each.func);
  }
  host.metatables[slot(kind)] = keep_metatable(state);
}

Metatable keep_metatable(lua_State* state) {
  hide_metatable(state);
  const void* id = lua_topointer(state, -1);
  return {luaL_ref(state, LUA_REGISTRYINDEX), id};
}

void set_metatable(lua_State* state, const Metatable& metatable) {
  lua_rawgeti(state, LUA_REGISTRYINDEX, metatable.reference);
  lua_setmetatable(state, -2);
}

bool is_method(const Host& host, lua_State* state, HandleKind kind,
               std::string_view name) {
  const int top = lua_gettop(state);
  lua_rawgeti(state, LUA_REGISTRYINDEX, host.metatables[slot(kind)].reference);
  lua_getfield(state, -1, "__index");
  lua_getupvalue(state, -1, 2);
  push(state, name);
  lua_rawget(state, -2);
  const bool found = lua_isfunction(state, -1);
  lua_settop(state, top);
  return found;
}

int no_element(Host& host, lua_State* state) {
  const bool place = lua_type(state, 2) == LUA_TNUMBER;
  if (place && lua_tonumber(state, 2) >= 1) return lua_pushnil(state), 1;
  if (place) lua_tostring(state, 2);
  const auto text = string_at(state, 2);
  return fail(host, "the indices of a list start at 1",
              "list[1], #list, ipairs(list)",
              text ? (place ? "index " : "the name ") + printable(*text, 60)
                   : kind_of(state, 2));
}

void set_arithmetic(Host& host, lua_State* state, HandleKind kind,
                    lua_CFunction function) {
  lua_rawgeti(state, LUA_REGISTRYINDEX, host.metatables[slot(kind)].reference);
  for (const char* name :
       {"__add", "__sub", "__mul", "__div", "__mod", "__pow", "__unm"}) {
    set_function(state, host, name, function);
  }
  lua_pop(state, 1);
}

std::optional<int> find_field(Host& host, lua_State* state, HandleKind kind) {
  lua_pushvalue(state, 2);
  lua_rawget(state, lua_upvalueindex(2));
  if (lua_isfunction(state, -1)) return kMethod;
  const bool found = lua_isnumber(state, -1) != 0;
  const int place = static_cast<int>(lua_tointeger(state, -1));
  lua_pop(state, 1);
  if (found) return place;
  const auto name = string_at(state, 2);
  const std::vector<std::string> names =
      string_keys(state, lua_upvalueindex(2));
  fail(host,
       std::string(handle_name(kind)) + " has no field " +
           (name ? quoted_name(*name, 60) : kind_of(state, 2)),
       {}, {}, name ? suggestion(*name, names) : std::string());
  return std::nullopt;
}

}  // namespace ruleengine::lua
