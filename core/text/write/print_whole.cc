// Checks whether ONNX text can express everything that a model computes with.
#include <algorithm>

#include "core/text/print.h"
#include "core/text/words.h"
#include "core/text/write/printer.h"

namespace ruleengine::text {
namespace {

using ir::NodeId;
using ir::ValueId;

std::string unsaid_attribute(std::span<const ir::Attribute> list,
                             const std::string& owner) {
  for (const ir::Attribute& a : list) {
    if (has_words(a)) continue;
    return std::string(kind_name(a.kind)) + " attribute '" + printable(a.name) +
           "' of " + owner;
  }
  return {};
}

// Checks the body of the model or of a function, with its subgraphs.
std::string unsaid(const ir::Graph& graph) {
  for (const NodeId node : graph.live_nodes()) {
    std::string found = unsaid_attribute(graph.node(node).attributes,
                                         printable(graph.describe(node)));
    if (!found.empty()) return found;
  }
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const ir::Value& v = graph.value(ValueId(i));
    if (v.removed || v.kind != ir::ValueKind::kInitializer ||
        v.tensor != nullptr || graph.reader_count(ValueId(i)) == 0) {
      continue;
    }
    return "sparse initializer '" + printable(graph.name(ValueId(i))) + "'";
  }
  return {};
}

// The name of the values in an encoded SparseTensorProto.
std::string_view sparse_name(Bytes proto) {
  Cursor sparse(proto, schema::kSparseTensor);
  std::string_view name;
  while (sparse.next()) {
    if (sparse.field() != sparse_field::kValues) continue;
    name = text_field(sparse.bytes(), schema::kTensor, tensor_field::kName);
  }
  return name;
}

// Checks sparse defaults of inputs, which the graph does not hold.
std::string unsaid_default(const ir::Model& model) {
  if (model.source == nullptr) return {};
  const ir::Graph& graph = model.graph;
  const auto& inputs = graph.block(ir::Graph::main_block()).inputs;
  Cursor file(model.source->bytes(), schema::kModel);
  while (file.next()) {
    if (file.field() != model_field::kGraph) continue;
    Cursor body(file.bytes(), schema::kGraph);
    while (body.next()) {
      if (body.field() != graph_field::kSparse) continue;
      const std::string_view name = sparse_name(body.bytes());
      if (std::ranges::any_of(
              inputs, [&](ValueId v) { return graph.name(v) == name; })) {
        return "sparse default of input '" + printable(name) + "'";
      }
    }
  }
  return {};
}

std::string unsaid(const ir::Model& model) {
  std::string found = unsaid(model.graph);
  if (found.empty()) found = unsaid_default(model);
  for (const auto& f : model.functions) {
    if (!found.empty()) break;
    if (f->removed) continue;
    found = unsaid_attribute(f->attribute_defaults,
                             "function '" + printable(f->name) + "'");
    if (found.empty()) found = unsaid(f->body);
  }
  return found;
}

}  // namespace

Result<std::string> print_whole(const ir::Model& model) {
  std::string found = unsaid(model);
  if (found.empty()) return print(model, {.weights = true});
  return Diagnostic{ErrorKind::kWrite,
                    "the model cannot be written as ONNX text",
                    "",
                    "only dense tensors",
                    std::move(found),
                    "write it as *.onnx"};
}

}  // namespace ruleengine::text
