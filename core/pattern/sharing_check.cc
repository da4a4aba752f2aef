#include <algorithm>
#include <iterator>
#include <optional>
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
        nodes_(pattern.nodes().size()) {
    for (TermId r : pattern.results()) enter(terms_[r.index()], {});
    for (TermId c : pattern.conditions()) enter(terms_[c.index()], {});
    for (std::size_t i = terms_.size(); i-- > 0;) {
      if (terms_[i]) expand(TermId(i), *terms_[i]);
    }
  }

  // Of what is reached.
  const Choices& of(NodePatternId node) const { return *nodes_[node.index()]; }
  const Choices& of(TermId term) const { return *terms_[term.index()]; }

 private:
  static void enter(std::optional<Choices>& place, const Choices& way) {
    if (place) {
      keep_common(*place, way);
    } else {
      place = way;
    }
  }

  // The parts have smaller ids, so `way` stays as it is.
  void expand(TermId id, const Choices& way) {
    const Term& term = pattern_[id];
    if (term.kind == TermKind::kEither) {
      for (std::uint32_t i = 0; i < term.alternatives.size(); ++i) {
        Choices chosen = way;
        const Choice choice{id, i};
        chosen.insert(std::ranges::upper_bound(chosen, choice), choice);
        enter(terms_[term.alternatives[i].term.index()], chosen);
        for (TermId c : term.alternatives[i].conditions) {
          enter(terms_[c.index()], chosen);
        }
      }
      return;
    }
    if (term.kind == TermKind::kOutput) enter(nodes_[term.node.index()], way);
    for_each_part(pattern_, id,
                  [&](TermId part) { enter(terms_[part.index()], way); });
  }

  const Pattern& pattern_;
  std::vector<std::optional<Choices>> terms_, nodes_;
};

// --- Results and conditions hang together -----------------------------------

bool reachable(const Sharing& sharing, TermId term) {
  return sharing.climbs()[term.index()] != Sharing::kCannot;
}

Problem untied(int line, std::string what) {
  return problem_at(
      line,
      {.what = std::move(what),
       .expected = "a node above a value that the results before it bind"});
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
      return problem_at(all[i].line,
                        {.what = "'" + tag.name + "' names " +
                                 (apart ? "a " + kind + " here and a list there"
                                        : "two " + kind + "s on one path"),
                         .found = "also the " + kind + " of line " +
                                  std::to_string(all[j].line)});
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
    if (Problem problem = check_tag(pattern.variables()[v], tagged[v])) {
      return problem;
    }
  }
  return {};
}

Problem check_sharing(const Pattern& pattern) {
  Sharing all(pattern);
  for (TermId result : pattern.results()) {
    if (result != pattern.results()[0] && !reachable(all, result)) {
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
