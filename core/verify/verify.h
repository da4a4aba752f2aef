// Invariants of graphs and models, each with its own message. A violation is a
// bug of the engine, not of the input (loading checks that), and such a model
// must not be saved. Run once before saving, and after every edit in builds
// that enable it. Linear except for one sort; reads only.
#pragma once

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/ir/model.h"

namespace ruleengine::verify {

// Uses are linked both ways, producers are consistent, nothing refers to what
// was removed, names are unique in their block, values are visible where they
// are used, blocks are complete, initializers have data and are listed once,
// there is no cycle, no rank falls.
Status check_graph(const ir::Graph& graph);

// check_graph for every body; also every domain is imported, and calls fit the
// interface of their model-local function.
Status check_model(const ir::Model& model);

}  // namespace ruleengine::verify
