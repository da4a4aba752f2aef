#include "bindings/api/contents.h"

#include <cmath>
#include <span>
#include <utility>

#include "bindings/api/models.h"
#include "core/base/diagnostic.h"
#include "core/base/json.h"
#include "core/engine/options.h"
#include "core/ir/data_type.h"
#include "core/ir/facts.h"
#include "core/ir/order.h"
#include "core/rewrite/driver.h"
#include "core/text/numbers.h"
#include "core/text/print.h"

namespace ruleengine::api {
namespace {

using engine::exact, engine::exact_all;

std::vector<Contents::Value> values_of(const ir::Graph& graph, ir::Facts& facts,
                                       std::span<const ir::ValueId> values) {
  std::vector<Contents::Value> out;
  for (const ir::ValueId value : values) {
    out.emplace_back();
    if (!value) continue;
    out.back() = {std::string(graph.name(value)), facts.type(value)};
  }
  return out;
}

Contents::Node node_of(const ir::Graph& graph, ir::Facts& facts,
                       ir::NodeId id) {
  Contents::Node node{.id = id,
                      .op = graph.op(id).text(),
                      .name = std::string(graph.node(id).name)};
  for (const ir::Operand& use : graph.inputs(id)) {
    node.inputs.emplace_back(use.value ? graph.name(use.value) : "-");
  }
  node.outputs = values_of(graph, facts, graph.outputs(id));
  return node;
}

void add_weights(const ir::Graph& graph, const ir::Block& block,
                 std::vector<Contents::Weight>& weights) {
  for (const ir::ValueId id : block.initializers) {
    const ir::Value& value = graph.value(id);
    if (value.removed || value.tensor == nullptr ||
        graph.reader_count(id) == 0) {
      continue;
    }
    const ir::Literal& tensor = *value.tensor;
    Contents::Weight& weight = weights.emplace_back();
    weight.name = graph.name(id);
    weight.dtype = ir::data_type_name(tensor.dtype);
    weight.shape.assign(tensor.dims.begin(), tensor.dims.end());
    weight.bytes = tensor.byte_size();
    for (ir::OperandId use = graph.first_use(id); use;
         use = graph.next_use(use)) {
      weight.readers.push_back(
          rewrite::node_label(graph, graph.operand(use).user));
    }
    if (value.block_output_count > 0) weight.readers.emplace_back("an output");
  }
}

// A number, a name, or null if the size is unknown.
Json dim_json(const ir::Model& model, ir::Dim dim) {
  if (dim.known()) return dim.size();
  return model.dims.is_fresh(dim) ? Json() : Json(exact(model.dims.text(dim)));
}

// {name, dtype, shape}, or null for an absent value.
Json value_json(const ir::Model& model, const Contents::Value& value) {
  if (value.name.empty()) return nullptr;
  const ir::Type* type = value.type;
  Json dtype, shape;
  if (type != nullptr && !type->is_tensor()) {
    dtype = exact(text::type_text(model, type));
  } else if (type != nullptr && ir::is_known(type->elem)) {
    dtype = ir::data_type_name(type->elem);
  }
  if (type != nullptr && type->has_shape) {
    shape = Json::array();
    for (const ir::Dim dim : type->dims) shape.push_back(dim_json(model, dim));
  }
  return {{"name", exact(value.name)},
          {"dtype", std::move(dtype)},
          {"shape", std::move(shape)}};
}

Json values_json(const ir::Model& model,
                 const std::vector<Contents::Value>& values) {
  Json json = Json::array();
  for (const Contents::Value& each : values) {
    json.push_back(value_json(model, each));
  }
  return json;
}

// The shortest decimal that reads back as the same number.
Json float_json(float number) {
  return std::isfinite(number) ? Json(std::stod(text::number_text(number)))
                               : Json(text::number_text(number));
}

// Numbers, texts and lists of them as JSON; other attributes as ONNX text.
Json attribute_json(const ir::Graph& graph, const ir::Attribute& attribute) {
  Json list = Json::array();
  switch (attribute.kind) {
    case ir::AttributeKind::kInt:
      if (attribute.ref.empty()) return attribute.i;
      break;
    case ir::AttributeKind::kFloat:
      if (attribute.ref.empty()) return float_json(attribute.f);
      break;
    case ir::AttributeKind::kString:
      if (attribute.ref.empty()) return exact(attribute.s);
      break;
    case ir::AttributeKind::kInts:
      for (const std::int64_t each : attribute.ints) list.push_back(each);
      return list;
    case ir::AttributeKind::kFloats:
      for (const float each : attribute.floats) {
        list.push_back(float_json(each));
      }
      return list;
    case ir::AttributeKind::kStrings:
      for (const std::string_view each : attribute.strings) {
        list.push_back(exact(each));
      }
      return list;
    default:
      break;
  }
  return exact(text::attribute_text(graph, attribute));
}

Json node_json(const ir::Graph& graph, const Contents::Node& node) {
  Json attributes = Json::object();
  for (const ir::Attribute& each : graph.node(node.id).attributes) {
    attributes[exact(each.name)] = attribute_json(graph, each);
  }
  return {{"op", exact(node.op)},
          {"name", exact(node.name)},
          {"inputs", exact_all(node.inputs)},
          {"outputs", values_json(graph.model(), node.outputs)},
          {"attributes", std::move(attributes)}};
}

}  // namespace

Result<Contents> contents(ir::Model& model, const Limits& limits) {
  const ir::Graph& graph = model.graph;
  auto order = ir::topological_order(graph);
  if (!order) return order.error();
  const auto facts = engine::facts_of(model.graph);
  const ir::Block& main = graph.block(ir::Graph::main_block());
  Contents out{.graph = &graph,
               .inputs = values_of(graph, *facts, main.inputs),
               .outputs = values_of(graph, *facts, main.outputs),
               .ops = engine::count_ops(model)};
  for (const ir::NodeId id : *order) {
    out.nodes.push_back(node_of(graph, *facts, id));
  }
  for (std::size_t i = 0; i < graph.block_count(); ++i) {
    add_weights(graph, graph.block(ir::BlockId(i)), out.weights);
  }
  if (auto status = check_end(model, limits.deadline); !status) {
    return status.error();
  }
  return out;
}

std::string type_text(const Contents& contents, const Contents::Value& value) {
  if (value.name.empty()) return "-";
  return shortened(text::type_text(contents.graph->model(), value.type), 2000);
}

std::vector<std::string> attribute_texts(const Contents& contents,
                                         const Contents::Node& node) {
  std::vector<std::string> out;
  for (const ir::Attribute& each : contents.graph->node(node.id).attributes) {
    out.push_back(text::attribute_text(*contents.graph, each));
  }
  return out;
}

Json to_json(const std::string& model, const Contents& contents) {
  const ir::Graph& graph = *contents.graph;
  Json nodes = Json::array(), weights = Json::array();
  for (const Contents::Node& each : contents.nodes) {
    nodes.push_back(node_json(graph, each));
  }
  for (const Contents::Weight& each : contents.weights) {
    weights.push_back({{"name", exact(each.name)},
                       {"dtype", each.dtype},
                       {"shape", each.shape},
                       {"bytes", each.bytes},
                       {"readers", exact_all(each.readers)}});
  }
  return {{"model", exact(model)},
          {"inputs", values_json(graph.model(), contents.inputs)},
          {"outputs", values_json(graph.model(), contents.outputs)},
          {"nodes", std::move(nodes)},
          {"weights", std::move(weights)},
          {"ops", contents.ops}};
}

}  // namespace ruleengine::api
