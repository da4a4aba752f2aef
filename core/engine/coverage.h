// Coverage: how much of the attention of a model the rules compose, and the
// reason for each block that is left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/engine/options.h"
#include "core/engine/rule_set.h"
#include "core/ir/model.h"

namespace ruleengine::engine {

// The packs about attention, as paths below rules/.
std::vector<std::string> attention_packs();

struct Coverage {
  struct Left {
    std::string node;
    std::string rule;  // the rule that rejected it or got furthest; may be ""
    std::string reason;
    std::string tie = {};  // as in rewrite::Rejection
  };
  std::uint64_t fused = 0;
  std::vector<Left> left;

  std::uint64_t found() const { return fused + left.size(); }
  double percent() const;  // 100 if there is no attention
};

// Runs the rules over the model and leaves it rewritten.
Result<Coverage> coverage(ir::Model& model, const RuleSet& rules,
                          const RunOptions& options);

}  // namespace ruleengine::engine
