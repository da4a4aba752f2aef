#include "bindings/lua/nodes/rank_api.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "bindings/lua/sandbox/table_keys.h"
#include "core/base/diagnostic.h"
#include "core/base/suggest.h"
#include "core/ir/shapes.h"
#include "core/ops/axis_flow.h"
#include "core/ranks/layout.h"
#include "core/ranks/residual_chains.h"

namespace ruleengine::lua {
namespace {

void push_group(Host& host, lua_State* state,
                std::span<const std::int64_t> group) {
  push_all(host, state, group, push_number<std::int64_t>);
}

std::string_view placement_name(ranks::Placement placement) {
  switch (placement) {
    case ranks::Placement::kReplicated:
      return "replicated";
    case ranks::Placement::kPartial:
      return "partial";
    case ranks::Placement::kSharded:
      break;
  }
  return "sharded";
}

// The table of options at stack index 2.
bool read_options(Host& host, lua_State* state, ranks::ChainOptions& options) {
  if (lua_isnoneornil(state, 2)) return true;
  if (!lua_istable(state, 2)) {
    return fail(host, ":residual_chains wants options", "{slices = true}",
                kind_of(state, 2));
  }
  const TableKeys keys = table_keys(state, 2);
  if (!keys.numbers.empty() || !keys.other.empty()) {
    return fail(host, ":residual_chains gets a value that is not an option",
                "{slices = true}",
                keys.other.empty() ? "a number" : keys.other);
  }
  static constexpr std::string_view kNames[] = {"slices"};
  for (const std::string& name : keys.names) {
    if (name != kNames[0]) {
      return fail(
          host, ":residual_chains has no option '" + printable(name, 60) + "'",
          {}, {}, suggestion(name, kNames));
    }
    push_field(state, 2, name);
    if (!lua_isboolean(state, -1)) {
      return fail(host,
                  "option '" + name + "' of :residual_chains is true or false",
                  {}, kind_of(state, -1));
    }
    options.slices = lua_toboolean(state, -1) != 0;
    lua_pop(state, 1);
  }
  return true;
}

// The ranks of a group at stack index 2.
std::optional<std::vector<std::int64_t>> read_group(Host& host,
                                                    lua_State* state) {
  std::vector<std::int64_t> out;
  const bool is_list = lua_istable(state, 2);
  const std::size_t count = is_list ? lua_objlen(state, 2) : 0;
  for (std::size_t i = 1; i <= count; ++i) {
    lua_rawgeti(state, 2, static_cast<int>(i));
    const auto rank = to_integer(lua_tonumber(state, -1));
    if (lua_type(state, -1) != LUA_TNUMBER || !rank) break;
    out.push_back(*rank);
    lua_pop(state, 1);
  }
  if (is_list && out.size() == count) return out;
  fail(host, ":replicated wants the ranks of a group", "{0, 1}",
       kind_of(state, is_list ? -1 : 2));
  return std::nullopt;
}

// Sets entries of the table of axes on top of the stack.
void set_axes(Host& host, lua_State* state,
              std::span<const ranks::Share> shares) {
  for (const ranks::Share& share : shares) {
    push_value(host, state, share.value);
    lua_pushinteger(state, share.axis);
    lua_rawset(state, -3);
  }
}

void push_chain(Host& host, lua_State* state,
                const ranks::ResidualChain& chain) {
  lua_createtable(state, 0, 8);
  push_group(host, state, chain.group);
  lua_setfield(state, -2, "ranks");
  push_node(host, state, chain.sum);
  lua_setfield(state, -2, "sum");
  push_all(host, state, chain.nodes, push_node);
  lua_setfield(state, -2, "nodes");
  lua_createtable(state, 0, static_cast<int>(chain.shares.size()));
  set_axes(host, state, chain.shares);
  set_axes(host, state, chain.entries);
  lua_setfield(state, -2, "axes");
  push_all(host, state, chain.entries,
           [](Host& h, lua_State* s, const auto& entry) {
             push_value(h, s, entry.value);
           });
  lua_setfield(state, -2, "entries");
  if (chain.broken.empty()) return;
  push(state, chain.broken);
  lua_setfield(state, -2, "broken");
  push_value(host, state, chain.culprit);
  lua_setfield(state, -2, "culprit");
  lua_pushboolean(state, static_cast<int>(chain.sliceable));
  lua_setfield(state, -2, "sliceable");
}

// The flow along an axis of the first input; a negative axis counts from the
// end.
std::optional<ops::AxisFlow> flow_along(Host& host, ir::NodeId node,
                                        std::int64_t axis) {
  const ir::Graph& graph = *host.session.graph;
  const ir::ValueId first = graph.input(node, 0);
  const ir::Type* type = first ? host.session.facts->type(first) : nullptr;
  if (!ir::is_ranked(type)) return {};
  const auto place = ir::place_of_axis(axis, type->rank());
  if (!place) return {};
  return ops::axis_flow(graph, *host.session.facts, node, {false, 0},
                        static_cast<int>(*place));
}

}  // namespace

int push_layout(Host& host, lua_State* state, const Handle& value) {
  const ranks::Layout* layout = host.session.facts->layout(value.value());
  if (layout == nullptr || layout->assumed) return lua_pushnil(state), 1;
  lua_createtable(state, 0, 3);
  push(state, placement_name(layout->placement));
  lua_setfield(state, -2, "placement");
  push_group(host, state, layout->group);
  lua_setfield(state, -2, "ranks");
  if (layout->placement == ranks::Placement::kSharded) {
    lua_pushinteger(state, layout->axis);
    lua_setfield(state, -2, "axis");
  }
  return 1;
}

int replicated(Host& host, lua_State* state, const Handle& value) {
  const auto group = read_group(host, state);
  if (!group) return kFailed;
  return push_bool(
      state,
      ranks::is_replicated(host.session.facts->layout(value.value()), *group));
}

int along(Host& host, lua_State* state, const Handle& node) {
  const auto axis = to_integer(lua_tonumber(state, 2));
  if (lua_type(state, 2) != LUA_TNUMBER || !axis) {
    return fail(host, ":along wants the number of an axis", "a whole number",
                kind_of(state, 2));
  }
  const auto flow = flow_along(host, node.node(), *axis);
  const auto varies = [](int place) { return place != ops::AxisFlow::kSame; };
  if (!flow ||
      std::any_of(flow->inputs.begin() + 1, flow->inputs.end(), varies)) {
    return lua_pushnil(state), 1;
  }
  push_list(host, state, static_cast<int>(flow->outputs.size()));
  for (std::size_t i = 0; i < flow->outputs.size(); ++i) {
    if (!varies(flow->outputs[i])) continue;
    lua_pushinteger(state, flow->outputs[i]);
    lua_rawseti(state, -2, static_cast<int>(i) + 1);
  }
  return 1;
}

int residual_chains(Host& host, lua_State* state, const Handle&) {
  ranks::ChainOptions options;
  if (!read_options(host, state, options)) return kFailed;
  const ir::Graph& graph = *host.session.graph;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    Sandbox::charge(state, 1 + graph.inputs(ir::NodeId(i)).size());
  }
  const auto chains =
      ranks::residual_chains(graph, *host.session.facts, options);
  luaL_checkstack(state, 8, "chains");
  push_all(host, state, chains, push_chain);
  return 1;
}

}  // namespace ruleengine::lua
