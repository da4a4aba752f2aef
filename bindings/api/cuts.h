// Running what one edit changes: cuts of its graph, before and after it, that
// reach further and further up.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "bindings/api/execution.h"
#include "core/engine/op_bodies.h"
#include "core/engine/verify.h"
#include "core/rewrite/cut.h"
#include "runtime/npz.h"

namespace ruleengine::api {

// How cuts are run: on random inputs, of which the first few show what is
// wrong, since a cut is small; by no clock, since results depend on what comes
// of it.
ExecutionOptions of_cuts(ExecutionOptions how);

// A rule may know something of its inputs that random data does not fulfil. So
// a cut where both sides differ proves nothing if a larger one agrees.
//
// Calls `visit` with cuts from small to large, no two alike, until it returns
// false or there is no larger one. The largest may have all nodes of the graph:
// `nodes_left` becomes less by those that it has, and where none are left, it
// is left out, and the result is false.
bool for_each_cut(const rewrite::Region& region, std::uint64_t& nodes_left,
                  const std::function<bool(const rewrite::Cut&)>& visit);

// What is left of an edit of which no cut can be run, an unknown op being in
// all of them: the nodes themselves.
rewrite::Cut last_cut(const rewrite::Region& region);

// Both sides of a cut, and inputs on which they differ. Lives as long as the
// region that it is a part of.
struct DifferingPart {
  std::shared_ptr<ir::Model> before, after;
  runtime::NamedData inputs;
};

// The smallest cut of a wrong edit that shows it: the first from which on all
// differ. Empty where there is none that can be run.
std::optional<DifferingPart> smallest_part(const rewrite::Region& region,
                                           const engine::Comparing& comparing,
                                           const ExecutionOptions& how,
                                           const engine::OpBodies& bodies);

}  // namespace ruleengine::api
