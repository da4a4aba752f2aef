// Comparisons, and the choice by what they give.
#include <cstring>

#include "core/ops/families.h"
#include "core/ops/rules/element_helpers.h"
#include "core/ops/rules/flow.h"
#include "core/ops/rules/fold_math.h"
#include "core/ops/rules/picking.h"
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

using Compare = bool (*)(int order, bool ordered);

Folded compare(const Call& call, Compare holds) {
  const ir::Literal *x = call.input(0), *y = call.input(1);
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

Folded where(const Call& call) {
  const auto condition = read_numbers(call, call.input(0));
  const ir::Literal *x = call.input(1), *y = call.input(2);
  if (!condition || x == nullptr || y == nullptr || x->dtype != y->dtype ||
      !count_of(x->dims) || !count_of(y->dims)) {
    return std::nullopt;
  }
  const auto values = broadcast_dims(x->dims, y->dims);
  if (!values) return std::nullopt;
  const auto dims = broadcast_dims(*values, condition->dims);
  if (!dims || !count_of(*dims, call.limit) || condition->real) {
    return std::nullopt;
  }
  const Source yes(call, x), no(call, y);
  if (!yes.ok() || !no.ok()) return std::nullopt;
  const std::size_t width = yes.width();
  const auto out = call.model().arena.array<std::byte>(
      static_cast<std::size_t>(*count_of(*dims)) * width);
  std::vector<bool> chosen(static_cast<std::size_t>(*count_of(*dims)));
  for_each_broadcast(condition->dims, *dims,
                     [&](std::size_t to, std::size_t i) {
                       chosen[to] = condition->ints[i] != 0;
                     });
  const auto copy = [&](const Source& from, const ir::Literal* t, bool which) {
    for_each_broadcast(t->dims, *dims, [&](std::size_t to, std::size_t i) {
      if (chosen[to] != which) return;
      std::memcpy(out.data() + to * width,
                  from.at(static_cast<std::int64_t>(i)), width);
    });
  };
  copy(yes, x, true);
  copy(no, y, false);
  return one(make_tensor(call.model(), x->dtype, *dims, out));
}

constexpr OpRow kStandardComparison[] = {
    broadcasting({.type = "Equal",
                  .roles = {.commutative = true},
                  .types = {comparison},
                  .elements = {equal, 3},
                  .fold = equal}),
    broadcasting({.type = "Greater",
                  .types = {comparison},
                  .elements = {ordered<true, false>, 3},
                  .fold = greater}),
    broadcasting({.type = "GreaterOrEqual",
                  .types = {comparison},
                  .elements = {ordered<true, true>, 3},
                  .fold = greater_or_equal}),
    broadcasting({.type = "Less",
                  .types = {comparison},
                  .elements = {ordered<false, false>, 3},
                  .fold = less}),
    broadcasting({.type = "LessOrEqual",
                  .types = {comparison},
                  .elements = {ordered<false, true>, 3},
                  .fold = less_or_equal}),
    broadcasting({.type = "Where",
                  .roles = {.joins = true, .integers = true},
                  .types = {where},
                  .elements = {where, 7},
                  .fold = where}),
};

}  // namespace

std::span<const OpRow> standard::comparison() { return kStandardComparison; }

}  // namespace ruleengine::ops
