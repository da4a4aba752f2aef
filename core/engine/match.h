// Where rules would fire, and why a rule does not: functions that leave the
// model unchanged. The matches refer to the model's graphs.
#pragma once

#include <cstddef>
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
                      const RunOptions& options);

// The node with this name, or the producer of the value with this name; kUsage
// if there is none.
Result<ir::NodeId> node_named(const ir::Model& model, const std::string& name);

// What one rule does in a model.
struct Explanation {
  const rewrite::Rule* rule = nullptr;
  std::optional<Absent> absent;
  // All matches, or those at the requested node.
  std::vector<rewrite::Found> found;
  // If there are none: the attempts that got furthest, the furthest first. For
  // a rule about attention, at the attention of the model, if it has any.
  std::vector<match::Miss> misses;
};
// One explanation for each rule, in their order. `node`: the name of a node, or
// of a value that a node produces; "" stands for any node. An unknown name is
// kUsage. `most`: misses of each rule; 0 stands for 3.
Result<std::vector<Explanation>> explain(ir::Model& model, const RuleSet& rules,
                                         const std::string& node,
                                         const RunOptions& options,
                                         std::size_t most = 0);

}  // namespace ruleengine::engine
