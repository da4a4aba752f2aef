// Conversions between element types.
#include <cstdlib>

#include "core/ops/families.h"
#include "core/ops/rules/element_helpers.h"
#include "core/ops/rules/flow.h"
#include "core/ops/rules/type_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::Dim;

bool cast(const NodeView& v, Outputs out) {
  const ir::Attribute* to = v.attribute("to");
  if (to == nullptr || to->kind != ir::AttributeKind::kInt) return false;
  copy_type(v, 0, out[0]);
  out[0].elem = static_cast<DataType>(to->i);
  return true;
}

MaybeElements cast(const NodeView& v, std::size_t) {
  const std::int64_t to = v.attribute_int("to");
  if (to == 7) return copied(v, 0);
  return mapped(v, [&](Dim d) {
    // As a bool, a symbol is no longer itself.
    if (to == 9) return d.known() ? Dim(d.size() != 0) : kUnknown;
    // Sizes fit into 32 bits, or the model fails.
    return d.known() && std::abs(d.size()) > INT32_MAX ? kUnknown : d;
  });
}

// The input where the type stays; only a float8e5m2 may change.
Literals to_type(const NodeView& v, DataType to) {
  const ir::Literal* t = v.constant(0);
  if (t->dtype != to || to == DataType::kFloat8E5M2) return {};
  return {t};
}

Literals cast(const NodeView& v) {
  return to_type(v, static_cast<DataType>(v.attribute_int("to")));
}
Literals cast_like(const NodeView& v) {
  const ir::Literal* like = v.constant(1);
  return like != nullptr ? to_type(v, like->dtype) : Literals();
}

constexpr OpRow kStandardCast[] = {
    {.type = "Cast",
     .family = OpFamily::kElementwise,
     .roles = {.folds = true, .total = true, .linear = true},
     .types = {cast},
     .elements = {cast, 1},
     .views = cast,
     .axes = flow_elementwise},
    {.type = "CastLike",
     .roles = {.folds = true, .total = true, .linear = true, .settings = true},
     .types_only = 2,
     .types = {like_first_cast},
     .views = cast_like,
     .axes = flow_like_first},
};

}  // namespace

std::span<const OpRow> standard::cast() { return kStandardCast; }

}  // namespace ruleengine::ops
