#include "core/ops/body.h"

#include <algorithm>
#include <utility>

#include "core/ir/literal.h"
#include "core/ir/narrow_float.h"
#include "core/ir/small_tensor.h"

namespace ruleengine::ops {
namespace {

constexpr std::int64_t kCastLike = 15;  // the opset that brought it

}  // namespace

ir::ValueId Body::node(std::string_view type, Values inputs,
                       std::string_view name, Attributes attributes) {
  return nodes(type, std::move(inputs), {std::string(name)},
               std::move(attributes))[0];
}

ir::ValueId Body::integers(const std::vector<std::int64_t>& data,
                           std::string_view name, bool scalar) {
  ir::Literal tensor = ir::int64_vector(arena(), data);
  if (scalar) tensor.dims = {};
  return constant(tensor, name);
}

ir::ValueId Body::floats(const std::vector<float>& data,
                         std::string_view name) {
  return constant(ir::vector_tensor<float>(arena(), ir::DataType::kFloat, data),
                  name);
}

ir::ValueId Body::size_of(ir::ValueId x, std::int64_t axis,
                          std::string_view name) {
  return node("Gather",
              {node("Shape", {x}, "shape"), integers({axis}, "axis", true)},
              name);
}

ir::ValueId Body::places_below(ir::ValueId length) {
  return node("Range",
              {integers({0}, "zero", true), length, integers({1}, "one", true)},
              "places");
}

ir::ValueId Body::length_of(ir::ValueId x, std::int64_t axis,
                            std::string_view name) {
  return node("Gather", {node("Shape", {x}, "shape"), integers({axis}, "axis")},
              name);
}

ir::ValueId Body::reshaped(ir::ValueId x,
                           const std::vector<std::int64_t>& sizes,
                           std::string_view sizes_name, std::string_view name) {
  return node("Reshape", {x, integers(sizes, sizes_name)}, name);
}

ir::ValueId Body::transposed(ir::ValueId x,
                             const std::vector<std::int64_t>& perm,
                             std::string_view name) {
  return node("Transpose", {x}, name, {ints("perm", perm)});
}

ir::ValueId Body::unsqueezed(ir::ValueId x,
                             const std::vector<std::int64_t>& axes,
                             std::string_view name) {
  return node("Unsqueeze", {x, integers(axes, "axes")}, name);
}

ir::ValueId Body::joined(Values parts, std::string_view name,
                         std::int64_t axis) {
  return node("Concat", std::move(parts), name, {integer("axis", axis)});
}

ir::ValueId Body::one_of(ir::ValueId x, std::int64_t place, std::int64_t axis,
                         std::string_view name) {
  return node("Gather", {x, integers({place}, "which", true)}, name,
              {integer("axis", axis)});
}

ir::ValueId Body::sliced(ir::ValueId x, ir::ValueId begin, ir::ValueId end,
                         std::int64_t axis, std::string_view name) {
  return node("Slice", {x, begin, end, integers({axis}, "axis")}, name);
}

ir::ValueId Body::entries(ir::ValueId list, std::int64_t from, std::int64_t to,
                          std::string_view name) {
  return node("Slice", {list, integers({from}, "from"), integers({to}, "to")},
              name);
}

ir::ValueId Body::plus(ir::ValueId x, ir::ValueId more, std::string_view name) {
  return more ? node("Add", {x, more}, name) : x;
}

ir::ValueId Body::cast(ir::ValueId x, ir::DataType elem,
                       std::string_view name) {
  return node("Cast", {x}, name,
              {integer("to", static_cast<std::int64_t>(elem))});
}

ir::ValueId Body::like(ir::ValueId x, ir::ValueId like, std::string_view name) {
  const ir::Type* known = type(like);
  const bool is_known = known != nullptr && ir::is_float(known->elem);
  if (opset() >= kCastLike && (is_shared() || !is_known)) {
    return node("CastLike", {x, like}, name);
  }
  const ir::DataType elem = is_known ? known->elem : ir::DataType::kFloat;
  note(std::string(ir::data_type_name(elem)));
  if (type(x) != nullptr && type(x)->elem == elem) return x;
  return cast(x, elem, name);
}

ir::ValueId Body::number(double value, ir::DataType elem,
                         std::string_view name) {
  const auto scalar = [&](auto number, ir::DataType type) {
    const std::span<const decltype(number)> one(&number, 1);
    ir::Literal tensor = ir::vector_tensor(arena(), type, one);
    tensor.dims = {};
    return constant(tensor, name);
  };
  if (elem == ir::DataType::kDouble) return scalar(value, elem);
  const ir::ValueId plain =
      scalar(static_cast<float>(value), ir::DataType::kFloat);
  return elem == ir::DataType::kFloat ? plain : cast(plain, elem, name);
}

ir::ValueId Body::number(double value, ir::ValueId like,
                         std::string_view name) {
  return this->like(number(value, ir::DataType::kFloat, name), like, name);
}

ir::Attribute Body::ints(std::string_view name,
                         const std::vector<std::int64_t>& data) {
  return {.name = name,
          .kind = ir::AttributeKind::kInts,
          .ints = arena().copy(std::span<const std::int64_t>(data))};
}

ir::Attribute Body::integer(std::string_view name, std::int64_t value) {
  return {.name = name, .kind = ir::AttributeKind::kInt, .i = value};
}

ir::Attribute Body::real(std::string_view name, float value) {
  return {.name = name, .kind = ir::AttributeKind::kFloat, .f = value};
}

ir::Attribute Body::text(std::string_view name, std::string_view value) {
  return {.name = name, .kind = ir::AttributeKind::kString, .s = value};
}

bool Body::is_all(ir::ValueId list, std::int64_t number) {
  const auto known = elements(list);
  return known && std::ranges::all_of(
                      *known, [&](std::int64_t n) { return n == number; });
}

void Body::refuse(std::string reason, ir::ValueId culprit) {
  if (refusal_) return;
  refusal_ = {std::move(reason), culprit ? describe(culprit) : std::string()};
}

}  // namespace ruleengine::ops
