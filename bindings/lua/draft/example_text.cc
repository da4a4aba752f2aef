// The selected nodes as a graph in ONNX text.
#include <fmt/format.h>

#include <algorithm>

#include "bindings/lua/draft/region.h"
#include "core/text/print.h"
#include "core/text/words.h"

namespace ruleengine::lua {
namespace {

using ir::NodeId;
using ir::ValueId;

constexpr std::size_t kLineWidth = 80;
constexpr const char* kNextLine = "\n          ";

std::string tensor_type(const ir::Type* type, const std::string& dims) {
  const bool is_known = type != nullptr && type->is_tensor();
  return std::string(
             ir::data_type_name(is_known ? type->elem : ir::DataType::kFloat)) +
         dims;
}

// "int64[2] shape = {1, 2}"
std::string constant_text(const ir::Model& model, const Source& source) {
  const std::string tensor = text::tensor_text(
      *source.constant, model.external.get(), {.weights = true});
  const std::size_t type = tensor.find(" {");
  return fmt::format("{} {} ={}", tensor.substr(0, type), source.name,
                     tensor.substr(type));
}

// The opsets that the nodes are read in.
std::string opsets(const Region& region) {
  std::string out;
  for (const ir::OpsetImport& each : region.model.opset_imports) {
    const bool is_standard = each.domain.empty() || each.domain == "ai.onnx";
    const auto reads = [&](NodeId id) {
      return region.graph.op(id).domain == each.domain;
    };
    if (is_standard || std::ranges::any_of(region.selection.nodes, reads)) {
      append(out, fmt::format("{}: {}",
                              text::quoted_text(is_standard ? "" : each.domain),
                              each.version));
    }
  }
  return fmt::format("        <opset_import: [{}]>\n", out);
}

std::string node_text(const Region& region, NodeId id) {
  const ir::Graph& graph = region.graph;
  std::string left, inputs, attributes;
  for (const ValueId value : graph.outputs(id)) {
    append(left, value ? region.names.at(value) : "\"\"");
  }
  bool is_first = true;
  for (const ir::Operand& use : graph.inputs(id)) {
    if (!is_first) inputs += ", ";
    is_first = false;
    if (use.value) inputs += region.names.at(use.value);
  }
  for (const ir::Attribute& each : graph.node(id).attributes) {
    append(attributes, text::attribute_text(graph, each));
  }
  if (!attributes.empty()) attributes = " <" + attributes + "> ";
  const ir::Op& op = graph.op(id);
  return fmt::format("          {} = {}{}({})\n", left,
                     text::op_text(op.domain, op.type, op.overload), attributes,
                     inputs);
}

}  // namespace

std::string example_text(Region& region, std::span<const std::string> sizes) {
  std::string inputs, outputs, constants, nodes;
  std::size_t at = 0;
  for (const Source& each : region.sources) {
    if (each.is_input()) {
      std::string dims;
      for (std::size_t i = 0; i < each.type->dims.size(); ++i) {
        dims += (i == 0 ? "[" : ",") + sizes[at++];
      }
      if (!dims.empty()) dims += "]";
      append(inputs, tensor_type(each.type, dims) + " " + each.name);
    } else if (each.is_stored) {
      append(constants, constant_text(region.model, each));
    }
  }
  for (const ValueId value : region.selection.results) {
    append(outputs, tensor_type(region.facts.type(value), "[] ") +
                        region.names.at(value));
  }
  for (const NodeId id : region.selection.nodes) nodes += node_text(region, id);
  inputs = "(" + inputs + ")";
  outputs = "=> (" + outputs + ")";
  if (!constants.empty()) {
    const bool is_short = constants.size() < kLineWidth / 2;
    outputs += is_short ? " " : kNextLine;
    outputs += "<" + constants + ">";
  }
  const bool is_short = inputs.size() + outputs.size() < kLineWidth;
  return fmt::format("{}        {}{}{} {{\n{}        }}", opsets(region),
                     inputs, is_short ? " " : kNextLine, outputs, nodes);
}

std::string Region::names_of(std::span<const ir::ValueId> values) const {
  std::string out;
  for (const ValueId value : values) append(out, names.at(value));
  return out;
}

}  // namespace ruleengine::lua
