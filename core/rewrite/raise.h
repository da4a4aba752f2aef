// Raising a model to a newer opset of the standard domain, with the meaning of
// every node kept: attributes become inputs, old defaults are said, names that
// changed are written anew. Function bodies other than those of the engine's
// own ops go along. The Model belongs to the caller; not thread-safe.
#ifndef RULEENGINE_CORE_REWRITE_RAISE_H_
#define RULEENGINE_CORE_REWRITE_RAISE_H_

#include <cstdint>

#include "core/base/result.h"
#include "core/ir/model.h"

namespace ruleengine::rewrite {

// Nothing is done where the model is at `opset` already, or beyond. A node that
// the newer opset cannot say, or that ONNX Runtime does not run there
// (core/ops/onnx_runtime.h), is a Diagnostic (kModel) that names it; the model
// is then as it was.
Status raise_opset(ir::Model& model, std::int64_t opset);

// Whether it would do it; the model stays as it is.
Status check_raise(ir::Model& model, std::int64_t opset);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_RAISE_H_
