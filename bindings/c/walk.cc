#include "bindings/api/walk.h"

#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "bindings/c/call.h"
#include "bindings/c/objects.h"

struct re_walk : ruleengine::c::Handle {
  static constexpr const char* kType = "re_walk";
  re_walk() : Handle(kType) {}

  std::shared_ptr<ruleengine::api::Held> held;
  std::unique_ptr<ruleengine::api::Walk> walk;
  std::vector<std::vector<re_dim>> shapes;  // by value
  // Lists of attributes and tensors as lists of the header's types, by where
  // the model has them.
  std::map<const void*, std::vector<re_text>> texts;
  std::map<const void*, std::vector<re_text>> tensor_texts;
  std::map<const void*, std::vector<std::int64_t>> graphs;
};

namespace ruleengine::c {
namespace {

re_text text(std::string_view from) { return {from.data(), from.size()}; }

template <typename List>
const auto& entry(const List& all, std::int64_t i, const char* what) {
  if (i >= 0 && i < std::ssize(all)) return all[static_cast<std::size_t>(i)];
  throw misuse(std::string("there is no such ") + what,
               "below " + std::to_string(all.size()), std::to_string(i));
}

const api::Walk::Graph& graph_at(const re_walk* walk, std::int64_t graph) {
  need(walk, "`walk`");
  return entry(walk->walk->graphs(), graph, "graph");
}

const api::Walk::Node& node_at(const re_walk* walk, std::int64_t graph,
                               std::int64_t node) {
  return entry(graph_at(walk, graph).nodes, node, "node");
}

const ir::Attribute& attribute_at(const re_walk* walk, std::int64_t graph,
                                  std::int64_t node, std::int64_t i) {
  return entry(node_at(walk, graph, node).attributes, i, "attribute");
}

const std::vector<re_text>& texts_of(
    std::map<const void*, std::vector<re_text>>& known,
    std::span<const std::string_view> strings) {
  const auto found = known.find(strings.data());
  if (found != known.end()) return found->second;
  std::vector<re_text> made;
  for (const std::string_view each : strings) made.push_back(text(each));
  return known.emplace(strings.data(), std::move(made)).first->second;
}

// Makes the lists that re_walk_attribute() gives.
void list_attributes(re_walk& walk) {
  const auto& graphs = walk.walk->graphs();
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    for (const api::Walk::Node& node : graphs[i].nodes) {
      for (const ir::Attribute& each : node.attributes) {
        if (!each.strings.empty()) texts_of(walk.texts, each.strings);
        for (const ir::BlockId body : each.blocks) {
          walk.graphs[each.blocks.data()].push_back(
              walk.walk->graph_of(i, body));
        }
      }
    }
  }
}

void give_tensor(re_walk& walk, const ir::Literal& tensor, re_tensor* to) {
  clear(to, "the struct to fill");
  re_tensor out{};
  out.name = "";
  out.type = static_cast<std::int32_t>(tensor.dtype);
  out.rank = tensor.dims.size();
  out.shape = tensor.dims.data();
  if (tensor.dtype == ir::DataType::kString) {
    const auto& texts = texts_of(walk.tensor_texts, tensor.strings);
    out.data = texts.data();
    out.size = texts.size() * sizeof(re_text);
  } else {
    const auto bytes = take(walk.walk->bytes(tensor));
    out.data = bytes.data();
    out.size = bytes.size();
  }
  *to = out;
}

re_origin origin_of(ir::ValueKind kind) {
  switch (kind) {
    case ir::ValueKind::kInput:
      return RE_ORIGIN_INPUT;
    case ir::ValueKind::kInitializer:
      return RE_ORIGIN_INITIALIZER;
    case ir::ValueKind::kNodeOutput:
      return RE_ORIGIN_NODE;
    case ir::ValueKind::kUndefined:
      break;
  }
  return RE_ORIGIN_UNDEFINED;
}

}  // namespace
}  // namespace ruleengine::c

namespace api = ruleengine::api;
using ruleengine::c::attribute_at;
using ruleengine::c::entry;
using ruleengine::c::give;
using ruleengine::c::guarded;
using ruleengine::c::text;
using ruleengine::c::Use;

re_error* re_walk_new(re_model* model, const re_call* call, re_walk** walk) {
  return guarded([&] {
    ruleengine::c::clear(walk, "`walk`");
    const Use use(model);
    const ruleengine::c::Call its(call);
    auto out = std::make_unique<re_walk>();
    out->held = model->held;
    api::Limits limits;
    limits.deadline = its.deadline();
    out->walk = api::take(api::Walk::create(*model->held->model, limits));
    for (const auto& value : out->walk->values()) {
      auto& shape = out->shapes.emplace_back();
      for (const auto& d : value.dims) shape.push_back({d.size, text(d.name)});
    }
    ruleengine::c::list_attributes(*out);
    *walk = out.release();
  });
}

