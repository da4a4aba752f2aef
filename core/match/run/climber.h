// From bound values up through their readers, to the values that may match a
// later result or a condition. Linear in the readers on the way.
#pragma once

#include <functional>
#include <vector>

#include "core/match/compile/code.h"
#include "core/match/run/readers.h"
#include "core/ops/newest_nodes.h"

namespace ruleengine::match {

// Whether a node that reads a value at these slots is one step up, as `row`
// says.
bool climbs(const Climb::Row& row, const Reader& reader, bool upgraded);

// `get` reads a register. The values are unordered, perhaps with duplicates.
std::vector<ir::ValueId> climb(const Climb& climb, const ir::Graph& graph,
                               ops::NewestNodes& view, Readers& readers,
                               std::function<std::uint32_t(Reg)> get);

}  // namespace ruleengine::match
