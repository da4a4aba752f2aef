// What rules would do to a model, and the model as text. Each function fails if
// the deadline has passed, or if the file of the model has changed meanwhile.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bindings/api/limits.h"
#include "core/base/result.h"
#include "core/engine/collectives.h"
#include "core/engine/coverage.h"
#include "core/engine/json.h"
#include "core/engine/match.h"
#include "core/engine/nearest_miss.h"
#include "core/engine/options.h"
#include "core/engine/rule_set.h"
#include "core/io/staged.h"
#include "core/ir/model.h"

namespace ruleengine::api {

// As the functions of core/engine with these names.
Result<engine::Matches> match(ir::Model& model, const engine::RuleSet& rules,
                              const engine::RunOptions& options);
Result<std::vector<engine::Explanation>> explain(
    ir::Model& model, const engine::RuleSet& rules, const std::string& node,
    const engine::RunOptions& options, std::size_t most = 0);
Result<engine::Coverage> coverage(ir::Model& model,
                                  const engine::RuleSet& rules,
                                  const engine::RunOptions& options);
Result<engine::Collectives> collectives(ir::Model& model,
                                        const engine::RuleSet& rules,
                                        const engine::RunOptions& options);

// Lists, of the forms of core/engine/json.h. `model`: the name of the model as
// the caller gave it; `graph`: its main graph.
Json to_json(const std::string& model, const engine::Matches& matches);
Json to_json(const std::string& model, const ir::Graph& graph,
             const std::vector<engine::Explanation>& explanations);

// As ONNX text; `weights`: with large constants in full.
Result<std::string> print(const ir::Model& model, bool weights,
                          const Limits& limits);

// As Lua. Values from `first_new` on were made by rules.
Result<std::string> code(const ir::Model& model, std::size_t first_new,
                         const Limits& limits);
// The model of such Lua, with the weights of `model`, which it changes:
// written, but not yet renamed into place.
Result<io::Staged> build(const std::string& code_file, ir::Model& model,
                         const std::string& output, const Limits& limits);

}  // namespace ruleengine::api
