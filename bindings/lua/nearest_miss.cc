#include "bindings/lua/nearest_miss.h"

#include <fmt/format.h>

#include "core/base/diagnostic.h"
#include "core/match/machine.h"

namespace ruleengine::lua {
namespace {

std::string text_of(const match::Miss& miss, const LoadedRule& rule,
                    const ir::Graph& graph) {
  const std::size_t all = rule.pattern->nodes().size();
  std::string text;
  const auto line = [&](std::string_view what, std::string_view said) {
    text += fmt::format("{:<10} {}\n", what, said);
  };
  if (miss.root) line("tried at:", printable(graph.describe(miss.root)));
  line("got:",
       miss.depth < all
           ? fmt::format("{} of {} nodes of the pattern", miss.depth, all)
           : fmt::format("every node of the pattern, and failed a test "
                         "on {}",
                         all == 1 ? "it" : "them"));
  if (miss.node) {
    line("failed at:", printable(graph.describe(miss.node)));
  } else if (miss.value) {
    line("failed at:", "value '" + printable(graph.name(miss.value)) + "'");
  }
  line("test:", fmt::format("{} ({}:{})", printable(miss.test),
                            printable(rule.file), miss.line));
  line("expected:", printable(miss.expected));
  line("found:", printable(miss.found));
  return text;
}

}  // namespace

std::string nearest_miss(const LoadedRule& rule, ir::Graph& graph,
                         ir::Facts& facts, std::optional<ir::NodeId> only,
                         const Deadline& deadline) {
  std::optional<match::Miss> best;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const ir::NodeId id(i);
    if (graph.node(id).removed || (only && *only != id)) continue;
    if (deadline.is_over()) break;  // which the caller tells
    auto attempt = match::explain(*rule.pattern, graph, facts, id);
    if (!attempt.miss) continue;
    if (!best || attempt.miss->how_far() > best->how_far()) {
      best = std::move(attempt.miss);
    }
  }
  if (!best) return "";
  if (!only && best->nearness == match::Miss::Nearness::kNoRoot) {
    // Which node was asked first says nothing.
    best->root = best->node = {};
    best->value = {};
    best->test = "op of any node";
    best->found = "none";
  }
  return text_of(*best, rule, graph);
}

}  // namespace ruleengine::lua
