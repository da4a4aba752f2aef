#include <cassert>

#include "core/io/write/write_graph.h"

// The parts of GraphWriter for nodes, and for parts without an encoding.
namespace ruleengine::io {

using ir::AttributeKind;
using ir::BlockId;
using ir::NodeId;
using ir::ValueId;
using ir::ValueKind;

// For debug builds: an edit that renamed a value must have dropped the
// encodings of all nodes that contain its name.
bool GraphWriter::names_hold(NodeId id) {
  std::size_t input = 0, output = 0;
  Cursor cursor(graph_.node(id).proto, schema::kNode);
  while (cursor.next()) {
    ValueId v;
    if (cursor.field() == node_field::kInput) {
      v = graph_.input(id, input++);
    } else if (cursor.field() == node_field::kOutput) {
      v = graph_.output(id, output++);
    } else {
      continue;
    }
    if (cursor.text() != (v ? name_of(v) : std::string_view())) return false;
  }
  return input == graph_.inputs(id).size() &&
         output == graph_.outputs(id).size();
}

void GraphWriter::write_node(NodeId id, std::uint32_t field) {
  const ir::Node& node = graph_.node(id);
  const bool dirty = !dirty_owner_.empty() && dirty_owner_[id.index()];
  if (!node.proto.empty() && !dirty) {
    assert(names_hold(id));
    return emitter_.verbatim(field, node.proto, schema::kNode);
  }
  const Rope::Mark mark = rope_.begin(field);
  for (const ir::Operand& use : graph_.inputs(id)) {
    rope_.text(node_field::kInput,
               use.value ? name_of(use.value) : std::string_view());
  }
  for (ValueId v : graph_.outputs(id)) {
    rope_.text(node_field::kOutput, v ? name_of(v) : std::string_view());
  }
  const ir::Op& op = model_.ops[node.op];
  if (!node.name.empty()) rope_.text(node_field::kName, node.name);
  rope_.text(node_field::kOpType, op.type);
  for (const ir::Attribute& a : node.attributes) {
    write_attribute(node_field::kAttribute, a);
  }
  rope_.view(node.extra);
  if (!op.domain.empty()) rope_.text(node_field::kDomain, op.domain);
  if (!op.overload.empty()) rope_.text(node_field::kOverload, op.overload);
  for (const ir::Metadata& entry : node.metadata) {
    rope_.entry(node_field::kMetadata, entry.key, entry.value);
  }
  rope_.end(mark);
}

void GraphWriter::write_attribute(std::uint32_t field, const ir::Attribute& a) {
  bool dirty = false;
  for (BlockId b : a.blocks) dirty |= dirty_[b.index()];
  if (!a.proto.empty() && !dirty) {
    return emitter_.verbatim(field, a.proto, schema::kAttribute);
  }
  const Rope::Mark mark = rope_.begin(field);
  if (a.kind == AttributeKind::kGraph || a.kind == AttributeKind::kGraphs) {
    write_graph_attribute(a);
  } else {
    encode_attribute(emitter_, a);
  }
  rope_.end(mark);
}

// A graph keeps its place in the list.
void GraphWriter::write_graph_attribute(const ir::Attribute& attribute) {
  const auto field = attribute.kind == AttributeKind::kGraph
                         ? attribute_field::kG
                         : attribute_field::kGraphs;
  std::size_t next = 0;
  const auto write_next = [&] {
    if (next < attribute.blocks.size()) {
      write_block(attribute.blocks[next++], field);
    }
  };
  if (attribute.proto.empty()) {
    encode_attribute(emitter_, attribute);
  } else {
    Cursor cursor(attribute.proto, schema::kAttribute);
    while (cursor.next()) {
      if (cursor.field() == field) {
        write_next();
      } else {
        rope_.view(cursor.whole());
      }
    }
  }
  while (next < attribute.blocks.size()) write_next();
}

// Writes the inputs and the name of a graph that has no encoding.
void GraphWriter::write_interface(Body& body) {
  const ir::Block& block = graph_.block(body.block);
  if (!body.layout.formal) {
    rope_.text(graph_field::kName,
               block.name.empty() ? std::string_view("graph") : block.name);
    write_initializers(body);
  }
  for (ValueId v : block.inputs) {
    write_value(body.layout, body.layout.input, v);
  }
}

void GraphWriter::write_value(const BodyLayout& layout, std::uint32_t field,
                              ValueId v) {
  if (layout.formal) return rope_.text(field, name_of(v));
  encode_value_info(rope_, field, name_of(v), graph_.value(v).declared,
                    model_.dims);
}

// Before IR version 4 an initializer has to be an input as well.
void GraphWriter::write_new_inputs(const Body& body) {
  if (body.layout.formal || model_.ir_version >= 4) return;
  const ir::Block& block = graph_.block(body.block);
  for (ValueId v : block.initializers) {
    const ir::Literal* tensor = graph_.value(v).tensor;
    if (is_input_[v.index()] || tensor == nullptr) continue;
    encode_tensor_info(rope_, body.layout.input, name_of(v), *tensor);
  }
}

// Writes the types that edits gave to new values.
void GraphWriter::write_new_infos(const Body& body) {
  for (const ValueId v : values_of(body.block)) {
    const ir::Value& value = graph_.value(v);
    if (value.declared == nullptr || has_info_[v.index()] ||
        value.kind != ValueKind::kNodeOutput || !lives(v)) {
      continue;
    }
    // A file cannot express a shape without an element type.
    if (value.declared->is_tensor() &&
        value.declared->elem == ir::DataType::kUndefined) {
      continue;
    }
    encode_value_info(rope_, body.layout.value_info, name_of(v), value.declared,
                      model_.dims);
  }
}

Status GraphWriter::write_function(const ir::Function& function) {
  Body body{ir::Graph::main_block(), kFunctionBody};
  OpsetWriter opsets(rope_, function_field::kOpsetImport,
                     function.opset_imports);
  if (function.proto.empty()) write_function_head(function);
  write_body(body, function.proto, &opsets);
  opsets.finish();
  if (error_) return *error_;
  return {};
}

void GraphWriter::write_function_head(const ir::Function& function) {
  rope_.text(function_field::kName, function.name);
  for (std::string_view name : function.attributes) {
    rope_.text(function_field::kAttribute, name);
  }
  rope_.text(function_field::kDomain, function.domain);
  for (const ir::Attribute& a : function.attribute_defaults) {
    write_attribute(function_field::kAttributeProto, a);
  }
  if (!function.overload.empty()) {
    rope_.text(function_field::kOverload, function.overload);
  }
}

void OpsetWriter::field(const Cursor& cursor) {
  ir::OpsetImport old;
  Cursor opset(cursor.bytes(), schema::kOpset);
  while (opset.next()) {
    if (opset.field() == opset_field::kDomain) old.domain = opset.text();
    if (opset.field() == opset_field::kVersion) old.version = opset.integer();
  }
  const std::size_t at = imports_.find(old.domain);
  if (at == imports_.size()) return;
  if (imports_[at].as_read || imports_[at].version == old.version) {
    rope_.view(cursor.whole());
  } else if (!seen_[at]) {
    encode_opset(rope_, field_, imports_[at]);
  }
  seen_[at] = true;
}

void OpsetWriter::finish() {
  for (std::size_t i = 0; i < imports_.size(); ++i) {
    if (seen_[i] || imports_[i].as_read) continue;
    encode_opset(rope_, field_, imports_[i]);
  }
}

}  // namespace ruleengine::io
