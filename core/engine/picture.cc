#include "core/engine/picture.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace ruleengine::engine {
namespace {

// Numbers the rules that match, in their order, and marks the nodes that they
// match and that their rewrites would remove.
draw::Marks marks_of(const ir::Graph& graph, const RuleSet& rules,
                     const std::vector<rewrite::Found>& fires) {
  draw::Marks marks;
  std::set<std::string> matching;
  for (const rewrite::Found& each : fires) matching.insert(each.rule);
  std::map<std::string, std::uint32_t> numbers;
  for (const rewrite::Rule* rule : rules.rules()) {
    if (!matching.contains(rule->name())) {
      ++marks.silent;
    } else if (numbers.emplace(rule->name(), numbers.size()).second) {
      marks.rules.push_back(rule->name());
    }
  }
  marks.matches.resize(marks.rules.size());
  marks.of_node.resize(graph.node_count());
  marks.roots_of_node.resize(graph.node_count());
  for (const rewrite::Found& each : fires) {
    const std::uint32_t rule = numbers.at(each.rule);
    ++marks.matches[rule];
    ++marks.roots_of_node[each.root.index()];
    for (const auto& nodes : {each.nodes, each.dead}) {
      for (const ir::NodeId node : nodes) {
        marks.of_node[node.index()].push_back(rule);
      }
    }
  }
  for (auto& each : marks.of_node) {
    std::ranges::sort(each);
    const auto twice = std::ranges::unique(each);
    each.erase(twice.begin(), twice.end());
  }
  return marks;
}

}  // namespace

Result<Picture> picture(ir::Model& model, const RuleSet* rules,
                        std::size_t boxes, const RunOptions& options) {
  Picture out;
  if (rules != nullptr) {
    auto found =
        rewrite::find_matches(model, rules->rules(), rewrite_options(options));
    if (!found) return found.error();
    std::vector<rewrite::Found> fires;
    for (rewrite::Found& each : *found) {
      if (each.graph != &model.graph) continue;
      (each.rejection ? out.rejected : fires).push_back(std::move(each));
    }
    out.marks = marks_of(model.graph, *rules, fires);
  } else {
    out.marks.of_node.resize(model.graph.node_count());
    out.marks.roots_of_node.resize(model.graph.node_count());
  }
  auto outline = draw::outline(model.graph, boxes);
  if (!outline) return outline.error();
  out.outline = std::move(*outline);
  return out;
}

}  // namespace ruleengine::engine
