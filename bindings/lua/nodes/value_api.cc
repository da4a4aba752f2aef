#include "bindings/lua/nodes/value_api.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bindings/lua/nodes/attribute_value.h"
#include "bindings/lua/nodes/rank_api.h"
#include "bindings/lua/words/element_types.h"
#include "core/ir/model.h"
#include "core/ranks/communication.h"

namespace ruleengine::lua {
namespace {

// The most elements that rule code can read as a list.
constexpr std::int64_t kMaxElements = 4096;
// The most elements that :among looks at: a causal mask of length 2,048.
constexpr std::int64_t kMaxLookedAt = 1 << 22;

ir::ExternalData* external(const Host& host) {
  return host.session.graph->model().external.get();
}

const ir::Literal* constant_of(Host& host, const Handle& value) {
  return host.session.facts->constant(value.value());
}

// --- Questions --------------------------------------------------------------

// v:rank(), v:rank(4)
int rank(Host& host, lua_State* state, const Handle& value) {
  const std::optional<Dims> dims = dims_of(host, value);
  if (!lua_isnoneornil(state, 2)) {
    if (lua_type(state, 2) != LUA_TNUMBER) {
      return fail(host, ":rank wants a number", "4", kind_of(state, 2));
    }
    const auto wanted = lua_tonumber(state, 2);
    return push_bool(state,
                     dims && static_cast<double>(dims->size()) == wanted);
  }
  if (!dims) return lua_pushnil(state), 1;
  return lua_pushnumber(state, static_cast<double>(dims->size())), 1;
}

// v:dim(-1): a number, a dimension, or nil; v:dim(-1, "D"): whether it is D.
int dim(Host& host, lua_State* state, const Handle& value) {
  if (lua_type(state, 2) != LUA_TNUMBER) {
    return fail(host, ":dim wants the number of an axis", "-1",
                kind_of(state, 2));
  }
  const std::optional<Dims> dims = dims_of(host, value);
  const double rank = dims ? static_cast<double>(dims->size()) : 0;
  double axis = lua_tonumber(state, 2);
  if (axis < 0) axis += rank;
  const bool there = dims && axis >= 0 && axis < rank;
  const ir::Dim found =
      there ? (*dims)[static_cast<std::size_t>(axis)] : ir::Dim();
  if (!lua_isnoneornil(state, 3)) {
    lua_settop(state, 3);
    if (lua_type(state, 3) == LUA_TNUMBER) lua_tostring(state, 3);
    const auto text = string_at(state, 3);
    if (!text) return fail(host, ":dim wants a letter", "\"D\"");
    const Dims one{.dims = {&found, 1}};
    const auto answer = holds(host, state, one, *text, ShapeTest::kShape);
    if (!answer) return kFailed;
    return push_bool(state, there && *answer);
  }
  if (!there) return lua_pushnil(state), 1;
  return push_dim(host, state, found), 1;
}

int push_dtype(Host& host, lua_State* state, const Handle& value) {
  const ir::Type* type = host.session.facts->type(value.value());
  if (type == nullptr || !type->is_tensor() || !ir::is_known(type->elem)) {
    return lua_pushnil(state), 1;
  }
  return push(state, ir::data_type_name(type->elem));
}

// v:type "float16", v:type("float16", "bfloat16"), v:type()
int type(Host& host, lua_State* state, const Handle& value) {
  const int top = lua_gettop(state);
  if (top == 1) return push_dtype(host, state, value);
  const ir::Type* found = host.session.facts->type(value.value());
  bool holds_type = false;
  for (int i = 2; i <= top; ++i) {
    const auto name = string_at(state, i);
    const ir::DataType wanted =
        name ? element_type(*name) : ir::DataType::kUndefined;
    if (wanted == ir::DataType::kUndefined) {
      return fail(host, ":type wants the name of an element type",
                  "\"float\", \"float16\", \"int64\", ...", kind_of(state, i),
                  name ? ir::data_type_hint(*name) : "");
    }
    holds_type = holds_type || (found != nullptr && found->is_tensor() &&
                                found->elem == wanted);
  }
  return push_bool(state, holds_type);
}

// v:const(), v:const "K N"
int is_constant(Host& host, lua_State* state, const Handle& value) {
  const bool known = host.session.facts->is_constant(value.value());
  if (!known || lua_isnoneornil(state, 2)) return push_bool(state, known);
  return answer_shape(host, state, value, 2, ShapeTest::kShape);
}

// mask:fits "B H S T"
int fits(Host& host, lua_State* state, const Handle& value) {
  return answer_shape(host, state, value, 2, ShapeTest::kFits);
}

// --- Constants --------------------------------------------------------------

// Rejects the match for a 64-bit integer that a Lua number cannot represent.
void check_exact(Host& host, const ir::Literal& tensor, const Handle& value,
                 const std::vector<double>& numbers) {
  if (tensor.dtype != ir::DataType::kInt64 &&
      tensor.dtype != ir::DataType::kUint64) {
    return;
  }
  const auto large = [](double d) { return std::fabs(d) >= 0x1p53; };
  if (std::ranges::none_of(numbers, large)) return;
  const auto exact = ir::to_ints(tensor, external(host), kMaxElements);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    // 2^63 represents INT64_MAX; in a uint64 tensor it is itself.
    const bool is_other =
        tensor.dtype == ir::DataType::kUint64 && numbers[i] == 0x1p63;
    if (exact && !is_other && to_integer(numbers[i]) == (*exact)[i]) continue;
    reject(
        host, "a number of the model is too large for rule code",
        ir::describe(*host.session.graph, *host.session.facts, value.value()));
    return;
  }
}

// The elements in row-major order; none when the value is not a constant of
// numbers, or is too large.
std::optional<std::vector<double>> elements_of(Host& host, const Handle& value,
                                               std::int64_t limit) {
  const ir::Literal* tensor = constant_of(host, value);
  if (tensor == nullptr || tensor->element_count() > limit) return {};
  auto out = ir::to_doubles(*tensor, external(host), limit);
  if (!out) return {};
  check_exact(host, *tensor, value, *out);
  if (!value.transposed || tensor->dims.size() != 2) return out;
  const auto rows = static_cast<std::size_t>(tensor->dims[0]);
  const auto columns = static_cast<std::size_t>(tensor->dims[1]);
  const std::vector<double> stored = *out;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    (*out)[i % columns * rows + i / columns] = stored[i];
  }
  return out;
}

