// Raises a model to a newer opset of the standard domain and keeps the meaning
// of every node: attributes become inputs, old defaults are written out,
// renamed attributes are renamed. Function bodies are raised too, except those
// of the engine's own ops. The Model belongs to the caller; not thread-safe.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/ir/model.h"

namespace ruleengine::rewrite {

// Does nothing if the model has `opset` or a newer one. A node that the newer
// opset cannot express, or that ONNX Runtime does not run there
// (core/ops/onnx_runtime.h), is a Diagnostic (kModel) that names it; the model
// is then unchanged.
Status raise_opset(ir::Model& model, std::int64_t opset);

// Writes the body of a function at another opset of the standard, which may be
// an older one. On an error, of kind kModel, the function is as before.
Status set_opset(ir::Function& function, std::int64_t opset);

// Whether raise_opset would succeed; leaves the model unchanged.
Status check_raise(ir::Model& model, std::int64_t opset);

}  // namespace ruleengine::rewrite
