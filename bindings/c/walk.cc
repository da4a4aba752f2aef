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
auto entry(const List& all, std::int64_t i, const char* what)
    -> Result<decltype(&all[0])> {
  if (i >= 0 && i < std::ssize(all)) return &all[static_cast<std::size_t>(i)];
  return misuse(std::string("there is no such ") + what,
                "below " + std::to_string(all.size()), std::to_string(i));
}

Result<const api::Walk::Node*> node_at(const re_walk* walk, std::int64_t graph,
                                       std::int64_t node) {
  if (Status s = need(walk, "`walk`"); !s) return s.error();
  const auto its = entry(walk->walk->graphs(), graph, "graph");
  if (!its) return its.error();
  return entry((*its)->nodes, node, "node");
}

Result<const ir::Attribute*> attribute_at(const re_walk* walk,
                                          std::int64_t graph, std::int64_t node,
                                          std::int64_t i) {
  const auto its = node_at(walk, graph, node);
  if (!its) return its.error();
  return entry((*its)->attributes, i, "attribute");
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

Status give_tensor(re_walk& walk, const ir::Literal& tensor, re_tensor* to) {
  if (Status s = need(to, "the struct to fill"); !s) return s;
  *to = {};
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
    const auto bytes = walk.walk->bytes(tensor);
    if (!bytes) return bytes.error();
    out.data = bytes->data();
    out.size = bytes->size();
  }
  *to = out;
  return {};
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

using ruleengine::Status;
using ruleengine::c::Call;
using ruleengine::c::text;
using ruleengine::c::Use;

re_error* re_walk_new(re_model* model, const re_call* call, re_walk** walk) {
  return ruleengine::c::guarded([&]() -> Status {
    if (Status s = ruleengine::c::need(walk, "`walk`"); !s) return s;
    *walk = nullptr;
    const Use use(model, re_model::kType);
    if (!use.status()) return use.status();
    const Call its(call);
    if (!its.status()) return its.status();
    auto out = std::make_unique<re_walk>();
    out->held = model->held;
    ruleengine::api::Limits limits;
    limits.deadline = its.deadline();
    auto made = ruleengine::api::Walk::create(*model->held->model, limits);
    if (!made) return made.error();
    out->walk = *std::move(made);
    for (const auto& value : out->walk->values()) {
      auto& shape = out->shapes.emplace_back();
      for (const auto& d : value.dims) shape.push_back({d.size, text(d.name)});
    }
    ruleengine::c::list_attributes(*out);
    *walk = out.release();
    return {};
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
  return ruleengine::c::guarded([&]() -> Status {
    if (Status s = ruleengine::c::need(walk, "`walk`"); !s) return s;
    const auto its = ruleengine::c::entry(walk->walk->graphs(), graph, "graph");
    if (!its) return its.error();
    const auto& from = **its;
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
    return ruleengine::c::give(out, to);
  });
}

re_error* re_walk_node(const re_walk* walk, int64_t graph, int64_t node,
                       re_node* to) {
  return ruleengine::c::guarded([&]() -> Status {
    const auto its = ruleengine::c::node_at(walk, graph, node);
    if (!its) return its.error();
    const auto& from = **its;
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
    return ruleengine::c::give(out, to);
  });
}

re_error* re_walk_value(const re_walk* walk, int64_t value, re_value* to) {
  return ruleengine::c::guarded([&]() -> Status {
    if (Status s = ruleengine::c::need(walk, "`walk`"); !s) return s;
    const auto its = ruleengine::c::entry(walk->walk->values(), value, "value");
    if (!its) return its.error();
    const auto& from = **its;
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
    return ruleengine::c::give(out, to);
  });
}

re_error* re_walk_attribute(const re_walk* walk, int64_t graph, int64_t node,
                            int64_t attribute, re_attribute* to) {
  return ruleengine::c::guarded([&]() -> Status {
    const auto its = ruleengine::c::attribute_at(walk, graph, node, attribute);
    if (!its) return its.error();
    const auto& from = **its;
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
    return ruleengine::c::give(out, to);
  });
}

re_error* re_walk_constant(re_walk* walk, int64_t value, re_tensor* to) {
  return ruleengine::c::guarded([&]() -> Status {
    const Use use(walk, re_walk::kType);
    if (!use.status()) return use.status();
    const auto its = ruleengine::c::entry(walk->walk->values(), value, "value");
    if (!its) return its.error();
    if ((*its)->constant == nullptr) {
      return ruleengine::c::misuse("the value is no constant", {},
                                   ruleengine::quoted_name((*its)->name));
    }
    return ruleengine::c::give_tensor(*walk, *(*its)->constant, to);
  });
}

re_error* re_walk_tensor(re_walk* walk, int64_t graph, int64_t node,
                         int64_t attribute, int64_t i, re_tensor* to) {
  return ruleengine::c::guarded([&]() -> Status {
    const Use use(walk, re_walk::kType);
    if (!use.status()) return use.status();
    const auto its = ruleengine::c::attribute_at(walk, graph, node, attribute);
    if (!its) return its.error();
    const auto tensor =
        ruleengine::c::entry((*its)->tensors, i, "tensor of the attribute");
    if (!tensor) return tensor.error();
    return ruleengine::c::give_tensor(*walk, ***tensor, to);
  });
}
