#include "core/match/naive/attributes.h"

#include <algorithm>
#include <tuple>

#include "core/match/naive/checker.h"

namespace ruleengine::match {

bool is_literal(ops::NewestNodes& nodes, ir::NodeId node,
                const pattern::AttributePattern& wanted,
                const ir::Attribute* found) {
  using Kind = pattern::AttributePattern::Kind;
  if (Checker::literal(wanted, found)) return true;
  if (wanted.kind != Kind::kInt && wanted.kind != Kind::kInts) return false;
  const ir::AttributeKind kind = wanted.kind == Kind::kInt
                                     ? ir::AttributeKind::kInt
                                     : ir::AttributeKind::kInts;
  return nodes.same_axis(
      node,
      {.name = wanted.name, .kind = kind, .i = wanted.i, .ints = wanted.ints},
      found);
}

void collect_unnamed(ops::NewestNodes& nodes, const pattern::Pattern& pattern,
                     pattern::NodePatternId by, ir::NodeId node,
                     std::vector<Unnamed>& out) {
  const pattern::NodePattern& p = pattern[by];
  const bool temporary = nodes.upgraded(nodes.graph().node(node).op);
  for (const ir::Attribute& a : nodes.written(node)) {
    const bool named = std::ranges::binary_search(
        p.attributes, a.name, {}, &pattern::AttributePattern::name);
    // A closed pattern fits only attributes at their defaults, and permissions.
    if (named || (!p.open_attributes && !nodes.permits(node, a)) ||
        nodes.is_default(node, a)) {
      continue;
    }
    out.push_back({node, by, temporary ? nodes.keep(&a) : &a});
  }
}

void sort_unnamed(std::vector<Unnamed>& all) {
  const auto key = [](const Unnamed& u) {
    return std::tuple(u.node, u.attribute->name, u.pattern);
  };
  std::ranges::sort(all, {}, key);
  const auto again = std::ranges::unique(all);
  all.erase(again.begin(), again.end());
}

}  // namespace ruleengine::match
