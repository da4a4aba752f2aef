#include "bindings/api/walk.h"

#include "bindings/api/models.h"
#include "core/engine/options.h"
#include "core/ir/order.h"

namespace ruleengine::api {
namespace {

// Whether the block belongs to nodes that nobody removed.
bool is_live(const ir::Graph& graph, ir::BlockId block) {
  while (const ir::NodeId owner = graph.block(block).owner) {
    if (graph.node(owner).removed) return false;
    block = graph.node(owner).block;
  }
  return block == ir::Graph::main_block();
}

}  // namespace

Result<std::unique_ptr<Walk>> Walk::create(const ir::Model& model,
                                           const Limits& limits) {
  std::unique_ptr<Walk> out(new Walk(copy_of(model, limits)));
  ir::Model& own = *out->model_;
  if (Status s = out->add(own.graph, nullptr); !s) return s.error();
  for (const auto& function : own.functions) {
    if (function->removed) continue;
    if (Status s = out->add(function->body, function.get()); !s) {
      return s.error();
    }
  }
  // A function may call one that comes later.
  for (Graph& graph : out->graphs_) {
    for (Node& node : graph.nodes) {
      const ir::Function* called = own.find_function(*node.op);
      if (called == nullptr) continue;
      node.function = out->places_.at(&called->body).graphs[0];
    }
  }
  if (Status s = check_end(own, limits.deadline); !s) return s.error();
  return out;
}

std::int64_t Walk::value_of(const ir::Graph& graph, ir::ValueId id) const {
  return id ? places_.at(&graph).values[id.index()] : kNone;
}

Walk::Node Walk::node_of(const ir::Graph& graph, ir::NodeId id) const {
  Node out{.op = &graph.op(id),
           .name = graph.node(id).name,
           .attributes = graph.node(id).attributes};
  for (const ir::Operand& each : graph.inputs(id)) {
    out.inputs.push_back(value_of(graph, each.value));
  }
  for (const ir::ValueId each : graph.outputs(id)) {
    out.outputs.push_back(value_of(graph, each));
  }
  return out;
}

void Walk::number(const ir::Graph& graph) {
  Place& place = places_[&graph];
  for (std::uint32_t b = 0; b < graph.block_count(); ++b) {
    const bool lives = is_live(graph, ir::BlockId(b));
    place.graphs.push_back(lives ? std::ssize(graphs_) : kNone);
    if (!lives) continue;
    graphs_.emplace_back();
    sources_.push_back(&graph);
  }
  for (std::uint32_t i = 0; i < graph.value_count(); ++i) {
    const ir::Value& value = graph.value(ir::ValueId(i));
    const bool lives =
        !value.removed && place.graphs[value.block.index()] != kNone;
    place.values.push_back(lives ? std::ssize(values_) : kNone);
    if (lives) values_.emplace_back();
  }
}

// The main graph or the body of a function, with the bodies in it.
Status Walk::add(ir::Graph& graph, const ir::Function* function) {
  const auto order = ir::topological_order(graph);
  if (!order) return order.error();
  number(graph);
  describe(graph);
  const Place& place = places_.at(&graph);
  for (std::uint32_t b = 0; b < graph.block_count(); ++b) {
    if (place.graphs[b] == kNone) continue;
    const ir::Block& block = graph.block(ir::BlockId(b));
    Graph& to = graphs_[static_cast<std::size_t>(place.graphs[b])];
    to.name = block.name;
    to.function = b == 0 ? function : nullptr;
    const auto take = [&](const std::vector<ir::ValueId>& from,
                          std::vector<std::int64_t>& into) {
      for (const ir::ValueId each : from) {
        if (each && graph.value(each).removed) continue;
        into.push_back(value_of(graph, each));
      }
    };
    take(block.inputs, to.inputs);
    take(block.outputs, to.outputs);
    take(block.initializers, to.initializers);
  }
  for (const ir::NodeId id : *order) {
    const std::int64_t graph_number =
        place.graphs[graph.node(id).block.index()];
    if (graph_number == kNone) continue;
    auto& nodes = graphs_[static_cast<std::size_t>(graph_number)].nodes;
    const std::int64_t number = std::ssize(nodes);
    nodes.push_back(node_of(graph, id));
    for (const std::int64_t each : nodes.back().outputs) {
      if (each == kNone) continue;
      Value& value = values_[static_cast<std::size_t>(each)];
      value.graph = graph_number;
      value.node = number;
    }
    for (const ir::Attribute& attribute : nodes.back().attributes) {
      for (const ir::BlockId body : attribute.blocks) {
        Graph& child =
            graphs_[static_cast<std::size_t>(place.graphs[body.index()])];
        child.parent = graph_number;
        child.parent_node = number;
      }
    }
  }
  return {};
}

void Walk::describe(ir::Graph& graph) {
  const auto facts = engine::facts_of(graph);
  const ir::DimTable& names = graph.model().dims;
  for (std::uint32_t i = 0; i < graph.value_count(); ++i) {
    const ir::ValueId id(i);
    const std::int64_t number = value_of(graph, id);
    if (number == kNone) continue;
    Value& to = values_[static_cast<std::size_t>(number)];
    const ir::Value& value = graph.value(id);
    to.name = graph.name(id);
    to.kind = value.kind;
    to.readers = graph.reader_count(id);
    to.constant =
        value.tensor != nullptr ? value.tensor : graph.direct_constant(id);
    to.type = facts->type(id);
    if (to.type == nullptr || !to.type->has_shape) continue;
    for (const ir::Dim d : to.type->dims) {
      const bool has_name = !d.known() && !names.is_fresh(d);
      to.dims.push_back({.size = d.known() ? d.size() : kNone,
                         .name = has_name ? names.text(d) : std::string()});
    }
  }
}

std::int64_t Walk::graph_of(std::size_t of, ir::BlockId block) const {
  return places_.at(sources_[of]).graphs[block.index()];
}

Result<std::span<const std::byte>> Walk::bytes(const ir::Literal& tensor) {
  if (const auto it = computed_.find(&tensor); it != computed_.end()) {
    return std::span<const std::byte>(it->second);
  }
  std::vector<std::byte> scratch;
  const auto bytes = ir::raw_bytes(tensor, model_->external.get(), scratch);
  if (!bytes || scratch.empty()) return bytes;
  return std::span<const std::byte>(
      computed_.emplace(&tensor, std::move(scratch)).first->second);
}

}  // namespace ruleengine::api
