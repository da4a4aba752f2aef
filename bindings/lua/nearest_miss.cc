#include "bindings/lua/nearest_miss.h"

#include <fmt/format.h>

#include "core/base/diagnostic.h"
#include "core/match/machine.h"

namespace ruleengine::lua {
namespace {

std::string text_of(const match::Miss& miss, const LoadedRule& rule,
                    const ir::Graph& graph) {
  std::string text =
      fmt::format("tried at:  {}\n", printable(graph.describe(miss.root)));
  const std::size_t all = rule.pattern->nodes().size();
  if (miss.depth == all) {
    text += fmt::format(
        "got:       every node of the pattern, and failed a test on {}\n",
        all == 1 ? "it" : "them");
  } else {
    text += fmt::format("got:       {} of {} nodes of the pattern\n",
                        miss.depth, all);
  }
  if (miss.node) {
    text +=
        fmt::format("failed at: {}\n", printable(graph.describe(miss.node)));
  } else if (miss.value) {
    text += fmt::format("failed at: value '{}'\n",
                        printable(graph.name(miss.value)));
  }
  text += fmt::format("test:      {} ({}:{})\n", printable(miss.test),
                      printable(rule.file), miss.line);
  text += fmt::format("expected:  {}\n", printable(miss.expected));
  return text + fmt::format("found:     {}\n", printable(miss.found));
}

}  // namespace

std::string nearest_miss(const LoadedRule& rule, ir::Graph& graph,
                         ir::Facts& facts, std::optional<ir::NodeId> only) {
  std::optional<match::Miss> best;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const ir::NodeId id(i);
    if (graph.node(id).removed || (only && *only != id)) continue;
    auto attempt = match::explain(*rule.pattern, graph, facts, id);
    if (!attempt.miss) continue;
    if (!best || attempt.miss->depth > best->depth) {
      best = std::move(attempt.miss);
    }
  }
  return best ? text_of(*best, rule, graph) : std::string();
}

}  // namespace ruleengine::lua
