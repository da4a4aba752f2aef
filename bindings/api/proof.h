// Proving a result: it runs beside its model on the same inputs. Rules that are
// edits are judged by what they declare: a result without them must agree with
// the model, and one with those that declare a tolerance must agree within it.
#pragma once

#include <string>

#include "bindings/api/execution.h"
#include "core/base/result.h"
#include "core/engine/engine.h"
#include "core/engine/run_report.h"
#include "core/ir/model.h"

namespace ruleengine::api {

struct ProofOptions {
  ExecutionOptions how;
  bool lenient = false;  // accepts what cannot be run, with a warning
  // The folder that shows the rewrite at fault; "": none is written.
  std::string counterexample;
};

// Notes in the report what was verified, or why it could not be. kVerify: they
// differ, and the error names the rewrite at fault; or they could not be run.
Status prove(engine::Engine& engine, const ir::Model& model,
             const ir::Model& result, const ProofOptions& options,
             engine::FileReport& report);

}  // namespace ruleengine::api
