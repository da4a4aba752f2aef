// Whether two nodes compute the same, so that one of them suffices: the same op
// on the same values with the same attributes. Used when a node is built, and
// to search a graph for twins. Internal to core/rewrite; borrows the state of
// an Edit; nothing here fails.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "core/ops/op_facts.h"
#include "core/rewrite/edits/state.h"

namespace ruleengine::rewrite {

bool is_random(std::string_view type);

// Whether one node may replace two equal ones. Not for ops of unknown domains
// and calls of functions, which may have side effects, nor for markers of
// regions, whose place matters.
bool is_shareable(EditState& state, std::string_view domain,
                  std::string_view type, std::span<const ir::ValueId> inputs);

// The tensor of an initializer or of a Constant node in any form; nullptr for
// other values.
const ir::Literal* written(const EditState& state, ir::ValueId value);
// Whether the constant is small enough to compare its bits.
bool is_compared(const ir::Literal* constant);
// Whether both are one value, or small constants with the same bits.
bool same_input(const EditState& state, ir::ValueId a, ir::ValueId b);

// The facts of an op at the opset of the model; nullptr for an unknown op.
const ops::OpFacts* facts_of(const EditState& state, std::string_view domain,
                             std::string_view type);
// Ignores the order and attributes at their default; false with subgraphs.
bool same_attributes(const EditState& state, const ops::OpFacts* op,
                     std::span<const ir::Attribute> a,
                     std::span<const ir::Attribute> b);

// Whether both are computed by the same ops with the same attributes from the
// same values, through nodes that `may_match`. Outputs of the same random op
// differ all the same.
bool same_computation(
    const EditState& state, ir::ValueId a, ir::ValueId b,
    const std::function<bool(ir::NodeId, ir::NodeId)>& may_match);

}  // namespace ruleengine::rewrite
