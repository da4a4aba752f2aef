// The ONNX library's own inference for one node, for ops that no rule of ours
// knows. The first call builds the library's registry (30 ms). Whatever the
// library throws is an answer of "unknown". Internal to core/analysis; the one
// place of it that knows the library.
#ifndef RULEENGINE_CORE_ANALYSIS_ONNX_INFERENCE_H_
#define RULEENGINE_CORE_ANALYSIS_ONNX_INFERENCE_H_

#include "core/analysis/rules.h"

namespace ruleengine::analysis {

// False when there is no schema, or it could not say anything.
bool infer_by_schema(const NodeView& view, Outputs outputs);

}  // namespace ruleengine::analysis

#endif  // RULEENGINE_CORE_ANALYSIS_ONNX_INFERENCE_H_
