// Functions of each element by itself, some with settings beside it.
#include "core/ops/families.h"
#include "core/ops/rules/element_helpers.h"
#include "core/ops/rules/flow.h"
#include "core/ops/rules/type_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::Dim;

bool like_first_bool(const NodeView& v, Outputs out) {
  like_first(v, out);
  out[0].elem = DataType::kBool;
  return true;
}

bool dropout(const NodeView& v, Outputs out) {
  like_first(v, out);
  if (out.size() > 1) {
    copy_type(v, 0, out[1]);
    out[1].elem = v.opset() < 10 ? v.elem(0) : DataType::kBool;
  }
  return true;
}

MaybeElements neg(const NodeView& v, std::size_t) {
  return mapped(v, [&](Dim d) { return v.dims().neg(d); });
}

MaybeElements abs(const NodeView& v, std::size_t) {
  return mapped(v, [&](Dim d) {
    if (v.dims().nonnegative(d)) return d;
    return d.known() ? Dim(-d.size()) : kUnknown;
  });
}

MaybeElements logical_not(const NodeView& v, std::size_t) {
  return mapped(v, [](Dim d) { return d.known() ? Dim(d.size() == 0) : d; });
}

MaybeElements identity(const NodeView& v, std::size_t) { return copied(v, 0); }

Literals identity(const NodeView& v) { return {v.constant(0)}; }

// Like the first input, unless the row says otherwise.
constexpr OpRow unary_op(OpRow row) {
  row.roles.folds = row.roles.total = true;
  row.family = OpFamily::kElementwise;
  if (row.types.infer == nullptr) row.types = {like_first};
  row.axes = flow_elementwise;
  return row;
}

constexpr OpRow kStandardUnary[] = {
    unary_op({.type = "Abs", .elements = {abs, 1}}),
    unary_op({.type = "Acos"}),
    unary_op({.type = "Acosh"}),
    unary_op({.type = "Asin"}),
    unary_op({.type = "Asinh"}),
    unary_op({.type = "Atan"}),
    unary_op({.type = "Atanh"}),
    unary_op({.type = "BitwiseNot"}),
    unary_op({.type = "Ceil"}),
    unary_op({.type = "Celu"}),
    unary_op({.type = "Clip", .roles = {.bounds = true}}),
    unary_op({.type = "Cos"}),
    unary_op({.type = "Cosh"}),
    unary_op({.type = "Elu"}),
    unary_op({.type = "Erf"}),
    unary_op({.type = "Exp"}),
    unary_op({.type = "Floor"}),
    unary_op({.type = "Gelu"}),
    unary_op({.type = "HardSigmoid"}),
    unary_op({.type = "HardSwish"}),
    unary_op({.type = "Identity",
              .roles = {.folds_whole = true,
                        .linear = true,
                        .free = true,
                        .moves = true,
                        .passes_quantizers = true},
              .elements = {identity, 1},
              .views = identity}),
    unary_op({.type = "IsInf", .types = {like_first_bool}}),
    unary_op({.type = "IsNaN", .types = {like_first_bool}}),
    unary_op({.type = "LeakyRelu", .roles = {.integers = true}}),
    unary_op({.type = "Log"}),
    unary_op({.type = "Mish"}),
    unary_op({.type = "Neg", .roles = {.linear = true}, .elements = {neg, 1}}),
    unary_op({.type = "Not", .elements = {logical_not, 1}}),
    unary_op({.type = "PRelu"}),
    unary_op({.type = "Reciprocal"}),
    unary_op({.type = "Relu", .roles = {.bounds = true}}),
    unary_op({.type = "Round"}),
    unary_op({.type = "Selu"}),
    unary_op({.type = "Shrink"}),
    unary_op({.type = "Sigmoid", .roles = {.integers = true}}),
    unary_op({.type = "Sign"}),
    unary_op({.type = "Sin"}),
    unary_op({.type = "Sinh"}),
    unary_op({.type = "Softplus"}),
    unary_op({.type = "Softsign"}),
    unary_op({.type = "Sqrt"}),
    unary_op({.type = "Swish"}),
    unary_op({.type = "Tan"}),
    unary_op({.type = "Tanh"}),
    unary_op({.type = "ThresholdedRelu"}),
    {.type = "Dropout",
     .roles = {.free = true, .moves = true, .passes_quantizers = true},
     .types = {dropout}},
};

}  // namespace

std::span<const OpRow> standard::unary() { return kStandardUnary; }

}  // namespace ruleengine::ops
