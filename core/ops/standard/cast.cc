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

bool cast_like(const NodeView& v, Outputs out) {
  copy_type(v, 0, out[0]);
  out[0].elem = v.elem(1);
  return true;
}

MaybeElements cast(const NodeView& v, std::size_t) {
  auto out = copied(v, 0);
  if (!out || v.attribute_int("to") == 7) return out;
  const bool to_bool = v.attribute_int("to") == 9;
  for (Dim& d : *out) {
    if (!d.known()) continue;  // sizes fit into 32 bits, or the model fails
    if (to_bool) d = Dim(d.size() != 0 ? 1 : 0);
    if (!to_bool && std::abs(d.size()) > INT32_MAX) d = kUnknown;
  }
  // As a bool, a symbol is no longer itself.
  if (to_bool) {
    for (Dim& d : *out) {
      if (!d.known()) d = kUnknown;
    }
  }
  return out;
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
     .types = {cast_like},
     .views = cast_like,
     .axes = flow_like_first},
};

}  // namespace

std::span<const OpRow> standard::cast() { return kStandardCast; }

}  // namespace ruleengine::ops
