// Reads a whole ModelProto into context.model: header, opsets, graph,
// functions, and a check of what stays opaque. See context.h.
#ifndef RULEENGINE_CORE_IO_READ_READ_MODEL_H_
#define RULEENGINE_CORE_IO_READ_READ_MODEL_H_

#include "core/io/read/context.h"

namespace ruleengine::io {

bool read_model(Context& context);

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_READ_READ_MODEL_H_
