// Symbolic dimensions and shapes: they can be compared for equality and
// printed, but they are not numbers.
#include <limits>
#include <optional>
#include <string>

#include "bindings/lua/nodes/value_api.h"
#include "bindings/lua/words/shape_words.h"
#include "core/ir/model.h"

namespace ruleengine::lua {
namespace {

std::string dim_text(const Host& host, ir::Dim dim) {
  return host.session.graph->model().dims.text(dim);
}

// The operand of an operator that is a dimension; none after fail().
const Handle* dim_operand(Host& host, lua_State* state) {
  for (int i = 1; i <= 2; ++i) {
    if (const Handle* d = to_handle(host, state, i, HandleKind::kDim)) {
      return check_alive(host, *d) ? d : nullptr;
    }
  }
  return fail(host, "not a dimension");
}

int arithmetic(Host& host, lua_State* state) {
  const Handle* handle = dim_operand(host, state);
  if (handle == nullptr) return kFailed;
  return reject_dim(host, "arithmetic", handle->dim);
}

int compare(Host& host, lua_State* state) {
  const Handle* handle = dim_operand(host, state);
  if (handle == nullptr) return kFailed;
  return reject_dim(host, "a comparison", handle->dim);
}

int dim_tostring(Host& host, lua_State* state) {
  const Handle* handle = dim_operand(host, state);
  if (handle == nullptr) return kFailed;
  return push(state, dim_text(host, handle->dim));
}

int dim_concat(Host& host, lua_State* state) {
  std::string text;
  for (int i = 1; i <= 2; ++i) {
    if (const Handle* d = to_handle(host, state, i, HandleKind::kDim)) {
      if (!check_alive(host, *d)) return kFailed;
      text += dim_text(host, d->dim);
    } else if (lua_isstring(state, i) != 0) {
      text += text_at(state, i);
    } else {
      return fail(host, "cannot join a dimension and " + kind_of(state, i));
    }
  }
  return push(state, text);
}

// The dimension in slot `i` of a shape table: a number or a handle.
bool same_dim(Host& host, lua_State* state, int a, int b) {
  if (lua_rawequal(state, a, b) != 0) return true;
  const Handle* x = to_handle(host, state, a, HandleKind::kDim);
  const Handle* y = to_handle(host, state, b, HandleKind::kDim);
  return x != nullptr && y != nullptr && x->dim == y->dim;
}

int shape_equal(Host& host, lua_State* state) {
  bool equal = lua_objlen(state, 1) == lua_objlen(state, 2);
  for (int i = 1; equal && i <= static_cast<int>(lua_objlen(state, 1)); ++i) {
    lua_rawgeti(state, 1, i);
    lua_rawgeti(state, 2, i);
    equal = same_dim(host, state, lua_gettop(state) - 1, lua_gettop(state));
    lua_pop(state, 2);
  }
  return push_bool(state, equal);
}

int shape_tostring(Host& host, lua_State* state) {
  std::string out = "[";
  for (int i = 1; i <= static_cast<int>(lua_objlen(state, 1)); ++i) {
    lua_rawgeti(state, 1, i);
    if (i > 1) out += ", ";
    if (const Handle* d = to_handle(host, state, -1, HandleKind::kDim)) {
      if (!check_alive(host, *d)) return kFailed;
      out += dim_text(host, d->dim);
    } else {
      out += std::to_string(lua_tointeger(state, -1));
    }
    lua_pop(state, 1);
  }
  return push(state, out + "]");
}

// v:shape "B H S D": v.shape called with v and the text.
int shape_call(Host& host, lua_State* state) {
  const Handle* value =
      check_handle(host, state, 2, HandleKind::kValue, "the object of :shape");
  if (value == nullptr) return kFailed;
  return answer_shape(host, state, *value, 3, ShapeTest::kShape);
}

int unknown_index(Host&, lua_State* state) {
  lua_pushnil(state);
  return 1;
}

// Not a number, so that no test of the rank holds.
int unknown_length(Host&, lua_State* state) {
  lua_pushnumber(state, std::numeric_limits<double>::quiet_NaN());
  return 1;
}

int unknown_tostring(Host&, lua_State* state) {
  return push(state, "an unknown shape");
}

// An unknown shape equals no shape, not even another unknown one.
int unknown_equal(Host&, lua_State* state) { return push_bool(state, false); }

void make_shape_metatable(Host& host, lua_State* state) {
  lua_createtable(state, 0, 5);
  set_function(state, host, "__index", entry<no_element>);
  set_function(state, host, "__eq", entry<shape_equal>);
  set_function(state, host, "__tostring", entry<shape_tostring>);
  set_function(state, host, "__call", entry<shape_call>);
  host.shapes = keep_metatable(state);
}

// --- Fields

int dim_name(Host& host, lua_State* state, const Handle& d) {
  const ir::DimTable& dims = host.session.graph->model().dims;
  if (!dims.is_single(d.dim) || dims.is_fresh(d.dim)) {
    return lua_pushnil(state), 1;
  }
  return push(state, dims.text(d.dim));
}

// Pushes the answer of the table of dimensions.
template <bool (ir::DimTable::*question)(ir::Dim) const, bool yes>
int ask(Host& host, lua_State* state, const Handle& d) {
  const ir::DimTable& dims = host.session.graph->model().dims;
  return push_bool(state, (dims.*question)(d.dim) == yes);
}

constexpr Field kDimFields[] = {
    {"name", dim_name},
    {"computed", ask<&ir::DimTable::is_single, false>},
    {"unknown", ask<&ir::DimTable::is_fresh, true>},
    {"rounded", ask<&ir::DimTable::is_rounded, true>}};

}  // namespace

int push_shape(Host& host, lua_State* state, const Handle& value) {
  const std::optional<Dims> dims = dims_of(host, value);
  if (!dims) {
    return push_handle(host, state, {.kind = HandleKind::kUnknownShape}), 1;
  }
  lua_createtable(state, static_cast<int>(dims->size()), 0);
  for (std::size_t i = 0; i < dims->size(); ++i) {
    push_dim(host, state, (*dims)[i]);
    lua_rawseti(state, -2, static_cast<int>(i) + 1);
  }
  set_metatable(state, host.shapes);
  return 1;
}

int answer_shape(Host& host, lua_State* state, const Handle& value, int text,
                 ShapeTest test) {
  const auto words = string_at(state, text);
  if (!words) {
    return fail(host, "a shape text is missing", "\"B H S D\"",
                kind_of(state, text));
  }
  const std::optional<Dims> dims = dims_of(host, value);
  const std::optional<bool> answer =
      holds(host, state, dims.value_or(Dims{}), *words, test);
  if (!answer) return kFailed;
  return push_bool(state, dims.has_value() && *answer);
}

void make_dim_metatables(Host& host, lua_State* state) {
  constexpr HandleKind kKind = HandleKind::kDim;
  make_metatable(host, state, kKind, entry<get_field<kKind, kDimFields>>,
                 kDimFields,
                 {{"__lt", entry<compare>},
                  {"__le", entry<compare>},
                  {"__eq", entry<handle_equal>},
                  {"__tostring", entry<dim_tostring>},
                  {"__concat", entry<dim_concat>}});
  set_arithmetic(host, state, kKind, entry<arithmetic>);
  make_shape_metatable(host, state);
  make_metatable(host, state, HandleKind::kUnknownShape, entry<unknown_index>,
                 {},
                 {{"__len", entry<unknown_length>},
                  {"__eq", entry<unknown_equal>},
                  {"__tostring", entry<unknown_tostring>},
                  {"__call", entry<shape_call>}});
}

}  // namespace ruleengine::lua
