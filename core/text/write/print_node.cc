// The part of Printer that prints constants, nodes and attributes.
#include <fmt/format.h>

#include <set>

#include "core/text/numbers.h"
#include "core/text/read/parser.h"
#include "core/text/words.h"
#include "core/text/write/printer.h"

namespace ruleengine::text {

using ir::AttributeKind;
using ir::BlockId;
using ir::NodeId;
using ir::ValueId;

std::string Printer::constant(ValueId id, const ir::Literal& data) const {
  return tensor_type_text(data) + " " + value_name(id) + " = " +
         data_text(data, model_.external.get(), options_);
}

// Prints constants and declared types, one per line.
void Printer::constants(BlockId id, int depth) {
  std::vector<std::string> lines;
  const ir::Block& b = graph_->block(id);
  const std::set<ValueId> inputs_of(b.inputs.begin(), b.inputs.end());
  for (ValueId v : b.initializers) {
    const ir::Value& value = graph_->value(v);
    if (value.removed || value.tensor == nullptr) continue;
    if (!inputs_of.contains(v)) lines.push_back(constant(v, *value.tensor));
  }
  for (ValueId v : typed_[id.index()]) lines.push_back(declared(v));
  if (lines.empty()) return;
  const char* separator = " <\n";
  for (const std::string& line : lines) {
    out_ += separator + indent(depth + 2) + line;
    separator = ",\n";
  }
  out_ += ">";
}

void Printer::node(NodeId id, int depth) {
  const ir::Node& n = graph_->node(id);
  out_ += indent(depth);
  label(n);
  out_ += joined(graph_->outputs(id), [&](ValueId v) { return value_name(v); });
  const ir::Op& op = graph_->op(id);
  out_ += " = " + op_text(op.domain, op.type, op.overload);
  bool has_graph = false;
  for (const ir::Attribute& a : n.attributes) has_graph |= !a.blocks.empty();
  if (!has_graph) attributes(n.attributes, depth);
  out_ += n.attributes.empty() || has_graph ? "(" : " (";
  out_ += joined(graph_->inputs(id),
                 [&](const ir::Operand& use) { return value_name(use.value); });
  out_ += ")";
  // Attributes with a long body are easier to read after the inputs.
  if (has_graph) attributes(n.attributes, depth);
  out_ += "\n";
}

// Prints "[name, "key": "value"] ", with metadata only if weights are printed
// too. The metadata that a run adds is left out.
void Printer::label(const ir::Node& n) {
  std::string inside = n.name.empty() ? "" : name_text(n.name);
  if (options_.weights) {
    for (const ir::Metadata& m : n.metadata) {
      if (m.key.starts_with("ruleengine.")) continue;
      inside += (inside.empty() ? "" : ", ") + quoted_text(m.key) + ": " +
                quoted_text(m.value);
    }
  }
  if (!inside.empty()) out_ += "[" + inside + "] ";
}

void Printer::attributes(std::span<const ir::Attribute> list, int depth) {
  std::string comments;
  bool first = true;
  for (const ir::Attribute& a : list) {
    if (!has_words(a)) {
      comments += " " + printable(a.name);
      continue;
    }
    out_ += first ? " <" : ", ";
    first = false;
    attribute(a, depth);
  }
  if (!first) out_ += ">";
  if (!comments.empty()) {
    out_ += "  # not expressible:" + comments + "\n" + indent(depth + 1);
  }
}

namespace {

// The value of an attribute that is numbers or strings.
std::string plain_text(const ir::Attribute& a) {
  switch (a.kind) {
    case AttributeKind::kFloat:
      return real_text(a.f);
    case AttributeKind::kInt:
      return std::to_string(a.i);
    case AttributeKind::kString:
      return quoted_text(a.s);
    case AttributeKind::kFloats:
      return "[" + joined(a.floats, real_text) + "]";
    case AttributeKind::kInts:
      return fmt::format("[{}]", fmt::join(a.ints, ", "));
    case AttributeKind::kStrings:
      return "[" + joined(a.strings, quoted_text) + "]";
    default:
      return "?";
  }
}

// Whether the elements do not show the type of the attribute.
bool needs_type(const ir::Attribute& a) {
  if (!a.ref.empty()) return a.kind != AttributeKind::kUndefined;
  return is_list(a.kind) && a.floats.empty() && a.ints.empty() &&
         a.strings.empty() && a.tensors.empty() && a.blocks.empty() &&
         a.kind != AttributeKind::kTypeProtos;
}

}  // namespace

void Printer::attribute(const ir::Attribute& a, int depth) {
  out_ += name_text(a.name);
  if (needs_type(a)) out_.append(": ").append(kind_name(a.kind));
  out_ += " = ";
  if (!a.ref.empty()) {
    out_ += "@" + name_text(a.ref);
    return;
  }
  const bool list = is_list(a.kind);
  if (a.kind == AttributeKind::kTypeProto ||
      a.kind == AttributeKind::kTypeProtos) {
    attribute_types(a);
  } else if (a.kind == AttributeKind::kTensor ||
             a.kind == AttributeKind::kTensors) {
    if (list) out_ += "[";
    out_ += joined(a.tensors, [&](const ir::Literal* tensor) {
      return tensor_text(*tensor, model_.external.get(), options_);
    });
    if (list) out_ += "]";
  } else if (a.kind == AttributeKind::kGraph ||
             a.kind == AttributeKind::kGraphs) {
    graphs(a, depth);
  } else {
    out_ += plain_text(a);
  }
}

void Printer::graphs(const ir::Attribute& a, int depth) {
  const bool list = is_list(a.kind);
  if (list) out_ += "[";
  for (std::size_t i = 0; i < a.blocks.size(); ++i) {
    if (i != 0) out_ += ", ";
    if (short_) {
      const std::size_t count = graph_->block(a.blocks[i]).nodes.size();
      out_ += "{" + std::to_string(count) + " nodes}";
    } else if (depth > kMaxNesting) {
      out_ += "{...}";
    } else {
      block(a.blocks[i], depth);
    }
  }
  if (list) out_ += "]";
}

// Prints types from the AttributeProto in which they are kept.
void Printer::attribute_types(const ir::Attribute& a) {
  std::string all;
  Cursor f(a.proto, schema::kAttribute);
  while (f.next()) {
    if (f.child() != &schema::kType) continue;
    all += (all.empty() ? "" : ", ") + encoded_type_text(f.bytes());
  }
  out_ += is_list(a.kind) ? "[" + all + "]" : all;
}

}  // namespace ruleengine::text
