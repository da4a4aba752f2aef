#include "core/text/print.h"

#include "core/ir/order.h"
#include "core/text/words.h"
#include "core/text/write/printer.h"

namespace ruleengine::text {

using ir::BlockId;
using ir::NodeId;
using ir::ValueId;

std::string print(const ir::Model& model, const PrintOptions& options) {
  return Printer(model, options).model();
}

std::string attribute_text(const ir::Graph& graph,
                           const ir::Attribute& attribute) {
  const PrintOptions options;
  return Printer(graph.model(), options).one_line(graph, attribute);
}

std::string Printer::model() {
  header();
  body(model_.graph);
  for (const auto& f : model_.functions) {
    if (!f->removed) function(*f);
  }
  return std::move(out_);
}

std::string Printer::one_line(const ir::Graph& graph,
                              const ir::Attribute& attribute_in) {
  graph_ = &graph;
  short_ = true;
  attribute(attribute_in, 0);
  return std::move(out_);
}

void Printer::imports(const ir::OpsetImports& list) {
  out_ += "opset_import: [" +
          joined(list,
                 [](const ir::OpsetImport& each) {
                   return quoted_text(each.domain) + " : " +
                          std::to_string(each.version);
                 }) +
          "]";
}

void Printer::header() {
  out_ += "<\n  ir_version: " + std::to_string(model_.ir_version) + ",\n  ";
  imports(model_.opset_imports);
  if (model_.source != nullptr) source_fields();
  out_ += "\n>\n";
}

void Printer::source_fields() {
  Cursor f(model_.source->bytes(), schema::kModel);
  std::string metadata;
  while (f.next()) {
    switch (f.field()) {
      case model_field::kProducerName:
      case model_field::kProducerVersion:
      case model_field::kDomain:
      case model_field::kDocString:
        if (f.text().empty()) break;
        out_.append(",\n  ").append(f.name()).append(": ");
        out_ += quoted_text(f.text());
        break;
      case model_field::kModelVersion:
        if (f.integer() == 0) break;
        out_ += ",\n  model_version: " + std::to_string(f.integer());
        break;
      case model_field::kMetadata: {
        const auto [key, value] = read_entry(f.bytes());
        metadata += (metadata.empty() ? "" : ", ") + quoted_text(key) + ": " +
                    quoted_text(value);
        break;
      }
      default:
        break;
    }
  }
  if (!metadata.empty()) out_ += ",\n  metadata_props: [" + metadata + "]";
}

void Printer::function(const ir::Function& f) {
  out_ += "\n<\n  domain: " + quoted_text(f.domain) + ",\n  ";
  if (!f.overload.empty()) {
    out_ += "overload: " + quoted_text(f.overload) + ",\n  ";
  }
  imports(f.opset_imports);
  out_ += "\n>\n" + name_text(f.name);
  std::string_view separator = " <";
  for (std::string_view a : f.attributes) {
    out_.append(separator).append(name_text(a));
    separator = ", ";
  }
  graph_ = &f.body;
  for (const ir::Attribute& a : f.attribute_defaults) {
    out_.append(separator);
    attribute(a, 1);
    separator = ", ";
  }
  if (separator == ", ") out_ += ">";
  out_ += " ";
  body(f.body);
}

// Nodes by block, in topological order; typed node outputs by block.
void Printer::body(const ir::Graph& graph) {
  graph_ = &graph;
  order_.assign(graph.block_count(), {});
  typed_.assign(graph.block_count(), {});
  if (const auto order = ir::topological_order(graph)) {
    for (NodeId n : *order) order_[graph.node(n).block.index()].push_back(n);
  } else {
    for (std::size_t b = 0; b < graph.block_count(); ++b) {
      for (NodeId n : graph.block(BlockId(b)).nodes) {
        if (!graph.node(n).removed) order_[b].push_back(n);
      }
    }
  }
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const ir::Value& v = graph.value(ValueId(i));
    if (v.kind == ir::ValueKind::kNodeOutput && v.declared != nullptr &&
        !v.removed && v.block_output_count == 0) {
      typed_[v.block.index()].push_back(ValueId(i));
    }
  }
  block(ir::Graph::main_block(), 0);
}

void Printer::block(BlockId id, int depth) {
  const ir::Block& b = graph_->block(id);
  const bool formal = graph_ != &model_.graph && depth == 0;
  if (!formal) out_ += name_text(b.name.empty() ? "graph" : b.name) + " ";
  out_ += "(" +
          joined(b.inputs,
                 [&](ValueId v) {
                   const ir::Literal* data = graph_->value(v).tensor;
                   return data == nullptr ? declared(v) : constant(v, *data);
                 }) +
          ") => (";
  out_ += joined(b.outputs, [&](ValueId v) { return declared(v); }) + ")";
  constants(id, depth);
  out_ += " {\n";
  for (NodeId n : order_[id.index()]) node(n, depth + 1);
  out_ += indent(depth) + "}";
  if (depth == 0) out_ += "\n";
}

std::string Printer::value_name(ValueId id) const {
  if (!id) return "\"\"";
  const std::string_view name = graph_->name(id);
  return name.empty() ? quoted_text("%" + std::to_string(id.index()))
                      : name_text(name);
}

std::string Printer::declared(ValueId id) const {
  const ir::Type* type = graph_->value(id).declared;
  const std::string text = type_text(model_, type);
  return (text == "?" ? "" : text + " ") + value_name(id);
}

}  // namespace ruleengine::text
