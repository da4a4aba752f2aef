// Where rules would fire, and why one does not: functions of a model that
// change nothing in it. The matches refer to its graphs.
#ifndef RULEENGINE_CORE_ENGINE_MATCH_H_
#define RULEENGINE_CORE_ENGINE_MATCH_H_

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/engine/options.h"
#include "core/engine/rule_set.h"
#include "core/ir/model.h"
#include "core/match/match.h"
#include "core/rewrite/driver.h"

namespace ruleengine::engine {

struct Matches {
  std::vector<rewrite::Found> found;
  std::vector<Absent> absent;  // of the main graph
};
Result<Matches> match(ir::Model& model, const RuleSet& rules,
                      const Options& options);

// What one rule does with a model.
struct Explanation {
  const rewrite::Rule* rule = nullptr;
  std::optional<Absent> absent;
  // All matches, or those at the node that was asked about.
  std::vector<rewrite::Found> found;
  // Where there is none: the attempts that got furthest. Of a rule about
  // attention those at the attention that is there, if any.
  std::vector<match::Miss> misses;
};
// Of each rule, in their order. `node`: the name of a node, or of a value that
// a node makes; "": anywhere. One that is not there: kUsage.
Result<std::vector<Explanation>> explain(ir::Model& model, const RuleSet& rules,
                                         const std::string& node,
                                         const Options& options);

}  // namespace ruleengine::engine

#endif  // RULEENGINE_CORE_ENGINE_MATCH_H_
