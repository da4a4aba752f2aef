// What the rule of an edit leaves unsaid: attributes of matched nodes that the
// pattern opens and does not name, that the rule does not read, and that no new
// node carries on (NodeSpec::like). With its node such an attribute would
// vanish, and one that is carried on would count for the nodes that are merged
// into the new one. Both end the match; of matches that are rewritten as one,
// those go together in which these attributes are equal, defaults included.
// Internal to core/rewrite.
#ifndef RULEENGINE_CORE_REWRITE_EDITS_UNSAID_H_
#define RULEENGINE_CORE_REWRITE_EDITS_UNSAID_H_

#include <optional>
#include <string_view>
#include <vector>

#include "core/base/small_vector.h"
#include "core/match/match.h"
#include "core/rewrite/edit.h"

namespace ruleengine::rewrite {

struct EditState;

// One attribute that the pattern does not name.
struct Claim {
  match::Unnamed what;
  // Nodes of the same match and op whose patterns do not name it either.
  SmallVector<ir::NodeId, 2> alike;
};

// One match of an edit.
struct Claimant {
  SmallVector<ir::NodeId, 8> nodes;  // by NodePatternId
  std::vector<Claim> claims;         // by node and name
};
// Those that are rewritten as one.
using Claimants = std::vector<Claimant>;

Claimants claimants_of(const ir::Graph& graph, const pattern::Pattern& pattern,
                       std::span<const match::Match* const> matches);

// After the edit took out what is dead: why it must not be kept.
std::optional<Rejection> find_unsaid(const EditState& state);
// Which of the matches may be rewritten as one, as lists of their places; none
// where all may.
std::vector<std::vector<std::size_t>> divisions(const EditState& state);
// Why a match that goes with no other is not rewritten.
Rejection goes_with_none();

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_EDITS_UNSAID_H_
