// NearestMiss: how far the pattern of a rule got, for `explain` and for
// examples that should have matched. Reads the graph; costs what the oracle
// costs at each node.
#ifndef RULEENGINE_BINDINGS_LUA_NEAREST_MISS_H_
#define RULEENGINE_BINDINGS_LUA_NEAREST_MISS_H_

#include <optional>
#include <string>

#include "bindings/lua/rule_file.h"
#include "core/ir/facts.h"
#include "core/ir/graph.h"

namespace ruleengine::lua {

// The deepest miss over all nodes, or at `only`: lines "what: text". "" where
// no node could be the root, or where it matches. The rule has a pattern. Ends
// early when the time is over.
std::string nearest_miss(const LoadedRule& rule, ir::Graph& graph,
                         ir::Facts& facts, std::optional<ir::NodeId> only,
                         const Deadline& deadline);

}  // namespace ruleengine::lua

#endif  // RULEENGINE_BINDINGS_LUA_NEAREST_MISS_H_
