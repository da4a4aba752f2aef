#include "core/ir/graph.h"

#include <cassert>

#include "core/ir/model.h"

namespace ruleengine::ir {

namespace {

// The memory of a node with its operands, its values and their records.
std::size_t bytes_of(const Node& node) {
  constexpr std::size_t kNode = 300, kOperand = 24, kOutput = 200;
  return kNode + kOperand * node.operand_count + kOutput * node.output_count;
}

}  // namespace

Graph::Graph(Model& model) : model_(&model) {
  blocks_.emplace_back();  // the main block
}

Graph::Graph(const Graph& other, Model& model) : Graph(other) {
  model_ = &model;
  function_ = nullptr;
}

std::int64_t Graph::opset(std::string_view domain) const {
  const OpsetImports& imports =
      function_ != nullptr ? function_->opset_imports : model_->opset_imports;
  return imports.version(domain);
}

void Graph::reserve(std::size_t nodes, std::size_t values,
                    std::size_t operands) {
  nodes_.reserve(nodes);
  values_.reserve(values);
  operands_.reserve(operands);
  outputs_.reserve(values);
}

const Attribute* Graph::attribute(NodeId id, std::string_view name) const {
  for (const Attribute& a : node(id).attributes) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

std::string_view Graph::name(ValueId id) const {
  const Name name = value(id).name;
  return name ? model_->names.text(name) : std::string_view();
}

const Op& Graph::op(NodeId id) const { return model_->ops[node(id).op]; }

const Literal* Graph::direct_constant(ValueId id) const {
  if (!id) return nullptr;
  const Value& v = value(id);
  if (v.kind == ValueKind::kInitializer) return v.tensor;
  if (v.kind != ValueKind::kNodeOutput || !v.producer) return nullptr;
  if (!op(v.producer).standard("Constant")) return nullptr;
  const Attribute* data = attribute(v.producer, "value");
  if (data == nullptr || data->tensors.empty()) return nullptr;
  return data->tensors[0];
}

std::string_view kind_text(ValueKind kind) {
  if (kind == ValueKind::kInput) return "an input";
  return kind == ValueKind::kInitializer ? "an initializer" : "a node output";
}

std::string Graph::describe(NodeId id) const {
  const Node& n = node(id);
  std::string out = shortened(op(id).text()) + " node ";
  if (!n.name.empty()) return out + "'" + shortened(n.name) + "'";
  for (ValueId v : outputs(id)) {
    if (v) return out + "of output '" + shortened(name(v)) + "'";
  }
  return out + "without outputs";
}

BlockId Graph::add_block(NodeId owner, BlockId parent, std::string_view name) {
  const BlockId id(blocks_.size());
  Block& block = blocks_.emplace_back();
  block.owner = owner;
  block.parent = parent;
  block.name = name;
  return id;
}

ValueId Graph::add_value(Name name, BlockId block, ValueKind kind) {
  const ValueId id(values_.size());
  Value& v = values_.emplace_back();
  v.name = name;
  v.block = block;
  v.kind = kind;
  return id;
}

void Graph::pop_value() {
  assert(values_.back().use_count == 0);
  values_.pop_back();
}

void Graph::pop_block() {
  assert(blocks_.back().nodes.empty());
  blocks_.pop_back();
}

NodeId Graph::add_node(OpId op, BlockId block, std::string_view name,
                       std::span<const ValueId> inputs,
                       std::span<const ValueId> outputs,
                       std::span<const Attribute> attributes) {
  const NodeId id(nodes_.size());
  Node& n = nodes_.emplace_back();
  n.op = op;
  n.block = block;
  n.name = name;
  n.attributes = attributes;
  n.first_operand = static_cast<std::uint32_t>(operands_.size());
  n.operand_count = static_cast<std::uint32_t>(inputs.size());
  n.first_output = static_cast<std::uint32_t>(outputs_.size());
  n.output_count = static_cast<std::uint32_t>(outputs.size());
  for (ValueId v : inputs) {
    const OperandId slot(operands_.size());
    operands_.push_back({ValueId(), id, OperandId(), OperandId()});
    link_last(slot, v);
  }
  for (ValueId v : outputs) {
    outputs_.push_back(ValueId());
    set_output(id, outputs_.size() - 1 - n.first_output, v);
  }
  blocks_[block.index()].nodes.push_back(id);
  ++live_nodes_;
  model_->hold(bytes_of(n));
  return id;
}

NodeId Graph::replace_node(NodeId old, std::span<const ValueId> inputs,
                           std::span<const Attribute> attributes) {
  const Node was = nodes_[old.index()];
  const auto of_old = this->outputs(old);
  const std::vector<ValueId> outputs(of_old.begin(), of_old.end());
  remove_node(old);
  for (const ValueId v : outputs) {
    if (v) values_[v.index()].removed = false;
  }
  const NodeId made =
      add_node(was.op, was.block, was.name, inputs, outputs, attributes);
  Node& node = nodes_[made.index()];
  node.rank = was.rank;
  node.extra = was.extra;
  node.metadata = was.metadata;
  for (const Attribute& a : attributes) {
    for (const BlockId body : a.blocks) blocks_[body.index()].owner = made;
  }
  return made;
}

void Graph::pop_node() {
  const NodeId id(nodes_.size() - 1);
  const Node n = nodes_.back();
  assert(!n.removed);
  for (std::uint32_t i = n.operand_count; i-- > 0;) {
    unlink(OperandId(n.first_operand + i));
  }
  for (std::uint32_t i = n.output_count; i-- > 0;) {
    set_output(id, i, ValueId());
  }
  model_->release(bytes_of(n));
  operands_.resize(n.first_operand);
  outputs_.resize(n.first_output);
  blocks_[n.block.index()].nodes.pop_back();
  nodes_.pop_back();
  --live_nodes_;
}

void Graph::link_last(OperandId slot, ValueId value) {
  Operand& use = operands_[slot.index()];
  use.value = value;
  use.next = OperandId();
  use.previous = OperandId();
  if (!value) return;
  Value& v = values_[value.index()];
  use.previous = v.last_use;
  if (v.last_use) {
    Operand& last = operands_[v.last_use.index()];
    last.next = slot;
    v.uses_mixed = v.uses_mixed || use.user < last.user;
  } else {
    v.first_use = slot;
  }
  v.last_use = slot;
  ++v.use_count;
  v.use_stamp = ++use_clock_;
}

void Graph::set_operand(OperandId slot, ValueId value) {
  unlink(slot);
  link_last(slot, value);
}

Value& Graph::set_around(const Operand& use, OperandId next,
                         OperandId previous) {
  Value& v = values_[use.value.index()];
  (use.previous ? operands_[use.previous.index()].next : v.first_use) = next;
  (use.next ? operands_[use.next.index()].previous : v.last_use) = previous;
  v.use_stamp = ++use_clock_;
  return v;
}

void Graph::unlink(OperandId slot) {
  const Operand& use = operands_[slot.index()];
  if (use.value) --set_around(use, use.next, use.previous).use_count;
}

void Graph::relink(OperandId slot) {
  const Operand& use = operands_[slot.index()];
  if (use.value) ++set_around(use, slot, slot).use_count;
}

void Graph::remove_node(NodeId id) {
  Node& n = nodes_[id.index()];
  assert(!n.removed);
  for (std::uint32_t i = 0; i < n.operand_count; ++i) {
    unlink(OperandId(n.first_operand + i));
  }
  n.removed = true;
  --live_nodes_;
  for (ValueId v : outputs(id)) {
    if (v) values_[v.index()].removed = true;
  }
}

void Graph::restore_node(NodeId id) {
  Node& n = nodes_[id.index()];
  assert(n.removed);
  n.removed = false;
  ++live_nodes_;
  for (std::uint32_t i = n.operand_count; i-- > 0;) {
    relink(OperandId(n.first_operand + i));
  }
  for (ValueId v : outputs(id)) {
    if (v) values_[v.index()].removed = false;
  }
}

void Graph::set_output(NodeId id, std::size_t i, ValueId value) {
  ValueId& slot = outputs_[nodes_[id.index()].first_output + i];
  if (slot) {
    Value& old = values_[slot.index()];
    old.producer = NodeId();
    old.kind = ValueKind::kUndefined;
  }
  slot = value;
  if (!value) return;
  Value& v = values_[value.index()];
  v.kind = ValueKind::kNodeOutput;
  v.producer = id;
  v.output_index = static_cast<std::uint32_t>(i);
}

void Graph::set_block_output(BlockId block, std::size_t i, ValueId value) {
  ValueId& slot = blocks_[block.index()].outputs[i];
  if (slot) --values_[slot.index()].block_output_count;
  slot = value;
  if (slot) ++values_[slot.index()].block_output_count;
}

void Graph::add_block_input(BlockId block, ValueId value) {
  blocks_[block.index()].inputs.push_back(value);
  values_[value.index()].kind = ValueKind::kInput;
}

void Graph::add_block_output(BlockId block, ValueId value) {
  blocks_[block.index()].outputs.push_back(ValueId());
  set_block_output(block, blocks_[block.index()].outputs.size() - 1, value);
}

void Graph::add_initializer(ValueId value, const Literal* tensor) {
  Value& v = values_[value.index()];
  blocks_[v.block.index()].initializers.push_back(value);
  v.tensor = tensor;
  if (v.kind != ValueKind::kInput) v.kind = ValueKind::kInitializer;
}

}  // namespace ruleengine::ir
