// Which rewrite is at fault where a result computes something else than its
// model. What runs models is injected, since the engine has no executor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/engine/run_report.h"
#include "core/ir/model.h"

namespace ruleengine::engine {

// How two models differ on the same inputs.
struct Finding {
  Verified verified;
  std::string difference;          // "": none
  bool is_overflow = false;        // where they differ, one alone is infinite
  std::string shown_by;            // the inputs that show it, a line each
  std::string unverified;          // why the models could not be run
  std::size_t left_out = 0;        // outputs that were not compared
  std::vector<std::string> notes;  // what was not seen, and why
};

// How two models are compared.
struct Comparing {
  // Whether the rewrites rest on assumptions about values, so that extreme ones
  // prove nothing.
  bool assumes = false;
  // How far outputs may differ, instead of the rounding of their types.
  std::optional<rewrite::Deviation> within;
};

// Runs both models.
using CompareModels = std::function<Result<Finding>(
    const ir::Model& before, const ir::Model& after, const Comparing& how)>;

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

// By bisection, with about log2(rewrites) runs of `make`; what `make` gives is
// compared within `within`. number == 0: no single rewrite was found, since the
// difference appears only in the whole run. The last comparison with a
// difference is the culprit's.
Result<Culprit> find_culprit(
    const CompareModels& compare, const ir::Model& model,
    const MakePrefix& make,
    const std::optional<rewrite::Deviation>& within = {});

// What to tell the user of a result that differs; kVerify.
Diagnostic mismatch_error(const std::string& model, const Culprit& culprit,
                          const Finding& whole);
// The same of a model and a result that could not be compared.
Diagnostic unverified_error(const std::string& model, const Finding& finding);

}  // namespace ruleengine::engine
