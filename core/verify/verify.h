// Invariants of graphs and models, each with its own message. A violation is a
// bug of the engine, not of the input (loading checks that), so nothing that
// fails here may be saved. Run once before saving, and after every edit in
// builds that ask for it. Linear but for one sort; reads only.
#ifndef RULEENGINE_CORE_VERIFY_VERIFY_H_
#define RULEENGINE_CORE_VERIFY_VERIFY_H_

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/ir/model.h"

namespace ruleengine::verify {

// Uses linked both ways, producers consistent, nothing removed is referenced,
// names unique in their block, values visible where they are used, blocks
// complete, initializers with data and listed once, no cycle, no rank that
// falls.
Status check_graph(const ir::Graph& graph);

// check_graph of every body; every domain imported; calls of model-local
// functions within their interface.
Status check_model(const ir::Model& model);

}  // namespace ruleengine::verify

#endif  // RULEENGINE_CORE_VERIFY_VERIFY_H_
