// Which rewrite is at fault where a result computes something else than its
// model. What runs models is injected, since the engine has no executor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/engine/run_report.h"
#include "core/ir/model.h"

namespace ruleengine::engine {

// How two models differ on the same inputs.
struct Finding {
  Verified verified;
  std::string difference;  // "": none
  std::string shown_by;    // the inputs that show it, a line each
  std::string unverified;  // why the models could not be run
};

// Runs both models. `assumes`: whether the rewrites rest on assumptions about
// values, so that extreme ones prove nothing.
using CompareModels = std::function<Result<Finding>(
    const ir::Model& before, const ir::Model& after, bool assumes)>;

// The model after the first `rewrites` of its run, and what they were.
struct Prefix {
  std::shared_ptr<ir::Model> model;
  RunReport report;
};
using MakePrefix = std::function<Result<Prefix>(std::uint64_t rewrites)>;

// The rewrite before which the model computes what it should.
struct Culprit {
  std::uint64_t number = 0, of = 0;  // it is the number-th of so many
  std::string rule, file, node;
  Finding finding;
};

// By bisection, with about log2(rewrites) runs of `make`. number == 0: no
// single rewrite was found, since the difference appears only in the whole run.
Result<Culprit> find_culprit(const CompareModels& compare,
                             const ir::Model& model, const MakePrefix& make);

// What to tell the user of a result that differs; kVerify.
Diagnostic mismatch_error(const std::string& model, const Culprit& culprit,
                          const Finding& whole);

}  // namespace ruleengine::engine
