// Prints graphs as ONNX text that parse_model (core/text/parse.h) reads back to
// an equal graph: header, functions, subgraphs, declared types, constants, and
// nodes in topological order (in the order of their block if there is a cycle).
// What the text cannot express (sparse tensors, annotations) becomes a comment
// or is left out. Reads only; works on any graph, even an invalid one.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/ir/model.h"

namespace ruleengine::text {

struct PrintOptions {
  // Print all elements of all tensors (a reference for external data without
  // its file) and the metadata of nodes. If false, a tensor with more than
  // `max_elements` elements is printed as `{...}`, which cannot be read back.
  bool weights = false;
  std::int64_t max_elements = 16;
};

std::string print(const ir::Model& model, const PrintOptions& options = {});

// Prints with all weights, to be read again. A Diagnostic (kWrite, no place)
// when sparse data would be left out. Doc strings are left out, and the
// metadata that tells which rule made a node.
Result<std::string> print_whole(const ir::Model& model);

// "float[B,8]", "float" (a scalar), "float[]" (unknown rank); "?" for nullptr.
std::string type_text(const ir::Model& model, const ir::Type* type);

// "axis = -1"; on one line, with graphs and large tensors abbreviated.
std::string attribute_text(const ir::Graph& graph,
                           const ir::Attribute& attribute);

// "float[2] {1, 2}".
std::string tensor_text(const ir::Literal& tensor, ir::ExternalData* external,
                        const PrintOptions& options);

}  // namespace ruleengine::text
