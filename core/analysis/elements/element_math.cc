// Elements through arithmetic, comparisons, choices and reductions.
#include <algorithm>

#include "core/analysis/elements/element_helpers.h"

namespace ruleengine::analysis {
namespace {

using ir::Dim;

// `f` over the elements of two inputs, broadcast.
template <typename F>
MaybeElements zip(const NodeView& v, std::size_t left, std::size_t right, F f) {
  const auto dims = common_shape(v, 2);
  if (!dims) return std::nullopt;
  const auto a = spread(v, left, *dims), b = spread(v, right, *dims);
  Elements out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Dim x = (*v.elements(left))[a[i]], y = (*v.elements(right))[b[i]];
    out.push_back(x == kUnknown || y == kUnknown ? kUnknown : f(x, y));
  }
  return out;
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

MaybeElements neg(const NodeView& v, std::size_t) {
  auto out = copied(v, 0);
  if (!out) return out;
  for (Dim& d : *out) d = d == kUnknown ? d : v.dims().neg(d);
  return out;
}

MaybeElements abs(const NodeView& v, std::size_t) {
  auto out = copied(v, 0);
  if (!out) return out;
  for (Dim& d : *out) {
    if (d == kUnknown || v.dims().nonnegative(d)) continue;
    d = d.known() ? Dim(-d.size()) : kUnknown;
  }
  return out;
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

MaybeElements logical_not(const NodeView& v, std::size_t) {
  auto out = copied(v, 0);
  if (!out) return out;
  for (Dim& d : *out) {
    if (d.known()) d = Dim(d.size() == 0 ? 1 : 0);
  }
  return out;
}

MaybeElements where(const NodeView& v, std::size_t) {
  const auto dims = common_shape(v, 3);
  if (!dims) return std::nullopt;
  const auto c = spread(v, 0, *dims), x = spread(v, 1, *dims),
             y = spread(v, 2, *dims);
  Elements out;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const Dim which = (*v.elements(0))[c[i]];
    const Dim yes = (*v.elements(1))[x[i]], no = (*v.elements(2))[y[i]];
    if (yes == no) {
      out.push_back(yes);
    } else {
      out.push_back(!which.known() ? kUnknown : which == Dim(0) ? no : yes);
    }
  }
  return out;
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

constexpr std::uint32_t kAll = ~0u;
constexpr ElementRule kRules[] = {
    {"Abs", abs, 1},
    {"Add", add, 3},
    {"Div", div, 3},
    {"Equal", equal, 3},
    {"Greater", ordered<true, false>, 3},
    {"GreaterOrEqual", ordered<true, true>, 3},
    {"Less", ordered<false, false>, 3},
    {"LessOrEqual", ordered<false, true>, 3},
    {"Max", maximum, kAll},
    {"Min", minimum, kAll},
    {"Mod", mod, 3},
    {"Mul", mul, 3},
    {"Neg", neg, 1},
    {"Not", logical_not, 1},
    {"ReduceProd", reduce<true>, 3},
    {"ReduceSum", reduce<false>, 3},
    {"Sub", sub, 3},
    {"Where", where, 7},
};

}  // namespace

std::span<const ElementRule> element_math_rules() { return kRules; }

}  // namespace ruleengine::analysis
