// The order of nodes, for those who ask the analysis for it. It is computed in
// core/ir, since text and bytes are written in it too.
#ifndef RULEENGINE_CORE_ANALYSIS_ORDER_H_
#define RULEENGINE_CORE_ANALYSIS_ORDER_H_

#include "core/ir/order.h"

namespace ruleengine::analysis {

using ir::topological_order;

}  // namespace ruleengine::analysis

#endif  // RULEENGINE_CORE_ANALYSIS_ORDER_H_
