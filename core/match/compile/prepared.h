// Prepared: what both matchers need again and again from one pattern, computed
// once. Immutable after prepare(); thread-safe. The pattern must outlive it.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "core/pattern/check.h"
#include "core/pattern/pattern.h"
#include "core/pattern/sharing.h"

namespace ruleengine::match {

// What patterns are made of, for all of this folder.
using pattern::Alternative;
using pattern::AttributePattern;
using pattern::Fact;
using pattern::FactId;
using pattern::NodePattern;
using pattern::NodePatternId;
using pattern::Pattern;
using pattern::Term;
using pattern::TermId;
using pattern::TermKind;
using pattern::VariableId;
using pattern::VariableKind;

// Where the search for a later result, or for a condition on a line of its own,
// starts: what is bound by then, and for each term the number of nodes up from
// there.
struct Anchor {
  pattern::Sharing bound;
  std::vector<std::uint32_t> climbs;
};

// Where such a term is stated.
struct Place {
  TermId either;  // none: at top level
  std::uint32_t alternative = 0;
  std::uint32_t index = 0;  // among the results, or among the conditions
  bool condition = false;
  auto operator<=>(const Place&) const = default;
};

struct Prepared {
  const Pattern* pattern = nullptr;
  pattern::Analysis analysis;
  std::vector<std::vector<FactId>> facts;  // global, by subject term
  // By node pattern: the assignments of written inputs to slots, in order.
  std::vector<std::vector<std::vector<std::uint32_t>>> permutations;
  // By node pattern: whether it can produce a result. Two such patterns never
  // match the same node.
  std::vector<bool> top;
  // The outputs of the root that the first result can be, ascending.
  std::vector<std::uint32_t> root_outputs;
  std::map<Place, Anchor> anchors;
};

Prepared prepare(const Pattern& pattern);

// The node patterns that can produce the value of `term`, and the output of
// each.
struct Top {
  NodePatternId node;
  std::uint32_t output;
};
std::vector<Top> tops(const Pattern& pattern, TermId term);
// The input through which `node` is reached from below, and its possible slots.
std::size_t climbed_input(const Prepared& prepared, const Anchor& anchor,
                          NodePatternId node);
std::vector<std::uint32_t> slots_of(const Prepared& prepared,
                                    NodePatternId node, std::size_t input);

// Whether a number at this written input may be axes, counted either way:
// always at the same slot of ops that take axes there.
bool takes_axes(const Prepared& prepared, NodePatternId node,
                std::size_t input);
// Whether that holds inside of an `either` there as well: not where the same
// term stands at another place, whose value may have another rank.
bool keeps_axes(const Prepared& prepared, TermId either);

// Whether orders behind the first one are for the ops that commute.
bool swaps_by_op(const NodePattern& node);

std::vector<std::uint32_t> top_outputs(const Pattern& pattern, TermId term);

// The inputs of `node` without a `rest` at the end.
std::size_t written_inputs(const Pattern& pattern, const NodePattern& node);
bool has_rest(const Pattern& pattern, const NodePattern& node);

}  // namespace ruleengine::match
