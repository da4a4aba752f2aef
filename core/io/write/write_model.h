// Writes a whole model as a rope. See write_graph.h.
#pragma once

#include "core/base/result.h"
#include "core/io/write/emit.h"
#include "core/ir/model.h"

namespace ruleengine::io {

// Views in the rope are valid until the model is changed or destroyed.
Status write_model(const ir::Model& model, Emitter& emitter);

}  // namespace ruleengine::io
