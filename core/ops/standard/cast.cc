// Conversions between element types.
#include <cmath>
#include <cstdlib>

#include "core/ops/families.h"
#include "core/ops/rules/element_helpers.h"
#include "core/ops/rules/flow.h"
#include "core/ops/rules/fold_math.h"
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

// From a real to a whole number: towards zero, refused where it does not fit.
Whole truncated(double v, DataType to) {
  if (to == DataType::kBool) return v != 0;
  if (!(std::fabs(v) < 9.2e18)) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(v);
  return wrap_to(to, whole) == whole ? Whole(whole) : std::nullopt;
}

Folded cast_to(const Call& call, DataType to) {
  const ir::Literal* t = call.input(0);
  if (t != nullptr && t->dtype == to) {
    return std::vector<const ir::Literal*>{t};
  }
  auto n = read_numbers(call, t);
  // 8-bit floats saturate by attribute.
  if (!n || ir::bit_width(to) < 8 ||
      (ir::is_float(to) && ir::bit_width(to) == 8)) {
    return std::nullopt;
  }
  const bool real = ir::is_float(to);
  if (!real && !ir::is_integer(to) && to != DataType::kBool) {
    return std::nullopt;
  }
  if (real && !n->real) n->reals.assign(n->ints.begin(), n->ints.end());
  if (!real && n->real) {
    for (double v : n->reals) {
      const Whole w = truncated(v, to);
      if (!w) return std::nullopt;
      n->ints.push_back(*w);
    }
  }
  n->real = real;
  n->dtype = to;
  return one(call, *n);
}

Folded cast(const Call& call) {
  return cast_to(call, static_cast<DataType>(call.node.attribute_int("to")));
}
Folded cast_like(const Call& call) {
  return call.input(1) != nullptr ? cast_to(call, call.input(1)->dtype)
                                  : std::nullopt;
}

constexpr OpRow kStandardCast[] = {
    {.type = "Cast",
     .family = OpFamily::kElementwise,
     .roles = {.linear = true},
     .types = {cast},
     .elements = {cast, 1},
     .fold = cast,
     .axes = flow_elementwise},
    {.type = "CastLike",
     .roles = {.linear = true, .settings = true},
     .types_only = 2,
     .types = {cast_like},
     .fold = cast_like,
     .axes = flow_like_first},
};

}  // namespace

std::span<const OpRow> standard::cast() { return kStandardCast; }

}  // namespace ruleengine::ops
