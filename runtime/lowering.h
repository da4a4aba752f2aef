// Lowering: a model as the executor runs it. Every node of the standard is in
// its newest form, so kernels know one version of each op; what has no kernel
// but a meaning (core/ops/dialect, core/ops/older_meanings.h) is a call of a
// function that says it; and functions do not refer to attributes of their
// calls: each call that gives others has a function of its own.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "core/base/result.h"
#include "core/ir/model.h"
#include "runtime/op_choice.h"

namespace ruleengine::runtime {

struct Lowered {
  // A copy of the model; nullptr where the model runs as it is.
  std::shared_ptr<const ir::Model> model;
  // Why nodes have no meaning, by op: the reason for the first of them.
  std::map<std::string, std::string> reasons;
  // The ops of functions that declined nodes call now.
  std::set<std::string> spelled;
};

// The model must outlive the result. An error: functions that call each other
// with too many different attributes.
Result<Lowered> lower(const ir::Model& model, const OpChoice& choice);

// The graph in a copy of the model.
ir::Graph& graph_in(ir::Model& copy, const ir::Model& model,
                    const ir::Graph& graph);

}  // namespace ruleengine::runtime
