#include "bindings/lua/nodes/attribute_value.h"

#include <array>
#include <cmath>
#include <string>

#include "bindings/lua/words/element_types.h"
#include "bindings/lua/words/float_word.h"
#include "core/ir/data_type_hint.h"
#include "core/ir/model.h"
#include "core/ops/attribute_meaning.h"

namespace ruleengine::lua {
namespace {

using Kind = ir::AttributeKind;

Arena& arena(const Host& host) { return host.session.graph->model().arena; }

void push_number(Host&, lua_State* state, float f) {
  lua_pushnumber(state, static_cast<double>(f));
}
void push_string(Host&, lua_State* state, std::string_view s) {
  push(state, s);
}

// Reads one Lua value as one attribute.
class Reader {
 public:
  Reader(Host& host, lua_State* state, int index, std::string_view name)
      : host_(host), state_(state), index_(index), name_(name) {}

  bool read(Kind kind, ir::Attribute& out) {
    out.name = name_;
    out.kind = kind;
    const Handle* handle = to_handle(host_, state_, index_);
    if (handle != nullptr && handle->kind == HandleKind::kAttribute) {
      return opaque(*handle, kind, out);
    }
    switch (kind) {
      case Kind::kInt:
        return integer(index_, out.i);
      case Kind::kFloat:
        return real(index_, out.f);
      case Kind::kString:
        return text(index_, out.s);
      case Kind::kInts:
        return list<std::int64_t>(kind, out.ints, &Reader::integer);
      case Kind::kFloats:
        return list<float>(kind, out.floats, &Reader::real);
      case Kind::kStrings:
        return list<std::string_view>(kind, out.strings, &Reader::text);
      case Kind::kTensor:
        return tensor(out);
      default:
        return wrong(kind, index_);
    }
  }

  // The kind that the Lua value itself suggests.
  Kind guess() {
    const Handle* handle = to_handle(host_, state_, index_);
    if (handle != nullptr && handle->kind == HandleKind::kValue) {
      return Kind::kTensor;
    }
    if (handle != nullptr && handle->kind == HandleKind::kAttribute) {
      return handle->attribute->kind;
    }
    if (!lua_istable(state_, index_)) return guess_one(index_);
    Kind kind = is_floats(host_, state_, index_) ? Kind::kFloats : Kind::kInts;
    const int size = static_cast<int>(lua_objlen(state_, index_));
    for (int i = 1; i <= size; ++i) {
      lua_rawgeti(state_, index_, i);
      const Kind one = guess_one(lua_gettop(state_));
      lua_pop(state_, 1);
      if (one == Kind::kString) return Kind::kStrings;
      if (one == Kind::kFloat) kind = Kind::kFloats;
    }
    return kind;
  }

 private:
  Kind guess_one(int index) {
    if (lua_type(state_, index) == LUA_TSTRING) return Kind::kString;
    if (lua_type(state_, index) == LUA_TNUMBER &&
        !to_integer(lua_tonumber(state_, index))) {
      return Kind::kFloat;
    }
    if (float_at(host_, state_, index)) return Kind::kFloat;
    return Kind::kInt;
  }

  std::string place() const { return "attribute '" + std::string(name_) + "'"; }

  bool wrong(Kind kind, int index) {
    return fail(host_, place() + " must be " + std::string(ir::kind_text(kind)),
                std::string(ir::kind_text(kind)), kind_of(state_, index));
  }

  bool opaque(const Handle& handle, Kind kind, ir::Attribute& out) {
    if (!check_alive(host_, handle)) return false;
    if (handle.attribute->kind != kind) return wrong(kind, index_);
    const bool renamed = handle.attribute->name != name_;
    out = *handle.attribute;
    out.name = name_;
    if (renamed) out.proto = {};
    return true;
  }

  bool integer(int index, std::int64_t& out) {
    if (lua_isboolean(state_, index)) {
      out = lua_toboolean(state_, index);
      return true;
    }
    const auto written = string_at(state_, index);
    if (written && ops::names_element_type(name_))
      return element(*written, out);
    const Handle* handle = to_handle(host_, state_, index);
    if (handle != nullptr && handle->kind == HandleKind::kDim) {
      return reject_dim(host_, name_, handle->dim);
    }
    if (lua_type(state_, index) != LUA_TNUMBER) {
      return wrong(Kind::kInt, index);
    }
    const auto read = to_integer(lua_tonumber(state_, index));
    if (!read) return wrong(Kind::kInt, index);
    out = *read;
    return true;
  }

  // Cast{x, to = m.y.dtype}: an element type by its name.
  bool element(std::string_view text, std::int64_t& out) {
    const ir::DataType type = element_type(text);
    out = static_cast<std::int64_t>(type);
    if (type != ir::DataType::kUndefined) return true;
    return fail(host_, "there is no element type '" + printable(text, 60) + "'",
                {}, {}, ir::data_type_hint(text));
  }

