// What makes two nodes one: the same op on the same values with the same
// attributes, where one is as good as two. Asked when a node is built, and when
// a graph is searched for twins. Internal to core/rewrite; borrows the state of
// an Edit; nothing here fails.
#ifndef RULEENGINE_CORE_REWRITE_EDITS_SAME_H_
#define RULEENGINE_CORE_REWRITE_EDITS_SAME_H_

#include <span>
#include <string_view>

#include "core/ops/op_facts.h"
#include "core/rewrite/edits/state.h"

namespace ruleengine::rewrite {

bool is_random(std::string_view type);

// Is one node as good as two? Nobody knows of ops outside the known domains,
// nor of what stands in the bodies of functions; markers of regions are there
// for their place.
bool is_shareable(EditState& state, std::string_view domain,
                  std::string_view type, std::span<const ir::ValueId> inputs);

// The tensor of an initializer or of a Constant, however that spells it;
// nullptr for all other values.
const ir::Tensor* written(const EditState& state, ir::ValueId value);
// Is it small enough to be compared by its bits?
bool is_compared(const ir::Tensor* constant);
// One value, or two small constants of the same bits.
bool same_input(const EditState& state, ir::ValueId a, ir::ValueId b);

// The facts of an op at the opset of the model; nullptr when nobody knows it.
const ir::OpFacts* facts_of(const EditState& state, std::string_view domain,
                            std::string_view type);
// Up to order and what is written at its default; false with subgraphs.
bool same_attributes(const EditState& state, const ir::OpFacts* op,
                     std::span<const ir::Attribute> a,
                     std::span<const ir::Attribute> b);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_EDITS_SAME_H_