// v:scalar(): the number of a one-element constant, else nil.
int scalar(Host& host, lua_State* state, const Handle& value) {
  const auto numbers = elements_of(host, value, 1);
  if (!numbers || numbers->size() != 1) return lua_pushnil(state), 1;
  lua_pushnumber(state, numbers->front());
  return 1;
}

// v:constant(): a list of all elements, of a scalar too, or nil.
int constant(Host& host, lua_State* state, const Handle& value) {
  const auto numbers = elements_of(host, value, kMaxElements);
  if (!numbers) return lua_pushnil(state), 1;
  push_all(host, state, *numbers, push_number<double>);
  return 1;
}

// v:among(0, 1): whether it is a constant of only these numbers.
int among(Host& host, lua_State* state, const Handle& value) {
  std::vector<double> wanted;
  for (int i = 2; i <= lua_gettop(state); ++i) {
    if (lua_type(state, i) != LUA_TNUMBER) {
      return fail(host, ":among wants numbers", "0, 1", kind_of(state, i));
    }
    wanted.push_back(lua_tonumber(state, i));
  }
  const auto numbers = elements_of(host, value, kMaxLookedAt);
  return push_bool(state,
                   numbers && std::ranges::all_of(*numbers, [&](double number) {
                     return std::ranges::find(wanted, number) != wanted.end();
                   }));
}

// v:dims(): the elements of a small integer value that the engine knows, also
// where they are computed at run time (from Shape): numbers and dimensions; nil
// where one of them is not known.
int dims(Host& host, lua_State* state, const Handle& value) {
  const auto known = host.session.facts->dims_of(value.value());
  if (!known || value.transposed) return lua_pushnil(state), 1;
  push_all(host, state, *known, push_dim);
  return 1;
}

// --- Edits ------------------------------------------------------------------

int replace_with(Host& host, lua_State* state, const Handle& value) {
  const Handle* other =
      check_handle(host, state, 2, HandleKind::kValue, "the new value");
  if (other == nullptr) return kFailed;
  rewrite::Edit* edit = host.session.edit;
  if (edit == nullptr) {
    return fail(host, ":replace_with works only in `rewrite` and `pass`");
  }
  if (value.transposed) {
    return fail(host, "a transposed constant has no readers to replace");
  }
  const ir::ValueId to = value_in(*edit, *other);
  if (to == value.value()) return 0;
  edit->replace(value.value(), to);
  host.session.changed = true;
  return 0;
}

// v:known(): the constant that v is, also where v is computed; or nil.
int known(Host& host, lua_State* state, const Handle& value) {
  rewrite::Edit* edit = host.session.edit;
  if (edit == nullptr) {
    return fail(host, ":known works only in `rewrite` and `pass`");
  }
  const ir::ValueId constant = edit->known(value.value());
  if (!constant) return lua_pushnil(state), 1;
  push_value(host, state, constant);
  return 1;
}

