// Printing of graphs as ONNX text that parse_model (core/text/parse.h) reads
// back to an equal graph: header, functions, subgraphs, declared types and
// constants, nodes in topological order (in that of their block where there is
// none). What the text has no words for (sparse tensors, annotations) stands in
// a comment or is left out. Reads only; works on any
// graph, a broken one included.
#ifndef RULEENGINE_CORE_TEXT_PRINT_H_
#define RULEENGINE_CORE_TEXT_PRINT_H_

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/ir/model.h"

namespace ruleengine::text {

struct PrintOptions {
  // All elements of all tensors, external ones included (as a reference where
  // their files are not at hand), and metadata of nodes. Else a tensor of more
  // than `max_elements` says `{...}` instead, which cannot be read back.
  bool weights = false;
  std::int64_t max_elements = 16;
};

std::string print(const ir::Model& model, const PrintOptions& options = {});

// With all weights, to be read again. A Diagnostic (kWrite, no place) where
// sparse data would be left out; doc strings may be, and which rule made a
// node.
Result<std::string> print_whole(const ir::Model& model);

// "float[B,8]", "float" (a scalar), "float[]" (unknown rank); "?" for nullptr.
std::string type_text(const ir::Model& model, const ir::Type* type);

// "axis = -1"; on one line, with graphs and large tensors abbreviated.
std::string attribute_text(const ir::Graph& graph,
                           const ir::Attribute& attribute);

// "float[2] {1, 2}".
std::string tensor_text(const ir::Tensor& tensor, ir::ExternalData* external,
                        const PrintOptions& options);

}  // namespace ruleengine::text

#endif  // RULEENGINE_CORE_TEXT_PRINT_H_
