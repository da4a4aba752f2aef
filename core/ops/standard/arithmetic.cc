// Arithmetic, on numbers, bits and truth values, with broadcasting.
#include <cmath>

#include "core/ops/families.h"
#include "core/ops/rules/element_helpers.h"
#include "core/ops/rules/flow.h"
#include "core/ops/rules/type_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::Dim;

bool arithmetic(const NodeView& v, Outputs out) {
  if (!broadcast_all(v, out)) return false;
  // Either operand tells the type, except that of Pow and BitShift.
  if (out[0].elem == DataType::kUndefined && v.op().type != "Pow") {
    out[0].elem = v.elem(1);
  }
  return true;
}

template <Dim (ir::DimTable::*kOp)(Dim, Dim)>
MaybeElements combined(const NodeView& v, std::size_t) {
  return zip(v, 0, 1, [&](Dim a, Dim b) { return (v.dims().*kOp)(a, b); });
}

// Integers are divided towards zero.
MaybeElements div(const NodeView& v, std::size_t) {
  ir::DimTable& dims = v.dims();
  return zip(v, 0, 1, [&](Dim a, Dim b) {
    if (b == Dim(0)) return kUnknown;
    if (a.known() && b.known()) return Dim(a.size() / b.size());
    if (const auto exact = dims.exact_div(a, b)) return *exact;
    if (dims.nonnegative(a) && dims.nonnegative(b)) {
      return dims.floor_div(a, b);
    }
    return kUnknown;  // below 0, truncation is not floor
  });
}

MaybeElements mod(const NodeView& v, std::size_t) {
  ir::DimTable& dims = v.dims();
  const bool fmod = v.attribute_int("fmod") != 0;
  return zip(v, 0, 1, [&](Dim a, Dim b) {
    if (b == Dim(0)) return kUnknown;
    const bool both = dims.nonnegative(a) && dims.nonnegative(b);
    if (fmod && !both) {
      if (!a.known() || !b.known()) return kUnknown;
      return Dim(b.size() == -1 ? 0 : a.size() % b.size());
    }
    return dims.sub(a, dims.mul(b, dims.floor_div(a, b)));
  });
}

// Of any number of inputs.
template <Dim (ir::DimTable::*kOp)(Dim, Dim)>
MaybeElements combined_all(const NodeView& v, std::size_t) {
  const auto dims = common_shape(v, v.input_count());
  if (!dims || v.input_count() == 0) return std::nullopt;
  Elements out = spread(v, 0, *dims);
  for (std::size_t i = 1; i < v.input_count(); ++i) {
    const Elements next = spread(v, i, *dims);
    for (std::size_t k = 0; k < next.size(); ++k) {
      Dim& x = out[k];
      x = x == kUnknown || next[k] == kUnknown ? kUnknown
                                               : (v.dims().*kOp)(x, next[k]);
    }
  }
  return out;
}

constexpr OpRow arithmetic_op(OpRow row) {
  row.types = {arithmetic};
  return broadcasting(row);
}

// Runtimes differ where it shifts by more than all bits.
constexpr OpRow no_fold(OpRow row) {
  row.roles.folds = false;
  return row;
}

constexpr OpRow kStandardArithmetic[] = {
    arithmetic_op({.type = "Add",
                   .roles = {.commutative = true,
                             .linear = true,
                             .sum = true,
                             .integers = true},
                   .elements = {combined<&ir::DimTable::add>, 3}}),
    arithmetic_op({.type = "And", .roles = {.commutative = true}}),
    no_fold(arithmetic_op({.type = "BitShift"})),
    arithmetic_op({.type = "BitwiseAnd", .roles = {.commutative = true}}),
    arithmetic_op({.type = "BitwiseOr", .roles = {.commutative = true}}),
    arithmetic_op({.type = "BitwiseXor", .roles = {.commutative = true}}),
    arithmetic_op(
        {.type = "Div", .roles = {.linear = true}, .elements = {div, 3}}),
    arithmetic_op({.type = "Max",
                   .roles = {.commutative = true, .bounds = true},
                   .elements = {combined_all<&ir::DimTable::max>, kAll}}),
    arithmetic_op({.type = "Mean", .roles = {.commutative = true}}),
    arithmetic_op({.type = "Min",
                   .roles = {.commutative = true, .bounds = true},
                   .elements = {combined_all<&ir::DimTable::min>, kAll}}),
    arithmetic_op({.type = "Mod", .elements = {mod, 3}}),
    arithmetic_op(
        {.type = "Mul",
         .roles = {.commutative = true, .linear = true, .integers = true},
         .elements = {combined<&ir::DimTable::mul>, 3}}),
    arithmetic_op({.type = "Or", .roles = {.commutative = true}}),
    arithmetic_op({.type = "Pow"}),
    arithmetic_op({.type = "Sub",
                   .roles = {.linear = true, .sum = true},
                   .elements = {combined<&ir::DimTable::sub>, 3}}),
    arithmetic_op(
        {.type = "Sum",
         .roles = {.commutative = true, .linear = true, .sum = true}}),
    arithmetic_op({.type = "Xor", .roles = {.commutative = true}}),
};

}  // namespace

std::span<const OpRow> standard::arithmetic() { return kStandardArithmetic; }

}  // namespace ruleengine::ops
