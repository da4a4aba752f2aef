// What is wrong with one edit, shown by as little of its model as does: some
// nodes that compute its results, before and after it, and inputs on which they
// differ.
#pragma once

#include <memory>
#include <optional>

#include "bindings/api/execution.h"
#include "core/engine/op_bodies.h"
#include "core/engine/verify.h"
#include "core/rewrite/cut.h"
#include "runtime/npz.h"

namespace ruleengine::api {

// How the cuts of a model are run: on random inputs, of which the first few
// show what is wrong, since a cut is small.
ExecutionOptions of_cuts(ExecutionOptions how);

// Lives as long as the region that it is a part of.
struct SmallestPart {
  std::shared_ptr<ir::Model> before, after;
  runtime::NamedData inputs;
};

// Of the cuts of an edit, which reach further and further up, the first from
// which on all differ: one that differs where a larger one agrees has inputs
// that the model never gives it. Empty where the largest one agrees, or cannot
// be run.
std::optional<SmallestPart> smallest_part(const rewrite::Region& region,
                                          const engine::Comparing& comparing,
                                          const ExecutionOptions& how,
                                          const engine::OpBodies& bodies);

}  // namespace ruleengine::api
