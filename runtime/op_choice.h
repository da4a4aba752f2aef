// Which runs the nodes of an op: a kernel, or a function of the model.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/ir/model.h"
#include "core/ops/op_row.h"
#include "runtime/backend.h"

namespace ruleengine::runtime {

struct OpChoice {
  Backends backends;
  // Also the engine's own ops run the function that the model has for them, if
  // they have a meaning: what other runtimes do.
  bool prefers_functions = false;
  // Gelu runs as its formula, though it has a kernel.
  bool spells_gelu = false;
  // Nodes of the model that all kernels of their op have declined.
  std::vector<std::pair<const ir::Graph*, ir::NodeId>> declined;
  // Ops that run their function, though they have kernels: those of nodes that
  // were declined.
  std::set<std::string> spelled;

  bool has_kernel(const ir::Op& op) const {
    return runtime::has_kernel(backends, op);
  }

  // Whether it has kernels, but none on the backend that is preferred.
  bool leaves_device(const ir::Op& op) const {
    return has_kernel(op) && !backends.front()->has_kernel(op.domain, op.type);
  }

  // nullptr: no function runs.
  const ir::Function* function(const ir::Model& model, const ir::Op& op) const {
    const bool has_meaning = ops::meaning_of(op.domain, op.type) != nullptr;
    const bool skips = (ops::is_own_domain(op.domain) || has_meaning) &&
                       has_kernel(op) && !leaves_device(op) &&
                       !spelled.contains(op.text()) &&
                       !(prefers_functions && has_meaning);
    return skips ? nullptr : model.find_function(op);
  }
};

}  // namespace ruleengine::runtime
