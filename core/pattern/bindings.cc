#include <utility>
#include <vector>

#include "core/pattern/check.h"
#include "core/pattern/pattern.h"

namespace ruleengine::pattern {
namespace {

using Set = std::vector<bool>;  // of variables; empty: none

void unite(Set& into, const Set& from, std::size_t size) {
  if (from.empty()) return;
  if (into.empty()) into.assign(size, false);
  for (std::size_t i = 0; i < size; ++i) {
    if (from[i]) into[i] = true;
  }
}

void intersect(Set& into, const Set& from) {
  if (from.empty()) {
    into.clear();
    return;
  }
  for (std::size_t i = 0; i < into.size(); ++i) {
    if (!from[i]) into[i] = false;
  }
}

// Computes for each term, parts first, what every way of matching it binds.
class Bindings {
 public:
  explicit Bindings(const Pattern& pattern)
      : pattern_(pattern),
        count_(pattern.variables().size()),
        always_(pattern.terms().size()) {}

  std::vector<Set> by_term() {
    for (std::size_t i = 0; i < pattern_.terms().size(); ++i) {
      always_[i] = of(pattern_.terms()[i]);
    }
    return always_;
  }

  std::vector<Binding> run() {
    by_term();
    Set always;
    for (TermId r : pattern_.results()) {
      unite(always, always_[r.index()], count_);
    }
    for (TermId c : pattern_.conditions()) {
      unite(always, always_[c.index()], count_);
    }
    for (FactId fact : pattern_.global_facts()) {
      const TermId subject = pattern_[fact].subject;
      if (covers(always, always_[subject.index()])) add_letters(always, fact);
    }
    return answer(always);
  }

 private:
  void add(Set& set, VariableId variable) {
    if (!variable) return;
    if (set.empty()) set.assign(count_, false);
    set[variable.index()] = true;
  }

  // Whether the subject is bound whenever `set` is: a variable is if it is in
  // the set; any other term is if all that it binds is in the set.
  static bool covers(const Set& set, const Set& subject) {
    if (subject.empty() || set.empty()) return false;
    for (std::size_t i = 0; i < subject.size(); ++i) {
      if (subject[i] && !set[i]) return false;
    }
    return true;
  }

  void add_letters(Set& set, FactId id) {
    const Fact& fact = pattern_[id];
    // An axis of size 1 fits without binding the letter.
    if (fact.kind == Fact::Kind::kFits) return;
    for (const Fact::DimPattern& dim : fact.dims) add(set, dim.letter);
  }

  Set of(const Term& term) {
    Set set;
    switch (term.kind) {
      case TermKind::kVariable:
      case TermKind::kRest:
        add(set, term.variable);
        return set;
      case TermKind::kOutput:
        return of(pattern_[term.node]);
      case TermKind::kEither:
        return of_either(term);
      case TermKind::kMany:
        // Lists of the step are bound even when there is no step.
        set = always_[term.base.index()];
        unite(set, always_[term.step.index()], count_);
        for (VariableId tag : term.tags) add(set, tag);
        return set;
      case TermKind::kTranspose:
      case TermKind::kContext:
        return always_[term.base.index()];
      default:
        return set;
    }
  }

  Set of(const NodePattern& node) {
    Set set;
    for (VariableId tag : node.tags) add(set, tag);
    for (const AttributePattern& a : node.attributes) add(set, a.variable);
    for (std::size_t i = 0; i < certain_inputs(node); ++i) {
      unite(set, always_[node.inputs[i].index()], count_);
    }
    return set;
  }

  Set of_either(const Term& term) {
    Set set;
    bool first = true;
    for (const Alternative& alternative : term.alternatives) {
      Set one = always_[alternative.term.index()];
      for (TermId condition : alternative.conditions) {
        unite(one, always_[condition.index()], count_);
      }
      for (FactId fact : alternative.facts) {
        const TermId subject = pattern_[fact].subject;
        if (covers(one, always_[subject.index()])) add_letters(one, fact);
      }
      if (std::exchange(first, false)) {
        set = std::move(one);
      } else {
        intersect(set, one);
      }
    }
    return set;
  }

  std::vector<Binding> answer(const Set& always) {
    const Analysis analysis = analyze(pattern_);
    // Variables that only occur under `never` are not bound.
    std::vector<bool> some(count_, false);
    for (std::size_t i = 0; i < pattern_.terms().size(); ++i) {
      if (!analysis.terms[i].positive) continue;
      const Term& term = pattern_.terms()[i];
      if (term.variable) some[term.variable.index()] = true;
      for (VariableId tag : term.tags) some[tag.index()] = true;
      for (const Alternative& a : term.alternatives) mark(some, a.facts);
    }
    for (std::size_t i = 0; i < pattern_.nodes().size(); ++i) {
      if (!analysis.nodes[i].positive) continue;
      const NodePattern& node = pattern_.nodes()[i];
      for (VariableId tag : node.tags) some[tag.index()] = true;
      for (const AttributePattern& a : node.attributes) {
        if (a.variable) some[a.variable.index()] = true;
      }
    }
    for (FactId fact : pattern_.global_facts()) {
      if (analysis.terms[pattern_[fact].subject.index()].positive) {
        mark(some, {fact});
      }
    }
    std::vector<Binding> out(count_, Binding::kNever);
    for (std::size_t i = 0; i < count_; ++i) {
      if (some[i]) out[i] = Binding::kSometimes;
      if (!always.empty() && always[i] && some[i]) out[i] = Binding::kAlways;
    }
    return out;
  }

  void mark(std::vector<bool>& some, const std::vector<FactId>& facts) {
    for (FactId fact : facts) {
      for (const Fact::DimPattern& dim : pattern_[fact].dims) {
        if (dim.letter) some[dim.letter.index()] = true;
      }
    }
  }

  const Pattern& pattern_;
  std::size_t count_;
  std::vector<Set> always_;
};

}  // namespace

std::vector<std::vector<bool>> always_bound(const Pattern& pattern) {
  return Bindings(pattern).by_term();
}

std::vector<Binding> bindings(const Pattern& pattern) {
  return Bindings(pattern).run();
}

}  // namespace ruleengine::pattern
