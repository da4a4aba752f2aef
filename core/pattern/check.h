// The checks behind Builder, and an analysis of a finished pattern: how deep
// inside chains terms are, what is consumed, what is bound. Everything is
// computed over ids in order (the parts of a term have smaller ids), so that
// deep patterns need no recursion. Pure functions; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/pattern/pattern.h"

namespace ruleengine::pattern {

inline constexpr std::uint32_t kUnreached =
    std::numeric_limits<std::uint32_t>::max();
inline constexpr std::uint32_t kMaxChainNesting = 8;

// How a term or a node pattern is reached from results and conditions.
struct Reach {
  // The number of chains around it, on the way with the fewest: at depth 0 it
  // is bound once per match, at depth 1 once per step, and so on.
  std::uint32_t depth = kUnreached;
  bool positive = false;   // on some way without `never`
  bool consumed = false;   // on some way without `context` or `never`
  std::uint32_t ways = 0;  // number of places that name it
  // By number of a hole: the depth of that chain's step; 0: not inside.
  std::array<std::uint8_t, kMaxChainNesting> chains{};
  bool entangled = false;  // two ways disagree about `chains`
};

struct Analysis {
  std::vector<Reach> terms, nodes;
  std::vector<std::uint32_t> variables;   // depth; kUnreached when unused
  std::vector<std::uint32_t> free_holes;  // by term: a bit for each hole in it
};
Analysis analyze(const Pattern& pattern);

// By term and variable: whether every way of matching the term binds the
// variable. An empty list: none.
std::vector<std::vector<bool>> always_bound(const Pattern& pattern);

// For each term: does every way of matching it contain the hole of number
// `hole`?
struct Passing {
  bool passes = false;
  bool directly = false;  // on some way without a node in between
};
std::vector<Passing> passing(const Pattern& pattern, std::uint32_t hole);

// Marks the variables that are only used inside steps: they become lists.
void mark_repeated(std::vector<Variable>& variables, const Analysis& analysis);
// What the records of each step have, for the variables that name chains.
void find_fields(const Pattern& pattern, const Analysis& analysis,
                 std::vector<Variable>& variables);

// Visits the terms directly below `term` in order of matching; conditions of
// alternatives are last.
void for_each_part(const Pattern& pattern, TermId term, const auto& visit) {
  const Term& t = pattern[term];
  switch (t.kind) {
    case TermKind::kOutput:
      for (TermId input : pattern[t.node].inputs) visit(input);
      break;
    case TermKind::kEither:
      for (const Alternative& a : t.alternatives) visit(a.term);
      for (const Alternative& a : t.alternatives) {
        for (TermId condition : a.conditions) visit(condition);
      }
      break;
    case TermKind::kMany:
      visit(t.step);
      visit(t.base);
      break;
    case TermKind::kTranspose:
    case TermKind::kContext:
    case TermKind::kNever:
      visit(t.base);
      break;
    default:
      break;
  }
}

// Visits the `todo` terms and, where `visit` returns true, what is below them;
// each term once.
void walk(const Pattern& pattern, std::vector<TermId> todo, const auto& visit) {
  std::vector<bool> seen(pattern.terms().size());
  while (!todo.empty()) {
    const TermId id = todo.back();
    todo.pop_back();
    if (seen[id.index()]) continue;
    seen[id.index()] = true;
    if (!visit(id)) continue;
    for_each_part(pattern, id, [&](TermId part) { todo.push_back(part); });
  }
}

// The number of inputs that every permutation reads.
std::size_t certain_inputs(const NodePattern& node);

Diagnostic rule_error(std::string what);

// Checks op, number of inputs and outputs, and attributes; converts numbers to
// the kind that the schema wants.
Status check_node(const Pattern& pattern, NodePattern& node);

struct Problem {
  bool found = false;
  int line = 0;
  Diagnostic diagnostic;

  explicit operator bool() const { return found; }
};
// All checks of Builder::finish().
Problem check(const Pattern& pattern);
Problem check_facts(const Pattern& pattern, const Analysis& analysis);
Problem check_tags(const Pattern& pattern, const Analysis& analysis);
Problem check_sharing(const Pattern& pattern);
// Sets the kind.
Problem problem_at(int line, Diagnostic diagnostic);

// Texts that differ for different attributes and facts.
std::string key_of(const AttributePattern& attribute);
std::string key_of(const Fact& fact);

// The literal that an attribute must equal: "[1, 0]", "\"SAME\"". Empty for
// "any" and for a variable.
std::string literal_text(const AttributePattern& attribute);

}  // namespace ruleengine::pattern
