// Collectives: what the ranks of a model send to each other, before and after
// the rules, and which rules rejected a collective that is left.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/engine/options.h"
#include "core/engine/rule_set.h"
#include "core/ir/model.h"
#include "core/ranks/communication.h"

namespace ruleengine::engine {

// The packs for serving, as paths below rules/.
std::vector<std::string> serving_packs();

struct Collectives {
  // A rule that rejected its match at a collective, which is still there.
  struct Stays {
    std::string rule;
    rewrite::Rejected why;
  };
  ranks::Traffic before, after;
  std::vector<Stays> stays;
};

// Runs the rules over the model and leaves it rewritten.
Result<Collectives> collectives(ir::Model& model, const RuleSet& rules,
                                const RunOptions& options);

}  // namespace ruleengine::engine
