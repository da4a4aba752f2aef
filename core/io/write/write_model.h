// Writes a whole model as a rope. See write_graph.h.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/io/write/emit.h"
#include "core/ir/model.h"

namespace ruleengine::io {

// Views in the rope are valid until the model is changed or destroyed.
Status write_model(const ir::Model& model, Emitter& emitter);

// Passes the bytes of a rope, with those of the model's tensors in it, to
// `sink`, in order.
Status stream(const Rope& rope, const ir::Model& model,
              const ir::ByteSink& sink);
// The same as one string.
Result<std::string> flatten(const Rope& rope, const ir::Model& model);

}  // namespace ruleengine::io
