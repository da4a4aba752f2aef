// Checks messages that the engine carries along without taking them apart
// (metadata, annotations, training, other than tensor types): that they are
// protobuf down to the last, and that tensors inside are what they say. Notes
// the external ones. See context.h for failure.
#ifndef RULEENGINE_CORE_IO_READ_CHECK_OPAQUE_H_
#define RULEENGINE_CORE_IO_READ_CHECK_OPAQUE_H_

#include "core/io/read/context.h"

namespace ruleengine::io {

bool check_opaque(Context& context, Bytes proto, const schema::Message& message,
                  const Place& place);

// The same for the field of `message` that a cursor stands at, when it holds a
// message.
bool check_field(Context& context, const Cursor& cursor,
                 const schema::Message& message, const Place& place);

}  // namespace ruleengine::io

#endif  // RULEENGINE_CORE_IO_READ_CHECK_OPAQUE_H_
