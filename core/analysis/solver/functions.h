// Model-local functions: the types of a call from the function's body, worked
// out with the call's own types, elements and attributes. Internal to
// core/analysis.
#ifndef RULEENGINE_CORE_ANALYSIS_SOLVER_FUNCTIONS_H_
#define RULEENGINE_CORE_ANALYSIS_SOLVER_FUNCTIONS_H_

#include "core/analysis/solver/solver.h"

namespace ruleengine::analysis {

// False when the op is no function of the model, or nested or long beyond
// bounds.
bool infer_function(Solver& solver, const NodeView& view, Outputs outputs);

// What the call binds to a formal input; nullptr or none for other values.
const ir::Type* bound_input_type(const Solver& solver, ir::ValueId value);
const ir::Tensor* bound_input_constant(const Solver& solver, ir::ValueId value);
MaybeElements bound_input_elements(const Solver& solver, ir::ValueId value);

}  // namespace ruleengine::analysis

#endif  // RULEENGINE_CORE_ANALYSIS_SOLVER_FUNCTIONS_H_
