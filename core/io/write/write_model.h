// A whole model as a rope of its encoding. See write_graph.h.
#ifndef RULEENGINE_CORE_IO_WRITE_WRITE_MODEL_H_
#define RULEENGINE_CORE_IO_WRITE_WRITE_MODEL_H_

#include "core/base/result.h"
#include "core/io/write/emit.h"
#include "core/ir/model.h"

namespace ruleengine::io {

// Views in the rope live as long as the model does unchanged.
Status write_model(const ir::Model& model, Emitter& emitter);

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_WRITE_WRITE_MODEL_H_
