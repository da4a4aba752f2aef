
#include "core/match/compile/emitter.h"

// What is computed before emitting, and which nodes may still read a value.
namespace ruleengine::match {

void Emitter::find_late_subjects() {
  late_variables_.resize(pattern().variables().size());
  late_terms_.resize(pattern().terms().size());
  for (const Term& t : pattern().terms()) {
    for (const Alternative& alternative : t.alternatives) {
      for (FactId fact : alternative.facts) {
        const TermId subject = pattern()[fact].subject;
        late_terms_[subject.index()] = true;
        if (const VariableId v = pattern()[subject].variable) {
          late_variables_[v.index()] = true;
        }
      }
    }
  }
}

void Emitter::find_op_sets() {
  constexpr std::size_t kMostOps = 64;
  op_sets_.resize(pattern().terms().size());
  for (std::size_t i = 0; i < op_sets_.size(); ++i) {
    const Term& t = pattern().terms()[i];
    std::optional<OpSet>& set = op_sets_[i];
    const auto unite = [&](TermId part) {
      const auto& other = op_sets_[part.index()];
      if (!other || !set || set->ops.size() + other->ops.size() > kMostOps) {
        set.reset();
        return;
      }
      set->ops.insert(set->ops.end(), other->ops.begin(), other->ops.end());
      set->absent |= other->absent;
    };
    switch (t.kind) {
      case TermKind::kOutput: {
        const NodePattern& p = pattern()[t.node];
        set = OpSet{.ops = out_.ops(p)};
        break;
      }
      case TermKind::kAbsent:
        set = OpSet{.absent = true};
        break;
      case TermKind::kEither:
        set = OpSet();
        for (const Alternative& a : t.alternatives) unite(a.term);
        break;
      case TermKind::kMany:
        set = OpSet();
        unite(t.step);
        unite(t.base);
        break;
      case TermKind::kContext:
        set = op_sets_[t.base.index()];
        break;
      default:
        break;
    }
  }
}

// A term dominates another one when every way to the other leads through it.
// The terms below it are upstream of its value and therefore cannot read it.
void Emitter::find_dominators() {
  const std::size_t n = pattern().terms().size();
  constexpr std::uint32_t kTop = kNone - 1;  // above all results
  dominator_.assign(n, kNone);
  level_.assign(n, 0);
  const auto common = [&](std::uint32_t a, std::uint32_t b) {
    while (a != b) {
      if (a == kTop || b == kTop) return kTop;
      (level_[a] > level_[b] ? a : b) =
          dominator_[level_[a] > level_[b] ? a : b];
    }
    return a;
  };
  const auto enter = [&](TermId term, std::uint32_t from) {
    std::uint32_t& d = dominator_[term.index()];
    d = d == kNone ? from : common(d, from);
  };
  for (TermId r : pattern().results()) enter(r, kTop);
  for (TermId c : pattern().conditions()) enter(c, kTop);
  for (std::size_t i = n; i-- > 0;) {
    if (dominator_[i] == kNone) continue;
    level_[i] = dominator_[i] == kTop ? 1 : level_[dominator_[i]] + 1;
    pattern::for_each_part(pattern(), TermId(i), [&](TermId part) {
      enter(part, static_cast<std::uint32_t>(i));
    });
  }
}

bool Emitter::dominated(NodePatternId node, TermId by) const {
  for (TermId output : outputs_[node.index()]) {
    std::uint32_t at = output.index();
    while (at < level_.size() && level_[at] > level_[by.index()]) {
      at = dominator_[at];
    }
    if (at != by.index()) return false;
  }
  return true;
}

// Ops of nodes that may still join the match and read this output.
std::uint32_t Emitter::future(TermId output) {
  constexpr std::size_t kMostNodes = 500;
  if (pattern().nodes().size() > kMostNodes) {
    return out_.op_set({.all = true});
  }
  const pattern::Reach& reach = prepared_.analysis.terms[output.index()];
  // The chain whose next steps are upstream of this output as well.
  TermId chain;
  for (std::size_t i = 0; i < pattern().terms().size(); ++i) {
    const Term& t = pattern().terms()[i];
    if (t.kind != TermKind::kMany || reach.chains[t.output] == 0) continue;
    const bool inside = dominated(pattern()[output].node, TermId(i));
    const bool passes =
        pattern::passing(pattern(), t.output)[output.index()].passes;
    if (inside && passes) chain = TermId(i);
  }
  OpSet set;
  for (std::size_t i = 0; i < pattern().nodes().size(); ++i) {
    const NodePatternId node(i);
    if (!prepared_.analysis.nodes[i].consumed || node_certain_[i] ||
        dominated(node, output) || (chain && dominated(node, chain))) {
      continue;
    }
    std::vector<std::uint32_t>& ops = node_ops_[i];
    if (ops.empty()) ops = out_.ops(pattern()[node]);
    set.ops.insert(set.ops.end(), ops.begin(), ops.end());
  }
  return out_.op_set(std::move(set));
}

}  // namespace ruleengine::match