// --- Fields -----------------------------------------------------------------

// v.token_axis: nil for fewer than two axes.
int push_token_axis(Host& host, lua_State* state, const Handle& value) {
  const std::optional<Dims> dims = dims_of(host, value);
  if (!dims || dims->size() < 2) return lua_pushnil(state), 1;
  lua_pushinteger(state, ranks::token_axis(dims->size()));
  return 1;
}

int push_name(Host& host, lua_State* state, const Handle& value) {
  return push(state, host.session.graph->name(value.value()));
}

int push_producer(Host& host, lua_State* state, const Handle& value) {
  push_node(host, state, host.session.graph->producer(value.value()));
  return 1;
}

int is_output(Host& host, lua_State* state, const Handle& value) {
  const ir::Value& its = host.session.graph->value(value.value());
  return push_bool(state, its.block_output_count > 0);
}

// The nodes that read the value, each once, in graph order.
int push_users(Host& host, lua_State* state, const Handle& value) {
  const ir::Graph& graph = *host.session.graph;
  std::vector<ir::NodeId> seen;
  for (ir::OperandId u = graph.first_use(value.value()); u;
       u = graph.next_use(u)) {
    seen.push_back(graph.operand(u).user);
  }
  std::ranges::sort(seen);
  const auto rest = std::ranges::unique(seen);
  seen.erase(rest.begin(), rest.end());
  push_all(host, state, seen, push_node);
  return 1;
}

// w.T: the same constant, transposed.
int push_transposed(Host& host, lua_State* state, const Handle& value) {
  const std::optional<Dims> dims = dims_of(host, value);
  if (!host.session.facts->is_constant(value.value()) || !dims ||
      dims->size() != 2) {
    return reject(
        host, ".T needs a constant of two dimensions",
        ir::describe(*host.session.graph, *host.session.facts, value.value()));
  }
  push_constant(host, state, value.value(), !value.transposed);
  return 1;
}

int value_tostring(Host& host, lua_State* state, const Handle& value) {
  return push(state, ir::describe(*host.session.graph, *host.session.facts,
                                  value.value()));
}

int no_arithmetic(Host& host, lua_State*) {
  return fail(host, "arithmetic on a value", "numbers", "a value",
              "op.Add(a, b) builds a sum; v:scalar() is the number of a "
              "constant");
}

int no_concat(Host& host, lua_State*) {
  return fail(host, "a value is not a string", "a string or a number",
              "a value", "tostring(v) describes it");
}

Metatable make_list_metatable(Host& host, lua_State* state) {
  lua_createtable(state, 0, 2);
  set_function(state, host, "__index", entry<no_element>);
  return keep_metatable(state);
}

constexpr Field kFields[] = {
    {"shape", push_shape},
    {"dtype", push_dtype},
    {"producer", push_producer},
    {"users", push_users},
    {"name", push_name},
    {"is_output", is_output},
    {"layout", push_layout},
    {"token_axis", push_token_axis},
    {"T", push_transposed},
    {"rank", nullptr, method<HandleKind::kValue, rank>},
    {"dim", nullptr, method<HandleKind::kValue, dim>},
    {"type", nullptr, method<HandleKind::kValue, type>},
    {"const", nullptr, method<HandleKind::kValue, is_constant>},
    {"fits", nullptr, method<HandleKind::kValue, fits>},
    {"scalar", nullptr, method<HandleKind::kValue, scalar>},
    {"constant", nullptr, method<HandleKind::kValue, constant>},
    {"among", nullptr, method<HandleKind::kValue, among>},
    {"dims", nullptr, method<HandleKind::kValue, dims>},
    {"known", nullptr, method<HandleKind::kValue, known>},
    {"replicated", nullptr, method<HandleKind::kValue, replicated>},
    {"replace_with", nullptr, method<HandleKind::kValue, replace_with>},
};

}  // namespace

void make_value_metatables(Host& host, lua_State* state) {
  constexpr HandleKind kKind = HandleKind::kValue;
  make_metatable(host, state, kKind, entry<get_field<kKind, kFields>>, kFields,
                 {{"__eq", entry<handle_equal>},
                  {"__tostring", method<kKind, value_tostring>},
                  {"__concat", entry<no_concat>}});
  set_arithmetic(host, state, kKind, entry<no_arithmetic>);
  make_dim_metatables(host, state);
  host.lists = make_list_metatable(host, state);
  host.floats = make_list_metatable(host, state);
}

}  // namespace ruleengine::lua
