#include "core/rewrite/edits/log.h"

namespace ruleengine::rewrite {
namespace {

// Entries are undone in reverse, so the saved value of one is the last of its
// list.
template <class List>
auto take(List& list) {
  const auto item = list.back();
  list.pop_back();
  return item;
}

}  // namespace

ir::NodeId Log::add_node(ir::OpId op, ir::BlockId block,
                         std::span<const ir::ValueId> inputs,
                         std::uint32_t output_count,
                         std::span<const ir::Attribute> attributes,
                         std::uint64_t rank) {
  SmallVector<ir::ValueId, 4> outputs;
  for (std::uint32_t i = 0; i < output_count; ++i) {
    outputs.push_back(
        graph_.add_value(Name(), block, ir::ValueKind::kUndefined));
    entries_.push_back({Step::kValue, outputs.back().index()});
  }
  const ir::NodeId node =
      graph_.add_node(op, block, {}, inputs, outputs, attributes);
  graph_.mutable_node(node).rank = rank;
  entries_.push_back({Step::kNode, node.index()});
  facts_.invalidate(node);
  return node;
}

ir::BlockId Log::add_body(ir::BlockId parent, std::string_view name,
                          std::uint32_t input_count) {
  const ir::BlockId body = graph_.add_block({}, parent, name);
  graph_.mutable_block(body).changed = true;
  for (std::uint32_t i = 0; i < input_count; ++i) {
    graph_.add_block_input(
        body, graph_.add_value(Name(), body, ir::ValueKind::kUndefined));
  }
  entries_.push_back({Step::kBody, body.index()});
  return body;
}

void Log::give_outputs(ir::BlockId body, std::span<const ir::ValueId> outputs) {
  for (const ir::ValueId v : outputs) graph_.add_block_output(body, v);
  entries_.push_back({Step::kBodyOutputs, body.index()});
}

ir::ValueId Log::add_initializer(ir::BlockId block, const ir::Literal* tensor) {
  const ir::ValueId value =
      graph_.add_value(Name(), block, ir::ValueKind::kUndefined);
  graph_.add_initializer(value, tensor);
  entries_.push_back({Step::kInitializer, value.index()});
  return value;
}

void Log::fold_last(std::span<const ir::Literal* const> tensors) {
  const ir::NodeId node(entries_.back().id);
  const auto outputs = graph_.outputs(node);
  const std::vector<ir::ValueId> values(outputs.begin(), outputs.end());
  facts_.invalidate(node);
  graph_.pop_node();
  entries_.resize(entries_.size() - 1 - values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    graph_.add_initializer(values[i], tensors[i]);
    entries_.push_back({Step::kInitializer, values[i].index()});
  }
}

void Log::bring_back(ir::NodeId node, std::span<const ir::ValueId> inputs,
                     std::uint64_t rank) {
  const std::uint32_t first = graph_.node(node).first_operand;
  for (std::uint32_t i = 0; i < inputs.size(); ++i) {
    ir::ValueId& slot = graph_.mutable_operand(ir::OperandId(first + i)).value;
    parked_.push_back(slot);
    slot = {};
  }
  graph_.restore_node(node);
  for (std::uint32_t i = 0; i < inputs.size(); ++i) {
    graph_.set_operand(ir::OperandId(first + i), inputs[i]);
  }
  graph_.mutable_node(node).rank = rank;
  entries_.push_back({Step::kBack, node.index()});
  facts_.invalidate(node);
}

// Gives the node the inputs that it had when it was parked.
void Log::park_again(ir::NodeId node) {
  graph_.remove_node(node);
  const std::uint32_t first = graph_.node(node).first_operand;
  for (std::size_t i = graph_.inputs(node).size(); i-- > 0;) {
    const ir::OperandId slot(first + i);
    graph_.mutable_operand(slot).value = take(parked_);
  }
}

void Log::set_operand(ir::OperandId slot, ir::ValueId value) {
  const ir::Operand before = graph_.operand(slot);
  operands_.push_back(before);
  entries_.push_back({Step::kOperand, slot.index()});
  graph_.set_operand(slot, value);
  facts_.invalidate(before.user);
}

void Log::set_block_output(ir::BlockId block, std::uint32_t i,
                           ir::ValueId value) {
  const ir::ValueId before = graph_.block(block).outputs[i];
  values_.push_back(before);
  entries_.push_back({Step::kBlockOutput, block.index(), i});
  graph_.set_block_output(block, i, value);
  if (const ir::NodeId owner = graph_.block(block).owner) {
    facts_.invalidate(owner);
  }
}

void Log::remove_node(ir::NodeId node) {
  entries_.push_back({Step::kRemove, node.index()});
  facts_.invalidate(node);
  graph_.remove_node(node);
}

void Log::drop_initializer(ir::ValueId value) {
  entries_.push_back({Step::kDrop, value.index()});
  graph_.mutable_value(value).removed = true;
}

void Log::revive_initializer(ir::ValueId value) {
  entries_.push_back({Step::kRevive, value.index()});
  graph_.mutable_value(value).removed = false;
}

void Log::set_metadata(ir::NodeId node,
                       std::span<const ir::Metadata> metadata) {
  ir::Node& n = graph_.mutable_node(node);
  metadata_.push_back(n.metadata);
  entries_.push_back({Step::kMetadata, node.index()});
  n.metadata = metadata;
}

void Log::set_rank(ir::NodeId node, std::uint64_t rank) {
  ir::Node& n = graph_.mutable_node(node);
  ranks_.push_back(n.rank);
  entries_.push_back({Step::kRank, node.index()});
  n.rank = rank;
}

void Log::set_name(ir::ValueId value, Name name) {
  ir::Value& v = graph_.mutable_value(value);
  names_.push_back(v.name);
  entries_.push_back({Step::kName, value.index()});
  v.name = name;
}

void Log::set_declared(ir::ValueId value, const ir::Type* type) {
  ir::Value& v = graph_.mutable_value(value);
  types_.push_back(v.declared);
  entries_.push_back({Step::kDeclared, value.index()});
  v.declared = type;
  forget_producer(value);
}

void Log::forget_proto(ir::NodeId node) {
  ir::Node& n = graph_.mutable_node(node);
  if (n.proto.empty()) return;
  protos_.push_back(n.proto);
  entries_.push_back({Step::kProto, node.index()});
  n.proto = {};
}

void Log::mark_changed(ir::BlockId block) {
  entries_.push_back({Step::kChanged, block.index()});
  graph_.mutable_block(block).changed = true;
}

void Log::forget_producer(ir::ValueId value) {
  const ir::Value& v = graph_.value(value);
  if (v.producer) facts_.invalidate(v.producer);
}

void Log::append(Log&& other) {
  entries_.append(other.entries_);
  operands_.append(other.operands_);
  values_.append(other.values_);
  parked_.append(other.parked_);
  metadata_.append(other.metadata_);
  ranks_.append(other.ranks_);
  names_.append(other.names_);
  types_.append(other.types_);
  protos_.append(other.protos_);
  other.entries_.clear();
}

void Log::go_back(std::size_t size, bool park) {
  while (entries_.size() > size) undo(take(entries_), park);
}

void Log::undo(const Entry& entry, bool park) {
  switch (entry.step) {
    case Step::kNode:
    case Step::kBack:
    case Step::kMetadata:
    case Step::kRemove:
    case Step::kRank:
    case Step::kProto:
      return undo_node(entry, park);
    case Step::kValue:
    case Step::kInitializer:
    case Step::kDrop:
    case Step::kRevive:
    case Step::kName:
    case Step::kDeclared:
      return undo_value_entry(entry, park);
    case Step::kOperand:
    case Step::kBlockOutput:
    case Step::kChanged:
      return undo_link(entry);
    case Step::kBody:
    case Step::kBodyOutputs:
      // A parked body stays as it is, with its removed nodes.
      if (!park) undo_body(entry);
  }
}

void Log::undo_node(const Entry& entry, bool park) {
  const ir::NodeId node(entry.id);
  ir::Node& n = graph_.mutable_node(node);
  switch (entry.step) {
    case Step::kRank:
      n.rank = take(ranks_);
      graph_.mark_renumbered();
      return;
    case Step::kProto:
      n.proto = take(protos_);
      return;
    case Step::kMetadata:
      n.metadata = take(metadata_);
      return;
    case Step::kRemove:
      graph_.restore_node(node);
      facts_.invalidate(node);
      return;
    case Step::kBack:
      facts_.invalidate(node);
      return park_again(node);
    default:
      facts_.invalidate(node);
      return park ? graph_.remove_node(node) : graph_.pop_node();
  }
}

void Log::undo_value_entry(const Entry& entry, bool park) {
  const ir::ValueId value(entry.id);
  ir::Value& v = graph_.mutable_value(value);
  switch (entry.step) {
    case Step::kValue:
      return park ? void(v.removed = true) : undo_value(value);
    case Step::kInitializer:
      return park ? void(v.removed = true) : undo_initializer(value);
    case Step::kName:
      v.name = take(names_);
      return;
    case Step::kDeclared:
      v.declared = take(types_);
      return forget_producer(value);
    default:
      v.removed = entry.step == Step::kRevive;
  }
}

void Log::undo_link(const Entry& entry) {
  if (entry.step == Step::kOperand) {
    const ir::OperandId slot(entry.id);
    graph_.unlink(slot);
    graph_.mutable_operand(slot) = take(operands_);
    graph_.relink(slot);
    facts_.invalidate(graph_.operand(slot).user);
    return;
  }
  const ir::BlockId block(entry.id);
  if (entry.step == Step::kChanged) {
    graph_.mutable_block(block).changed = false;
    return;
  }
  graph_.set_block_output(block, entry.index, take(values_));
  if (const ir::NodeId owner = graph_.block(block).owner) {
    facts_.invalidate(owner);
  }
}

void Log::undo_body(const Entry& entry) {
  const ir::BlockId body(entry.id);
  if (entry.step == Step::kBody) {
    const auto& inputs = graph_.block(body).inputs;
    for (std::size_t i = inputs.size(); i-- > 0;) undo_value(inputs[i]);
    return graph_.pop_block();
  }
  for (std::size_t i = graph_.block(body).outputs.size(); i-- > 0;) {
    graph_.set_block_output(body, i, {});
  }
}

// Behind it may stand initializers that stay in the table. Then it stays too,
// but its block may go.
void Log::undo_value(ir::ValueId value) {
  if (value.index() + 1 == graph_.value_count()) return graph_.pop_value();
  ir::Value& v = graph_.mutable_value(value);
  v.kind = ir::ValueKind::kUndefined;
  v.block = ir::Graph::main_block();
  v.removed = true;
}

// Facts may have cached this value and cannot be told that it is removed, so
// its id is not used again.
void Log::undo_initializer(ir::ValueId value) {
  ir::Value& v = graph_.mutable_value(value);
  graph_.mutable_block(v.block).initializers.pop_back();
  v.block = ir::Graph::main_block();  // its own may go
  v.kind = ir::ValueKind::kUndefined;
  v.tensor = nullptr;
  v.removed = true;
}

}  // namespace ruleengine::rewrite
