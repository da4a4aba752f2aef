// The target `portable`: nodes of the engine's own ops stay one node each, and
// get a model-local function whose body says them in standard ops at the
// model's own opset; runtimes that know functions of a model run the file.
// Variants (a mask or none, causal, a scale, ...) are overloads of one function
// name, specialized with their literal attributes; equal variants share one.
// Without overloads, and where functions of the model call them, one variant
// has the plain name and others have names of their own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ir/model.h"

namespace ruleengine::rewrite {

// The oldest opset of the standard that bodies are said in.
inline constexpr std::int64_t kOldestOpset = 11;

// The first IR version with functions of a model.
inline constexpr std::int64_t kFunctionIrVersion = 8;
// The first one with overloads of them.
inline constexpr std::int64_t kOverloadIrVersion = 10;

// A node that got no function body, though its op has a meaning.
struct Bare {
  std::string node, reason;
};

struct PortableOptions {
  // Whether ops of ONNX Runtime's domain get one, too.
  bool foreign = false;
  // IR versions before 10 have none. The other names need version 8.
  bool overloads = true;
  // Nodes of the main graph (ascending) that get a body too. They are looked at
  // first; one that is not what its op says is kRule.
  std::span<const ir::NodeId> more;
};

// Gives a function body to the nodes that rules made (with ruleengine.rule in
// their metadata) and whose op no function defines. Ops without a meaning, such
// as the collectives, stay as they are. An opset that is too old for any body:
// kModel.
Result<std::vector<Bare>> write_portable(ir::Model& model,
                                         const PortableOptions& options = {});

// For a file of an IR version without functions: writes the nodes of such ops
// that rules made as the nodes of their bodies. Those with a Bare stay.
// `foreign` as in PortableOptions.
Result<std::vector<Bare>> write_inline(ir::Model& model, bool foreign);

// Whether a rule of this run, or of an earlier one, made the node.
bool made_by_rule(const ir::Node& node);

// Is this one of the engine's own ops that get a body?
bool has_body(const ir::Op& op);

}  // namespace ruleengine::rewrite
