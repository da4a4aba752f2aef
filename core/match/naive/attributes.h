// What both matchers do with attributes of nodes. Pure but for the forms that
// NewestNodes keeps.
#pragma once

#include <vector>

#include "core/match/match.h"
#include "core/ops/newest_nodes.h"
#include "core/pattern/pattern.h"

namespace ruleengine::match {

// Whether an attribute (nullptr: absent) is a pattern's literal; axes may be
// counted from either end.
bool is_literal(ops::NewestNodes& nodes, ir::NodeId node,
                const pattern::AttributePattern& wanted,
                const ir::Attribute* found);

// Collects the attributes that are not at their default and that no pattern
// names.
void collect_unnamed(ops::NewestNodes& nodes, const pattern::Pattern& pattern,
                     pattern::NodePatternId by, ir::NodeId node,
                     std::vector<Unnamed>& out);

// Sorts by node and name, and removes duplicates.
void sort_unnamed(std::vector<Unnamed>& all);

}  // namespace ruleengine::match
