// Pruning: a copy of an If, Loop, Scan or SequenceMap without what nothing
// reads, inside or outside.
#pragma once

#include "core/rewrite/edit.h"

namespace ruleengine::rewrite {

// A value for each output of the node; invalid for those that nothing reads.
//
// These go: outputs that nothing reads; inputs of the body that nothing reads
// but to pass them on to the next turn; and carried values that stay the same
// in every turn: the body reads them from outside instead. The node stays as it
// is. A Rejection where nothing goes, or where the op has no bodies.
Edit::Built prune_bodies(Edit& edit, ir::NodeId node);

}  // namespace ruleengine::rewrite
