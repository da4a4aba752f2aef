#include "core/text/write/numbering.h"

#include <algorithm>
#include <functional>

#include "core/ir/order.h"
#include "core/ops/node_spec.h"
#include "core/text/write/printer.h"

namespace ruleengine::text {
namespace {

using ir::AttributeKind;
using ir::NodeId;
using ir::ValueId;

template <typename T>
void put(std::string& key, T value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void put_text(std::string& key, std::string_view text) {
  put(key, text.size());
  key.append(text);
}

std::uint32_t level(const ir::Graph& graph, ir::BlockId block) {
  std::uint32_t depth = 0;
  for (; graph.block(block).parent; block = graph.block(block).parent) ++depth;
  return depth;
}

// The tensor of a Constant node. If the node gives it in another form, it is
// made in `made`.
const ir::Literal* constant_of(const ir::Attribute& a, ir::Literal& made,
                               std::int64_t& size) {
  made.bytes = {};
  const auto set_size = [&](std::size_t count) {
    size = static_cast<std::int64_t>(count);
    made.dims = {&size, 1};
  };
  if (!a.ref.empty()) return nullptr;
  if (a.name == "value" && a.kind == AttributeKind::kTensor) {
    return a.tensors.empty() ? nullptr : a.tensors[0];
  }
  if (a.name == "value_float" && a.kind == AttributeKind::kFloat) {
    made.dtype = ir::DataType::kFloat;
    made.bytes = std::as_bytes(std::span(&a.f, 1));
  } else if (a.name == "value_int" && a.kind == AttributeKind::kInt) {
    made.dtype = ir::DataType::kInt64;
    made.bytes = std::as_bytes(std::span(&a.i, 1));
  } else if (a.name == "value_floats" && a.kind == AttributeKind::kFloats) {
    made.dtype = ir::DataType::kFloat;
    made.bytes = std::as_bytes(a.floats);
    set_size(a.floats.size());
  } else if (a.name == "value_ints" && a.kind == AttributeKind::kInts) {
    made.dtype = ir::DataType::kInt64;
    made.bytes = std::as_bytes(a.ints);
    set_size(a.ints.size());
  } else if (a.name == "value_string" && a.kind == AttributeKind::kString) {
    made.dtype = ir::DataType::kString;
    made.storage = ir::Storage::kStrings;
    made.strings = {&a.s, 1};
  } else if (a.name == "value_strings" && a.kind == AttributeKind::kStrings) {
    made.dtype = ir::DataType::kString;
    made.storage = ir::Storage::kStrings;
    made.strings = a.strings;
    set_size(a.strings.size());
  } else {
    return nullptr;
  }
  return &made;
}

}  // namespace

Number Numbering::intern(const std::string& key) {
  const auto next = static_cast<Number>(numbers_.size() + 1);
  return numbers_.try_emplace(key, next).first->second;
}

Status Numbering::run(Side& side) {
  auto order = ir::topological_order(*side.graph);
  if (!order) return order.error();
  side.value_numbers.assign(side.graph->value_count(), 0);
  number_inputs(side);
  for (NodeId node : *order) {
    if (number_constant(side, node)) continue;
    number_node(side, node);
    side.nodes.push_back(node);
  }
  return {};
}

void Numbering::number_inputs(Side& side) {
  for (std::size_t b = 0; b < side.graph->block_count(); ++b) {
    const ir::Block& block = side.graph->block(ir::BlockId(b));
    for (std::size_t i = 0; i < block.inputs.size(); ++i) {
      const ValueId value = block.inputs[i];
      if (side.graph->value(value).kind != ir::ValueKind::kInput) continue;
      std::string key = "input";
      put(key, level(*side.graph, ir::BlockId(b)));
      put(key, i);
      side.value_numbers[value.index()] = intern(key);
    }
  }
}

Number Numbering::value(Side& side, ValueId id) {
  if (!id) return 0;
  Number& number = side.value_numbers[id.index()];
  if (number != 0) return number;
  const ir::Value& v = side.graph->value(id);
  if (v.tensor != nullptr) {
    number = constant(*side.model, *v.tensor);
  } else {  // sparse, or undefined
    std::string key = "named";
    put_text(key, side.graph->name(id));
    number = intern(key);
  }
  return number;
}

bool Numbering::number_constant(Side& side, NodeId node) {
  if (!side.graph->op(node).standard("Constant") ||
      side.graph->outputs(node).size() != 1 ||
      side.graph->node(node).attributes.size() != 1) {
    return false;
  }
  ir::Literal made;
  std::int64_t size = 0;
  const ir::Literal* tensor =
      constant_of(side.graph->node(node).attributes[0], made, size);
  if (tensor == nullptr || !side.graph->output(node)) return false;
  // `made` refers to local data; what is kept for comparisons is copied.
  if (tensor == &made) {
    made.dims = arena_.copy(made.dims);
    made.bytes = arena_.copy(made.bytes);
    made.strings = arena_.copy(made.strings);
    tensor = arena_.make<ir::Literal>(made);
  }
  side.value_numbers[side.graph->output(node).index()] =
      constant(*side.model, *tensor);
  return true;
}

void Numbering::number_node(Side& side, NodeId node) {
  const ir::Op& op = side.graph->op(node);
  std::string key = "node";
  put_text(key, op.domain);
  put_text(key, op.type);
  put_text(key, op.overload);
  put(key, output_count(side, node));
  const std::vector<Number> in = inputs(side, node);
  put(key, in.size());
  for (Number n : in) put(key, n);
  for (const AttributeText& a : attributes(side, node)) {
    put_text(key, a.name);
    put_text(key, a.key);
  }
  const Number number = intern(key);
  side.node_numbers.push_back(number);
  std::uint32_t i = 0;
  for (ValueId output : side.graph->outputs(node)) {
    std::string output_key = "output";
    put(output_key, number);
    put(output_key, i++);
    if (output) side.value_numbers[output.index()] = intern(output_key);
  }
}

std::vector<Number> Numbering::inputs(Side& side, NodeId node) {
  std::vector<Number> out;
  for (const ir::Operand& use : side.graph->inputs(node)) {
    out.push_back(value(side, use.value));
  }
  while (!out.empty() && out.back() == 0) out.pop_back();
  const ir::Op& op = side.graph->op(node);
  if (ops::is_commutative(op.domain, op.type)) std::ranges::sort(out);
  return out;
}

std::size_t Numbering::output_count(const Side& side, NodeId node) {
  const auto outputs = side.graph->outputs(node);
  const ops::OpFacts* facts = ops::facts_of(*side.graph, node);
  std::size_t count = outputs.size();
  for (; count > 0; --count) {
    const ValueId last = outputs[count - 1];
    if (!last) continue;
    const ops::FormalValue* formal =
        facts == nullptr ? nullptr : facts->output(count - 1);
    const bool optional =
        formal != nullptr && formal->arity == ops::Arity::kOptional;
    if (!optional || side.graph->reader_count(last) != 0) break;
  }
  return count;
}

std::vector<AttributeText> Numbering::attributes(Side& side, NodeId node) {
  std::vector<AttributeText> out;
  const ops::OpFacts* facts = ops::facts_of(*side.graph, node);
  for (const ir::Attribute& a : side.graph->node(node).attributes) {
    const ops::FormalAttribute* formal =
        facts == nullptr ? nullptr : facts->attribute(a.name);
    if (formal != nullptr && ops::is_default(*formal, a)) continue;
    out.push_back({a.name, attribute_key(side, a)});
  }
  std::ranges::sort(out, {}, &AttributeText::name);
  return out;
}

std::string Numbering::attribute_key(Side& side, const ir::Attribute& a) {
  std::string key;
  put(key, a.kind);
  put_text(key, a.ref);
  if (!a.ref.empty()) return key;
  if (a.kind == AttributeKind::kFloat) put(key, a.f);
  if (a.kind == AttributeKind::kInt) put(key, a.i);
  put_text(key, a.s);
  for (float f : a.floats) put(key, f);
  for (std::int64_t i : a.ints) put(key, i);
  for (std::string_view s : a.strings) put_text(key, s);
  for (const ir::Literal* t : a.tensors) put(key, constant(*side.model, *t));
  for (ir::BlockId b : a.blocks) put_text(key, block_key(side, b));
  Cursor f(a.proto, schema::kAttribute);
  const bool types = a.kind == AttributeKind::kTypeProto ||
                     a.kind == AttributeKind::kTypeProtos;
  while (types && f.next()) {
    if (f.child() == &schema::kType) {
      put_text(key, encoded_type_text(f.bytes()));
    }
  }
  return key;
}

// The nodes of a body have numbers of their own; the key has only its inputs
// and outputs.
std::string Numbering::block_key(Side& side, ir::BlockId id) {
  const ir::Block& block = side.graph->block(id);
  std::string key;
  put(key, block.inputs.size());
  for (ValueId output : block.outputs) {
    put(key, value(side, output));
  }
  return key;
}

Number Numbering::constant(const ir::Model& model, const ir::Literal& tensor) {
  std::string key = "constant";
  put(key, tensor.dtype);
  for (std::int64_t d : tensor.dims) put(key, d);
  if (tensor.dtype == ir::DataType::kString) {
    for (std::string_view s : tensor.strings) put_text(key, s);
    return intern(key);
  }
  std::vector<std::byte> scratch, other;
  const auto bytes = raw_bytes(tensor, model.external.get(), scratch);
  if (!bytes) {  // not readable: equal only if it is in the same file
    put_text(key, tensor.external.location);
    put(key, tensor.external.offset);
    return intern(key);
  }
  const std::string_view content(reinterpret_cast<const char*>(bytes->data()),
                                 bytes->size());
  put(key, std::hash<std::string_view>{}(content));
  std::vector<Constant>& same = constants_[key];
  for (const Constant& c : same) {
    const auto old = raw_bytes(*c.tensor, c.model->external.get(), other);
    if (old && std::ranges::equal(*old, *bytes)) return c.number;
  }
  put(key, same.size());
  same.push_back({&tensor, &model, intern(key)});
  return same.back().number;
}

}  // namespace ruleengine::text
