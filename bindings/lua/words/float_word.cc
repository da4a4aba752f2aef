#include "bindings/lua/words/float_word.h"

#include <fmt/format.h>

#include <string>

#include "bindings/lua/words/words_session.h"

namespace ruleengine::lua {
namespace {

int no_number(Host& host, lua_State* state, int index, const char* where) {
  const bool value =
      to_handle(host, state, index, HandleKind::kValue) != nullptr;
  const bool described = to_term(state, index) != nullptr;
  return fail(host, std::string("`float` takes only numbers") + where,
              "a number, or a list of numbers",
              described ? kind_at(state, index) : kind_of(state, index),
              value       ? "v:scalar() is the number of a constant"
              : described ? "a parameter that stands for an attribute "
                            "keeps the kind of that attribute"
                          : "");
}

std::optional<double> number_at(Host& host, lua_State* state, int index,
                                const char* where) {
  if (const auto number = float_at(host, state, index)) return number;
  if (lua_type(state, index) == LUA_TNUMBER) return lua_tonumber(state, index);
  if (const Handle* d = to_handle(host, state, index, HandleKind::kDim)) {
    reject_dim(host, "float()", d->dim);
  } else {
    no_number(host, state, index, where);
  }
  return std::nullopt;
}

int float_list(Host& host, lua_State* state) {
  const std::size_t size = lua_objlen(state, 1);
  Sandbox::charge(state, size);
  push_list(host, state, static_cast<int>(size), ListKind::kFloats);
  for (std::size_t i = 1; i <= size; ++i) {
    lua_rawgeti(state, 1, static_cast<int>(i));
    const auto number = number_at(host, state, lua_gettop(state), " in a list");
    if (!number) return kFailed;
    lua_pop(state, 1);
    lua_pushnumber(state, *number);
    lua_rawseti(state, 2, static_cast<int>(i));
  }
  return 1;
}

int float_word(Host& host, lua_State* state) {
  lua_settop(state, 1);
  if (lua_istable(state, 1)) return float_list(host, state);
  const auto number = number_at(host, state, 1, "");
  if (!number) return kFailed;
  push_float(host, state, *number);
  return 1;
}

int no_float_arithmetic(Host& host, lua_State*) {
  return fail(host, "arithmetic on a result of `float`", "numbers", "a float",
              "`float` comes last: float(2 * n)");
}

int no_float_field(Host& host, lua_State*) {
  return fail(host, "a float has no fields", {}, {},
              "`float` is for attributes; keep the number in another variable");
}

int to_text(Host& host, lua_State* state) {
  const auto number = float_at(host, state, 1);
  return push(state, fmt::format("float({})", number.value_or(0)));
}

}  // namespace

void make_float_metatable(Host& host, lua_State* state) {
  constexpr HandleKind kKind = HandleKind::kFloat;
  make_metatable(
      host, state, kKind, entry<no_float_field>, {},
      {{"__eq", entry<handle_equal>}, {"__tostring", entry<to_text>}});
  set_arithmetic(host, state, kKind, entry<no_float_arithmetic>);
}

void install_float_word(lua_State* state) {
  set_function(state, Host::of(state), "float", entry<float_word>);
}

void push_float(Host& host, lua_State* state, double number) {
  push_handle(host, state, {.kind = HandleKind::kFloat, .number = number});
}

std::optional<double> float_at(const Host& host, lua_State* state, int index) {
  const Handle* handle = to_handle(host, state, index, HandleKind::kFloat);
  return handle == nullptr ? std::nullopt : std::optional(handle->number);
}

}  // namespace ruleengine::lua
