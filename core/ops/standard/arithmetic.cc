// Arithmetic, on numbers, bits and truth values, with broadcasting.
#include <cmath>

#include "core/ops/families.h"
#include "core/ops/rules/element_helpers.h"
#include "core/ops/rules/flow.h"
#include "core/ops/rules/fold_math.h"
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

MaybeElements add(const NodeView& v, std::size_t) {
  return zip(v, 0, 1, [&](Dim a, Dim b) { return v.dims().add(a, b); });
}
MaybeElements sub(const NodeView& v, std::size_t) {
  return zip(v, 0, 1, [&](Dim a, Dim b) { return v.dims().sub(a, b); });
}
MaybeElements mul(const NodeView& v, std::size_t) {
  return zip(v, 0, 1, [&](Dim a, Dim b) { return v.dims().mul(a, b); });
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

MaybeElements fold_all(const NodeView& v, Dim (ir::DimTable::*f)(Dim, Dim)) {
  const auto dims = common_shape(v, v.input_count());
  if (!dims || v.input_count() == 0) return std::nullopt;
  MaybeElements out;
  for (std::size_t i = 0; i < v.input_count(); ++i) {
    const Elements next = [&] {
      Elements e;
      for (std::size_t p : spread(v, i, *dims))
        e.push_back((*v.elements(i))[p]);
      return e;
    }();
    if (!out) {
      out = next;
      continue;
    }
    for (std::size_t k = 0; k < next.size(); ++k) {
      Dim& x = (*out)[k];
      x = x == kUnknown || next[k] == kUnknown ? kUnknown
                                               : (v.dims().*f)(x, next[k]);
    }
  }
  return out;
}

MaybeElements minimum(const NodeView& v, std::size_t) {
  return fold_all(v, &ir::DimTable::min);
}
MaybeElements maximum(const NodeView& v, std::size_t) {
  return fold_all(v, &ir::DimTable::max);
}

Folded same_types(const Call& call, WholeOp whole, RealOp real) {
  const ir::Literal *a = call.input(0), *b = call.input(1);
  if (a == nullptr || b == nullptr || a->dtype != b->dtype ||
      a->dtype == DataType::kBool) {
    return std::nullopt;
  }
  const auto out =
      combine(call, read_numbers(call, a), read_numbers(call, b), whole, real);
  return out ? one(call, *out) : std::nullopt;
}

Folded add(const Call& c) {
  return same_types(c, whole::add, [](double a, double b) { return a + b; });
}

Folded sub(const Call& c) {
  return same_types(c, whole::sub, [](double a, double b) { return a - b; });
}

Folded mul(const Call& c) {
  return same_types(c, whole::mul, [](double a, double b) { return a * b; });
}

Folded div(const Call& c) {
  return same_types(c, whole::div, [](double a, double b) { return a / b; });
}

Folded mod(const Call& c) {
  const bool fmod = c.node.attribute_int("fmod") != 0;
  return same_types(c, fmod ? whole::truncated_mod : whole::mod,
                    fmod ? [](double a, double b) { return std::fmod(a, b); }
                         : static_cast<RealOp>(nullptr));
}

// Whole powers of whole numbers; the exponent may have another type.
Whole power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return std::nullopt;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return base == 1 ? 1 : 0;
  }
  std::uint64_t out = 1, square = static_cast<std::uint64_t>(base);
  for (auto e = static_cast<std::uint64_t>(exponent); e > 0; e >>= 1) {
    if ((e & 1) != 0) out *= square;
    square *= square;
  }
  return static_cast<std::int64_t>(out);
}

Folded pow_fold(const Call& call) {
  auto a = read_numbers(call, call.input(0));
  auto b = read_numbers(call, call.input(1));
  if (a && b && a->real && !b->real) {
    b->real = true;
    b->reals.assign(b->ints.begin(), b->ints.end());
  }
  const auto out = combine(call, std::move(a), std::move(b), power,
                           [](double x, double y) { return std::pow(x, y); });
  return out ? one(call, *out) : std::nullopt;
}

template <WholeOp kWhole, RealOp kReal>
Folded fold_inputs(const Call& call) {
  auto out = read_numbers(call, call.input(0));
  for (std::size_t i = 1; out && i < call.inputs.size(); ++i) {
    if (call.inputs[i] == nullptr || call.inputs[i]->dtype != out->dtype) {
      return std::nullopt;
    }
    out = combine(call, std::move(out), read_numbers(call, call.inputs[i]),
                  kWhole, kReal);
  }
  return out ? one(call, *out) : std::nullopt;
}

template <WholeOp kOp>
Folded logical(const Call& call) {
  const ir::Literal *a = call.input(0), *b = call.input(1);
  if (a == nullptr || b == nullptr || a->dtype != DataType::kBool ||
      b->dtype != DataType::kBool) {
    return std::nullopt;
  }
  const auto out =
      combine(call, read_numbers(call, a), read_numbers(call, b), kOp, nullptr);
  return out ? one(call, *out) : std::nullopt;
}

Whole logical_xor(std::int64_t a, std::int64_t b) { return a != b ? 1 : 0; }

constexpr OpRow arithmetic_op(OpRow row) {
  row.types = {arithmetic};
  return broadcasting(row);
}

constexpr OpRow kStandardArithmetic[] = {
    arithmetic_op({.type = "Add",
                   .roles = {.commutative = true,
                             .linear = true,
                             .sum = true,
                             .integers = true},
                   .elements = {add, 3},
                   .fold = add}),
    arithmetic_op({.type = "And",
                   .roles = {.commutative = true},
                   .fold = logical<whole::minimum>}),
    arithmetic_op({.type = "BitShift"}),
    arithmetic_op({.type = "BitwiseAnd", .roles = {.commutative = true}}),
    arithmetic_op({.type = "BitwiseOr", .roles = {.commutative = true}}),
    arithmetic_op({.type = "BitwiseXor", .roles = {.commutative = true}}),
    arithmetic_op({.type = "Div",
                   .roles = {.linear = true},
                   .elements = {div, 3},
                   .fold = div}),
    arithmetic_op({.type = "Max",
                   .roles = {.commutative = true, .bounds = true},
                   .elements = {maximum, kAll},
                   .fold = fold_inputs<whole::maximum, real::maximum>}),
    arithmetic_op({.type = "Mean", .roles = {.commutative = true}}),
    arithmetic_op({.type = "Min",
                   .roles = {.commutative = true, .bounds = true},
                   .elements = {minimum, kAll},
                   .fold = fold_inputs<whole::minimum, real::minimum>}),
    arithmetic_op({.type = "Mod", .elements = {mod, 3}, .fold = mod}),
    arithmetic_op(
        {.type = "Mul",
         .roles = {.commutative = true, .linear = true, .integers = true},
         .elements = {mul, 3},
         .fold = mul}),
    arithmetic_op({.type = "Or",
                   .roles = {.commutative = true},
                   .fold = logical<whole::maximum>}),
    arithmetic_op({.type = "Pow", .fold = pow_fold}),
    arithmetic_op({.type = "Sub",
                   .roles = {.linear = true, .sum = true},
                   .elements = {sub, 3},
                   .fold = sub}),
    arithmetic_op(
        {.type = "Sum",
         .roles = {.commutative = true, .linear = true, .sum = true}}),
    arithmetic_op({.type = "Xor",
                   .roles = {.commutative = true},
                   .fold = logical<logical_xor>}),
};

}  // namespace

std::span<const OpRow> standard::arithmetic() { return kStandardArithmetic; }

}  // namespace ruleengine::ops
