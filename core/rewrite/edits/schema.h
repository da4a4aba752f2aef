// Checks a NodeSpec against the newest schema of its op. Errors are those of
// the rule: Diagnostics of kind kRule without position. Ops of unknown domains
// and calls of model-local functions are not checked. Internal to core/rewrite.
#pragma once

#include "core/base/result.h"
#include "core/ir/model.h"
#include "core/ops/op_facts.h"
#include "core/rewrite/edit.h"

namespace ruleengine::rewrite {

// The spec in normal form: without trailing absent inputs, attributes sorted by
// name and of the kinds of the schema (an int for a float is converted).
Result<NodeSpec> checked(ir::Model& model, const NodeSpec& spec);

// Drops the attributes that are at their default.
void drop_defaults(const ops::OpFacts& op, std::vector<ir::Attribute>& all);

// Whether the attribute has its default value.
bool is_default(const ops::FormalAttribute& formal, const ir::Attribute& a);

}  // namespace ruleengine::rewrite
