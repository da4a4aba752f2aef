// Handles: what rule code holds of the graph. A Handle is a full userdata with
// the metatable of its kind, so rule code cannot make one, and carries the
// epoch of the callback it was made in, so a handle that outlived its match is
// detected. Lists and shapes are plain tables with a metatable of ours.
// Internal to bindings/lua.
#pragma once

#include <initializer_list>
#include <span>

#include "bindings/lua/session/host.h"

namespace ruleengine::lua {

enum class HandleKind : std::uint32_t {
  kValue,
  kNode,
  kGraph,
  kDim,           // a symbolic dimension
  kAttribute,     // an attribute that Lua has no type for
  kAttributes,    // node.attrs
  kUnknownShape,  // the shape of a value whose rank is not known
  kMatch,         // m: `id` is the member
  kGroup,         // ms
  kFloat,         // a result of `float`: belongs to no graph, never expires
  kCount,
};

struct Handle {
  HandleKind kind = HandleKind::kValue;
  std::uint32_t id = 0;  // of the value, node or member
  std::uint64_t epoch = 0;
  ir::Dim dim;
  const ir::Attribute* attribute = nullptr;
  // For a value: the handle is the transpose of the constant `id`.
  bool transposed = false;
  double number = 0;  // of a kFloat

  ir::ValueId value() const { return ir::ValueId(id); }
  ir::NodeId node() const { return ir::NodeId(id); }
};

std::string_view handle_name(HandleKind kind);  // "a value", "a node"

// The handle at `index`, also an expired one; nullptr when it is not a handle.
const Handle* to_handle(const Host& host, lua_State* state, int index);
// The same for a handle of that kind.
const Handle* to_handle(const Host& host, lua_State* state, int index,
                        HandleKind kind);
// A valid handle of that kind; nullptr after a fail() that says what is wrong
// (`what` names the argument: "the value").
const Handle* check_handle(Host& host, lua_State* state, int index,
                           HandleKind kind, const char* what);
// The same for argument 1 of a method, which is missing when the rule writes a
// dot instead of the colon.
const Handle* check_self(Host& host, lua_State* state, HandleKind kind);
// A method of `kind`: `body` gets argument 1.
using MethodBody = int (*)(Host&, lua_State*, const Handle&);
template <HandleKind kind, MethodBody body>
int method_body(Host& host, lua_State* state) {
  const Handle* self = check_self(host, state, kind);
  return self == nullptr ? kFailed : body(host, state, *self);
}
template <HandleKind kind, MethodBody body>
constexpr lua_CFunction method = entry<method_body<kind, body>>;
// Whether a given handle of any kind is valid.
bool check_alive(Host& host, const Handle& handle);

void push_handle(Host& host, lua_State* state, const Handle& handle);
// nil when invalid
void push_value(Host& host, lua_State* state, ir::ValueId value);
void push_constant(Host& host, lua_State* state, ir::ValueId value,
                   bool transposed);
void push_node(Host& host, lua_State* state, ir::NodeId node);
void push_dim(Host& host, lua_State* state, ir::Dim dim);  // number or handle

// What stands for the value in the graph: a transposed constant is one of its
// own.
ir::ValueId value_in(rewrite::Edit& edit, const Handle& value);
// __eq of values, nodes, dimensions and floats.
int handle_equal(Host& host, lua_State* state);

// `number` as an exact integer; none when it is not an integer.
std::optional<std::int64_t> to_integer(double number);
// An integer of the model as a number of Lua. Rejects the match for an integer
// beyond 2^53 that would come back changed.
void push_integer(Host& host, lua_State* state, std::int64_t integer);

template <typename T>
void push_number(Host&, lua_State* state, T number) {
  lua_pushnumber(state, static_cast<lua_Number>(number));
}

// Pushes an empty list: a table with our metatable, indexed from 1.
enum class ListKind : std::uint8_t { kPlain, kFloats };
void push_list(Host& host, lua_State* state, int size,
               ListKind kind = ListKind::kPlain);
// A list of what `push_one` pushes for each item.
template <typename Items, typename Push>
void push_all(Host& host, lua_State* state, const Items& items, Push push_one,
              ListKind kind = ListKind::kPlain) {
  push_list(host, state, static_cast<int>(items.size()), kind);
  int place = 0;
  for (const auto& item : items) {
    push_one(host, state, item);
    lua_rawseti(state, -2, ++place);
  }
}
bool is_list(const Host& host, lua_State* state, int index);
bool is_floats(const Host& host, lua_State* state, int index);
bool is_shape(const Host& host, lua_State* state, int index);

// A name after the dot or the colon.
struct Field {
  const char* name;
  MethodBody get;                  // pushes the field, or
  lua_CFunction method = nullptr;  // the function
};
// Makes the metatable of `kind`: __index calls `index`, whose second upvalue is
// the table name -> place in `fields` or method.
void make_metatable(Host& host, lua_State* state, HandleKind kind,
                    lua_CFunction index, std::span<const Field> fields = {},
                    std::initializer_list<luaL_Reg> metamethods = {});
// In an __index body: the place of the field that is asked for, kMethod after
// pushing a method, none after failing with "did you mean".
constexpr int kMethod = -1;
std::optional<int> find_field(Host& host, lua_State* state, HandleKind kind);
// An __index body of handles that have these fields alone.
template <HandleKind kind, const auto& fields>
int get_field(Host& host, lua_State* state) {
  const std::optional<int> place = find_field(host, state, kind);
  if (!place) return kFailed;
  if (*place == kMethod) return 1;
  const Handle* self = check_self(host, state, kind);
  return self == nullptr ? kFailed : fields[*place].get(host, state, *self);
}
// Whether that name is a method of the kind.
bool is_method(const Host& host, lua_State* state, HandleKind kind,
               std::string_view name);
// An __index body of lists: nil for an index after the last one, an error for
// an index before the first and for a name.
int no_element(Host& host, lua_State* state);

// Hides the metatable on top from rule code, pops and keeps it.
Metatable keep_metatable(lua_State* state);
// Gives it to the value on top.
void set_metatable(lua_State* state, const Metatable& metatable);
// The same function for + - * / % ^ and the sign.
void set_arithmetic(Host& host, lua_State* state, HandleKind kind,
                    lua_CFunction function);

}  // namespace ruleengine::lua
