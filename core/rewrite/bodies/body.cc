#include "core/rewrite/bodies/body.h"

#include <algorithm>
#include <cstring>

#include "core/ops/op_facts.h"

namespace ruleengine::rewrite {
namespace {

constexpr std::int64_t kCastLike = 15;  // the opset that brought it

template <class T>
std::span<const std::byte> bytes_of(Arena& arena, const std::vector<T>& data) {
  const auto bytes = arena.array<std::byte>(data.size() * sizeof(T));
  std::memcpy(bytes.data(), data.data(), bytes.size());
  return bytes;
}

ir::Attribute default_of(const ir::FormalAttribute& formal) {
  return {.name = formal.name,
          .kind = formal.kind,
          .f = formal.default_float,
          .i = formal.default_int,
          .s = formal.default_string,
          .floats = formal.default_floats,
          .ints = formal.default_ints,
          .strings = formal.default_strings};
}

}  // namespace

Body::Body(ir::Model& model, const ir::Op& op, std::int64_t opset)
    : model_(model),
      opset_(opset),
      function_(std::make_unique<ir::Function>(model)),
      graph_(function_->body) {
  function_->domain = op.domain;
  function_->name = op.type;
  function_->overload = op.overload;
  function_->opset_imports = {{"", opset}};
}

ir::ValueId Body::value(std::string_view name) {
  std::string unique(name);
  for (int i = 2; std::ranges::find(taken_, unique) != taken_.end(); ++i) {
    unique = std::string(name) + "_" + std::to_string(i);
  }
  taken_.push_back(unique);
  return graph_.add_value(model_.names.intern(unique), ir::Graph::main_block(),
                          ir::ValueKind::kUndefined);
}

ir::ValueId Body::input(std::string_view name) {
  const ir::ValueId v = value(name);
  graph_.add_block_input(ir::Graph::main_block(), v);
  function_->inputs.push_back(graph_.name(v));
  return v;
}

void Body::set_float_type(ir::DataType elem, ir::ValueId like) {
  elem_ = elem;
  like_ = like;
}

ir::ValueId Body::node(std::string_view type, std::vector<ir::ValueId> inputs,
                       std::string_view name,
                       std::vector<ir::Attribute> attributes) {
  return nodes(type, std::move(inputs), {std::string(name)},
               std::move(attributes))[0];
}

std::vector<ir::ValueId> Body::nodes(std::string_view type,
                                     std::vector<ir::ValueId> inputs,
                                     const std::vector<std::string>& names,
                                     std::vector<ir::Attribute> attributes) {
  std::vector<ir::ValueId> outputs;
  for (const std::string& name : names) outputs.push_back(value(name));
  graph_.add_node(
      model_.ops.intern("", type), ir::Graph::main_block(), {}, inputs, outputs,
      model_.arena.copy(std::span<const ir::Attribute>(attributes)));
  return outputs;
}

ir::ValueId Body::constant(const ir::Tensor& tensor, std::string_view name) {
  const auto tensors = model_.arena.array<const ir::Tensor*>(1);
  tensors[0] = model_.arena.make<ir::Tensor>(tensor);
  return node("Constant", {}, name,
              {{.name = "value",
                .kind = ir::AttributeKind::kTensor,
                .tensors = tensors}});
}

ir::ValueId Body::integers(std::vector<std::int64_t> data,
                           std::string_view name, bool scalar) {
  ir::Tensor tensor{.dtype = ir::DataType::kInt64,
                    .bytes = bytes_of(model_.arena, data)};
  if (!scalar) {
    const auto dims = model_.arena.array<std::int64_t>(1);
    dims[0] = static_cast<std::int64_t>(data.size());
    tensor.dims = dims;
  }
  return constant(tensor, name);
}

ir::ValueId Body::number(float value, std::string_view name) {
  const ir::Tensor tensor{
      .dtype = ir::DataType::kFloat,
      .bytes = bytes_of(model_.arena, std::vector<float>{value})};
  const ir::ValueId plain = constant(tensor, name);
  if (opset_ >= kCastLike) return node("CastLike", {plain, like_}, name);
  if (elem_ == ir::DataType::kFloat) return plain;
  return node("Cast", {plain}, name,
              {integer("to", static_cast<std::int64_t>(elem_))});
}

ir::Attribute Body::ints(std::string_view name,
                         std::vector<std::int64_t> data) {
  return {.name = name,
          .kind = ir::AttributeKind::kInts,
          .ints = model_.arena.copy(std::span<const std::int64_t>(data))};
}

ir::Attribute Body::integer(std::string_view name, std::int64_t value) {
  return {.name = name, .kind = ir::AttributeKind::kInt, .i = value};
}

void Body::declare_attributes(std::span<const ir::Attribute> call) {
  const ir::OpFacts* op = ir::newest_op(function_->domain, function_->name);
  std::vector<ir::Attribute> defaults;
  if (op != nullptr) {
    for (const ir::FormalAttribute& formal : op->attributes) {
      if (formal.has_default) {
        defaults.push_back(default_of(formal));
      } else if (formal.required ||
                 std::ranges::find(call, formal.name, &ir::Attribute::name) !=
                     call.end()) {
        function_->attributes.push_back(formal.name);
      }
    }
  }
  function_->attribute_defaults =
      model_.arena.copy(std::span<const ir::Attribute>(defaults));
}

void Body::finish(const std::vector<ir::ValueId>& outputs,
                  std::span<const ir::Attribute> call) {
  for (ir::ValueId v : outputs) {
    graph_.add_block_output(ir::Graph::main_block(), v);
    function_->outputs.push_back(graph_.name(v));
  }
  declare_attributes(call);
  model_.functions.push_back(std::move(function_));
  model_.changed = true;
}

}  // namespace ruleengine::rewrite
