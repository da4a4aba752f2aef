// NodeSpec: a node that is to be built, and its check against the newest schema
// of its op. Errors are those of a rule: Diagnostics of kind kRule without
// position. Ops of unknown domains and calls of model-local functions are not
// checked.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ir/model.h"
#include "core/ops/op_facts.h"

namespace ruleengine::ops {

// The most outputs of a new node: rule code gets them all at once, on Lua's
// stack.
inline constexpr std::uint32_t kMaxOutputs = 4096;

struct NodeSpec {
  std::string_view domain, type;
  std::vector<ir::ValueId> inputs;        // invalid: absent
  std::vector<ir::Attribute> attributes;  // views valid in the model's arena
  std::uint32_t output_count = 1;
  // Keep this node's metadata and fields that are not modelled
  // (m.norm:with(...)).
  ir::NodeId like;
};

// Of its op, at the opset of the graph; nullptr for an unknown one.
const OpFacts* facts_of(const ir::Graph& graph, ir::NodeId node);

// A node of a graph as a spec.
NodeSpec spec_of(const ir::Graph& graph, ir::NodeId node);

// The spec in normal form: without trailing absent inputs, attributes sorted by
// name and of the kinds of the schema (an int for a float is converted).
Result<NodeSpec> checked(ir::Model& model, const NodeSpec& spec);

// Drops the attributes that are at their default.
void drop_defaults(const OpFacts& op, std::vector<ir::Attribute>& all);

// Whether the attribute has its default value.
bool is_default(const FormalAttribute& formal, const ir::Attribute& a);

}  // namespace ruleengine::ops
