// Elements of small integer tensors through shape arithmetic. Every rule works
// on rank 0 and 1 (a scalar has one element); the Solver checks the count
// against the type and drops what does not fit.
#include "core/analysis/rules.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/analysis/rule_helpers.h"
#include "core/analysis/slice_math.h"

namespace ruleengine::analysis {
namespace {

using ir::Dim;
using Elements = std::vector<Dim>;

MaybeElements copied(const NodeView& v, std::size_t i) {
  const auto in = v.elements(i);
  if (!in) return std::nullopt;
  return Elements(in->begin(), in->end());
}

MaybeElements same(const NodeView& v, std::size_t) { return copied(v, 0); }

MaybeElements cast(const NodeView& v, std::size_t) {
  auto out = copied(v, 0);
  if (!out || v.attribute_int("to", 0) == 7) return out;
  const bool to_bool = v.attribute_int("to", 0) == 9;
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

MaybeElements shape(const NodeView& v, std::size_t) {
  if (!v.ranked(0)) return std::nullopt;
  const auto [from, to] = shape_range(v);
  const auto dims = v.shape(0).subspan(from, to - from);
  return Elements(dims.begin(), dims.end());
}

MaybeElements size(const NodeView& v, std::size_t) {
  if (!v.ranked(0)) return std::nullopt;
  return Elements{element_count(v.dims(), v.shape(0))};
}

MaybeElements gather(const NodeView& v, std::size_t) {
  const auto data = v.elements(0);
  const auto indices = v.ints(1);
  if (!data || !indices) return std::nullopt;
  Elements out;
  for (std::int64_t i : *indices) {
    const auto at = place_of_axis(i, data->size());
    if (!at) return std::nullopt;
    out.push_back((*data)[*at]);
  }
  return out;
}

MaybeElements slice(const NodeView& v, std::size_t) {
  const auto data = v.elements(0);
  if (!data || v.rank(0) != 1) return std::nullopt;
  const bool old = v.opset() < 10;
  const auto starts = old ? v.attribute_ints("starts") : v.ints(1);
  const auto ends = old ? v.attribute_ints("ends") : v.ints(2);
  const auto steps = !old && v.has_input(4)
                         ? v.ints(4)
                         : std::optional(std::vector<std::int64_t>{1});
  if (!starts || !ends || !steps || starts->size() != 1 || ends->size() != 1 ||
      steps->size() != 1 || (*steps)[0] == 0) {
    return std::nullopt;
  }
  const std::int64_t step = (*steps)[0];
  const auto n = static_cast<std::int64_t>(data->size());
  const SliceRange r = slice_range(n, (*starts)[0], (*ends)[0], step);
  Elements out;
  for (std::int64_t i = 0; i < r.count; ++i) {
    out.push_back((*data)[static_cast<std::size_t>(r.start + i * step)]);
  }
  return out;
}

MaybeElements concat(const NodeView& v, std::size_t) {
  Elements out;
  for (std::size_t i = 0; i < v.input_count(); ++i) {
    if (const auto part = v.elements(i)) {
      out.insert(out.end(), part->begin(), part->end());
      continue;
    }
    const auto n = v.ranked(i) ? known_count(v.shape(i)) : std::nullopt;
    if (!n || *n > kMaxElements) return std::nullopt;
    out.insert(out.end(), static_cast<std::size_t>(*n), kUnknown);
  }
  return out;
}

MaybeElements split(const NodeView& v, std::size_t output) {
  const auto data = v.elements(0);
  if (!data || v.rank(0) != 1) return std::nullopt;
  std::vector<std::int64_t> sizes;
  if (const auto fixed = v.ints_of("split", 1)) {
    if (*fixed) {
      sizes = **fixed;
    } else {
      const auto n = static_cast<std::int64_t>(v.output_count());
      const auto total = static_cast<std::int64_t>(data->size());
      const std::int64_t each = (total + n - 1) / n;
      sizes.assign(v.output_count(), each);
      sizes.back() = total - each * (n - 1);
    }
  }
  std::int64_t at = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 ||
        sizes[i] > static_cast<std::int64_t>(data->size()) - at) {
      return std::nullopt;
    }
    if (i == output) {
      const auto part = data->subspan(static_cast<std::size_t>(at),
                                      static_cast<std::size_t>(sizes[i]));
      return Elements(part.begin(), part.end());
    }
    at += sizes[i];
  }
  return std::nullopt;
}

// `f` over both inputs' elements, one of them repeated where it has one.
template <typename F>
MaybeElements zip(const NodeView& v, std::size_t left, std::size_t right,
                  F f) {
  const auto a = v.elements(left);
  const auto b = v.elements(right);
  if (!a || !b) return std::nullopt;
  const std::size_t n = a->empty() || b->empty()
                            ? 0
                            : std::max(a->size(), b->size());
  if ((a->size() != n && a->size() != 1) || (b->size() != n && b->size() != 1)) {
    return std::nullopt;
  }
  Elements out;
  for (std::size_t i = 0; i < n; ++i) {
    const Dim x = (*a)[a->size() == 1 ? 0 : i];
    const Dim y = (*b)[b->size() == 1 ? 0 : i];
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
    // Not negative once it is halved and the like: TorchScript writes
    // (S - 1) / 2 for sizes of at least 1.
    return kUnknown;
  });
}

