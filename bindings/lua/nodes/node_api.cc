#include "bindings/lua/nodes/node_api.h"

#include <algorithm>
#include <string>
#include <vector>

#include "bindings/lua/nodes/attribute_value.h"
#include "bindings/lua/nodes/build.h"
#include "bindings/lua/nodes/rank_api.h"
#include "bindings/lua/sandbox/table_keys.h"
#include "core/ir/model.h"
#include "core/ops/attribute_meaning.h"
#include "core/rewrite/functions.h"

namespace ruleengine::lua {
namespace {

const ops::OpFacts* newest(const Host& host, ir::NodeId node) {
  const ir::Op& op = host.session.graph->op(node);
  return ops::newest_op(op.domain, op.type);
}

void push_values(Host& host, lua_State* state,
                 std::span<const ir::ValueId> values) {
  push_all(host, state, values, push_value);
}

// n.meta: a new table of strings.
int push_metadata(Host& host, lua_State* state, const Handle& node) {
  const auto metadata = host.session.graph->node(node.node()).metadata;
  lua_createtable(state, 0, static_cast<int>(metadata.size()));
  for (const ir::Metadata& each : metadata) {
    push(state, each.key);
    push(state, each.value);
    lua_rawset(state, -3);
  }
  return 1;
}

// --- n.inputs

// Pushes a table of the inputs. A second table with weak keys maps it to its
// node, for access by input name.
int push_inputs(Host& host, lua_State* state, const Handle& node) {
  const auto inputs = read_node(host, node.node()).inputs;
  lua_createtable(state, static_cast<int>(inputs.size()), 0);
  lua_rawgeti(state, LUA_REGISTRYINDEX, host.nodes_of_inputs);
  lua_pushvalue(state, -2);
  push_node(host, state, node.node());
  lua_rawset(state, -3);
  lua_pop(state, 1);  // the weak table
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    push_value(host, state, inputs[i]);
    lua_rawseti(state, -2, static_cast<int>(i) + 1);
  }
  set_metatable(state, host.inputs);
  return 1;
}

int no_such_input(Host& host, const ops::OpFacts& facts,
                  std::string_view name) {
  return fail(
      host,
      std::string(facts.type) + " has no input '" + printable(name, 60) + "'",
      {}, {}, ops::input_hint(facts, name));
}

// n.inputs.w_scale: indices are answered by the table itself.
int inputs_index(Host& host, lua_State* state) {
  const auto name = string_at(state, 2);
  if (!name) return no_element(host, state);
  lua_rawgeti(state, LUA_REGISTRYINDEX, host.nodes_of_inputs);
  lua_pushvalue(state, 1);
  lua_rawget(state, -2);
  const Handle* node =
      check_handle(host, state, -1, HandleKind::kNode, "inputs");
  if (node == nullptr) return kFailed;
  const ops::OpFacts* facts = newest(host, node->node());
  if (facts == nullptr) {
    return fail(host, "the inputs of an unknown op have no names", "an index",
                quoted_name(*name, 60));
  }
  for (std::size_t i = 0; i < facts->inputs.size(); ++i) {
    if (facts->inputs[i].name != *name) continue;
    lua_rawgeti(state, 1, static_cast<int>(i) + 1);
    return 1;
  }
  return no_such_input(host, *facts, *name);
}

// --- n.attrs

// An opaque attribute's handle points to it, so it must outlive the reading.
void push_kept_attribute(Host& host, lua_State* state,
                         const ir::Attribute& attribute) {
  push_attribute(host, state, attribute);
  const Handle* handle = to_handle(host, state, -1);
  if (handle == nullptr) return;
  lua_pop(state, 1);
  Arena& arena = host.session.graph->model().arena;
  push_attribute(host, state, *arena.make<ir::Attribute>(attribute));
}

bool push_rank_default(Host& host, lua_State* state, ir::NodeId node,
                       const ops::OpFacts& facts, std::string_view name) {
  const ir::ValueId input = host.session.graph->input(node, 0);
  const auto numbers = ops::rank_default(
      facts, name, input ? host.session.facts->type(input) : nullptr);
  if (!numbers) return false;
  push_all(host, state, *numbers, push_number<std::int64_t>);
  return true;
}

// n.attribute_names: the attributes of the node, in order.
int push_attribute_names(Host& host, lua_State* state, const Handle& node) {
  std::vector<std::string_view> names;
  for (const ir::Attribute& a : read_node(host, node.node()).attributes) {
    names.push_back(a.name);
  }
  std::ranges::sort(names);
  push_all(host, state, names,
           [](Host&, lua_State* s, std::string_view name) { push(s, name); });
  return 1;
}

int attributes_index(Host& host, lua_State* state) {
  const Handle* handle =
      check_handle(host, state, 1, HandleKind::kAttributes, "attrs");
  if (handle == nullptr) return kFailed;
  const auto name = string_at(state, 2);
  if (!name) {
    return fail(host, "attributes are indexed by names", "attrs.axis",
                kind_of(state, 2));
  }
  host.session.hear(handle->node(), *name);
  if (const auto* found = read_node(host, handle->node()).attribute(*name)) {
    push_kept_attribute(host, state, *found);
    return 1;
  }
  const ops::OpFacts* facts = newest(host, handle->node());
  if (facts == nullptr) return lua_pushnil(state), 1;
  if (push_rank_default(host, state, handle->node(), *facts, *name)) return 1;
  const ops::FormalAttribute* formal = facts->attribute(*name);
  if (formal != nullptr) {
    push_default(host, state, *formal);
    return 1;
  }
  return fail(host,
              std::string(facts->type) + " has no attribute '" +
                  printable(*name, 60) + "'",
              {}, {}, ops::attribute_hint(*facts, *name));
}

// --- Nodes

// n:replace_input(old, new): replaces every input that is `old`.
int replace_input(Host& host, lua_State* state, const Handle& node) {
  const Handle* from =
      check_handle(host, state, 2, HandleKind::kValue, "the old input");
  if (from == nullptr) return kFailed;
  const Handle* to =
      check_handle(host, state, 3, HandleKind::kValue, "the new input");
  if (to == nullptr) return kFailed;
  rewrite::Edit* edit = host.session.edit;
  if (edit == nullptr) {
    return fail(host, ":replace_input works only in `rewrite` and `pass`");
  }
  const ir::ValueId value = value_in(*edit, *to);
  bool found = false;
  const ir::Graph& graph = *host.session.graph;
  for (std::size_t i = 0; i < graph.inputs(node.node()).size(); ++i) {
    if (graph.input(node.node(), i) != from->value()) continue;
    edit->replace_input(node.node(), static_cast<std::uint32_t>(i), value);
    found = true;
  }
  if (!found) {
    return fail(host, "the node does not read the old input",
                graph.describe(node.node()) + " as a reader",
                ir::describe(graph, *host.session.facts, from->value()));
  }
  host.session.changed = host.session.changed || value != from->value();
  return 0;
}

int push_op(Host& host, lua_State* state, const Handle& node) {
  return push(state, host.session.graph->op(node.node()).type);
}

int push_op_domain(Host& host, lua_State* state, const Handle& node) {
  return push(state, host.session.graph->op(node.node()).domain);
}

int push_node_name(Host& host, lua_State* state, const Handle& node) {
  return push(state, host.session.graph->node(node.node()).name);
}

int push_outputs(Host& host, lua_State* state, const Handle& node) {
  push_values(host, state, host.session.graph->outputs(node.node()));
  return 1;
}

int push_attributes(Host& host, lua_State* state, const Handle& node) {
  push_handle(host, state, {.kind = HandleKind::kAttributes, .id = node.id});
  return 1;
}

int node_tostring(Host& host, lua_State* state, const Handle& node) {
  return push(state, host.session.graph->describe(node.node()));
}

constexpr Field kNodeFields[] = {
    {"op", push_op},
    {"domain", push_op_domain},
    {"name", push_node_name},
    {"inputs", push_inputs},
    {"outputs", push_outputs},
    {"attrs", push_attributes},
    {"attribute_names", push_attribute_names},
    {"meta", push_metadata},
    {"with", nullptr, method<HandleKind::kNode, build_with>},
    {"inline", nullptr, method<HandleKind::kNode, build_inline>},
    {"pruned", nullptr, method<HandleKind::kNode, build_pruned>},
    {"replace_input", nullptr, method<HandleKind::kNode, replace_input>},
    {"along", nullptr, method<HandleKind::kNode, along>},
};

// --- The graph

struct Wanted {
  std::optional<std::string_view> op, domain;
};

// graph:nodes(), graph:nodes "Softmax", graph:nodes{op = ..., domain = ...}
bool read_wanted(Host& host, lua_State* state, Wanted& out) {
  if (lua_isnoneornil(state, 2)) return true;
  if (const auto type = string_at(state, 2)) {
    out.op = *type;
    return true;
  }
  if (!lua_istable(state, 2)) {
    return fail(host, ":nodes takes the name of an op, or a table",
                "{op = \"Softmax\"}", kind_of(state, 2));
  }
  const TableKeys keys = table_keys(state, 2);
  const auto refuse = [&](std::string found) {
    return fail(host, ":nodes takes `op` and `domain`, both strings",
                "{op = \"Softmax\", domain = \"\"}", std::move(found));
  };
  if (!keys.numbers.empty()) return refuse("a value without a key");
  if (!keys.other.empty()) return refuse(keys.other);
  for (const std::string& key : keys.names) {
    push_field(state, 2, key);
    const auto value = string_at(state, -1);
    lua_pop(state, 1);  // the table holds it
    if (!value || (key != "op" && key != "domain")) {
      return refuse(quoted_name(key, 60));
    }
    (key == "op" ? out.op : out.domain) = *value;
  }
  return true;
}

void push_nodes(Host& host, lua_State* state,
                std::span<const ir::NodeId> nodes) {
  push_all(host, state, nodes, push_node);
}

// All nodes of that op and domain, subgraphs included, in graph order.
int nodes(Host& host, lua_State* state, const Handle&) {
  Wanted wanted;
  if (!read_wanted(host, state, wanted)) return kFailed;
  if (wanted.domain == "ai.onnx") wanted.domain = "";
  const ir::Graph& graph = *host.session.graph;
  Sandbox::charge(state, graph.node_count());
  std::vector<ir::NodeId> found;
  for (const ir::NodeId id : graph.live_nodes()) {
    const ir::Op& op = graph.op(id);
    if (wanted.op && op.type != *wanted.op) continue;
    if (wanted.domain && op.domain != *wanted.domain) continue;
    found.push_back(id);
  }
  push_nodes(host, state, found);
  return 1;
}

// A list of pairs {first = ..., second = ...}.
template <class Pairs, class Push>
void push_pairs(Host& host, lua_State* state, const Pairs& pairs,
                const Push& push) {
  push_list(host, state, static_cast<int>(pairs.size()));
  int i = 0;
  for (const auto& [first, second] : pairs) {
    lua_createtable(state, 0, 2);
    push(host, state, first);
    lua_setfield(state, -2, "first");
    push(host, state, second);
    lua_setfield(state, -2, "second");
    lua_rawseti(state, -2, ++i);
  }
}

// graph:twins(): pairs {first = node, second = node}, in the computation order
// of `second`. Both nodes compute the same values.
int twins(Host& host, lua_State* state, const Handle&) {
  if (host.session.stage != Stage::kPass || host.session.attempting) {
    return fail(host, "graph:twins works only in `pass`", {}, {},
                "call it before any `attempt`, which may merge a pair");
  }
  Sandbox::charge(state, host.session.graph->node_count());
  auto found = host.session.edit->twins();
  if (!found) {
    host.session.failure = std::move(found.error());
    return Sandbox::stop(state);
  }
  push_pairs(host, state, *found, push_node);
  return 1;
}

// graph:known_values(): values that are computed, but known, with a reader that
// is not; in graph order.
int known_values(Host& host, lua_State* state, const Handle&) {
  if (host.session.stage != Stage::kPass || host.session.attempting) {
    return fail(host, "graph:known_values works only in `pass`", {}, {},
                "call it before any `attempt`");
  }
  Sandbox::charge(state, host.session.graph->node_count());
  push_values(host, state, host.session.edit->known_values());
  return 1;
}

// graph:equal_weights(): pairs {first = value, second = value}.
int equal_weights(Host& host, lua_State* state, const Handle&) {
  if (host.session.stage != Stage::kPass || host.session.attempting) {
    return fail(host, "graph:equal_weights works only in `pass`", {}, {},
                "call it before any `attempt`");
  }
  Sandbox::charge(state, host.session.graph->value_count());
  push_pairs(host, state, host.session.edit->equal_weights(), push_value);
  return 1;
}

int push_calls(Host& host, lua_State* state,
               std::vector<ir::NodeId> (*find)(const ir::Model&)) {
  const ir::Graph& graph = *host.session.graph;
  Sandbox::charge(state, graph.node_count());
  const bool is_main = graph.function() == nullptr;
  push_nodes(host, state,
             is_main ? find(graph.model()) : std::vector<ir::NodeId>());
  return 1;
}

// graph:calls(): calls of functions in the main graph, as long as it stays
// within bounds with their bodies in place; in graph order.
int calls(Host& host, lua_State* state, const Handle&) {
  return push_calls(host, state, [](const ir::Model& model) {
    return rewrite::calls(model);
  });
}

// graph:single_calls(): those of functions that nothing else calls, or whose
// bodies have one node at most.
int single_calls(Host& host, lua_State* state, const Handle&) {
  return push_calls(host, state, rewrite::single_calls);
}

template <std::vector<ir::ValueId> ir::Block::*values>
int push_main(Host& host, lua_State* state, const Handle&) {
  const ir::Block& main = host.session.graph->block(ir::Graph::main_block());
  push_values(host, state, main.*values);
  return 1;
}

constexpr Field kGraphFields[] = {
    {"calls", nullptr, method<HandleKind::kGraph, calls>},
    {"equal_weights", nullptr, method<HandleKind::kGraph, equal_weights>},
    {"inputs", push_main<&ir::Block::inputs>},
    {"outputs", push_main<&ir::Block::outputs>},
    {"known_values", nullptr, method<HandleKind::kGraph, known_values>},
    {"nodes", nullptr, method<HandleKind::kGraph, nodes>},
    {"residual_chains", nullptr, method<HandleKind::kGraph, residual_chains>},
    {"single_calls", nullptr, method<HandleKind::kGraph, single_calls>},
    {"twins", nullptr, method<HandleKind::kGraph, twins>}};

int opaque_index(Host& host, lua_State* state) {
  return fail(host, "the attribute is opaque: rule code cannot read it", {},
              kind_of(state, 2));
}

}  // namespace

void make_node_metatables(Host& host, lua_State* state) {
  constexpr HandleKind kKind = HandleKind::kNode;
  make_metatable(host, state, kKind, entry<get_field<kKind, kNodeFields>>,
                 kNodeFields,
                 {{"__eq", entry<handle_equal>},
                  {"__tostring", method<kKind, node_tostring>}});
  make_metatable(host, state, HandleKind::kAttributes, entry<attributes_index>);
  make_metatable(host, state, HandleKind::kAttribute, entry<opaque_index>);
  make_metatable(host, state, HandleKind::kGraph,
                 entry<get_field<HandleKind::kGraph, kGraphFields>>,
                 kGraphFields);
  lua_createtable(state, 0, 2);
  set_function(state, host, "__index", entry<inputs_index>);
  host.inputs = keep_metatable(state);
  lua_createtable(state, 0, 0);
  lua_createtable(state, 0, 1);
  lua_pushliteral(state, "k");
  lua_setfield(state, -2, "__mode");
  lua_setmetatable(state, -2);
  host.nodes_of_inputs = luaL_ref(state, LUA_REGISTRYINDEX);
}

}  // namespace ruleengine::lua
