// Shapes of values whose rank is unknown. Internal to core/rewrite; borrows the
// state of an Edit.
#pragma once

#include "core/rewrite/edits/state.h"

namespace ruleengine::rewrite {

// Whether the ops that compute them give both values one shape, whatever it is.
// Elementwise ops broadcast, products by a matrix and parts of a split change
// the last axis; any other op is only the same as one like it.
bool same_shape_by_ops(const EditState& state, ir::ValueId a, ir::ValueId b);

}  // namespace ruleengine::rewrite
