// Model-local functions: infers the output types of a call from the function's
// body, with the call's own types, elements and attributes. Internal to
// core/analysis.
#pragma once

#include <functional>

#include "core/analysis/solver/solver.h"

namespace ruleengine::analysis {

// False if the op is not a function of the model, or is nested too deeply or
// too long.
bool infer_function(Solver& solver, const NodeView& view, Outputs outputs);

// Visits the function's body as it is for this call. False if it is nested too
// deeply or too long, or the budget for bodies is used up.
bool visit_body(Solver& solver, const NodeView& view, ir::Function& function,
                const std::function<void(Solver& body)>& visit);

// The type that the call gives to a formal input; nullptr for other values.
const ir::Type* bound_input_type(const Solver& solver, ir::ValueId value);
const ir::Literal* bound_input_constant(const Solver& solver,
                                        ir::ValueId value);
MaybeElements bound_input_elements(const Solver& solver, ir::ValueId value);

}  // namespace ruleengine::analysis
