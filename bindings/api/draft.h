// New rules: one to start from, and one that is written from nodes of a model.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bindings/api/limits.h"
#include "bindings/lua/draft.h"
#include "bindings/lua/examples.h"
#include "core/base/result.h"
#include "core/ir/model.h"

namespace ruleengine::api {

using lua::first_rule;

struct Drafted {
  std::string text;            // of the rule file
  lua::ExampleResult example;  // the verdict about its example
  std::size_t matches = 0;     // of the rule in the model, which it rewrites
  bool fires_there = false;    // at these nodes
};

// A rule that writes these nodes (by their names, or those of values that they
// produce) as one op of the domain com.example. `name`: of the rule. Sizes are
// named where the example shows that they may be any. kUsage for nodes that no
// rule can have.
Result<Drafted> draft_rule(ir::Model& model,
                           const std::vector<std::string>& nodes,
                           const std::string& name, const Limits& limits);

}  // namespace ruleengine::api
