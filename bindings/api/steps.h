// The rewrites of a run, one by one: each is shown before it is kept.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/ir/model.h"
#include "core/rewrite/region.h"
#include "core/rewrite/rule.h"

namespace ruleengine::api {

// What one rewrite changes, as two models with the same inputs and outputs.
// They borrow from the model of the run, and live as long as the call.
struct Step {
  const rewrite::Rule& rule;
  std::vector<std::string> values;  // that it replaces; not empty
  std::shared_ptr<const ir::Model> before, after;
  std::string why_not;  // set where there are no such models
};

// Whether the rewrite is kept.
using AskStep = std::function<bool(const Step&)>;

rewrite::Judge judge_of(AskStep ask);

}  // namespace ruleengine::api
