#include "core/io/write/write_graph.h"

#include <algorithm>
#include <ranges>

namespace ruleengine::io {

using ir::BlockId;
using ir::NodeId;
using ir::ValueId;
using ir::ValueKind;

namespace {

// The name in a field that holds a ValueInfoProto.
std::string_view value_name(const Cursor& field) {
  return text_field(field.bytes(), schema::kValueInfo, value_info_field::kName);
}

}  // namespace

GraphWriter::GraphWriter(const ir::Model& model, const ir::Graph& graph,
                         Emitter& emitter, const WriteSettings& settings,
                         bool fresh)
    : model_(model),
      graph_(graph),
      emitter_(emitter),
      rope_(emitter.rope()),
      settings_(settings),
      dirty_(graph.block_count()),
      passage_(model.source.get()),
      by_name_(emitter.by_name) {
  find_changes(fresh);
  if (!changed_) return;
  orderer_.emplace(graph);
  sort_values();
}

void GraphWriter::find_changes(bool fresh) {
  for (std::size_t b = 0; b < graph_.block_count(); ++b) {
    const ir::Block& block = graph_.block(BlockId(b));
    const bool is_gone = block.owner && graph_.node(block.owner).removed;
    const bool anew = block.changed || block.proto.empty() || (fresh && b == 0);
    if (is_gone || !anew) continue;
    changed_ = true;
    // Stops at the first block that is marked already.
    for (BlockId at(b); !dirty_[at.index()];) {
      dirty_[at.index()] = true;
      const NodeId owner = graph_.block(at).owner;
      if (!owner) break;
      if (dirty_owner_.empty()) dirty_owner_.resize(graph_.node_count());
      dirty_owner_[owner.index()] = true;
      at = graph_.node(owner).block;
    }
  }
}

// Counting sort by block; also marks names that the fields of a body may refer
// to.
void GraphWriter::sort_values() {
  by_name_.resize(std::max(by_name_.size(), model_.names.size()));
  is_initializer_.resize(graph_.value_count());
  is_input_.resize(graph_.value_count());
  has_info_.resize(graph_.value_count());
  block_begin_.assign(graph_.block_count() + 1, 0);
  for (std::size_t v = 0; v < graph_.value_count(); ++v) {
    const BlockId block = graph_.value(ValueId(v)).block;
    if (block) ++block_begin_[block.index() + 1];
  }
  for (std::size_t b = 0; b < graph_.block_count(); ++b) {
    block_begin_[b + 1] += block_begin_[b];
    for (ValueId v : graph_.block(BlockId(b)).initializers) {
      is_initializer_[v.index()] = true;
    }
    for (ValueId v : graph_.block(BlockId(b)).inputs) {
      is_input_[v.index()] = true;
    }
  }
  by_block_.resize(block_begin_.back());
  std::vector<std::size_t> next(block_begin_);
  for (std::size_t v = 0; v < graph_.value_count(); ++v) {
    const BlockId block = graph_.value(ValueId(v)).block;
    if (block) by_block_[next[block.index()]++] = ValueId(v);
  }
}

std::span<const ValueId> GraphWriter::values_of(BlockId block) const {
  const std::size_t begin = block_begin_[block.index()];
  return std::span(by_block_).subspan(begin,
                                      block_begin_[block.index() + 1] - begin);
}

bool GraphWriter::lives(ValueId id) const {
  const ir::Value& value = graph_.value(id);
  if (value.removed) return false;
  switch (value.kind) {
    case ValueKind::kInput:
      return true;
    case ValueKind::kNodeOutput:
      return value.producer && !graph_.node(value.producer).removed;
    case ValueKind::kInitializer:  // sparse ones have no tensor
      return value.tensor == nullptr || is_initializer_[id.index()];
    case ValueKind::kUndefined:
      return false;
  }
  return false;
}

// Enters the names of a body, those of live values before those of dead ones;
// entries of outer bodies are saved aside.
void GraphWriter::enter_names(BlockId block) {
  shadowed_.emplace_back();
  for (const ValueId v : values_of(block)) {
    const Name name = graph_.value(v).name;
    shadowed_.back().push_back(name ? by_name_[name.index()] : ValueId());
    if (!name) continue;
    ValueId& at = by_name_[name.index()];
    const bool other = !at || graph_.value(at).block != block;
    if (other || !lives(at)) at = v;
  }
}

void GraphWriter::leave_names(BlockId block) {
  for (const ValueId v : values_of(block) | std::views::reverse) {
    const Name name = graph_.value(v).name;
    if (name) by_name_[name.index()] = shadowed_.back().back();
    shadowed_.back().pop_back();
  }
  shadowed_.pop_back();
}

// The value of that name in the body being written; invalid when there is none.
ValueId GraphWriter::own_value(std::string_view text) const {
  const Name name = model_.names.find(text);
  return name ? by_name_[name.index()] : ValueId();
}

std::string_view GraphWriter::name_of(ValueId id) {
  const ir::Value& value = graph_.value(id);
  if (value.name) return model_.names.text(value.name);
  std::string& made = made_names_[id.index()];
  // Made names are unique, as value ids are, unless the model already has such
  // a name.
  for (int i = 0; made.empty() || model_.names.find(made); ++i) {
    made = "value_" + std::to_string(id.index()) +
           (i == 0 ? "" : "_" + std::to_string(i));
  }
  return made;
}

Status GraphWriter::write(std::uint32_t field) {
  write_block(ir::Graph::main_block(), field);
  if (error_) return *error_;
  return {};
}

// The recursion is as deep as bodies are nested, which load has bounded.
void GraphWriter::write_block(BlockId id, std::uint32_t field) {
  const ir::Block& block = graph_.block(id);
  if (!dirty_[id.index()]) {
    return emitter_.verbatim(field, block.proto, schema::kGraph);
  }
  const Rope::Mark mark = rope_.begin(field);
  Body body{id, kGraphBody};
  write_body(body, block.proto);
  rope_.end(mark);
}

void GraphWriter::write_body(Body& body, Bytes proto, OpsetWriter* opsets) {
  enter_names(body.block);
  if (proto.empty()) {
    write_nodes(body);
    write_interface(body);
  } else {
    Cursor cursor(proto, body.layout.message);
    while (cursor.next()) {
      if (opsets && cursor.field() == function_field::kOpsetImport) {
        opsets->field(cursor);
      } else {
        write_field(body, cursor);
      }
      passage_.pass(cursor.whole());
    }
  }
  finish_body(body);
  leave_names(body.block);
}

void GraphWriter::write_field(Body& body, const Cursor& cursor) {
  const BodyLayout& layout = body.layout;
  const std::uint32_t field = cursor.field();
  if (field == layout.node) {
    if (!body.nodes) write_nodes(body);
  } else if (field == layout.initializer) {
    if (!body.initializers) write_initializers(body);
  } else if (field == layout.input) {
    write_input(body, cursor);
  } else if (field == layout.output) {
    write_output(body, cursor);
  } else if (field == layout.value_info) {
    write_value_info(body, cursor);
  } else if (!layout.formal && field == graph_field::kAnnotation) {
    write_annotation(body, cursor);
  } else if (cursor.child() != nullptr) {
    emitter_.verbatim(field, cursor.bytes(), *cursor.child());
  } else {
    rope_.view(cursor.whole());
  }
}

// Writes what the old encoding had no field for.
void GraphWriter::finish_body(Body& body) {
  if (!body.nodes) write_nodes(body);
  if (!body.initializers) write_initializers(body);
  for (ValueId v : body.rescued) {
    write_tensor(emitter_, body.layout.initializer, *graph_.value(v).tensor,
                 name_of(v), DataPlace::kAnywhere);
  }
  const auto& outputs = graph_.block(body.block).outputs;
  for (; body.outputs < outputs.size(); ++body.outputs) {
    const ValueId v = outputs[body.outputs];
    has_info_[v.index()] = true;
    write_value(body.layout, body.layout.output, v);
  }
  write_new_inputs(body);
  write_new_infos(body);
}

void GraphWriter::write_nodes(Body& body) {
  body.nodes = true;
  const Orderer::Order order = orderer_->run(body.block);
  if (!order.cycle.empty() && !error_) {
    error_ = Diagnostic{
        ErrorKind::kModel,
        "the rewritten graph has a cycle",
        graph_.describe(order.cycle.front()),
        "an acyclic graph",
        "a cycle of " + std::to_string(order.cycle.size()) + " nodes",
        ""};
  }
  for (NodeId n : order.nodes) write_node(n, body.layout.node);
}

void GraphWriter::write_initializers(Body& body) {
  body.initializers = true;
  if (body.layout.initializer == 0) return;
  for (ValueId v : graph_.block(body.block).initializers) {
    const ir::Literal* tensor = graph_.value(v).tensor;
    if (tensor == nullptr) continue;
    write_tensor(emitter_, body.layout.initializer, *tensor, name_of(v),
                 DataPlace::kAnywhere);
    passage_.pass(tensor->proto);
  }
}

// In a file before IR version 4, constants are also listed as inputs: such an
// input is written only if its constant is, and not in a newer version.
void GraphWriter::write_input(Body& body, const Cursor& cursor) {
  if (body.layout.formal) return rope_.view(cursor.whole());
  const ValueId v = own_value(value_name(cursor));
  if (settings_.source_ir_version < 4 && v &&
      graph_.value(v).kind == ValueKind::kInitializer &&
      (model_.ir_version >= 4 || !lives(v))) {
    return;
  }
  write_info(cursor, v);
}

void GraphWriter::write_output(Body& body, const Cursor& cursor) {
  const auto& outputs = graph_.block(body.block).outputs;
  if (body.outputs >= outputs.size()) return;
  const ValueId v = outputs[body.outputs++];
  has_info_[v.index()] = true;
  const std::string_view name = name_of(v);
  if (body.layout.formal) return rope_.text(body.layout.output, name);
  if (value_name(cursor) == name) return write_info(cursor, v);
  const Rope::Mark mark = rope_.begin(body.layout.output);
  rope_.text(value_info_field::kName, name);
  Cursor rest(cursor.bytes(), schema::kValueInfo);
  std::size_t axis = 0;
  while (rest.next()) {
    if (rest.field() == value_info_field::kType) {
      write_sizes(rest, schema::kType, graph_.value(v).declared, axis);
    } else if (rest.field() != value_info_field::kName) {
      rope_.view(rest.whole());
    }
  }
  rope_.end(mark);
}

void GraphWriter::write_info(const Cursor& info, ValueId v) {
  std::size_t axis = 0;
  write_sizes(info, schema::kValueInfo, v ? graph_.value(v).declared : nullptr,
              axis);
}

// A ValueInfo, or a part of one. If names of dimensions were bound, those of a
// tensor become what `type` has there.
void GraphWriter::write_sizes(const Cursor& old, const schema::Message& message,
                              const ir::Type* type, std::size_t& axis) {
  if (!model_.dims.has_bound() || type == nullptr || !type->is_tensor()) {
    return rope_.view(old.whole());
  }
  const Rope::Mark mark = rope_.begin(old.field());
  Cursor cursor(old.bytes(), message);
  while (cursor.next()) {
    if (cursor.child() != nullptr) {
      write_sizes(cursor, *cursor.child(), type, axis);
    } else if (&message == &schema::kDimension &&
               cursor.field() == dimension_field::kParam &&
               axis < type->rank()) {
      encode_size(rope_, type->dims[axis], model_.dims);
    } else {
      rope_.view(cursor.whole());
    }
  }
  rope_.end(mark);
  axis += &message == &schema::kDimension;
}

void GraphWriter::write_value_info(Body& body, const Cursor& cursor) {
  const ValueId v = own_value(value_name(cursor));
  const bool own = v && graph_.value(v).block == body.block;
  if (own && !lives(v)) return;
  // The name now belongs to a newer value; this type was that of the older one.
  if (own && graph_.value(v).kind == ValueKind::kNodeOutput &&
      graph_.value(v).declared == nullptr) {
    return;
  }
  if (own) has_info_[v.index()] = true;
  write_info(cursor, own ? v : ValueId());
}

void GraphWriter::write_annotation(Body& body, const Cursor& cursor) {
  const ValueId v = own_value(text_field(cursor.bytes(), schema::kAnnotation,
                                         annotation_field::kTensorName));
  if (v && !lives(v)) return;
  rope_.view(cursor.whole());
  Cursor parameters(cursor.bytes(), schema::kAnnotation);
  while (parameters.next()) {
    if (parameters.field() != annotation_field::kParameters) continue;
    rescue(body, read_entry(parameters.bytes()).value);
  }
}

// An initializer that only an annotation mentions has no reader and was
// dropped; it is still needed.
void GraphWriter::rescue(Body& body, std::string_view name) {
  const ValueId v = own_value(name);
  if (!v || graph_.value(v).kind != ValueKind::kInitializer ||
      graph_.value(v).tensor == nullptr || lives(v)) {
    return;
  }
  is_initializer_[v.index()] = true;
  body.rescued.push_back(v);
}

}  // namespace ruleengine::io
