// Declared sizes that the inputs contradict: the file declares a number for a
// value whose size depends on the inputs.
// Internal to core/rewrite.
#pragma once

#include "core/ir/facts.h"
#include "core/ir/graph.h"

namespace ruleengine::rewrite {

// False if the file declares a number and `known` has a size that varies.
bool is_believed(const ir::Type& declared, const ir::Type& known);

// Removes declarations that are not believed. A runtime that believes them
// replaces a new Shape by the old numbers when it loads the model.
void forget_stale(ir::Graph& graph, ir::Facts& facts);

}  // namespace ruleengine::rewrite
