// The functions of a model: whose bodies rules look into, and which of them go
// with their last call, and the opset imports of what is called. No state.
#ifndef RULEENGINE_CORE_REWRITE_FUNCTIONS_H_
#define RULEENGINE_CORE_REWRITE_FUNCTIONS_H_

#include <cstddef>
#include <vector>

#include "core/ir/model.h"

namespace ruleengine::rewrite {

// The main graph first, then the bodies of functions but those of the engine's
// own ops: there the call is the op, and nobody looks inside.
std::vector<ir::Graph*> rewritable_graphs(ir::Model& model);
std::vector<const ir::Graph*> rewritable_graphs(const ir::Model& model);

// Those that a node of any graph calls.
std::vector<ir::Function*> called_functions(const ir::Model& model);

// Removes those of `were_called` that lost their last call, and those that only
// such called. Linear in the model.
void remove_uncalled(const ir::Model& model,
                     const std::vector<ir::Function*>& were_called);

// Removes those of the model's opset imports behind the first `kept` whose
// domain no node and no function has (any more).
void remove_unused_imports(ir::Model& model, std::size_t kept);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_FUNCTIONS_H_
