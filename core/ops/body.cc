#include "core/ops/body.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/ir/literal.h"
#include "core/ir/narrow_float.h"
#include "core/ir/small_tensor.h"

namespace ruleengine::ops {
namespace {

constexpr std::int64_t kCastLike = 15;  // the opset that brought it

template <class T>
std::span<const std::byte> bytes_of(Arena& arena, const std::vector<T>& data) {
  const auto bytes = arena.array<std::byte>(data.size() * sizeof(T));
  std::memcpy(bytes.data(), data.data(), bytes.size());
  return bytes;
}

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
  if (elem != ir::DataType::kDouble) {
    const ir::ValueId plain = constant(
        {.dtype = ir::DataType::kFloat,
         .bytes = bytes_of(arena(), std::vector{static_cast<float>(value)})},
        name);
    return elem == ir::DataType::kFloat ? plain : cast(plain, elem, name);
  }
  const std::vector<double> wide = {value};
  return constant({.dtype = elem, .bytes = bytes_of(arena(), wide)}, name);
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
