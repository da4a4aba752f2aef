#include "core/engine/collectives.h"

#include <algorithm>
#include <iterator>

namespace ruleengine::engine {
namespace {

// The canonical rules. They translate the collectives of another runtime into
// the engine's own, so that both counts use the same ops.
std::vector<rewrite::Rule*> canonical(const RuleSet& rules) {
  std::vector<rewrite::Rule*> out;
  std::ranges::copy_if(rules.rules(), std::back_inserter(out),
                       [](const rewrite::Rule* rule) {
                         return rule->phase() == rewrite::Phase::kCanonical;
                       });
  return out;
}

// The rejections by rules at the collectives that are left.
std::vector<Collectives::Stays> what_stays(
    const ir::Graph& graph, const rewrite::DriverReport& report) {
  std::vector<Collectives::Stays> out;
  for (const rewrite::RuleReport& rule : report.rules) {
    for (const rewrite::Rejected& each : rule.rejected) {
      if (each.graph != &graph || !each.at || graph.node(each.at).removed) {
        continue;
      }
      if (!ranks::is_collective(graph.op(each.at))) continue;
      out.push_back({rule.name, each});
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> serving_packs() {
  return {"linear.lua", "quantization.lua", "sequence_parallel.lua"};
}

Result<Collectives> collectives(ir::Model& model, const RuleSet& rules,
                                const RunOptions& options) {
  rewrite::DriverOptions how = rewrite_options(options);
  how.keep_all =
      true;  // so that rejections refer to the graph that the rules saw
  const auto read = rewrite::run(model, canonical(rules), how);
  if (!read) return read.error();
  ir::Graph& graph = model.graph;
  Collectives out;
  out.before = ranks::traffic(graph, *facts_of(graph));
  const auto report = rewrite::run(model, rules.rules(), how);
  if (!report) return report.error();
  out.after = ranks::traffic(graph, *facts_of(graph));
  out.stays = what_stays(graph, *report);
  return out;
}

}  // namespace ruleengine::engine
