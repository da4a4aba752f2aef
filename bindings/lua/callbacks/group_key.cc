#include "bindings/lua/callbacks/results.h"

#include <fmt/format.h>

#include <bit>

namespace ruleengine::lua {
namespace {

constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxSize = 1 << 20;

Status no_key(lua_State* state, int index, const char* why) {
  return wrong(
      std::string("`together` returns a value that cannot be a key: ") + why,
      "values, nodes, dimensions, shapes, numbers, strings, booleans, nil, "
      "lists of these",
      kind_of(state, index));
}

class Writer {
 public:
  Writer(Host& host, lua_State* state, std::string& out)
      : host_(host), state_(state), out_(out) {}

  Status write(int index, int depth) {
    luaL_checkstack(state_, 4, "lists in lists");
    if (depth > kMaxDepth) {
      return no_key(state_, index, "lists nested too deep");
    }
    if (out_.size() > kMaxSize) return no_key(state_, index, "too long");
    switch (lua_type(state_, index)) {
      case LUA_TNIL:
        out_ += "-;";
        return {};
      case LUA_TBOOLEAN:
        out_ += lua_toboolean(state_, index) != 0 ? "T;" : "F;";
        return {};
      case LUA_TNUMBER:
        number(lua_tonumber(state_, index));
        return {};
      case LUA_TSTRING: {
        const std::string_view text = *string_at(state_, index);
        if (text.size() > kMaxSize) return no_key(state_, index, "too long");
        out_ += fmt::format("s{}:{};", text.size(), text);
        return {};
      }
      case LUA_TTABLE:
        return list(index, depth);
      default:
        return handle(index);
    }
  }

 private:
  // As bits, so that the number is exact; -0 is written as 0.
  void number(double value) {
    out_ += fmt::format("n{:x};", std::bit_cast<std::uint64_t>(value + 0.0));
  }

  // Only the array part: other keys have no order.
  Status list(int index, int depth) {
    out_ += '[';
    const std::size_t count = lua_objlen(state_, index);
    for (std::size_t i = 1; i <= count; ++i) {
      lua_rawgeti(state_, index, static_cast<int>(i));
      Status status = write(lua_gettop(state_), depth + 1);
      lua_pop(state_, 1);
      if (!status) return status;
    }
    out_ += "];";
    return {};
  }

  Status handle(int index) {
    const Handle* h = to_handle(host_, state_, index);
    if (h == nullptr) return no_key(state_, index, "unknown object");
    switch (h->kind) {
      case HandleKind::kValue:
        out_ += fmt::format("v{}{};", h->id, h->transposed ? "T" : "");
        return {};
      case HandleKind::kNode:
        out_ += fmt::format("o{};", h->id);
        return {};
      case HandleKind::kDim:
        out_ += fmt::format("d{};", h->dim.id());
        return {};
      case HandleKind::kFloat:
        number(h->number);
        return {};
      case HandleKind::kUnknownShape:
        // Equal to nothing: no two matches share it.
        out_ += fmt::format("?{};", h->epoch);
        return {};
      default:
        return no_key(state_, index, "not comparable");
    }
  }

  Host& host_;
  lua_State* state_;
  std::string& out_;
};

}  // namespace

Status write_key(Host& host, lua_State* state, std::string& out) {
  out = "(";
  const int top = lua_gettop(state);
  for (int i = 1; i <= top; ++i) {
    if (Status status = Writer(host, state, out).write(i, 0); !status) {
      return status;
    }
  }
  out += ')';
  return {};
}

}  // namespace ruleengine::lua
