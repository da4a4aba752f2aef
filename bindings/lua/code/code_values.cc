#include "bindings/lua/code/code_objects.h"

#include <algorithm>
#include <lua.hpp>
#include <string_view>
#include <vector>

#include "bindings/lua/code/code_literal.h"
#include "bindings/lua/words/element_types.h"
#include "core/base/whole.h"
#include "core/ir/data_type.h"

namespace ruleengine::lua {

using code::kTensorMetatable;

namespace {

using Kind = ir::AttributeKind;

bool read_numbers(lua_State* state, int table, std::vector<double>& out) {
  const std::size_t size = lua_objlen(state, table);
  Sandbox::charge(state, size * 16);
  return all_elements(state, table, size, [&](int at) {
    out.push_back(lua_tonumber(state, at));
    return lua_type(state, at) == LUA_TNUMBER;
  });
}

bool read_list(lua_State* state, Arena& arena, int index,
               const ops::FormalAttribute* formal, ir::Attribute& out) {
  const std::size_t size = lua_objlen(state, index);
  Sandbox::charge(state, size * 32);
  std::vector<double> numbers;
  std::vector<std::string_view> texts;
  for (std::size_t i = 1; i <= size; ++i) {
    lua_rawgeti(state, index, static_cast<int>(i));
    if (lua_type(state, -1) == LUA_TNUMBER) {
      numbers.push_back(lua_tonumber(state, -1));
    } else if (lua_type(state, -1) == LUA_TSTRING) {
      texts.push_back(arena.copy(text_at(state, -1)));
    }
    lua_pop(state, 1);
  }
  const bool whole = std::ranges::all_of(numbers, is_whole);
  const Kind guess = !texts.empty() ? Kind::kStrings
                     : whole        ? Kind::kInts
                                    : Kind::kFloats;
  out.kind = formal != nullptr ? formal->kind : guess;
  if (out.kind == Kind::kStrings) {
    out.strings = arena.copy(std::span<const std::string_view>(texts));
    return texts.size() == size;
  }
  if (numbers.size() != size) return false;
  if (out.kind == Kind::kFloats) {
    const std::vector<float> floats(numbers.begin(), numbers.end());
    out.floats = arena.copy(std::span<const float>(floats));
    return true;
  }
  const std::vector<std::int64_t> ints(numbers.begin(), numbers.end());
  out.ints = arena.copy(std::span<const std::int64_t>(ints));
  return out.kind == Kind::kInts && whole;
}

}  // namespace

// Reads tensor("float", {2}, {1, 2}).
const ir::Literal* read_tensor(lua_State* state, Arena& arena,
                               code::Budget& budget) {
  budget.take_at(state, 2);
  budget.take_at(state, 3);
  const ir::DataType type = lua_type(state, 1) == LUA_TSTRING
                                ? element_type(text_at(state, 1))
                                : ir::DataType::kUndefined;
  std::vector<double> dims, numbers;
  if (!lua_istable(state, 2) || !lua_istable(state, 3) ||
      !read_numbers(state, 2, dims) || !read_numbers(state, 3, numbers)) {
    Sandbox::fail(state, "`tensor` expects a type, sizes and elements",
                  "tensor(\"float\", {2}, {1, 2})");
  }
  std::vector<std::int64_t> sizes;
  double count = 1;
  for (const double each : dims) {
    const bool size = each >= 0 && each <= 1e9 && is_whole(each);
    if (!size) Sandbox::fail(state, "a size of a `tensor` is not valid");
    sizes.push_back(static_cast<std::int64_t>(each));
    count *= each;
  }
  if (count != static_cast<double>(numbers.size())) {
    Sandbox::fail(state, "wrong number of elements of a `tensor`",
                  std::to_string(static_cast<std::int64_t>(count)),
                  std::to_string(numbers.size()));
  }
  const ir::Literal* made = code_tensor(arena, type, sizes, numbers);
  if (made == nullptr) {
    Sandbox::fail(state, "a `tensor` cannot have this type and these elements");
  }
  return made;
}

// As the schema requires, or by the type of the Lua value.
bool read_plain(lua_State* state, Arena& arena, int index,
                const ops::FormalAttribute* formal, ir::Attribute& out) {
  const int type = lua_type(state, index);
  if (type == LUA_TNUMBER) {
    const double number = lua_tonumber(state, index);
    const bool whole = is_whole(number);
    out.kind = formal != nullptr ? formal->kind
               : whole           ? Kind::kInt
                                 : Kind::kFloat;
    out.f = static_cast<float>(number);
    if (out.kind == Kind::kFloat) return true;
    if (out.kind != Kind::kInt || !whole) return false;
    out.f = 0;
    out.i = static_cast<std::int64_t>(number);
    return true;
  }
  if (type == LUA_TSTRING) {
    out.kind = Kind::kString;
    out.s = arena.copy(text_at(state, index));
    return formal == nullptr || formal->kind == Kind::kString;
  }
  if (const auto* made =
          to_object<const ir::Literal*>(state, index, kTensorMetatable)) {
    out.kind = Kind::kTensor;
    out.tensors = arena.copy(std::span<const ir::Literal* const>(made, 1));
    return formal == nullptr || formal->kind == Kind::kTensor;
  }
  return type == LUA_TTABLE && read_list(state, arena, index, formal, out);
}

}  // namespace ruleengine::lua
