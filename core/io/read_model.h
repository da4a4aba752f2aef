// Reads a whole ModelProto into context.model: header, opsets, graph,
// functions, and a check of what stays opaque (training). See context.h.
#ifndef RULEENGINE_CORE_IO_READ_MODEL_H_
#define RULEENGINE_CORE_IO_READ_MODEL_H_

#include "core/io/context.h"

namespace ruleengine::io {

bool read_model(Context& context);

// Checks every tensor inside a message that the engine does not take apart,
// and notes the external ones.
bool check_opaque(Context& context, Bytes proto, const schema::Message& message,
                  const Place& place);

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_READ_MODEL_H_
