// Checks a NodeSpec against the newest schema of its op. What is wrong is the
// rule's fault: Diagnostics of kind kRule without position. Ops of unknown
// domains and calls of model-local functions pass as they are. Internal to
// core/rewrite.
#ifndef RULEENGINE_CORE_REWRITE_EDITS_SCHEMA_H_
#define RULEENGINE_CORE_REWRITE_EDITS_SCHEMA_H_

#include "core/base/result.h"
#include "core/ir/model.h"
#include "core/ops/op_facts.h"
#include "core/rewrite/edit.h"

namespace ruleengine::rewrite {

// The spec in normal form: trailing absent inputs left out, attributes sorted
// by name and of the schema's kinds (an int given for a float is one).
Result<NodeSpec> checked(ir::Model& model, const NodeSpec& spec);

// Leaves out the attributes that stand at their default.
void drop_defaults(const ir::OpFacts& op, std::vector<ir::Attribute>& all);

// Does the attribute hold the value that leaving it out means?
bool is_default(const ir::FormalAttribute& formal, const ir::Attribute& a);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_EDITS_SCHEMA_H_
