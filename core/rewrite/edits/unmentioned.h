// Attributes that the rule of an edit does not mention: the pattern leaves them
// open and does not name them, the rule does not read them, and no new node
// keeps them (NodeSpec::like). Such an attribute would be lost with its node;
// and one that a new node keeps would be applied to all nodes that are merged
// into the new one. Both cases reject the match. Matches may only be rewritten
// as one if they are equal in these attributes, defaults included.
// Internal to core/rewrite.
#pragma once

#include <optional>
#include <vector>

#include "core/base/small_vector.h"
#include "core/match/match.h"
#include "core/rewrite/edit.h"

namespace ruleengine::rewrite {

struct EditState;

// One attribute that the pattern does not name.
struct Claim {
  match::Unnamed what;
  // Nodes of the same match with the same op whose patterns do not name it
  // either.
  SmallVector<ir::NodeId, 2> alike;
};

// One match of an edit.
struct Claimant {
  SmallVector<ir::NodeId, 8> nodes;  // by NodePatternId
  std::vector<Claim> claims;         // by node and name
};
// The matches that are rewritten as one.
using Claimants = std::vector<Claimant>;

Claimants claimants_of(const ir::Graph& graph, const pattern::Pattern& pattern,
                       std::span<const match::Match* const> matches);

// The reason for rejection, if any; to call after the edit removed dead nodes.
std::optional<Rejection> find_unmentioned(const EditState& state);
// The sets of matches that may be rewritten as one, as lists of indices; empty
// if all of them may.
std::vector<std::vector<std::size_t>> divisions(const EditState& state);
// The reason why a match that may be rewritten with no other is rejected.
Rejection goes_with_none();

}  // namespace ruleengine::rewrite