MaybeElements mod(const NodeView& v, std::size_t) {
  ir::DimTable& dims = v.dims();
  const bool fmod = v.attribute_int("fmod", 0) != 0;
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
  auto out = copied(v, 0);
  for (std::size_t i = 1; out && i < v.input_count(); ++i) {
    const auto next = v.elements(i);
    if (!next) return std::nullopt;
    const std::size_t n = std::max(out->size(), next->size());
    if (out->empty() || next->empty()) return std::nullopt;
    if (out->size() == 1) out->resize(n, (*out)[0]);
    if (out->size() != n || (next->size() != n && next->size() != 1)) {
      return std::nullopt;
    }
    for (std::size_t k = 0; k < n; ++k) {
      const Dim y = (*next)[next->size() == 1 ? 0 : k];
      Dim& x = (*out)[k];
      x = x == kUnknown || y == kUnknown ? kUnknown : (v.dims().*f)(x, y);
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
  return zip(v, kSwap ? 1 : 0, kSwap ? 0 : 1, [&](Dim a, Dim b) {
    return compare(v.dims(), a, b, kOrEqual);
  });
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
  const auto c = v.elements(0), x = v.elements(1), y = v.elements(2);
  if (!c || !x || !y || c->empty() || x->empty() || y->empty()) {
    return std::nullopt;
  }
  const std::size_t n = std::max({c->size(), x->size(), y->size()});
  const auto at = [&](std::span<const Dim> s, std::size_t i) {
    return s.size() == 1 ? s[0] : i < s.size() ? s[i] : kUnknown;
  };
  Elements out;
  for (std::size_t i = 0; i < n; ++i) {
    const Dim yes = at(*x, i), no = at(*y, i), which = at(*c, i);
    if (yes == no) {
      out.push_back(yes);
    } else {
      out.push_back(!which.known() ? kUnknown
                    : which == Dim(0) ? no : yes);
    }
  }
  return out;
}

// The number of elements that the output's type says.
std::optional<std::size_t> wanted(const NodeView& v) {
  const ir::Type* t = v.output_type(0);
  if (t == nullptr || !t->has_shape) return std::nullopt;
  const auto n = known_count(t->dims);
  if (!n || *n > kMaxElements) return std::nullopt;
  return static_cast<std::size_t>(*n);
}

MaybeElements constant_of_shape(const NodeView& v, std::size_t) {
  const auto n = wanted(v);
  if (!n) return std::nullopt;
  const ir::Attribute* a = v.attribute("value");
  if (a == nullptr || a->tensors.empty()) return std::nullopt;
  const auto value = ir::to_ints(*a->tensors[0], nullptr, 1);
  if (!value || value->size() != 1 || !Dim((*value)[0]).known()) {
    return std::nullopt;
  }
  return Elements(*n, Dim((*value)[0]));
}

MaybeElements repeat(const NodeView& v, std::size_t) {
  const auto n = wanted(v);
  const auto in = v.elements(0);
  if (!n || !in || in->empty()) return std::nullopt;
  Elements out;
  for (std::size_t i = 0; i < *n; ++i) out.push_back((*in)[i % in->size()]);
  return out;
}

MaybeElements range(const NodeView& v, std::size_t) {
  const auto n = wanted(v);
  const auto start = v.elements(0), delta = v.elements(2);
  if (!n || !start || !delta || start->size() != 1 || delta->size() != 1 ||
      (*start)[0] == kUnknown || (*delta)[0] == kUnknown) {
    return std::nullopt;
  }
  Elements out;
  Dim at = (*start)[0];
  for (std::size_t i = 0; i < *n; ++i) {
    out.push_back(at);
    at = v.dims().add(at, (*delta)[0]);
  }
  return out;
}

template <bool kProduct>
MaybeElements reduce(const NodeView& v, std::size_t) {
  const auto in = v.elements(0);
  if (!in || v.rank(0) != 1 || wanted(v) != std::size_t{1}) return std::nullopt;
  const auto axes = v.ints_of("axes", 1);
  const bool none = axes && (!*axes || (*axes)->empty());
  if (!axes || (none && v.attribute_int("noop_with_empty_axes", 0) != 0)) {
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
    {"Cast", cast, 1},
    {"Concat", concat, kAll, kAll},
    {"ConstantOfShape", constant_of_shape},
    {"Div", div, 3},
    {"Equal", equal, 3},
    {"Expand", repeat, 1},
    {"Flatten", same, 1},
    {"Gather", gather, 3},
    {"Greater", ordered<true, false>, 3},
    {"GreaterOrEqual", ordered<true, true>, 3},
    {"Identity", same, 1},
    {"Less", ordered<false, false>, 3},
    {"LessOrEqual", ordered<false, true>, 3},
    {"Max", maximum, kAll},
    {"Min", minimum, kAll},
    {"Mod", mod, 3},
    {"Mul", mul, 3},
    {"Neg", neg, 1},
    {"Not", logical_not, 1},
    {"Range", range, 7},
    {"ReduceProd", reduce<true>, 3},
    {"ReduceSum", reduce<false>, 3},
    {"Reshape", same, 1},
    {"Shape", shape, 0, 1},
    {"Size", size, 0, 1},
    {"Slice", slice, 31},
    {"Split", split, 3},
    {"Squeeze", same, 1},
    {"Sub", sub, 3},
    {"Tile", repeat, 1},
    {"Transpose", same, 1},
    {"Unsqueeze", same, 1},
    {"Where", where, 7},
};

}  // namespace

const ElementRule* find_element_rule(const ir::Op& op) {
  if (!op.domain.empty()) return nullptr;
  const auto at = std::lower_bound(
      std::begin(kRules), std::end(kRules), op.type,
      [](const ElementRule& r, std::string_view t) { return r.type < t; });
  return at != std::end(kRules) && at->type == op.type ? &*at : nullptr;
}

}  // namespace ruleengine::analysis
