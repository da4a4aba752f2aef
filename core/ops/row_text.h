// Ops in one line: in docs/dialect.md, `ruleengine ops` and the stubs.
#pragma once

#include <string>

#include "core/ops/op_row.h"

namespace ruleengine::ops {

// Whether the row says what the inputs and outputs of an op of ours are.
inline bool has_text(const OpRow& row) {
  return !row.domain.empty() && !row.facts.inputs.empty();
}

// "Linear * (x, weight, bias?) -> Y": a star for an op that has a meaning, `?`
// for what may be absent.
std::string signature(const OpRow& row);
// "Softmax <axis = -1> (input) -> output", of any op.
std::string signature(const OpFacts& op);

}  // namespace ruleengine::ops
