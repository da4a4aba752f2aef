#include "core/pattern/check.h"

#include <algorithm>
#include <utility>

namespace ruleengine::pattern {

Problem problem_at(int line, Diagnostic diagnostic) {
  diagnostic.kind = ErrorKind::kRule;
  return {true, line, std::move(diagnostic)};
}

namespace {

Problem check_size(const Pattern& pattern) {
  if (pattern.results().empty()) {
    return problem_at(0, {.what = "`match` returns nothing"});
  }
  std::vector<std::size_t> height(pattern.terms().size(), 1);
  std::size_t tallest = 0;
  for (std::size_t i = 0; i < height.size(); ++i) {
    for_each_part(pattern, TermId(i), [&](TermId part) {
      height[i] = std::max(height[i], height[part.index()] + 1);
    });
    tallest = std::max(tallest, height[i]);
  }
  if (height.size() <= kMaxTerms && tallest <= kMaxHeight) return {};
  return problem_at(0, {.what = "the pattern is too large",
                        .expected = "at most " + std::to_string(kMaxTerms) +
                                    " terms, nested at most " +
                                    std::to_string(kMaxHeight) + " deep",
                        .found = std::to_string(height.size()) + " and " +
                                 std::to_string(tallest),
                        .hint = "`many` describes a chain of any length"});
}

Problem check_reached(const Pattern& pattern, const Analysis& analysis) {
  for (std::size_t i = 0; i < pattern.nodes().size(); ++i) {
    if (analysis.nodes[i].depth != kUnreached) continue;
    const NodePattern& node = pattern.nodes()[i];
    return problem_at(
        node.line,
        {.what = "this " + node.op_text() + " is not part of the pattern",
         .hint = "no result of `match` reaches it; `context(...)` alone on a "
                 "line makes it a condition"});
  }
  return {};
}

// --- Results ----------------------------------------------------------------

// Terms that can match a value without a node.
std::vector<bool> bare_terms(const Pattern& pattern) {
  std::vector<bool> bare(pattern.terms().size());
  for (std::size_t i = 0; i < bare.size(); ++i) {
    const Term& term = pattern.terms()[i];
    switch (term.kind) {
      case TermKind::kOutput:
        break;
      case TermKind::kEither:
        for (const Alternative& a : term.alternatives) {
          if (bare[a.term.index()]) bare[i] = true;
        }
        break;
      case TermKind::kMany:
      case TermKind::kContext:
        bare[i] = bare[term.base.index()];
        break;
      default:
        bare[i] = true;
    }
  }
  return bare;
}

bool is_many(const Pattern& pattern, TermId id) {
  const Term& term = pattern[id];
  return term.kind == TermKind::kMany ||
         std::ranges::any_of(term.alternatives, [&](const Alternative& a) {
           return is_many(pattern, a.term);
         });
}

Problem check_results(const Pattern& pattern) {
  const std::vector<bool> bare = bare_terms(pattern);
  for (TermId result : pattern.results()) {
    const Term& term = pattern[result];
    if (bare[result.index()]) {
      return problem_at(
          term.line,
          {.what = "a result of `match` can be a bare variable",
           .expected = "a node on every branch, since results are replaced",
           .hint = is_many(pattern, result) ? "`many` may take no step: write "
                                              "the last node outside of it"
                                            : ""});
    }
    if (term.kind == TermKind::kContext) {
      return problem_at(term.line,
                        {.what = "a result of `match` is a context"});
    }
  }
  for (std::size_t i = 0; i < pattern.results().size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (pattern.results()[i] != pattern.results()[j]) continue;
      return problem_at(pattern[pattern.results()[i]].line,
                        {.what = "`match` returns the same value twice",
                         .hint = "the same pattern written twice is one node"});
    }
  }
  std::vector<TermId> conditions = pattern.conditions();
  for (const Term& term : pattern.terms()) {
    for (const Alternative& a : term.alternatives) {
      conditions.insert(conditions.end(), a.conditions.begin(),
                        a.conditions.end());
    }
  }
  for (TermId condition : conditions) {
    const Term& term = pattern[condition];
    const bool right =
        term.kind == TermKind::kContext || term.kind == TermKind::kNever;
    if (right && !bare[term.base.index()]) continue;
    return problem_at(term.line,
                      {.what = "a condition that names no node",
                       .expected = "context(op...) or never(op...)"});
  }
  return {};
}

// --- Terms where they cannot stand ------------------------------------------

bool is_input_only(TermKind kind) {
  return kind == TermKind::kAbsent || kind == TermKind::kRest ||
         kind == TermKind::kNever;
}

Problem misplaced(const Term& term) {
  return problem_at(term.line,
                    {.what = term.kind == TermKind::kRest
                                 ? "`rest` is not the last input of a node"
                             : term.kind == TermKind::kNever
                                 ? "`never` is not an input or a condition"
                                 : "an absent input where a value must be"});
}

Problem check_places_of(const Pattern& pattern, const Term& term) {
  switch (term.kind) {
    case TermKind::kMany:
      for (TermId part : {term.step, term.base}) {
        if (is_input_only(pattern[part].kind)) return misplaced(pattern[part]);
      }
      return {};
    case TermKind::kContext:
    case TermKind::kNever:
      if (is_input_only(pattern[term.base].kind)) {
        return misplaced(pattern[term.base]);
      }
      return {};
    case TermKind::kEither:
      if (term.alternatives.empty()) {
        return problem_at(term.line, {.what = "`either` of nothing"});
      }
      for (const Alternative& a : term.alternatives) {
        const Term& one = pattern[a.term];
        if (one.kind == TermKind::kRest || one.kind == TermKind::kNever) {
          return misplaced(one);
        }
      }
      return {};
    default:
      return {};
  }
}

Problem check_places(const Pattern& pattern) {
  for (TermId result : pattern.results()) {
    if (is_input_only(pattern[result].kind)) {
      return misplaced(pattern[result]);
    }
  }
  for (const Term& term : pattern.terms()) {
    if (Problem problem = check_places_of(pattern, term)) return problem;
  }
  return {};
}

// --- Chains -----------------------------------------------------------------

Problem check_chain(const Pattern& pattern, const Term& chain,
                    std::vector<std::vector<Passing>>& known) {
  if (chain.output >= kMaxChainNesting) {
    return problem_at(chain.line, {.what = "chains nested too deeply"});
  }
  if (known[chain.output].empty()) {
    known[chain.output] = passing(pattern, chain.output);
  }
  const Passing step = known[chain.output][chain.step.index()];
  if (step.passes && !step.directly) return {};
  return problem_at(
      chain.line,
      {.what = "a step of `many` that leads nowhere",
       .expected =
           "on every branch a node, and below it what the step is handed",
       .found = step.passes ? "a branch that is the handed value itself"
                            : "a branch without the handed value"});
}

Problem check_chains(const Pattern& pattern, const Analysis& analysis) {
  std::vector<std::vector<Passing>> known(kMaxChainNesting);
  for (const Term& term : pattern.terms()) {
    if (term.kind != TermKind::kMany) continue;
    if (Problem problem = check_chain(pattern, term, known)) return problem;
  }
  for (std::size_t i = 0; i < pattern.terms().size(); ++i) {
    const Term& term = pattern.terms()[i];
    const Reach& reach = analysis.terms[i];
    if (reach.depth == kUnreached) continue;
    bool outside =
        term.kind == TermKind::kHole && term.output >= kMaxChainNesting;
    for (std::uint32_t hole = 0; hole < kMaxChainNesting; ++hole) {
      const bool free = (analysis.free_holes[i] >> hole & 1) != 0;
      outside |= free && reach.chains[hole] == 0;
    }
    if (outside || reach.entangled) {
      return problem_at(
          term.line,
          {.what = "what `many` hands to its step is used outside of it"});
    }
  }
  return {};
}

// --- Alternatives that are never reached ------------------------------------

// The number of terms that name each variable.
std::vector<std::uint32_t> variable_uses(const Pattern& pattern,
                                         const Analysis& analysis) {
  std::vector<std::uint32_t> uses(pattern.variables().size(), 0);
  for (std::size_t i = 0; i < pattern.terms().size(); ++i) {
    const Term& term = pattern.terms()[i];
    if (term.kind == TermKind::kVariable) {
      uses[term.variable.index()] += analysis.terms[i].ways;
    }
  }
  return uses;
}

Problem check_alternatives(const Pattern& pattern, const Analysis& analysis) {
  const std::vector<std::uint32_t> uses = variable_uses(pattern, analysis);
  for (const Term& term : pattern.terms()) {
    for (std::size_t i = 0; i + 1 < term.alternatives.size(); ++i) {
      const Alternative& a = term.alternatives[i];
      const Term& one = pattern[a.term];
      if (!a.facts.empty() || !a.conditions.empty()) continue;
      bool all = one.kind == TermKind::kAny;
      all |= one.kind == TermKind::kVariable && uses[one.variable.index()] == 1;
      bool behind = false;  // a present value does not fit an absent one
      for (std::size_t j = i + 1; j < term.alternatives.size(); ++j) {
        all |= term.alternatives[j].term == a.term;
        behind |= pattern[term.alternatives[j].term].kind != TermKind::kAbsent;
      }
      if (!all || !behind) continue;
      return problem_at(
          term.line,
          {.what = "an alternative that is never reached",
           .found = "alternative " + std::to_string(i + 1) +
                    " fits everything that a later one fits",
           .hint = "alternatives are tried in order; write it last"});
    }
  }
  return {};
}

}  // namespace

Problem check(const Pattern& pattern) {
  if (Problem problem = check_size(pattern)) return problem;
  const Analysis analysis = analyze(pattern);
  Problem problem = check_places(pattern);
  if (!problem) problem = check_results(pattern);
  if (!problem) problem = check_chains(pattern, analysis);
  if (!problem) problem = check_reached(pattern, analysis);
  if (!problem) problem = check_alternatives(pattern, analysis);
  if (!problem) problem = check_facts(pattern, analysis);
  if (!problem) problem = check_tags(pattern, analysis);
  if (!problem) problem = check_sharing(pattern);
  return problem;
}

}  // namespace ruleengine::pattern