  bool real(int index, float& out) {
    const Handle* handle = to_handle(host_, state_, index);
    if (handle != nullptr && handle->kind == HandleKind::kDim) {
      return reject_dim(host_, name_, handle->dim);
    }
    const auto meant = float_at(host_, state_, index);
    if (!meant && lua_type(state_, index) != LUA_TNUMBER) {
      return wrong(Kind::kFloat, index);
    }
    const double number = meant.value_or(lua_tonumber(state_, index));
    out = static_cast<float>(number);
    if (fits_float(number)) return true;
    return reject_number(host_, number, ir::DataType::kFloat, place());
  }

  bool text(int index, std::string_view& out) {
    const auto read = string_at(state_, index);
    if (!read) return wrong(Kind::kString, index);
    out = arena(host_).copy(*read);
    return true;
  }

  template <typename T>
  bool list(Kind kind, std::span<const T>& out, bool (Reader::*one)(int, T&)) {
    if (!lua_istable(state_, index_)) return wrong(kind, index_);
    const std::size_t size = lua_objlen(state_, index_);
    const std::span<T> items = arena(host_).template array<T>(size);
    for (std::size_t i = 0; i < size; ++i) {
      lua_rawgeti(state_, index_, static_cast<int>(i) + 1);
      const bool good = (this->*one)(lua_gettop(state_), items[i]);
      lua_pop(state_, 1);
      if (!good) return false;
    }
    out = items;
    return true;
  }

  bool tensor(ir::Attribute& out) {
    const ir::Literal* made = nullptr;
    const Handle* handle = to_handle(host_, state_, index_);
    if (handle != nullptr && handle->kind == HandleKind::kValue) {
      if (!check_alive(host_, *handle)) return false;
      made = host_.session.facts->constant(handle->value());
      if (made == nullptr || handle->transposed) {
        return wrong(Kind::kTensor, index_);
      }
    } else if (lua_type(state_, index_) == LUA_TNUMBER) {
      const double number = lua_tonumber(state_, index_);
      made = make_tensor(host_, ir::DataType::kFloat, {&number, 1}, false,
                         place());
    } else {
      return wrong(Kind::kTensor, index_);
    }
    if (made == nullptr) return false;
    out.tensors =
        arena(host_).copy(std::span<const ir::Literal* const>(&made, 1));
    return true;
  }

  Host& host_;
  lua_State* state_;
  int index_;
  std::string_view name_;
};

}  // namespace

void push_attribute(Host& host, lua_State* state,
                    const ir::Attribute& attribute) {
  if (!attribute.ref.empty()) {  // set by the function call: unknown here
    return push_handle(
        host, state, {.kind = HandleKind::kAttribute, .attribute = &attribute});
  }
  switch (attribute.kind) {
    case Kind::kInt:
      return push_integer(host, state, attribute.i);
    case Kind::kFloat:
      return push_number(host, state, attribute.f);
    case Kind::kString:
      return push(state, attribute.s);
    case Kind::kInts:
      return push_all(host, state, attribute.ints, push_integer);
    case Kind::kFloats:
      return push_all(host, state, attribute.floats, push_number,
                      ListKind::kFloats);
    case Kind::kStrings:
      return push_all(host, state, attribute.strings, push_string);
    default:
      return push_handle(
          host, state,
          {.kind = HandleKind::kAttribute, .attribute = &attribute});
  }
}

void push_default(Host& host, lua_State* state,
                  const ops::FormalAttribute& formal) {
  if (!formal.has_default || formal.kind == Kind::kTensor) {
    return lua_pushnil(state);
  }
  push_attribute(host, state,
                 {.kind = formal.kind,
                  .f = formal.default_float,
                  .i = formal.default_int,
                  .s = formal.default_string,
                  .floats = formal.default_floats,
                  .ints = formal.default_ints,
                  .strings = formal.default_strings});
}

bool read_attribute(Host& host, lua_State* state, int index,
                    std::string_view name, const ops::FormalAttribute* formal,
                    const ir::Attribute* before, ir::Attribute& out) {
  Reader reader(host, state, index, name);
  if (formal != nullptr) return reader.read(formal->kind, out);
  const Kind kind = reader.guess();
  const auto stays = [&](Kind whole, Kind real) {
    return kind == whole && before != nullptr && before->kind == real;
  };
  if (stays(Kind::kInt, Kind::kFloat) || stays(Kind::kInts, Kind::kFloats)) {
    return reader.read(before->kind, out);
  }
  return reader.read(kind, out);
}

std::optional<double> read_number(Host& host, lua_State* state, int index,
                                  std::string_view what) {
  if (lua_type(state, index) == LUA_TNUMBER) return lua_tonumber(state, index);
  if (lua_isboolean(state, index)) return lua_toboolean(state, index);
  const Handle* handle = to_handle(host, state, index);
  if (handle != nullptr && handle->kind == HandleKind::kDim) {
    reject_dim(host, what, handle->dim);
  } else {
    fail(host, std::string(what) + " is not a number", "a number",
         kind_of(state, index));
  }
  return std::nullopt;
}

}  // namespace ruleengine::lua
