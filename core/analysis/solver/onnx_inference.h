// The ONNX library's own inference for one node, for ops that no rule of ours
// knows. The first call builds the library's registry (30 ms). Whatever the
// library throws is an answer of "unknown". Internal to core/analysis; the one
// place of it that knows the library.
#pragma once

#include <string>

#include "core/ops/op_row.h"

namespace ruleengine::analysis {

using ops::Inferred;
using ops::NodeView;
using ops::Outputs;

// False when there is no schema, or it could not say anything. `refusal`, where
// given, is what the library has against the node, or stays as it is.
bool infer_by_schema(const NodeView& view, Outputs outputs,
                     std::string* refusal = nullptr);

}  // namespace ruleengine::analysis
