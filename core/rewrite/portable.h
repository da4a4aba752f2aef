// The target `portable`: nodes of the engine's own ops stay one node each, and
// get a model-local function whose body says them in standard ops at the
// model's own opset, so that any ONNX runtime runs the file. Variants (a mask
// or none, causal, a scale, ...) are overloads of one function name,
// specialized with their literal attributes; equal variants share one. Where
// functions of the model call them, one variant has the plain name and others
// have names of their own.
#ifndef RULEENGINE_CORE_REWRITE_PORTABLE_H_
#define RULEENGINE_CORE_REWRITE_PORTABLE_H_

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/ir/model.h"

namespace ruleengine::rewrite {

// The oldest opset of the standard that bodies are said in.
inline constexpr std::int64_t kOldestOpset = 11;

// Gives a body to what rules made (nodes with ruleengine.rule in their
// metadata) and nothing defines, and to `more` (ascending) of the main graph,
// which are looked at first: one that is not what its op says is kRule. Ops
// without a counterpart, such as the collectives, stay as they are. An opset
// too old to say a body: kModel.
Status write_portable(ir::Model& model, std::span<const ir::NodeId> more = {});

// Is this one of the ops that get a body?
bool has_body(const ir::Op& op);

}  // namespace ruleengine::rewrite

#endif  // RULEENGINE_CORE_REWRITE_PORTABLE_H_
