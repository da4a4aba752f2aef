// Prepared: what both matchers need again and again from one pattern, computed
// once. Immutable after prepare(); thread-safe. The pattern must outlive it.
#ifndef RULEENGINE_CORE_MATCH_COMPILE_PREPARED_H_
#define RULEENGINE_CORE_MATCH_COMPILE_PREPARED_H_

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "core/pattern/check.h"
#include "core/pattern/pattern.h"
#include "core/pattern/sharing.h"

namespace ruleengine::match {

// Where the search for a later result, or for a condition on a line of its own,
// starts: what is bound by then, and for each term the number of nodes up from
// there.
struct Anchor {
  pattern::Sharing bound;
  std::vector<std::uint32_t> climbs;
};

// Where such a term is stated.
struct Place {
  pattern::TermId either;  // none: at top level
  std::uint32_t alternative = 0;
  std::uint32_t index = 0;  // among the results, or among the conditions
  bool condition = false;
  auto operator<=>(const Place&) const = default;
};

struct Prepared {
  const pattern::Pattern* pattern = nullptr;
  pattern::Analysis analysis;
  std::vector<std::vector<pattern::FactId>> facts;  // global, by subject term
  // By node pattern: the assignments of written inputs to slots, in order.
  std::vector<std::vector<std::vector<std::uint32_t>>> permutations;
  // By node pattern: whether it can produce a result. Two such patterns never
  // match the same node.
  std::vector<bool> top;
  // The outputs of the root that the first result can be, ascending.
  std::vector<std::uint32_t> root_outputs;
  std::map<Place, Anchor> anchors;
};

Prepared prepare(const pattern::Pattern& pattern);

// The node patterns that can produce the value of `term`, and the output of
// each.
struct Top {
  pattern::NodePatternId node;
  std::uint32_t output;
};
std::vector<Top> tops(const pattern::Pattern& pattern, pattern::TermId term);
// The input through which `node` is reached from below, and its possible slots.
std::size_t climbed_input(const Prepared& prepared, const Anchor& anchor,
                          pattern::NodePatternId node);
std::vector<std::uint32_t> slots_of(const Prepared& prepared,
                                    pattern::NodePatternId node,
                                    std::size_t input);

// Whether a number at this written input may be axes, counted either way:
// always at the same slot of ops that take axes there.
bool takes_axes(const Prepared& prepared, pattern::NodePatternId node,
                std::size_t input);
// Whether that holds inside of an `either` there as well: not where the same
// term stands at another place, whose value may have another rank.
bool keeps_axes(const Prepared& prepared, pattern::TermId either);

// Whether orders behind the first one are for the ops that commute.
bool swaps_by_op(const pattern::NodePattern& node);

std::vector<std::uint32_t> top_outputs(const pattern::Pattern& pattern,
                                       pattern::TermId term);

// The inputs of `node` without a `rest` at the end.
std::size_t written_inputs(const pattern::Pattern& pattern,
                           const pattern::NodePattern& node);
bool has_rest(const pattern::Pattern& pattern,
              const pattern::NodePattern& node);

}  // namespace ruleengine::match

#endif  // RULEENGINE_CORE_MATCH_COMPILE_PREPARED_H_
