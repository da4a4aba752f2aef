// Reads a whole ModelProto into context.model: header, opsets, graph,
// functions, and a check of what stays opaque. See context.h.
#pragma once

#include "core/io/read/context.h"

namespace ruleengine::io {

bool read_model(Context& context);

}  // namespace ruleengine::io
