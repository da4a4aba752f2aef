// Whether the calls of model-local functions make sense and end: none has more
// inputs or outputs than its function, no function calls itself in any way,
// and expanding all calls stays within bounds (ten functions that call each
// other twice over sixty levels would be 2^60 nodes). Linear.
#ifndef RULEENGINE_CORE_TEXT_READ_CALLS_H_
#define RULEENGINE_CORE_TEXT_READ_CALLS_H_

#include "core/base/result.h"
#include "core/ir/model.h"

namespace ruleengine::text {

Status check_calls(const ir::Model& model);

}  // namespace ruleengine::text

#endif  // RULEENGINE_CORE_TEXT_READ_CALLS_H_
