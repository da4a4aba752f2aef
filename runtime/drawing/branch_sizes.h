// Sizes on which the condition of an If may turn out otherwise. Internal to the
// drawing of inputs.
#pragma once

#include <vector>

#include "core/ir/facts.h"
#include "core/ir/model.h"
#include "runtime/drawing/input_drawing.h"

namespace ruleengine::runtime {

// Where the condition of the node compares sizes: for each comparison and each
// of `leaves` in it, a size of the leaf for every way in which it can turn out,
// while the others stay as in `at`. One leaf in each result.
std::vector<SizeOf> sizes_that_turn(ir::Model& model, ir::Facts& facts,
                                    ir::NodeId branching, const SizeOf& at);

}  // namespace ruleengine::runtime
