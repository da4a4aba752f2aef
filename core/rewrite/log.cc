#include "core/rewrite/log.h"

namespace ruleengine::rewrite {
namespace {

// Entries are undone latest first, so what one saved is the last of its list.
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

ir::ValueId Log::add_initializer(ir::BlockId block, const ir::Tensor* tensor) {
  const ir::ValueId value =
      graph_.add_value(Name(), block, ir::ValueKind::kUndefined);
  graph_.add_initializer(value, tensor);
  entries_.push_back({Step::kInitializer, value.index()});
  return value;
}

void Log::fold_last(std::span<const ir::Tensor* const> tensors) {
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

void Log::forget_producer(ir::ValueId value) {
  const ir::Value& v = graph_.value(value);
  if (v.producer) facts_.invalidate(v.producer);
}

void Log::undo_to(std::size_t size) {
  while (entries_.size() > size) undo(take(entries_));
}

void Log::undo(const Entry& entry) {
  switch (entry.step) {
    case Step::kNode:
    case Step::kRemove:
    case Step::kRank:
      return undo_node(entry);
    case Step::kValue:
    case Step::kInitializer:
    case Step::kDrop:
    case Step::kRevive:
    case Step::kName:
    case Step::kDeclared:
      return undo_value_entry(entry);
    case Step::kOperand:
    case Step::kBlockOutput:
      return undo_link(entry);
  }
}

void Log::undo_node(const Entry& entry) {
  const ir::NodeId node(entry.id);
  if (entry.step == Step::kRank) {
    graph_.mutable_node(node).rank = take(ranks_);
    return;
  }
  if (entry.step == Step::kNode) {
    facts_.invalidate(node);
    graph_.pop_node();
    return;
  }
  graph_.restore_node(node);
  facts_.invalidate(node);
}

void Log::undo_value_entry(const Entry& entry) {
  const ir::ValueId value(entry.id);
  if (entry.step == Step::kValue) return undo_value(value);
  if (entry.step == Step::kInitializer) return undo_initializer(value);
  ir::Value& v = graph_.mutable_value(value);
  if (entry.step == Step::kName) {
    v.name = take(names_);
  } else if (entry.step == Step::kDeclared) {
    v.declared = take(types_);
    forget_producer(value);
  } else {
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
  graph_.set_block_output(block, entry.index, take(values_));
  if (const ir::NodeId owner = graph_.block(block).owner) {
    facts_.invalidate(owner);
  }
}

void Log::undo_value(ir::ValueId value) {
  if (value.index() + 1 == graph_.value_count()) {
    graph_.pop_value();
  } else {
    graph_.mutable_value(value).removed = true;
  }
}

// Facts may hold what this value was, and have no way to be told: its id is
// not given out again.
void Log::undo_initializer(ir::ValueId value) {
  ir::Value& v = graph_.mutable_value(value);
  graph_.mutable_block(v.block).initializers.pop_back();
  v.kind = ir::ValueKind::kUndefined;
  v.tensor = nullptr;
  v.removed = true;
}

}  // namespace ruleengine::rewrite
