#include "core/rewrite/region.h"

#include <algorithm>
#include <set>

#include "core/rewrite/edits/state.h"
#include "core/rewrite/edits/workspace.h"
#include "core/rewrite/region/reads.h"

namespace ruleengine::rewrite {

ir::ValueId Region::input(ir::NodeId node, std::size_t i, Side side) const {
  if (side == Side::kBefore && !taken.empty()) {
    const ir::OperandId slot(graph.node(node).first_operand + i);
    if (const auto it = taken.find(slot); it != taken.end()) return it->second;
  }
  return graph.input(node, i);
}

std::vector<ir::ValueId> Region::outputs(ir::BlockId body, Side side) const {
  std::vector<ir::ValueId> out = graph.block(body).outputs;
  if (side == Side::kAfter) return out;
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    const auto it = given.find({body, i});
    if (it != given.end()) out[i] = it->second;
  }
  return out;
}

bool Region::has(ir::NodeId node, Side side) const {
  const bool removed = graph.node(node).removed;
  if (side == Side::kAfter) return !removed;
  return !is_new(node) && (!removed || std::ranges::binary_search(nodes, node));
}

void for_each_read(const Region& region, ir::NodeId node, Region::Side side,
                   const std::function<void(ir::ValueId)>& visit) {
  const ir::Graph& graph = region.graph;
  for (std::size_t i = 0; i < graph.inputs(node).size(); ++i) {
    if (const ir::ValueId v = region.input(node, i, side)) visit(v);
  }
  for (const ir::Attribute& a : graph.node(node).attributes) {
    for (const ir::BlockId body : a.blocks) {
      const auto outside = [&](ir::ValueId v) {
        if (v && !encloses(graph, body, graph.value(v).block)) visit(v);
      };
      for (const ir::NodeId inner : graph.block(body).nodes) {
        if (region.has(inner, side)) {
          for_each_read(region, inner, side, outside);
        }
      }
      for (const ir::ValueId v : region.outputs(body, side)) outside(v);
    }
  }
}

std::vector<ir::NodeId> nodes_of(const ir::Graph& graph, ir::BlockId body,
                                 const std::function<bool(ir::NodeId)>& has) {
  std::vector<ir::NodeId> out = graph.block(body).nodes;
  std::erase_if(out, [&](ir::NodeId n) { return !has(n); });
  std::ranges::stable_sort(out, {},
                           [&](ir::NodeId n) { return graph.node(n).rank; });
  return out;
}

const ir::OpsetImports& opsets_of(const ir::Graph& graph) {
  return graph.function() != nullptr ? graph.function()->opset_imports
                                     : graph.model().opset_imports;
}

bool is_zeros(const ir::Literal& tensor) {
  return tensor.storage == ir::Storage::kRaw &&
         std::ranges::all_of(tensor.bytes,
                             [](std::byte b) { return b == std::byte(); });
}

Region region_of(const EditState& state) {
  Region out{.graph = state.graph,
             .facts = state.facts,
             .results = {},
             .nodes = {},
             .first_node = state.first_node,
             .taken = {},
             .given = {},
             .assumes = state.provenance.assumes || !state.assumptions.empty()};
  std::set<std::pair<ir::ValueId, ir::ValueId>> known;
  for (const Action& each : state.actions) {
    const bool is_pair =
        each.old_value && each.new_value && each.old_value != each.new_value;
    if (is_pair && known.emplace(each.old_value, each.new_value).second) {
      out.results.push_back({each.old_value, each.new_value});
    }
  }
  const auto add = [&](const auto& nodes) {
    for (const ir::NodeId n : nodes) {
      if (n && !out.is_new(n)) out.nodes.push_back(n);
    }
  };
  add(state.provenance.from);
  add(state.provenance.context);
  add(state.removed);
  std::ranges::sort(out.nodes);
  const auto [first, last] = std::ranges::unique(out.nodes);
  out.nodes.erase(first, last);
  state.log.for_each_taken([&](const Log::Taken& each) {
    if (each.slot) out.taken.emplace(each.slot, each.value);
    if (each.block) {
      out.given.emplace(std::pair(each.block, each.output), each.value);
    }
  });
  return out;
}

}  // namespace ruleengine::rewrite
