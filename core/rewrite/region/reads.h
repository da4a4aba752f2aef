// What nodes of a region read, with what their bodies read from outside.
// Internal to core/rewrite/region.
#pragma once

#include <functional>

#include "core/rewrite/cut.h"

namespace ruleengine::rewrite {

void for_each_read(const Region& region, ir::NodeId node, Region::Side side,
                   const std::function<void(ir::ValueId)>& visit);

// The nodes of a body that `has` them, in computation order.
std::vector<ir::NodeId> nodes_of(const ir::Graph& graph, ir::BlockId body,
                                 const std::function<bool(ir::NodeId)>& has);

// What the graph's model or function imports.
const ir::OpsetImports& opsets_of(const ir::Graph& graph);

// Whether all bytes of a constant are 0, as those of a new bias; false for one
// that is not in memory.
bool is_zeros(const ir::Literal& tensor);

// key.cc: sets the key of a cut, and whether both sides are the same.
void write_key(const Region& region, Cut& cut);

}  // namespace ruleengine::rewrite
