#include <algorithm>
#include <string>
#include <utility>

#include "core/pattern/check.h"
#include "core/pattern/sharing.h"

// The checks that follow ways through the pattern: a tag bound twice on one
// way, and results and conditions without a connection to the rest.
namespace ruleengine::pattern {
namespace {

// One choice of one `either`. Terms below different choices of the same
// `either` never occur on one way.
struct Choice {
  TermId either;
  std::uint32_t alternative;
  auto operator<=>(const Choice&) const = default;
};
using Choices = std::vector<Choice>;  // sorted

void keep_common(Choices& into, const Choices& from) {
  Choices common;
  std::ranges::set_intersection(into, from, std::back_inserter(common));
  into = std::move(common);
}

bool exclusive(const Choices& a, const Choices& b) {
  for (const Choice& one : a) {
    for (const Choice& two : b) {
      if (one.either == two.either && one.alternative != two.alternative) {
        return true;
      }
    }
  }
  return false;
}

// Computes for each term and node pattern the choices that every way to it
// makes.
class ForcedChoices {
 public:
  explicit ForcedChoices(const Pattern& pattern)
      : pattern_(pattern),
        terms_(pattern.terms().size()),
        reached_(pattern.terms().size()),
        nodes_(pattern.nodes().size()),
        node_reached_(pattern.nodes().size()) {
    for (TermId r : pattern.results()) enter(r, {});
    for (TermId c : pattern.conditions()) enter(c, {});
    for (std::size_t i = terms_.size(); i-- > 0;) {
      if (reached_[i]) expand(TermId(i));
    }
  }

  const Choices& of(NodePatternId node) const { return nodes_[node.index()]; }
  const Choices& of(TermId term) const { return terms_[term.index()]; }

 private:
  void enter(TermId id, const Choices& way) {
    if (reached_[id.index()]) {
      keep_common(terms_[id.index()], way);
    } else {
      terms_[id.index()] = way;
      reached_[id.index()] = true;
    }
  }

  void expand(TermId id) {
    const Term& term = pattern_[id];
    const Choices way = terms_[id.index()];
    if (term.kind == TermKind::kEither) {
      for (std::uint32_t i = 0; i < term.alternatives.size(); ++i) {
        Choices chosen = way;
        const Choice choice{id, i};
        chosen.insert(std::ranges::upper_bound(chosen, choice), choice);
        enter(term.alternatives[i].term, chosen);
        for (TermId c : term.alternatives[i].conditions) enter(c, chosen);
      }
      return;
    }
    if (term.kind == TermKind::kOutput) {
      const std::size_t n = term.node.index();
      if (node_reached_[n]) {
        keep_common(nodes_[n], way);
      } else {
        nodes_[n] = way;
        node_reached_[n] = true;
      }
    }
    for_each_part(pattern_, id, [&](TermId part) { enter(part, way); });
  }

  const Pattern& pattern_;
  std::vector<Choices> terms_;
  std::vector<bool> reached_;
  std::vector<Choices> nodes_;
  std::vector<bool> node_reached_;
};

// --- Results and conditions hang together -----------------------------------

bool reachable(const Sharing& sharing, TermId term) {
  return sharing.climbs()[term.index()] != Sharing::kCannot;
}

Problem untied(int line, std::string what) {
  Diagnostic problem = rule_error(std::move(what));
  problem.expected = "a node above a value that the results before it bind";
  return problem_at(line, std::move(problem));
}

// What a tag names: a node, or a chain.
struct Tagged {
  const Choices* way;
  std::uint32_t depth;
  int line;
};

bool any_repeated_tag(const Pattern& pattern) {
  std::vector<bool> seen(pattern.variables().size());
  bool repeated = false;
  const auto see = [&](const std::vector<VariableId>& tags) {
    for (VariableId tag : tags) {
      repeated = repeated || seen[tag.index()];
      seen[tag.index()] = true;
    }
  };
  for (const NodePattern& node : pattern.nodes()) see(node.tags);
  for (const Term& term : pattern.terms()) see(term.tags);
  return repeated;
}

Problem check_tag(const Variable& tag, const std::vector<Tagged>& all) {
  const bool chain = tag.kind == VariableKind::kSteps;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool apart = exclusive(*all[i].way, *all[j].way);
      if (apart && all[i].depth == all[j].depth) continue;
      const std::string kind = chain ? "chain" : "node";
      Diagnostic problem =
          rule_error("'" + tag.name + "' names " +
                     (apart ? "a " + kind + " here and a list there"
                            : "two " + kind + "s on one path"));
      problem.found =
          "also the " + kind + " of line " + std::to_string(all[j].line);
      return problem_at(all[i].line, std::move(problem));
    }
  }
  return {};
}

}  // namespace

Problem check_tags(const Pattern& pattern, const Analysis& analysis) {
  if (!any_repeated_tag(pattern)) return {};
  const ForcedChoices ways(pattern);
  std::vector<std::vector<Tagged>> tagged(pattern.variables().size());
  const auto see = [&](const std::vector<VariableId>& tags, const auto& id,
                       const Reach& reach, int line) {
    if (reach.depth == kUnreached) return;
    for (VariableId tag : tags) {
      tagged[tag.index()].push_back({&ways.of(id), reach.depth, line});
    }
  };
  for (std::size_t i = 0; i < pattern.nodes().size(); ++i) {
    const NodePattern& node = pattern.nodes()[i];
    see(node.tags, NodePatternId(i), analysis.nodes[i], node.line);
  }
  for (std::size_t i = 0; i < pattern.terms().size(); ++i) {
    const Term& term = pattern.terms()[i];
    see(term.tags, TermId(i), analysis.terms[i], term.line);
  }
  for (std::size_t v = 0; v < tagged.size(); ++v) {
    Problem problem = check_tag(pattern.variables()[v], tagged[v]);
    if (problem.found) return problem;
  }
  return {};
}

Problem check_sharing(const Pattern& pattern) {
  Sharing all(pattern);
  for (std::size_t i = 0; i < pattern.results().size(); ++i) {
    const TermId result = pattern.results()[i];
    if (i > 0 && !reachable(all, result)) {
      return untied(pattern[result].line,
                    "results of `match` without a common value");
    }
    all.bind(result);
  }
  for (TermId condition : pattern.conditions()) {
    if (!reachable(all, condition)) {
      return untied(pattern[condition].line,
                    "a condition that names nothing of the match");
    }
    if (pattern[condition].kind == TermKind::kContext) {
      all.bind(pattern[condition].base);
    }
  }
  for (const Term& term : pattern.terms()) {
    for (const Alternative& a : term.alternatives) {
      if (a.conditions.empty()) continue;
      Sharing here = all;
      here.bind(a.term);
      for (TermId condition : a.conditions) {
        if (!reachable(here, condition)) {
          return untied(pattern[condition].line,
                        "a condition that names nothing of the match");
        }
      }
    }
  }
  return {};
}

}  // namespace ruleengine::pattern
