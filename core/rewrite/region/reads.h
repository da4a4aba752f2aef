// What nodes of a region read, with what their bodies read from outside.
// Internal to core/rewrite/region.
#pragma once

#include <functional>

#include "core/rewrite/region/region.h"

namespace ruleengine::rewrite {

void for_each_read(const Region& region, ir::NodeId node, Region::Side side,
                   const std::function<void(ir::ValueId)>& visit);

// The nodes of a body on one side, in computation order.
std::vector<ir::NodeId> nodes_of(const Region& region, ir::BlockId body,
                                 Region::Side side);

}  // namespace ruleengine::rewrite
