#include "core/match/prepared.h"

#include <algorithm>
#include <numeric>

#include "core/ir/op_facts.h"

namespace ruleengine::match {
namespace {

using pattern::NodePattern;
using pattern::Pattern;
using pattern::TermId;
using pattern::TermKind;

std::vector<std::vector<std::uint32_t>> permutations_of(
    const Pattern& pattern, const NodePattern& node) {
  const std::size_t n = written_inputs(pattern, node);
  if (!node.permutations.empty()) {
    auto all = node.permutations;
    for (auto& permutation : all) {
      if (permutation.size() > n) permutation.resize(n);
    }
    return all;
  }
  std::vector<std::uint32_t> identity(n);
  std::iota(identity.begin(), identity.end(), 0u);
  // Swapping what is the same pattern finds nothing new.
  const bool swap = n == 2 && node.inputs[0] != node.inputs[1] &&
                    ir::is_commutative(node.domain, node.type);
  if (!swap) return {identity};
  return {identity, {1, 0}};
}

}  // namespace

bool has_rest(const Pattern& pattern, const NodePattern& node) {
  return !node.inputs.empty() &&
         pattern[node.inputs.back()].kind == TermKind::kRest;
}

std::size_t written_inputs(const Pattern& pattern, const NodePattern& node) {
  return node.inputs.size() - (has_rest(pattern, node) ? 1 : 0);
}

std::vector<Top> tops(const Pattern& pattern, TermId term) {
  std::vector<Top> out;
  std::vector<bool> seen(pattern.terms().size());
  std::vector<TermId> todo{term};
  while (!todo.empty()) {
    const TermId id = todo.back();
    todo.pop_back();
    if (seen[id.index()]) continue;
    seen[id.index()] = true;
    const pattern::Term& t = pattern[id];
    switch (t.kind) {
      case TermKind::kOutput:
        out.push_back({t.node, t.output});
        break;
      case TermKind::kEither:
        for (const auto& a : t.alternatives) todo.push_back(a.term);
        break;
      case TermKind::kMany:
        todo.push_back(t.base);
        todo.push_back(t.step);
        break;
      case TermKind::kContext:
      case TermKind::kNever:
        todo.push_back(t.base);
        break;
      default:
        break;
    }
  }
  return out;
}

std::vector<std::uint32_t> top_outputs(const Pattern& pattern, TermId term) {
  std::vector<std::uint32_t> out;
  for (const Top& top : tops(pattern, term)) out.push_back(top.output);
  std::ranges::sort(out);
  const auto repeated = std::ranges::unique(out);
  out.erase(repeated.begin(), repeated.end());
  return out;
}

Prepared prepare(const Pattern& pattern) {
  Prepared out;
  out.pattern = &pattern;
  out.analysis = pattern::analyze(pattern);
  out.facts.resize(pattern.terms().size());
  for (pattern::FactId fact : pattern.global_facts()) {
    out.facts[pattern[fact].subject.index()].push_back(fact);
  }
  out.permutations.reserve(pattern.nodes().size());
  for (const NodePattern& node : pattern.nodes()) {
    out.permutations.push_back(permutations_of(pattern, node));
  }
  out.top.resize(pattern.nodes().size());
  for (TermId result : pattern.results()) {
    for (const Top& top : tops(pattern, result)) {
      const bool once = out.analysis.nodes[top.node.index()].depth == 0;
      if (once) out.top[top.node.index()] = true;
    }
  }
  out.root_outputs = top_outputs(pattern, pattern.results()[0]);
  return out;
}

}  // namespace ruleengine::match
