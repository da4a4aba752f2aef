// Which runs the nodes of an op: its kernel, or a function of the model.
#pragma once

#include "core/ir/model.h"
#include "core/ops/op_row.h"
#include "runtime/kernel.h"

namespace ruleengine::runtime {

struct OpChoice {
  FindKernel find_kernel = nullptr;
  // Also the engine's own ops run the function that the model has for them, if
  // they have a meaning: what other runtimes do.
  bool prefers_functions = false;
  // Gelu runs as its formula, though it has a kernel.
  bool spells_gelu = false;

  // nullptr: no function runs.
  const ir::Function* function(const ir::Model& model, const ir::Op& op) const {
    const bool is_known = ops::is_own_domain(op.domain) ||
                          ops::meaning_of(op.domain, op.type) != nullptr;
    const bool is_own = is_known && find_kernel(op.domain, op.type) != nullptr;
    const bool skips =
        is_own &&
        !(prefers_functions && ops::meaning_of(op.domain, op.type) != nullptr);
    return skips ? nullptr : model.find_function(op);
  }
};

}  // namespace ruleengine::runtime
