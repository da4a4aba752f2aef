#include "core/mutate/draft.h"

#include <utility>

namespace ruleengine::mutate {

using ir::NodeId;
using ir::ValueId;

std::vector<NodeId> Draft::nodes() const {
  std::vector<NodeId> out;
  std::ranges::copy(model_->graph.live_nodes(), std::back_inserter(out));
  return out;
}

std::vector<Edge> Draft::edges() const {
  std::vector<Edge> out;
  for (const NodeId node : nodes()) {
    const auto inputs = model_->graph.inputs(node);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].value) out.push_back({node, i});
    }
  }
  return out;
}

std::vector<Constant> Draft::constants() const {
  std::vector<Constant> out;
  const ir::Graph& graph = model_->graph;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const ir::Value& value = graph.value(ValueId(i));
    if (value.removed || value.block != ir::Graph::main_block()) continue;
    const ir::Literal* const tensor = graph.direct_constant(ValueId(i));
    if (tensor != nullptr) out.push_back({ValueId(i), value.producer, tensor});
  }
  return out;
}

std::vector<ValueId> Draft::inner_values() const {
  std::vector<ValueId> out;
  for (const NodeId node : nodes()) {
    if (model_->graph.node(node).block != ir::Graph::main_block()) continue;
    for (const ValueId value : model_->graph.outputs(node)) {
      if (value) out.push_back(value);
    }
  }
  return out;
}

std::vector<ValueId> Draft::tensor_inputs() const {
  std::vector<ValueId> out;
  const ir::Graph& graph = model_->graph;
  for (const ValueId v : graph.block(ir::Graph::main_block()).inputs) {
    const ir::Type* const type = graph.value(v).declared;
    if (!ir::is_ranked(type)) continue;
    if (graph.value(v).tensor == nullptr) out.push_back(v);
  }
  return out;
}

const ir::Type* Draft::type(ValueId value) {
  if (!facts_) facts_ = facts_of_(graph());
  return facts_->type(value);
}

void Draft::retype(
    const std::function<void(ir::DataType& elem, std::vector<ir::Dim>& dims)>&
        change) {
  changed();
  for (std::size_t i = 0; i < graph().value_count(); ++i) {
    ir::Value& value = graph().mutable_value(ValueId(i));
    if (value.declared == nullptr || !value.declared->is_tensor()) continue;
    ir::Type* const type = arena().make<ir::Type>(*value.declared);
    std::vector<ir::Dim> dims(type->dims.begin(), type->dims.end());
    change(type->elem, dims);
    type->dims = arena().copy(std::span<const ir::Dim>(dims));
    value.declared = type;
  }
}

void Draft::set_type(ValueId value, ir::DataType elem,
                     std::vector<ir::Dim> dims) {
  changed();
  ir::Type* const type = arena().make<ir::Type>();
  type->elem = elem;
  type->has_shape = true;
  type->dims = arena().copy(std::span<const ir::Dim>(dims));
  graph().mutable_value(value).declared = type;
}

bool Draft::set_tensor(const Constant& constant, const ir::Literal* tensor) {
  if (tensor == nullptr) return false;
  changed();
  if (!constant.node) {
    ir::Value& value = graph().mutable_value(constant.value);
    value.tensor = tensor;
    value.declared = nullptr;
    return true;
  }
  change_attributes(constant.node, [&](ir::Attribute& each) {
    if (each.name != "value") return false;
    each.tensors =
        arena().copy(std::span<const ir::Literal* const>(&tensor, 1));
    each.proto = {};
    return true;
  });
  return true;
}

void Draft::make_input(const Constant& initializer) {
  const auto sizes = initializer.tensor->dims;
  std::erase(main().initializers, initializer.value);
  graph().mutable_value(initializer.value).tensor = nullptr;
  set_type(initializer.value, initializer.tensor->dtype,
           {sizes.begin(), sizes.end()});
  graph().add_block_input(ir::Graph::main_block(), initializer.value);
}

void Draft::make_initializer(ValueId input, const ir::Literal* tensor) {
  changed();
  std::erase(inputs(), input);
  ir::Value& value = graph().mutable_value(input);
  value.kind = ir::ValueKind::kInitializer;
  value.declared = nullptr;
  graph().add_initializer(input, tensor);
}

ValueId Draft::add_initializer(const ir::Literal* tensor) {
  changed();
  const Name name = model_->names.intern(model_->unique_name("extra"));
  const ValueId value = graph().add_value(name, ir::Graph::main_block(),
                                          ir::ValueKind::kUndefined);
  graph().add_initializer(value, tensor);
  return value;
}

void Draft::set_op(NodeId node, std::string_view type) {
  changed();
  graph().mutable_node(node).op = model_->ops.intern("", type);
}

std::vector<ir::Attribute> Draft::attributes(NodeId node) const {
  const auto all = model_->graph.node(node).attributes;
  return {all.begin(), all.end()};
}

void Draft::change_attributes(
    NodeId node, const std::function<bool(ir::Attribute&)>& change) {
  std::vector<ir::Attribute> all = attributes(node);
  bool is_changed = false;
  for (ir::Attribute& each : all) is_changed |= change(each);
  if (is_changed) set_attributes(node, std::move(all));
}

void Draft::set_attributes(NodeId node, std::vector<ir::Attribute> attributes) {
  changed();
  graph().mutable_node(node).attributes =
      arena().copy(std::span<const ir::Attribute>(attributes));
}

ValueId Draft::add_node(std::string_view type, ir::BlockId block,
                        std::span<const ValueId> inputs,
                        std::vector<ir::Attribute> attributes) {
  changed();
  const Name name = model_->names.intern(model_->unique_name("extra"));
  const ValueId out =
      graph().add_value(name, block, ir::ValueKind::kNodeOutput);
  graph().add_node(model_->ops.intern("", type), block, {}, inputs, {{out}},
                   arena().copy(std::span<const ir::Attribute>(attributes)));
  return out;
}

void Draft::set_input(const Edge& edge, ValueId value) {
  changed();
  const std::uint32_t first = graph().node(edge.node).first_operand;
  graph().set_operand(
      ir::OperandId(first + static_cast<std::uint32_t>(edge.input)), value);
}

void Draft::set_inputs(NodeId node, std::span<const ValueId> inputs) {
  changed();
  graph().replace_node(node, inputs, graph().node(node).attributes);
}

void Draft::move_readers(ValueId old, ValueId value) {
  changed();
  while (const ir::OperandId use = graph().first_use(old)) {
    graph().set_operand(use, value);
  }
  for (std::size_t b = 0; b < graph().block_count(); ++b) {
    const ir::BlockId block(b);
    for (std::size_t i = 0; i < graph().block(block).outputs.size(); ++i) {
      if (graph().block(block).outputs[i] == old) {
        graph().set_block_output(block, i, value);
      }
    }
  }
}

void Draft::remove_input(ValueId input) {
  changed();
  std::erase(inputs(), input);
  graph().mutable_value(input).removed = true;
}

void Draft::add_output(ValueId value) {
  changed();
  graph().add_block_output(ir::Graph::main_block(), value);
}

void Draft::drop_output(std::size_t place) {
  changed();
  graph().set_block_output(ir::Graph::main_block(), place, ValueId());
  outputs().erase(outputs().begin() + static_cast<std::ptrdiff_t>(place));
}

}  // namespace ruleengine::mutate
