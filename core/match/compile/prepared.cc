#include "core/match/compile/prepared.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/ops/attribute_meaning.h"
#include "core/ops/op_facts.h"

namespace ruleengine::match {
namespace {

bool is_commutative(const ops::OpName& op) {
  return ops::is_commutative(op.domain, op.type);
}

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
  // Swapping two equal inputs would find nothing new.
  const bool swap = n == 2 && node.inputs[0] != node.inputs[1] &&
                    std::ranges::any_of(node.ops(), is_commutative);
  if (!swap) return {identity};
  return {identity, {1, 0}};
}

void add_anchor(Prepared& prepared, Place place,
                const pattern::Sharing& bound) {
  prepared.anchors.emplace(place, Anchor{bound, bound.climbs()});
}

void find_anchors(Prepared& prepared) {
  const Pattern& pattern = *prepared.pattern;
  pattern::Sharing bound(pattern);
  for (std::uint32_t i = 0; i < pattern.results().size(); ++i) {
    if (i > 0) add_anchor(prepared, {.index = i}, bound);
    bound.bind(pattern.results()[i]);
  }
  for (std::uint32_t i = 0; i < pattern.conditions().size(); ++i) {
    const TermId condition = pattern.conditions()[i];
    add_anchor(prepared, {.index = i, .condition = true}, bound);
    if (pattern[condition].kind == TermKind::kContext) {
      bound.bind(pattern[condition].base);
    }
  }
  for (std::size_t t = 0; t < pattern.terms().size(); ++t) {
    const auto& alternatives = pattern.terms()[t].alternatives;
    for (std::uint32_t a = 0; a < alternatives.size(); ++a) {
      if (alternatives[a].conditions.empty()) continue;
      pattern::Sharing here = bound;
      here.bind(alternatives[a].term);
      for (std::uint32_t i = 0; i < alternatives[a].conditions.size(); ++i) {
        add_anchor(prepared, {TermId(t), a, i, true}, here);
      }
    }
  }
}

}  // namespace

bool has_rest(const Pattern& pattern, const NodePattern& node) {
  return !node.inputs.empty() &&
         pattern[node.inputs.back()].kind == TermKind::kRest;
}

bool takes_axes(const Prepared& prepared, NodePatternId node,
                std::size_t input) {
  const NodePattern& p = (*prepared.pattern)[node];
  const auto& orders = prepared.permutations[node.index()];
  if (orders.size() != 1 || input >= orders[0].size()) return false;
  const TermKind kind = (*prepared.pattern)[p.inputs[input]].kind;
  if (kind != TermKind::kNumbers && kind != TermKind::kEither) return false;
  return std::ranges::any_of(p.ops(), [&](const ops::OpName& op) {
    const ops::OpFacts* facts = ops::newest_op(op.domain, op.type);
    const auto* formal =
        facts == nullptr ? nullptr : facts->input(orders[0][input]);
    return formal != nullptr && ops::names_axes(formal->name);
  });
}

bool keeps_axes(const Prepared& prepared, TermId either) {
  return prepared.analysis.terms[either.index()].ways == 1;
}

bool swaps_by_op(const NodePattern& node) {
  return node.op_class != nullptr && node.permutations.empty();
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
    const Term& t = pattern[id];
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
  std::set<std::uint32_t> out;
  for (const Top& top : tops(pattern, term)) out.insert(top.output);
  return {out.begin(), out.end()};
}

std::size_t climbed_input(const Prepared& prepared, const Anchor& anchor,
                          NodePatternId node) {
  const auto& inputs = (*prepared.pattern)[node].inputs;
  std::size_t best = 0;
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (anchor.climbs[inputs[i].index()] <
        anchor.climbs[inputs[best].index()]) {
      best = i;
    }
  }
  return best;
}

std::vector<std::uint32_t> slots_of(const Prepared& prepared,
                                    NodePatternId node, std::size_t input) {
  std::set<std::uint32_t> slots;
  for (const auto& order : prepared.permutations[node.index()]) {
    if (input < order.size()) slots.insert(order[input]);
  }
  return {slots.begin(), slots.end()};
}

Prepared prepare(const Pattern& pattern) {
  Prepared out;
  out.pattern = &pattern;
  out.analysis = pattern::analyze(pattern);
  out.facts.resize(pattern.terms().size());
  for (FactId fact : pattern.global_facts()) {
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
  find_anchors(out);
  return out;
}

}  // namespace ruleengine::match
