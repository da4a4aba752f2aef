// Checks the calls of model-local functions: no call has more inputs or outputs
// than its function, there is no recursion, and the expansion of all calls is
// bounded (sixty functions that each call the next one twice would give 2^60
// nodes). Linear.
#pragma once

#include "core/base/result.h"
#include "core/ir/model.h"

namespace ruleengine::text {

Status check_calls(const ir::Model& model);

}  // namespace ruleengine::text
