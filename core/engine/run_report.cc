#include "core/engine/run_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/layout.h"
#include "core/rewrite/functions.h"

namespace ruleengine::engine {

OpCounts count_ops(const ir::Model& model) {
  std::vector<std::uint64_t> by_op(model.ops.size());
  for (const ir::NodeId node : model.graph.live_nodes()) {
    ++by_op[model.graph.node(node).op.index()];
  }
  OpCounts counts;
  for (std::size_t i = 0; i < by_op.size(); ++i) {
    const ir::Op& op = model.ops[ir::OpId(i)];
    if (by_op[i] == 0) continue;
    counts[ir::Op{op.domain, op.type, {}}.text()] += by_op[i];
  }
  return counts;
}

std::uint64_t total(const OpCounts& counts) {
  std::uint64_t sum = 0;
  for (const auto& [op, count] : counts) sum += count;
  return sum;
}

std::string text_of(const Verified& verified) {
  if (verified.edits > 0) {
    return fmt::format("verified {}, each where it was made",
                       counted(verified.edits, "rewrite"));
  }
  std::string out = "verified on " + counted(verified.inputs, "input");
  const char* before = ": ";
  for (const auto& [name, sizes] : verified.sizes) {
    out += fmt::format("{}{} = {}", before, printable(name),
                       fmt::join(sizes, ", "));
    before = "; ";
  }
  return out;
}

Requirements Requirements::beyond(const Requirements& other) const {
  Requirements out{functions && !other.functions, overloads && !other.overloads,
                   domains, opset > other.opset ? opset : 0,
                   ir_version > other.ir_version ? ir_version : 0};
  for (const std::string& each : other.domains) out.domains.erase(each);
  return out;
}

Requirements requirements_of(const ir::Model& model) {
  Requirements out{.opset = model.opset(""), .ir_version = model.ir_version};
  for (const auto& f : model.functions) {
    if (f->removed) continue;
    out.functions = true;
    out.overloads = out.overloads || !f->overload.empty();
  }
  for (const ir::Graph* graph : rewrite::rewritable_graphs(model)) {
    for (const ir::NodeId node : graph->live_nodes()) {
      const ir::Op& op = graph->op(node);
      if (op.domain.empty()) continue;
      if (model.find_function(op) == nullptr) out.domains.emplace(op.domain);
    }
  }
  return out;
}

bool RunReport::has_rewritten() const {
  return std::ranges::any_of(
      rewrites.rules, [](const auto& rule) { return rule.rewrites > 0; });
}

}  // namespace ruleengine::engine
