// Comparisons, and the choice by what they give.
#include "core/ops/families.h"
#include "core/ops/rules/element_helpers.h"
#include "core/ops/rules/flow.h"
#include "core/ops/rules/type_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::Dim;

bool comparison(const NodeView& v, Outputs out) {
  if (!broadcast_all(v, out)) return false;
  out[0].elem = DataType::kBool;
  return true;
}

bool where(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(1) != DataType::kUndefined ? v.elem(1) : v.elem(2);
  set_broadcast(v, 0, 3, out[0]);
  return true;
}

MaybeElements equal(const NodeView& v, std::size_t) {
  return zip(v, 0, 1, [&](Dim a, Dim b) {
    if (a == b) return Dim(1);
    return v.dims().provably_different(a, b) ? Dim(0) : kUnknown;
  });
}

// a < b (or <=) where the sign of the difference is certain.
Dim compare(ir::DimTable& dims, Dim a, Dim b, bool or_equal) {
  const Dim up = dims.sub(b, a);
  if (dims.nonnegative(or_equal ? up : dims.sub(up, Dim(1)))) return Dim(1);
  const Dim down = dims.sub(a, b);
  if (dims.nonnegative(or_equal ? dims.sub(down, Dim(1)) : down)) {
    return Dim(0);
  }
  return kUnknown;
}

template <bool kSwap, bool kOrEqual>
MaybeElements ordered(const NodeView& v, std::size_t) {
  return zip(v, kSwap ? 1 : 0, kSwap ? 0 : 1,
             [&](Dim a, Dim b) { return compare(v.dims(), a, b, kOrEqual); });
}

MaybeElements where(const NodeView& v, std::size_t) {
  const auto dims = common_shape(v, 3);
  if (!dims) return std::nullopt;
  Elements out = spread(v, 1, *dims);
  const Elements which = spread(v, 0, *dims), no = spread(v, 2, *dims);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == no[i]) continue;
    if (!which[i].known()) out[i] = kUnknown;
    if (which[i] == Dim(0)) out[i] = no[i];
  }
  return out;
}

constexpr OpRow kStandardComparison[] = {
    broadcasting({.type = "Equal",
                  .roles = {.commutative = true},
                  .types = {comparison},
                  .elements = {equal, 3}}),
    broadcasting({.type = "Greater",
                  .types = {comparison},
                  .elements = {ordered<true, false>, 3}}),
    broadcasting({.type = "GreaterOrEqual",
                  .types = {comparison},
                  .elements = {ordered<true, true>, 3}}),
    broadcasting({.type = "Less",
                  .types = {comparison},
                  .elements = {ordered<false, false>, 3}}),
    broadcasting({.type = "LessOrEqual",
                  .types = {comparison},
                  .elements = {ordered<false, true>, 3}}),
    broadcasting({.type = "Where",
                  .roles = {.joins = true, .integers = true},
                  .types = {where},
                  .elements = {where, 7}}),
};

}  // namespace

std::span<const OpRow> standard::comparison() { return kStandardComparison; }

}  // namespace ruleengine::ops
