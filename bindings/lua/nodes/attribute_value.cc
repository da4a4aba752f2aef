#include "bindings/lua/nodes/attribute_value.h"

#include <fmt/format.h>

#include <string>

#include "bindings/lua/sandbox/stack.h"
#include "bindings/lua/words/element_types.h"
#include "bindings/lua/words/float_word.h"
#include "core/ir/model.h"
#include "core/ops/attribute_meaning.h"

namespace ruleengine::lua {
namespace {

using Kind = ir::AttributeKind;

Arena& arena(const Host& host) { return host.session.graph->model().arena; }

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
    if (const Handle* h = handle(index_, HandleKind::kAttribute)) {
      return opaque(*h, kind, out);
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
    if (handle(index_, HandleKind::kValue) != nullptr) return Kind::kTensor;
    if (const Handle* h = handle(index_, HandleKind::kAttribute)) {
      return h->attribute->kind;
    }
    if (!lua_istable(state_, index_)) return guess_one(index_);
    Kind kind = is_floats(host_, state_, index_) ? Kind::kFloats : Kind::kInts;
    const std::size_t size = lua_objlen(state_, index_);
    const bool numbers = all_elements(state_, index_, size, [&](int at) {
      const Kind one = guess_one(at);
      if (one == Kind::kFloat) kind = Kind::kFloats;
      return one != Kind::kString;
    });
    return numbers ? kind : Kind::kStrings;
  }

 private:
  const Handle* handle(int index, HandleKind kind) const {
    return to_handle(host_, state_, index, kind);
  }

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
    if (written && ops::names_element_type(name_)) {
      return element(*written, out);
    }
    if (const Handle* d = handle(index, HandleKind::kDim)) {
      return reject_dim(host_, name_, d->dim);
    }
    const auto read = lua_type(state_, index) == LUA_TNUMBER
                          ? to_integer(lua_tonumber(state_, index))
                          : std::nullopt;
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
    if (const Handle* d = handle(index, HandleKind::kDim)) {
      return reject_dim(host_, name_, d->dim);
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
    out = items;
    std::size_t place = 0;
    return all_elements(state_, index_, size, [&](int at) {
      return (this->*one)(at, items[place++]);
    });
  }

  bool tensor(ir::Attribute& out) {
    const ir::Literal* made = nullptr;
    if (const Handle* v = handle(index_, HandleKind::kValue)) {
      if (!check_alive(host_, *v)) return false;
      made = host_.session.facts->constant(v->value());
      if (made == nullptr || v->transposed) {
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
  // One that the function call sets is unknown here.
  switch (attribute.ref.empty() ? attribute.kind : Kind::kUndefined) {
    case Kind::kInt:
      return push_integer(host, state, attribute.i);
    case Kind::kFloat:
      return lua_pushnumber(state, static_cast<double>(attribute.f));
    case Kind::kString:
      return push_string(host, state, attribute.s);
    case Kind::kInts:
      return push_all(host, state, attribute.ints, push_integer);
    case Kind::kFloats:
      return push_all(host, state, attribute.floats, push_number<float>,
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
  if (const Handle* d = to_handle(host, state, index, HandleKind::kDim)) {
    reject_dim(host, what, d->dim);
  } else {
    fail(host, std::string(what) + " is not a number", "a number",
         kind_of(state, index));
  }
  return std::nullopt;
}

Failed reject_number(Host& host, double number, ir::DataType type,
                     std::string_view place) {
  return reject(
      host, "a number does not fit the required type",
      fmt::format("{} as {}, {}", number, ir::data_type_name(type), place));
}

const ir::Literal* make_tensor(Host& host, ir::DataType type,
                               std::span<const double> numbers, bool scalar,
                               std::string_view place) {
  const auto width = static_cast<std::size_t>(ir::bit_width(type)) / 8;
  const std::span<std::byte> bytes =
      arena(host).array<std::byte>(numbers.size() * width);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (width == 0 ||
        !store_element(bytes.data() + i * width, type, numbers[i])) {
      return reject_number(host, numbers[i], type, place);
    }
  }
  ir::Literal tensor{.dtype = type, .storage = ir::Storage::kRaw};
  tensor.bytes = bytes;
  if (!scalar) {
    const auto size = static_cast<std::int64_t>(numbers.size());
    tensor.dims = arena(host).copy(std::span<const std::int64_t>(&size, 1));
  }
  return arena(host).make<ir::Literal>(tensor);
}

}  // namespace ruleengine::lua
