// Reductions, and sums along an axis.
#include <numeric>

#include "core/ops/families.h"
#include "core/ops/rules/element_helpers.h"
#include "core/ops/rules/flow.h"
#include "core/ops/rules/type_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::Dim;

// The shape of the first input without the axes, or with 1 for each of them;
// false when one is outside.
bool drop_axes(const NodeView& v, const Ints& axes, Inferred& out) {
  const auto drop = flags(axes, v.rank(0));
  if (!drop) return false;
  const bool keep = v.attribute_int("keepdims") != 0;
  Dims dims;
  for (std::size_t i = 0; i < drop->size(); ++i) {
    if (!(*drop)[i]) {
      dims.push_back(v.shape(0)[i]);
    } else if (keep) {
      dims.push_back(Dim(1));
    }
  }
  out.set_dims(dims);
  return true;
}

bool reduce(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (!v.ranked(0)) return true;
  const auto axes = v.ints_of("axes", 1);
  if (!axes) {
    if (v.attribute_int("keepdims") != 0) {
      out[0].set_dims(std::vector<Dim>(v.rank(0), kUnknown));
    } else if (v.ranked(1) && v.rank(1) == 1 && v.shape(1)[0].known() &&
               v.shape(1)[0].size() > 0 &&
               v.shape(1)[0].size() <= static_cast<std::int64_t>(v.rank(0))) {
      const auto gone = static_cast<std::size_t>(v.shape(1)[0].size());
      out[0].set_dims(std::vector<Dim>(v.rank(0) - gone, kUnknown));
    }
    return true;
  }
  Ints list = axes->value_or(Ints());
  if (list.empty()) {
    if (v.attribute_int("noop_with_empty_axes") != 0) {
      out[0].set_dims(v.shape(0));
      return true;
    }
    list.resize(v.rank(0));
    std::iota(list.begin(), list.end(), 0);
  }
  return drop_axes(v, list, out[0]);
}

bool arg(const NodeView& v, Outputs out) {
  out[0].elem = DataType::kInt64;
  return !v.ranked(0) || drop_axes(v, {v.attribute_int("axis")}, out[0]);
}

template <bool kProduct>
MaybeElements reduce(const NodeView& v, std::size_t) {
  const auto in = v.elements(0);
  if (!in || v.rank(0) != 1 || wanted(v) != std::size_t{1}) return std::nullopt;
  const auto axes = v.ints_of("axes", 1);
  const bool none = axes && (!*axes || (*axes)->empty());
  if (!axes || (none && v.attribute_int("noop_with_empty_axes") != 0)) {
    return std::nullopt;
  }
  Dim out(kProduct ? 1 : 0);
  for (Dim d : *in) {
    if (d == kUnknown) return Elements{kUnknown};
    out = kProduct ? v.dims().mul(out, d) : v.dims().add(out, d);
  }
  return Elements{out};
}

// The reduced axes are a setting; each of them has size 1 in the result.
bool reduce(Flow& flow, Port port, int axis) {
  return flow_like_first(flow, port, axis) &&
         flow.type(port)->dims[Flow::at(axis)] != Dim(1);
}

constexpr OpRow reduction(OpRow row) {
  row.family = OpFamily::kReduction;
  row.roles.folds = row.roles.total = true;
  row.roles.settings = row.roles.normalizing = true;
  row.types = {reduce, 2};
  row.axes = reduce;
  return row;
}

constexpr OpRow kStandardReductions[] = {
    {.type = "ArgMax",
     .roles = {.folds = true, .integers = true},
     .types = {arg}},
    {.type = "ArgMin", .roles = {.folds = true}, .types = {arg}},
    {.type = "CumSum", .roles = {.folds = true}, .types = {like_first}},
    {.type = "DFT", .roles = {.keeps_rank = true}},
    reduction({.type = "ReduceL1"}),
    reduction({.type = "ReduceL2"}),
    reduction({.type = "ReduceLogSum"}),
    reduction({.type = "ReduceLogSumExp"}),
    reduction({.type = "ReduceMax", .roles = {.integers = true}}),
    reduction({.type = "ReduceMean"}),
    reduction({.type = "ReduceMin", .roles = {.integers = true}}),
    reduction({.type = "ReduceProd", .elements = {reduce<true>, 3}}),
    reduction({.type = "ReduceSum", .elements = {reduce<false>, 3}}),
    reduction({.type = "ReduceSumSquare"}),
    {.type = "TopK", .roles = {.keeps_rank = true}},
};

}  // namespace

std::span<const OpRow> standard::reductions() { return kStandardReductions; }

}  // namespace ruleengine::ops
