// Kernels that compute: arithmetic, comparisons, casts, reductions. Floats are
// computed as doubles and rounded once, which for + - * / and square roots is
// the correctly rounded result of every narrower type. Integers wrap.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/analysis/kernels/kernels.h"
#include "core/ir/shapes.h"

namespace ruleengine::analysis {
namespace {

using ir::DataType;

// Empty: refuse (division by zero, a type that has no such operation).
using Whole = std::optional<std::int64_t>;
using WholeOp = Whole (*)(std::int64_t, std::int64_t);
using RealOp = double (*)(double, double);

Folded one(const Call& call, const Numbers& n) {
  return std::vector<const ir::Tensor*>{write_numbers(call.model(), n)};
}

// Both inputs' elements at the places of `dims`.
struct Pair {
  Numbers a, b;
  Ints dims;
  std::vector<std::size_t> left, right;
};

std::optional<Pair> pair_of(const Call& call, std::optional<Numbers> a,
                            std::optional<Numbers> b) {
  if (!a || !b || a->real != b->real) return std::nullopt;
  const auto dims = broadcast_dims(a->dims, b->dims);
  if (!dims || !count_of(*dims, call.limit)) return std::nullopt;
  Pair out{*std::move(a), *std::move(b), *dims, {}, {}};
  const auto fill = [&](const Ints& from, std::vector<std::size_t>& to) {
    for_each_broadcast(from, out.dims,
                       [&](std::size_t, std::size_t i) { to.push_back(i); });
  };
  fill(out.a.dims, out.left);
  fill(out.b.dims, out.right);
  return out;
}

std::optional<Numbers> combine(const Call& call, std::optional<Numbers> a,
                               std::optional<Numbers> b, WholeOp whole,
                               RealOp real) {
  const auto p = pair_of(call, std::move(a), std::move(b));
  if (!p || (p->a.real ? real == nullptr : whole == nullptr)) {
    return std::nullopt;
  }
  Numbers out;
  out.dtype = p->a.dtype;
  out.real = p->a.real;
  out.dims = p->dims;
  for (std::size_t i = 0; i < p->left.size(); ++i) {
    if (out.real) {
      out.reals.push_back(round_to(
          out.dtype, real(p->a.reals[p->left[i]], p->b.reals[p->right[i]])));
      continue;
    }
    const Whole v = whole(p->a.ints[p->left[i]], p->b.ints[p->right[i]]);
    if (!v) return std::nullopt;
    out.ints.push_back(wrap_to(out.dtype, *v));
  }
  return out;
}

// Addition and its kin wrap without undefined behaviour as unsigned.
template <typename F>
std::int64_t wrapped(std::int64_t a, std::int64_t b, F f) {
  return static_cast<std::int64_t>(
      f(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}
Whole add(std::int64_t a, std::int64_t b) {
  return wrapped(a, b, [](auto x, auto y) { return x + y; });
}
Whole sub(std::int64_t a, std::int64_t b) {
  return wrapped(a, b, [](auto x, auto y) { return x - y; });
}
Whole mul(std::int64_t a, std::int64_t b) {
  return wrapped(a, b, [](auto x, auto y) { return x * y; });
}
Whole div(std::int64_t a, std::int64_t b) {
  if (b == 0) return std::nullopt;
  return b == -1 ? sub(0, a) : a / b;
}
Whole truncated_mod(std::int64_t a, std::int64_t b) {
  if (b == 0) return std::nullopt;
  return b == -1 ? 0 : a % b;
}
Whole mod(std::int64_t a, std::int64_t b) {
  const Whole r = truncated_mod(a, b);
  return r && *r != 0 && (*r < 0) != (b < 0) ? *r + b : r;
}
Whole minimum(std::int64_t a, std::int64_t b) { return std::min(a, b); }
Whole maximum(std::int64_t a, std::int64_t b) { return std::max(a, b); }

// ONNX's Min and Max hand NaN on.
double minimum_real(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b);
}
double maximum_real(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
}

Folded same_types(const Call& call, WholeOp whole, RealOp real) {
  const ir::Tensor *a = call.input(0), *b = call.input(1);
  if (a == nullptr || b == nullptr || a->dtype != b->dtype ||
      a->dtype == DataType::kBool) {
    return std::nullopt;
  }
  const auto out =
      combine(call, read_numbers(call, a), read_numbers(call, b), whole, real);
  return out ? one(call, *out) : std::nullopt;
}

Folded add_kernel(const Call& c) {
  return same_types(c, add, [](double a, double b) { return a + b; });
}
Folded sub_kernel(const Call& c) {
  return same_types(c, sub, [](double a, double b) { return a - b; });
}
Folded mul_kernel(const Call& c) {
  return same_types(c, mul, [](double a, double b) { return a * b; });
}
Folded div_kernel(const Call& c) {
  return same_types(c, div, [](double a, double b) { return a / b; });
}
Folded mod_kernel(const Call& c) {
  const bool fmod = c.attribute_int("fmod") != 0;
  return same_types(c, fmod ? truncated_mod : mod,
                    fmod ? [](double a, double b) { return std::fmod(a, b); }
                         : static_cast<RealOp>(nullptr));
}

// Whole powers of whole numbers; the exponent may have another type.
Whole power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return std::nullopt;
  std::uint64_t out = 1, square = static_cast<std::uint64_t>(base);
  for (auto e = static_cast<std::uint64_t>(exponent); e > 0; e >>= 1) {
    if ((e & 1) != 0) out *= square;
    square *= square;
  }
  return static_cast<std::int64_t>(out);
}

Folded pow_kernel(const Call& call) {
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

// --- truth -------------------------------------------------------------------

using Compare = bool (*)(int order, bool ordered);

Folded compare(const Call& call, Compare holds) {
  const ir::Tensor *x = call.input(0), *y = call.input(1);
  if (x == nullptr || y == nullptr || x->dtype != y->dtype) return std::nullopt;
  const auto p = pair_of(call, read_numbers(call, x), read_numbers(call, y));
  if (!p) return std::nullopt;
  Numbers out;
  out.dtype = DataType::kBool;
  out.dims = p->dims;
  for (std::size_t i = 0; i < p->left.size(); ++i) {
    int order = 0;
    bool ordered = true;
    const auto set = [&](auto a, auto b) {
      order = a < b ? -1 : a > b ? 1 : 0;
      ordered = a == a && b == b;
    };
    if (p->a.real) {
      set(p->a.reals[p->left[i]], p->b.reals[p->right[i]]);
    } else {
      set(p->a.ints[p->left[i]], p->b.ints[p->right[i]]);
    }
    out.ints.push_back(holds(order, ordered));
  }
  return one(call, out);
}

Folded equal(const Call& c) {
  return compare(c, [](int o, bool n) { return n && o == 0; });
}
Folded less(const Call& c) {
  return compare(c, [](int o, bool) { return o < 0; });
}
Folded greater(const Call& c) {
  return compare(c, [](int o, bool) { return o > 0; });
}
Folded less_or_equal(const Call& c) {
  return compare(c, [](int o, bool n) { return n && o <= 0; });
}
Folded greater_or_equal(const Call& c) {
  return compare(c, [](int o, bool n) { return n && o >= 0; });
}

template <WholeOp kOp>
Folded logical(const Call& call) {
  const ir::Tensor *a = call.input(0), *b = call.input(1);
  if (a == nullptr || b == nullptr || a->dtype != DataType::kBool ||
      b->dtype != DataType::kBool) {
    return std::nullopt;
  }
  const auto out =
      combine(call, read_numbers(call, a), read_numbers(call, b), kOp, nullptr);
  return out ? one(call, *out) : std::nullopt;
}

Whole logical_xor(std::int64_t a, std::int64_t b) { return a != b ? 1 : 0; }

Folded logical_not(const Call& call) {
  auto n = read_numbers(call, call.input(0));
  if (!n || n->dtype != DataType::kBool) return std::nullopt;
  for (std::int64_t& v : n->ints) v = v == 0;
  return one(call, *n);
}

// --- one input ---------------------------------------------------------------

template <double (*kReal)(double), WholeOp kWhole = nullptr>
Folded unary(const Call& call) {
  auto n = read_numbers(call, call.input(0));
  if (!n || n->dtype == DataType::kBool) return std::nullopt;
  if (!n->real && kWhole == nullptr) return std::nullopt;
  for (double& v : n->reals) v = kReal(v);
  if constexpr (kWhole != nullptr) {
    for (std::int64_t& v : n->ints) v = *kWhole(v, 0);
  }
  return one(call, *n);
}

double negative(double v) { return -v; }
double reciprocal(double v) { return 1 / v; }
double round_even(double v) { return std::nearbyint(v); }
Whole negative_whole(std::int64_t v, std::int64_t) { return sub(0, v); }
Whole absolute_whole(std::int64_t v, std::int64_t) {
  return v < 0 ? sub(0, v) : v;
}

// From a real to a whole number: towards zero, refused where it does not fit.
Whole truncated(double v, DataType to) {
  if (to == DataType::kBool) return v != 0;
  if (!(std::fabs(v) < 9.2e18)) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(v);
  return wrap_to(to, whole) == whole ? Whole(whole) : std::nullopt;
}

Folded cast_to(const Call& call, DataType to) {
  const ir::Tensor* t = call.input(0);
  if (t != nullptr && t->dtype == to) {
    return std::vector<const ir::Tensor*>{t};
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
  return cast_to(call, static_cast<DataType>(call.attribute_int("to")));
}
Folded cast_like(const Call& call) {
  return call.input(1) != nullptr ? cast_to(call, call.input(1)->dtype)
                                  : std::nullopt;
}

// --- reductions --------------------------------------------------------------

template <WholeOp kWhole, RealOp kReal>
Folded reduce(const Call& call) {
  const auto in = read_numbers(call, call.input(0));
  const auto axes = call.ints_of("axes", 1);
  if (!in || !axes || in->size() == 0 || in->dtype == DataType::kBool) {
    return std::nullopt;
  }
  const std::size_t rank = in->dims.size();
  const bool all = !*axes || (*axes)->empty();
  if (all && call.attribute_int("noop_with_empty_axes") != 0) {
    return std::vector<const ir::Tensor*>{call.input(0)};
  }
  std::vector<bool> gone(rank, all);
  for (std::int64_t axis : axes->value_or(Ints())) {
    const auto place = ir::place_of_axis(axis, rank);
    if (!place) return std::nullopt;
    gone[*place] = true;
  }
  Numbers out;
  out.dtype = in->dtype;
  out.real = in->real;
  Ints thin = in->dims;
  for (std::size_t i = 0; i < rank; ++i) {
    if (gone[i]) thin[i] = 1;
    if (!gone[i] || call.attribute_int("keepdims") != 0) {
      out.dims.push_back(thin[i]);
    }
  }
  const auto n = static_cast<std::size_t>(*count_of(thin));
  std::vector<bool> seen(n);
  out.ints.resize(out.real ? 0 : n);
  out.reals.resize(out.real ? n : 0);
  for_each_broadcast(thin, in->dims, [&](std::size_t from, std::size_t to) {
    const bool first = !seen[to];
    seen[to] = true;
    if (out.real) {
      const double v = in->reals[from];
      out.reals[to] = first ? v : kReal(out.reals[to], v);
    } else {
      const std::int64_t v = in->ints[from];
      out.ints[to] = first ? v : *kWhole(out.ints[to], v);
    }
  });
  return one(call, out);
}

double add_real(double a, double b) { return a + b; }
double mul_real(double a, double b) { return a * b; }

constexpr KernelRow kKernels[] = {
    {"Abs", unary<std::fabs, absolute_whole>},
    {"Add", add_kernel},
    {"And", logical<minimum>},
    {"Cast", cast},
    {"CastLike", cast_like},
    {"Ceil", unary<std::ceil>},
    {"Cos", unary<std::cos>},
    {"Div", div_kernel},
    {"Equal", equal},
    {"Exp", unary<std::exp>},
    {"Floor", unary<std::floor>},
    {"Greater", greater},
    {"GreaterOrEqual", greater_or_equal},
    {"Less", less},
    {"LessOrEqual", less_or_equal},
    {"Log", unary<std::log>},
    {"Max", fold_inputs<maximum, maximum_real>},
    {"Min", fold_inputs<minimum, minimum_real>},
    {"Mod", mod_kernel},
    {"Mul", mul_kernel},
    {"Neg", unary<negative, negative_whole>},
    {"Not", logical_not},
    {"Or", logical<maximum>},
    {"Pow", pow_kernel},
    {"Reciprocal", unary<reciprocal>},
    {"ReduceMax", reduce<maximum, maximum_real>},
    {"ReduceMin", reduce<minimum, minimum_real>},
    {"ReduceProd", reduce<mul, mul_real>},
    {"ReduceSum", reduce<add, add_real>},
    {"Round", unary<round_even>},
    {"Sin", unary<std::sin>},
    {"Sqrt", unary<std::sqrt>},
    {"Sub", sub_kernel},
    {"Xor", logical<logical_xor>},
};

}  // namespace

std::span<const KernelRow> math_kernels() { return kKernels; }

}  // namespace ruleengine::analysis
