// Models that a caller holds, and what rules do to them: what the ways in that
// keep models in memory have in common.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "bindings/api/rewrite.h"
#include "core/base/result.h"
#include "core/engine/json.h"
#include "core/ir/model.h"

namespace ruleengine::api {

// A model with all that it borrows; results share that of their models.
struct Held {
  std::shared_ptr<const void> memory;  // of the caller
  std::shared_ptr<const Held> base;    // what a result was made of
  std::string name;                    // in reports
  std::shared_ptr<ir::Model> model;
};

// Rewrites a model, which stays as it is. `report` says what was known when an
// error ended the run, and the error.
Result<std::shared_ptr<Held>> rewrite(Rewriter& rules,
                                      const std::shared_ptr<const Held>& model,
                                      const Progress& progress,
                                      engine::FileReport& report);

// The questions of questions.h, with the rules and the options of the rewriter,
// as JSON. They are asked of a copy, which is edited and then dropped.
Result<Json> match_json(const Rewriter& rules, const Held& model);
Result<Json> explain_json(const Rewriter& rules, const Held& model,
                          const std::string& node, std::size_t most);
Result<Json> coverage_json(const Rewriter& rules, const Held& model);
Result<Json> collectives_json(const Rewriter& rules, const Held& model);

}  // namespace ruleengine::api