void re_walk_free(re_walk* walk) { delete walk; }

int64_t re_walk_graphs(const re_walk* walk) {
  return walk == nullptr ? 0 : std::ssize(walk->walk->graphs());
}

int64_t re_walk_values(const re_walk* walk) {
  return walk == nullptr ? 0 : std::ssize(walk->walk->values());
}

re_error* re_walk_graph(const re_walk* walk, int64_t graph, re_graph* to) {
  return guarded([&] {
    const auto& from = ruleengine::c::graph_at(walk, graph);
    re_graph out{};
    out.kind = from.function != nullptr ? RE_GRAPH_FUNCTION
               : graph == 0             ? RE_GRAPH_MAIN
                                        : RE_GRAPH_BODY;
    out.name = text(from.name);
    out.inputs = from.inputs.data();
    out.outputs = from.outputs.data();
    out.initializers = from.initializers.data();
    out.input_count = from.inputs.size();
    out.output_count = from.outputs.size();
    out.initializer_count = from.initializers.size();
    out.node_count = std::ssize(from.nodes);
    out.parent = from.parent;
    out.parent_node = from.parent_node;
    if (from.function != nullptr) {
      out.domain = text(from.function->domain);
      out.type = text(from.function->name);
      out.overload = text(from.function->overload);
    }
    give(out, to);
  });
}

re_error* re_walk_node(const re_walk* walk, int64_t graph, int64_t node,
                       re_node* to) {
  return guarded([&] {
    const auto& from = ruleengine::c::node_at(walk, graph, node);
    re_node out{};
    out.domain = text(from.op->domain);
    out.type = text(from.op->type);
    out.overload = text(from.op->overload);
    out.name = text(from.name);
    out.inputs = from.inputs.data();
    out.outputs = from.outputs.data();
    out.input_count = from.inputs.size();
    out.output_count = from.outputs.size();
    out.attribute_count = std::ssize(from.attributes);
    out.function = from.function;
    give(out, to);
  });
}

re_error* re_walk_value(const re_walk* walk, int64_t value, re_value* to) {
  return guarded([&] {
    ruleengine::c::need(walk, "`walk`");
    const auto& from = entry(walk->walk->values(), value, "value");
    re_value out{};
    out.name = text(from.name);
    out.origin = ruleengine::c::origin_of(from.kind);
    out.graph = from.graph;
    out.node = from.node;
    out.readers = from.readers;
    if (from.type != nullptr && from.type->is_tensor()) {
      out.type = static_cast<std::int32_t>(from.type->elem);
      out.has_shape = from.type->has_shape ? 1 : 0;
    }
    const auto& shape = walk->shapes[static_cast<std::size_t>(value)];
    out.rank = shape.size();
    out.shape = shape.data();
    out.is_constant = from.constant != nullptr ? 1 : 0;
    give(out, to);
  });
}

re_error* re_walk_attribute(const re_walk* walk, int64_t graph, int64_t node,
                            int64_t attribute, re_attribute* to) {
  return guarded([&] {
    const auto& from = attribute_at(walk, graph, node, attribute);
    re_attribute out{};
    out.name = text(from.name);
    out.kind = static_cast<std::int32_t>(from.kind);
    out.f = from.f;
    out.i = from.i;
    out.s = text(from.s);
    out.floats = from.floats.data();
    out.ints = from.ints.data();
    out.count = from.floats.size() + from.ints.size() + from.strings.size() +
                from.blocks.size() + from.tensors.size();
    if (!from.strings.empty()) {
      out.strings = walk->texts.at(from.strings.data()).data();
    }
    if (!from.blocks.empty()) {
      out.graphs = walk->graphs.at(from.blocks.data()).data();
    }
    out.reference = text(from.ref);
    out.proto = {reinterpret_cast<const char*>(from.proto.data()),
                 from.proto.size()};
    give(out, to);
  });
}

re_error* re_walk_constant(re_walk* walk, int64_t value, re_tensor* to) {
  return guarded([&] {
    const Use use(walk);
    const auto& its = entry(walk->walk->values(), value, "value");
    if (its.constant == nullptr) {
      throw api::misuse("the value is no constant", {},
                        ruleengine::quoted_name(its.name));
    }
    ruleengine::c::give_tensor(*walk, *its.constant, to);
  });
}

re_error* re_walk_tensor(re_walk* walk, int64_t graph, int64_t node,
                         int64_t attribute, int64_t i, re_tensor* to) {
  return guarded([&] {
    const Use use(walk);
    const auto& its = attribute_at(walk, graph, node, attribute);
    const auto* tensor = entry(its.tensors, i, "tensor of the attribute");
    ruleengine::c::give_tensor(*walk, *tensor, to);
  });
}
