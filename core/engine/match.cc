#include "core/engine/match.h"

#include <algorithm>
#include <utility>

#include "core/analysis/attention_sites.h"
#include "core/engine/nearest_miss.h"

namespace ruleengine::engine {
namespace {

// The rule `index` with the reason if it takes no part in this graph; else
// none.
Result<std::optional<Absent>> absence(const RuleSet& rules, std::size_t index,
                                      ir::Graph& graph, ir::Facts& facts) {
  rewrite::Rule& rule = *rules.rules()[index];
  const auto enabled = rule.enabled(graph, facts);
  if (!enabled) return enabled.error();
  std::optional<Absent> out;
  if (!*enabled) {
    out = {rule.name(), rule.qualified(), rules.switches(index, graph, facts)};
  }
  return out;
}

// The node with this name, or the producer of the value with this name.
std::optional<ir::NodeId> find_node(const ir::Graph& graph,
                                    const std::string& name) {
  std::optional<ir::NodeId> by_value;
  for (const ir::NodeId id : all_nodes(graph)) {
    if (graph.node(id).name == name) return id;
    for (ir::ValueId value : graph.outputs(id)) {
      if (value && graph.name(value) == name) by_value = id;
    }
  }
  return by_value;
}

// The nodes at which misses of this rule are most useful to the user.
std::vector<ir::NodeId> roots_for(const rewrite::Rule& rule,
                                  const ir::Graph& graph, ir::Facts& facts) {
  std::vector<ir::NodeId> roots;
  if (rule.phase() == rewrite::Phase::kAttention) {
    for (const auto& site : analysis::attention_sites(graph, facts)) {
      roots.push_back(site.product);
    }
  }
  return roots.empty() ? all_nodes(graph) : roots;
}

}  // namespace

Result<ir::NodeId> node_named(const ir::Model& model, const std::string& name) {
  const ir::Graph& graph = model.graph;
  if (const auto node = find_node(graph, name)) return *node;
  Diagnostic error{.kind = ErrorKind::kUsage,
                   .what = "the model has no such node",
                   .where = model.path,
                   .expected = "the name of a node or of a value",
                   .found = name,
                   .hint = "`ruleengine report MODEL` lists them"};
  const auto& inputs = graph.block(ir::Graph::main_block()).inputs;
  if (std::ranges::any_of(
          inputs, [&](ir::ValueId v) { return graph.name(v) == name; })) {
    error.what = "this is an input of the model, which no node produces";
    error.expected = "the name of a node or of a value that a node produces";
    error.hint.clear();
  }
  return error;
}

Result<Matches> match(ir::Model& model, const RuleSet& rules,
                      const RunOptions& options) {
  auto found =
      rewrite::find_matches(model, rules.rules(), rewrite_options(options));
  if (!found) return found.error();
  Matches out{std::move(*found), {}};
  const auto facts = facts_of(model.graph);
  for (std::size_t i = 0; i < rules.rules().size(); ++i) {
    auto absent = absence(rules, i, model.graph, *facts);
    if (!absent) return absent.error();
    if (*absent) out.absent.push_back(std::move(**absent));
  }
  return out;
}

Result<std::vector<Explanation>> explain(ir::Model& model, const RuleSet& rules,
                                         const std::string& node,
                                         const RunOptions& options,
                                         std::size_t most) {
  constexpr std::size_t kMostMisses = 3;
  if (most == 0) most = kMostMisses;
  ir::Graph& graph = model.graph;
  std::optional<ir::NodeId> only;
  if (!node.empty()) {
    const auto named = node_named(model, node);
    if (!named) return named.error();
    only = *named;
  }
  const auto facts = facts_of(graph);
  std::vector<Explanation> out;
  for (std::size_t i = 0; i < rules.rules().size(); ++i) {
    rewrite::Rule* rule = rules.rules()[i];
    Explanation& one = out.emplace_back();
    one.rule = rule;
    auto absent = absence(rules, i, graph, *facts);
    if (!absent) return absent.error();
    one.absent = std::move(*absent);
    if (one.absent) continue;
    auto found =
        rewrite::find_matches(model, {&rule, 1}, rewrite_options(options));
    if (!found) return found.error();
    one.found = std::move(*found);
    if (only) {
      std::erase_if(one.found, [&](const rewrite::Found& each) {
        return each.graph != &graph || each.root != *only;
      });
    }
    if (!one.found.empty() || rule->pattern() == nullptr) continue;
    const auto roots =
        only ? std::vector{*only} : roots_for(*rule, graph, *facts);
    one.misses = nearest_misses(*rule->pattern(), graph, *facts, roots, most,
                                options.limits.deadline);
    if (Status s = options.limits.deadline.check(); !s) return s.error();
  }
  return out;
}

}  // namespace ruleengine::engine
