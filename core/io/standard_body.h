// Bodies of the standard's ops: what an op computes, as nodes of other ops. The
// ONNX library has them; its first use takes 30 ms. Whatever the library throws
// is an answer of "no body".
#pragma once

#include <span>
#include <string>

#include "core/base/result.h"
#include "core/ir/model.h"

namespace ruleengine::io {

// Whether the newest version of the op has a body.
bool has_standard_body(const ir::Op& op);

// The body for a call in its newest form, as an encoded FunctionProto. `types`
// are those of the inputs, nullptr where one is not known. An error of kind
// kModel where the standard has no body for such a call.
Result<std::string> standard_body(const ir::Graph& graph, ir::NodeId call,
                                  std::span<const ir::Type* const> types);

}  // namespace ruleengine::io
