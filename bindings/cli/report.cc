// `ruleengine report MODEL`: the graph as a table, one node a row in
// computation order, then how often each op occurs.

#include <fmt/format.h>

#include "bindings/cli/session.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/verbs.h"
#include "core/analysis/order.h"
#include "core/text/print.h"

namespace ruleengine::cli {
namespace {

std::string join(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::string> row(const ir::Graph& graph, ir::Facts& facts,
                             ir::NodeId id) {
  std::vector<std::string> inputs, outputs, attributes, types;
  for (const ir::Operand& use : graph.inputs(id)) {
    inputs.emplace_back(use.value ? graph.name(use.value) : "-");
  }
  for (ir::ValueId value : graph.outputs(id)) {
    if (!value) continue;
    outputs.emplace_back(graph.name(value));
    types.push_back(text::type_text(graph.model(), facts.type(value)));
  }
  for (const ir::Attribute& attribute : graph.node(id).attributes) {
    attributes.push_back(text::attribute_text(graph, attribute));
  }
  return {graph.op(id).text(), std::string(graph.node(id).name),
          join(inputs),        join(outputs),
          join(attributes),    join(types)};
}

Status report_one(const std::string& path, const Options& options) {
  auto model = load_model(path);
  if (!model) return model.error();
  auto order = analysis::topological_order((*model)->graph);
  if (!order) return order.error();
  auto facts = engine_options(options).facts((*model)->graph);
  std::vector<std::vector<std::string>> rows = {
      {"op", "name", "inputs", "outputs", "attributes", "types"}};
  for (ir::NodeId id : *order) {
    rows.push_back(row((*model)->graph, *facts, id));
  }
  fmt::print("{}", table(rows));
  rows = {{"op", "count"}};
  for (const auto& [op, count] : count_ops(**model)) {
    rows.push_back({op, std::to_string(count)});
  }
  fmt::print("\n{}", table(rows));
  return {};
}

}  // namespace

int report(const Options& options) {
  auto paths = sort_paths(options.paths, Wants::kModels);
  if (!paths) return fail(paths.error());
  for (const std::string& path : paths->models) {
    if (auto status = report_one(path, options); !status) {
      return fail(status.error());
    }
  }
  return 0;
}

}  // namespace ruleengine::cli
