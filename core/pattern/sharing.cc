#include "core/pattern/sharing.h"

#include <algorithm>
#include <span>

#include "core/pattern/check.h"

namespace ruleengine::pattern {

Sharing::Sharing(const Pattern& pattern)
    : pattern_(&pattern),
      bound_(pattern.terms().size()),
      variables_(pattern.variables().size()),
      always_(std::make_shared<std::vector<std::vector<bool>>>(
          always_bound(pattern))) {}

void Sharing::bind(TermId root) {
  std::vector<bool> seen(bound_.size());
  std::vector<TermId> todo{root};
  while (!todo.empty()) {
    const TermId id = todo.back();
    todo.pop_back();
    if (seen[id.index()]) continue;
    seen[id.index()] = true;
    switch ((*pattern_)[id].kind) {
      case TermKind::kVariable:
      case TermKind::kOutput:
      case TermKind::kEither:
      case TermKind::kMany:
      case TermKind::kHole:  // always of the step that contains `root`
        bound_[id.index()] = true;
        break;
      default:
        break;  // matches another value each time
    }
    bind_parts(id, todo);
  }
}

void Sharing::bind_parts(TermId id, std::vector<TermId>& todo) {
  const Term& term = (*pattern_)[id];
  switch (term.kind) {
    case TermKind::kVariable:
      variables_[term.variable.index()] = true;
      break;
    case TermKind::kOutput: {
      const NodePattern& node = (*pattern_)[term.node];
      const std::span inputs(node.inputs);
      const auto certain = inputs.first(certain_inputs(node));
      todo.insert(todo.end(), certain.begin(), certain.end());
      break;
    }
    case TermKind::kEither: {
      // Variables that every alternative binds.
      const std::vector<bool>& always = (*always_)[id.index()];
      for (std::size_t v = 0; v < always.size(); ++v) {
        if (always[v]) variables_[v] = true;
      }
      break;
    }
    case TermKind::kMany:
    case TermKind::kContext:
      todo.push_back(term.base);
      break;
    case TermKind::kTranspose:
      variables_[(*pattern_)[term.base].variable.index()] = true;
      break;
    default:
      break;
  }
}

std::vector<std::uint32_t> Sharing::climbs() const {
  std::vector<std::uint32_t> out(pattern_->terms().size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = bound_[i] ? 0 : climb(pattern_->terms()[i], out);
  }
  return out;
}

std::uint32_t Sharing::climb(const Term& term,
                             const std::vector<std::uint32_t>& below) const {
  switch (term.kind) {
    case TermKind::kVariable:
      return variables_[term.variable.index()] ? 0 : kCannot;
    case TermKind::kOutput: {
      std::uint32_t best = kCannot;
      for (TermId input : (*pattern_)[term.node].inputs) {
        best = std::min(best, below[input.index()]);
      }
      return best == kCannot ? kCannot : best + 1;
    }
    case TermKind::kEither: {
      std::uint32_t worst = 0;
      for (const Alternative& a : term.alternatives) {
        if ((*pattern_)[a.term].kind == TermKind::kAbsent) continue;
        worst = std::max(worst, below[a.term.index()]);
      }
      return worst;
    }
    case TermKind::kHole:
      return 0;  // the same as for the base of its chain
    case TermKind::kMany:
      return std::max(below[term.base.index()], below[term.step.index()]);
    case TermKind::kContext:
    case TermKind::kNever:
    case TermKind::kTranspose:
      return below[term.base.index()];
    default:
      return kCannot;
  }
}

}  // namespace ruleengine::pattern
