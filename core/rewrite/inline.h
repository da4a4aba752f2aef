// Inlining: the meaning of a call of one of the engine's own ops, built into
// the graph around it by an Edit. What is known of the call (sizes, types,
// elements of small lists) is computed at once, so that little more than what
// an exporter would write is left.
#pragma once

#include "core/rewrite/edit.h"

namespace ruleengine::rewrite {

// An output for each that the op has; those that nothing reads may be invalid.
// The node stays as it is. A Rejection where the op has no meaning, or not for
// this call; errors are those of Edit::build.
Result<Edit::Built> inline_call(Edit& edit, ir::NodeId call);

}  // namespace ruleengine::rewrite
