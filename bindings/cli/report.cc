// `ruleengine report MODEL`: the graph as a table, one row for each node in
// computation order, then the weights in use and the number of nodes of each
// op; or all of it as JSON.

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "core/engine/engine.h"
#include "core/engine/json.h"
#include "core/ir/data_type.h"
#include "core/ir/order.h"
#include "core/text/numbers.h"
#include "core/text/print.h"

namespace ruleengine::cli {
namespace {

using engine::Json;

struct NodeRow {
  ir::NodeId id;
  std::string op, name;
  std::vector<std::string> inputs, outputs, attributes, shapes;
};

struct WeightRow {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 0;
  std::vector<std::string> readers;
};

struct Contents {
  const ir::Graph* graph = nullptr;
  std::unique_ptr<ir::Facts> facts;
  std::vector<std::string> inputs, outputs;  // "x float[2,3]"
  std::vector<NodeRow> nodes;
  std::vector<WeightRow> weights;
  std::map<std::string, std::uint64_t> ops;
};

constexpr std::size_t kMostReaders = 4;  // in a row of the table

NodeRow node_row(const ir::Graph& graph, ir::Facts& facts, ir::NodeId id) {
  NodeRow row{.id = id,
              .op = graph.op(id).text(),
              .name = std::string(graph.node(id).name)};
  for (const ir::Operand& use : graph.inputs(id)) {
    row.inputs.emplace_back(use.value ? graph.name(use.value) : "-");
  }
  for (const ir::ValueId value : graph.outputs(id)) {
    row.outputs.emplace_back(value ? graph.name(value) : "-");
    // A dimension may have a long name, which the types of all nodes repeat.
    row.shapes.push_back(
        value
            ? shortened(text::type_text(graph.model(), facts.type(value)), 2000)
            : "-");
  }
  for (const ir::Attribute& attribute : graph.node(id).attributes) {
    row.attributes.push_back(text::attribute_text(graph, attribute));
  }
  return row;
}

// The initializers of a block that have readers, in the order of the file.
void add_weights(const ir::Graph& graph, const ir::Block& block,
                 std::vector<WeightRow>& rows) {
  for (const ir::ValueId id : block.initializers) {
    const ir::Value& value = graph.value(id);
    if (value.removed || value.tensor == nullptr ||
        graph.reader_count(id) == 0) {
      continue;
    }
    const ir::Literal& tensor = *value.tensor;
    WeightRow& row = rows.emplace_back();
    row.name = graph.name(id);
    row.dtype = ir::data_type_name(tensor.dtype);
    row.shape.assign(tensor.dims.begin(), tensor.dims.end());
    row.bytes = tensor.byte_size();
    for (ir::OperandId use = graph.first_use(id); use;
         use = graph.next_use(use)) {
      row.readers.push_back(
          rewrite::node_label(graph, graph.operand(use).user));
    }
    if (value.block_output_count > 0) row.readers.emplace_back("an output");
  }
}

std::vector<std::string> interface_of(const ir::Graph& graph, ir::Facts& facts,
                                      const std::vector<ir::ValueId>& values) {
  std::vector<std::string> out;
  for (const ir::ValueId value : values) {
    out.push_back(
        fmt::format("{} {}", graph.name(value),
                    text::type_text(graph.model(), facts.type(value))));
  }
  return out;
}

Result<Contents> contents_of(ir::Model& model) {
  const ir::Graph& graph = model.graph;
  auto order = ir::topological_order(graph);
  if (!order) return order.error();
  auto facts = engine::facts_of(model.graph);
  const ir::Block& main = graph.block(ir::Graph::main_block());
  Contents out{.graph = &graph,
               .inputs = interface_of(graph, *facts, main.inputs),
               .outputs = interface_of(graph, *facts, main.outputs),
               .ops = engine::count_ops(model)};
  for (const ir::NodeId id : *order) {
    out.nodes.push_back(node_row(graph, *facts, id));
  }
  out.facts = std::move(facts);
  for (std::size_t i = 0; i < graph.block_count(); ++i) {
    add_weights(graph, graph.block(ir::BlockId(i)), out.weights);
  }
  return out;
}

std::string join(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string readers_text(const std::vector<std::string>& readers) {
  if (readers.size() <= kMostReaders) return join(readers);
  return fmt::format(
      "{} and {} more",
      fmt::join(readers.begin(), readers.begin() + kMostReaders, ", "),
      readers.size() - kMostReaders);
}

std::string weights_text(const std::vector<WeightRow>& weights) {
  std::vector<std::vector<std::string>> rows = {
      {"weight", "dtype", "shape", "bytes", "readers"}};
  std::int64_t bytes = 0;
  for (const WeightRow& each : weights) {
    bytes += each.bytes;
    rows.push_back({each.name, each.dtype,
                    fmt::format("[{}]", fmt::join(each.shape, ",")),
                    std::to_string(each.bytes), readers_text(each.readers)});
  }
  return fmt::format("{}{} {}, {} bytes\n", table(rows), weights.size(),
                     weights.size() == 1 ? "weight" : "weights", bytes);
}

std::string text_of_contents(const Contents& contents) {
  std::vector<std::vector<std::string>> rows = {
      {"op", "name", "inputs", "outputs", "attributes", "shapes"}};
  for (const NodeRow& each : contents.nodes) {
    rows.push_back({each.op, each.name, join(each.inputs), join(each.outputs),
                    join(each.attributes), join(each.shapes)});
  }
  std::string text = fmt::format("inputs: {}\noutputs: {}\n\n{}\n",
                                 printable(join(contents.inputs), 2000),
                                 printable(join(contents.outputs), 2000),
                                 table(rows, columns_of_stdout()));
  if (!contents.weights.empty()) text += weights_text(contents.weights) + "\n";
  rows = {{"op", "count"}};
  for (const auto& [op, count] : contents.ops) {
    rows.push_back({op, std::to_string(count)});
  }
  return text + table(rows);
}

Json exact_all(const std::vector<std::string>& texts) {
  Json json = Json::array();
  for (const std::string& each : texts) json.push_back(engine::exact(each));
  return json;
}

// {name, dtype, shape}: a dimension is a number, a name, or null if unknown.
Json value_json(const Contents& contents, ir::ValueId value) {
  if (!value) return nullptr;
  const ir::Graph& graph = *contents.graph;
  const ir::Type* type = contents.facts->type(value);
  Json dtype, shape;
  if (type != nullptr && !type->is_tensor()) {
    dtype = engine::exact(text::type_text(graph.model(), type));
  } else if (type != nullptr && ir::is_known(type->elem)) {
    dtype = ir::data_type_name(type->elem);
  }
  if (type != nullptr && type->has_shape) {
    shape = Json::array();
    for (const ir::Dim dim : type->dims) {
      if (dim.known()) {
        shape.push_back(dim.size());
      } else {
        const ir::DimTable& dims = graph.model().dims;
        shape.push_back(
            dims.is_fresh(dim) ? Json() : Json(engine::exact(dims.text(dim))));
      }
    }
  }
  return {{"name", engine::exact(graph.name(value))},
          {"dtype", std::move(dtype)},
          {"shape", std::move(shape)}};
}

Json values_json(const Contents& contents,
                 std::span<const ir::ValueId> values) {
  Json json = Json::array();
  for (const ir::ValueId value : values) {
    json.push_back(value_json(contents, value));
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
      if (attribute.ref.empty()) return engine::exact(attribute.s);
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
        list.push_back(engine::exact(each));
      }
      return list;
    default:
      break;
  }
  return engine::exact(text::attribute_text(graph, attribute));
}

Json node_json(const Contents& contents, const NodeRow& row) {
  const ir::Graph& graph = *contents.graph;
  Json attributes = Json::object();
  for (const ir::Attribute& each : graph.node(row.id).attributes) {
    attributes[engine::exact(each.name)] = attribute_json(graph, each);
  }
  return {{"op", engine::exact(row.op)},
          {"name", engine::exact(row.name)},
          {"inputs", exact_all(row.inputs)},
          {"outputs", values_json(contents, graph.outputs(row.id))},
          {"attributes", std::move(attributes)}};
}

Json to_json(const std::string& path, const Contents& contents) {
  Json nodes = Json::array(), weights = Json::array();
  for (const NodeRow& each : contents.nodes) {
    nodes.push_back(node_json(contents, each));
  }
  for (const WeightRow& each : contents.weights) {
    weights.push_back({{"name", engine::exact(each.name)},
                       {"dtype", each.dtype},
                       {"shape", each.shape},
                       {"bytes", each.bytes},
                       {"readers", exact_all(each.readers)}});
  }
  const ir::Block& main = contents.graph->block(ir::Graph::main_block());
  return {{"model", engine::exact(path)},
          {"inputs", values_json(contents, main.inputs)},
          {"outputs", values_json(contents, main.outputs)},
          {"nodes", std::move(nodes)},
          {"weights", std::move(weights)},
          {"ops", contents.ops}};
}

Status report_one(const std::string& path, const Options& options, bool several,
                  Json& json) {
  auto model = load_model(path, options, Use::kLook);
  if (!model) return model.error();
  if (auto status = run_first(**model, options); !status) return status;
  auto contents = contents_of(**model);
  if (!contents) return contents.error();
  Json in_json = options.json ? to_json(path, *contents) : Json();
  if (auto status = check_end(**model, options); !status) return status;
  if (options.json) {
    json.push_back(std::move(in_json));
    return {};
  }
  if (several) show("{}\n", printable(path));
  put(text_of_contents(*contents));
  return {};
}

int report(const Options& options) {
  auto paths = sort_paths(options, Wants::kModels);
  if (!paths) return fail(paths.error());
  const bool several = paths->models.size() > 1;
  Json json = Json::array();
  for (const std::string& path : paths->models) {
    if (auto status = report_one(path, options, several, json); !status) {
      return fail(status.error());
    }
  }
  if (options.json) put(engine::json_text(several ? json : json[0]));
  return 0;
}

}  // namespace

void add_report(Line& line) {
  Options& o = line.options;
  VerbLine report =
      line.add(cli::report, "report",
               "a model as a table of nodes, then its weights and ops",
               "ruleengine report model.onnx --first rules/canonical.lua");
  report.paths("models");
  report.first();
  report.flag("--json", o.json, "as JSON");
  report.rules();
  report.exact();
}

}  // namespace ruleengine::cli
