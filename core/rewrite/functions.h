// The functions of a model: which bodies rules may rewrite, which functions are
// removed with their last call, and which opset imports are in use. Stateless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ir/model.h"

namespace ruleengine::rewrite {

// The main graph first, then the function bodies, except those of the engine's
// own ops and of ir::Function::is_op: such a call is treated as an op.
std::vector<ir::Graph*> rewritable_graphs(ir::Model& model);
std::vector<const ir::Graph*> rewritable_graphs(const ir::Model& model);

// Whether `to` is `from`, or `from` calls it directly or through others.
bool reaches(const ir::Function& from, const ir::Function& to);

// The functions that some node calls.
std::vector<ir::Function*> called_functions(const ir::Model& model);

// The calls in the main graph of functions that can be written in place, as
// long as the graph has at most `most` nodes then, those included that the
// bodies call in turn; in graph order. Not those of the engine's own ops, nor
// those with more than 64 calls within each other.
inline constexpr std::uint64_t kMostNodesInPlace = 200'000;
std::vector<ir::NodeId> calls(const ir::Model& model,
                              std::uint64_t most = kMostNodesInPlace);

// Those of functions that nothing else calls, or whose bodies have one node at
// most. What is not reached from the main graph does not call.
std::vector<ir::NodeId> single_calls(const ir::Model& model);

// Removes functions of `were_called` that lost their last call, directly or
// because their callers are removed. Linear in the model.
void remove_uncalled(const ir::Model& model,
                     const std::vector<ir::Function*>& were_called);

// Removes opset imports of the model whose domain no node and no function uses,
// except the first `kept` ones and that of the standard.
void remove_unused_imports(ir::Model& model, std::size_t kept);

}  // namespace ruleengine::rewrite
