// Checks messages that the engine carries along without modelling them
// (metadata, annotations, training, types other than tensors): that they are
// valid protobuf at every level, and that tensors inside are consistent.
// Records the external ones. See context.h for failure.
#pragma once

#include "core/io/read/context.h"

namespace ruleengine::io {

bool check_opaque(Context& context, Bytes proto, const schema::Message& message,
                  const Place& place);

// The same for the field that a cursor is at, when it holds a message.
bool check_field(Context& context, const Cursor& cursor, const Place& place);

}  // namespace ruleengine::io
