#include "core/engine/coverage.h"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <utility>

#include "core/analysis/attention_sites.h"
#include "core/engine/nearest_miss.h"
#include "core/ops/op_row.h"
#include "core/rewrite/functions.h"

namespace ruleengine::engine {
namespace {

using Left = Coverage::Left;

std::uint64_t count_fused(const ir::Graph& graph) {
  std::uint64_t count = 0;
  for (const ir::NodeId node : all_nodes(graph)) {
    if (ops::roles_of(graph.op(node)).attention) ++count;
  }
  return count;
}

// Probabilities that something else reads must be computed in any case.
std::optional<Left> needed_elsewhere(const ir::Graph& graph,
                                     const analysis::AttentionSite& site,
                                     const std::string& label) {
  if (!site.reader && !site.is_output) return std::nullopt;
  return Left{
      label, "",
      "the probabilities are needed elsewhere too (" +
          (site.is_output ? "they are an output of the model, which can be "
                            "exported without its attention weights"
                          : "by " + graph.describe(*site.reader)) +
          ")"};
}

// Quantized products keep their own kernels: no rule replaces them.
std::optional<Left> quantized(const analysis::AttentionSite& site,
                              const std::string& label) {
  if (!site.quantized) return std::nullopt;
  return Left{
      label, "",
      "quantized, so it stays: a fused attention would compute in floats what "
      "the model computes in integers"};
}

// Why a rule about attention rejected its match at this node.
std::optional<Left> rejection_at(const rewrite::DriverReport& report,
                                 const ir::Graph& graph, ir::NodeId node,
                                 const std::string& label) {
  for (const rewrite::RuleReport& rule : report.rules) {
    if (rule.phase != rewrite::Phase::kAttention) continue;
    for (const rewrite::Rejected& each : rule.rejected) {
      if (each.graph != &graph || each.at != node) continue;
      std::string reason = each.reason;
      if (!each.value.empty()) reason += " (" + each.value + ")";
      return Left{label, rule.name, std::move(reason), each.tie};
    }
  }
  return std::nullopt;
}

// The rule about attention that gets furthest here.
Left nearest(const RuleSet& rules, ir::Graph& graph, ir::Facts& facts,
             ir::NodeId root, std::string label, const Deadline& deadline) {
  Left best{std::move(label), "",
            "no pattern of a rule has this op as its root"};
  std::optional<decltype(match::Miss().how_far())> furthest;
  for (const rewrite::Rule* rule : rules.rules()) {
    if (rule->phase() != rewrite::Phase::kAttention) continue;
    if (rule->pattern() == nullptr) continue;
    const auto misses = nearest_misses(*rule->pattern(), graph, facts,
                                       std::span(&root, 1), 1, deadline);
    if (misses.empty()) continue;
    const match::Miss& miss = misses[0];
    if (furthest && miss.how_far() <= *furthest) continue;
    furthest = miss.how_far();
    best.rule = rule->name();
    best.reason = fmt::format("{}: expected {}, found {}", miss.test,
                              miss.expected, miss.found);
  }
  return best;
}

}  // namespace

std::vector<std::string> attention_packs() {
  return {"canonical.lua", "attention.lua"};
}

double Coverage::percent() const {
  if (found() == 0) return 100.0;
  return 100.0 * static_cast<double>(fused) / static_cast<double>(found());
}

Result<Coverage> coverage(ir::Model& model, const RuleSet& rules,
                          const RunOptions& options) {
  rewrite::DriverOptions how = rewrite_options(options);
  how.keep_all = true;  // so that reasons refer to the graph that the rules saw
  const auto report = rewrite::run(model, rules.rules(), how);
  if (!report) return report.error();
  Coverage out;
  for (ir::Graph* graph : rewrite::rewritable_graphs(model)) {
    const auto facts = facts_of(*graph);
    out.fused += count_fused(*graph);
    for (const auto& site : analysis::attention_sites(*graph, *facts)) {
      const Deadline& deadline = options.limits.deadline;
      if (Status s = deadline.check(); !s) return s.error();
      const std::string label = rewrite::node_label(*graph, site.product);
      auto left = needed_elsewhere(*graph, site, label);
      if (!left) left = quantized(site, label);
      if (!left) left = rejection_at(*report, *graph, site.product, label);
      if (!left) {
        left = nearest(rules, *graph, *facts, site.product, label, deadline);
      }
      out.left.push_back(std::move(*left));
    }
  }
  return out;
}

}  // namespace ruleengine::engine
