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

using lua::first_rule, lua::op_of_rule;

struct Drafted {
  std::string text;            // of the rule file
  lua::ExampleResult example;  // what became of its one example
  // How many matches the rule has in the model that it would rewrite, and
  // whether one of them has all of the nodes.
  std::size_t matches = 0;
  bool fires_there = false;
};

// A rule that writes these nodes (by their names, or those of values that they
// produce) as one op of the domain com.example. `name`: of the rule. A size is
// named if the example passes for other sizes; two sizes that are equal in the
// model have one name, unless one or two of those with it may differ from the
// others. kUsage for nodes that no rule can have.
Result<Drafted> draft_rule(ir::Model& model,
                           const std::vector<std::string>& nodes,
                           const std::string& name, const Limits& limits);

}  // namespace ruleengine::api
