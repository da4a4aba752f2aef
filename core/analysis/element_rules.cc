// Elements of small integer tensors, in row-major order, through shape
// arithmetic. The Solver checks their count against the type.
#include "core/analysis/rules.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/analysis/index_math.h"
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

// The shape of an input whose elements are known.
Ints shape_of(const NodeView& v, std::size_t i) {
  Ints out;
  for (Dim d : v.shape(i)) out.push_back(d.size());
  return out;
}

Elements picked(std::span<const Dim> from, const Ints& places) {
  Elements out;
  for (std::int64_t p : places) out.push_back(from[static_cast<std::size_t>(p)]);
  return out;
}

bool too_many(std::span<const std::int64_t> dims) {
  return !count_of(dims, kMaxElements);
}

MaybeElements gather(const NodeView& v, std::size_t) {
  const auto data = v.elements(0);
  const auto indices = v.ints(1);
  if (!data || !indices) return std::nullopt;
  const Ints shape = shape_of(v, 0);
  const auto axis = place_of_axis(v.attribute_int("axis", 0), shape.size());
  if (!axis || data->size() * indices->size() > 4096) return std::nullopt;
  const auto places = gathered_places(shape, *axis, *indices);
  if (!places) return std::nullopt;
  return picked(*data, *places);
}

MaybeElements slice(const NodeView& v, std::size_t) {
  const auto data = v.elements(0);
  if (!data) return std::nullopt;
  const bool old = v.opset() < 10;
  const auto starts = old ? v.attribute_ints("starts") : v.ints(1);
  const auto ends = old ? v.attribute_ints("ends") : v.ints(2);
  const auto axes = v.ints_of("axes", 3);
  const auto steps = v.ints_of("steps", 4);
  const Ints shape = shape_of(v, 0);
  if (!starts || !ends || !axes || !steps || ends->size() != starts->size() ||
      (*axes && (*axes)->size() != starts->size()) ||
      (*steps && (*steps)->size() != starts->size())) {
    return std::nullopt;
  }
  Ints first(shape.size(), 0), stride(shape.size(), 1), dims = shape;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::int64_t axis =
        *axes ? (**axes)[i] : static_cast<std::int64_t>(i);
    const auto place = place_of_axis(axis, shape.size());
    const std::int64_t step = *steps ? (**steps)[i] : 1;
    if (!place || step == 0) return std::nullopt;
    const SliceRange r =
        slice_range(shape[*place], (*starts)[i], (*ends)[i], step);
    first[*place] = r.start;
    stride[*place] = r.count > 1 ? step : 1;
    dims[*place] = r.count;
  }
  return picked(*data, box_places(shape, first, stride, dims));
}

MaybeElements transpose(const NodeView& v, std::size_t) {
  const auto data = v.elements(0);
  if (!data) return std::nullopt;
  const Ints shape = shape_of(v, 0);
  Ints reversed;
  for (std::size_t i = shape.size(); i-- > 0;) {
    reversed.push_back(static_cast<std::int64_t>(i));
  }
  const auto places = transposed_places(
      shape, v.attribute_ints("perm").value_or(reversed));
  if (!places) return std::nullopt;
  return picked(*data, *places);
}

MaybeElements concat(const NodeView& v, std::size_t) {
  const ir::Type* type = v.output_type(0);
  if (type == nullptr || !type->has_shape || type->rank() == 0) {
    return std::nullopt;
  }
  const auto axis = place_of_axis(v.attribute_int("axis", 0), type->rank());
  if (!axis || !known_count(type->dims.first(*axis))) return std::nullopt;
  const std::int64_t outer = *known_count(type->dims.first(*axis));
  if (outer > kMaxElements) return std::nullopt;
  Elements out;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::size_t i = 0; i < v.input_count(); ++i) {
      const auto n = v.ranked(i) ? known_count(v.shape(i)) : std::nullopt;
      if (!n || *n > kMaxElements) return std::nullopt;
      const auto run = static_cast<std::size_t>(*n / outer);
      const auto part = v.elements(i);
      for (std::size_t k = 0; k < run; ++k) {
        const std::size_t at = static_cast<std::size_t>(o) * run + k;
        out.push_back(part && at < part->size() ? (*part)[at] : kUnknown);
      }
    }
  }
  return out;
}

MaybeElements split(const NodeView& v, std::size_t output) {
  const auto data = v.elements(0);
  if (!data || v.rank(0) != 1) return std::nullopt;
  std::int64_t at = 0;
  // The types know how it is divided.
  for (std::size_t i = 0; i <= output; ++i) {
    const ir::Type* t = v.output_type(i);
    const auto n = t != nullptr && t->has_shape ? known_count(t->dims)
                                                : std::nullopt;
    if (!n || *n > static_cast<std::int64_t>(data->size()) - at) {
      return std::nullopt;
    }
    if (i == output) {
      const auto part = data->subspan(static_cast<std::size_t>(at),
                                      static_cast<std::size_t>(*n));
      return Elements(part.begin(), part.end());
    }
    at += *n;
  }
  return std::nullopt;
}

// Places in input `i` for every element of the broadcast to `dims`.
std::vector<std::size_t> spread(const NodeView& v, std::size_t i,
                                const Ints& dims) {
  std::vector<std::size_t> out;
  for_each_broadcast(shape_of(v, i), dims,
                     [&](std::size_t, std::size_t at) { out.push_back(at); });
  return out;
}

// The broadcast of the inputs' shapes; none when one is not followed.
std::optional<Ints> common_shape(const NodeView& v, std::size_t n) {
  Ints dims;
  for (std::size_t i = 0; i < n; ++i) {
    if (!v.elements(i)) return std::nullopt;
    const auto next = broadcast_dims(dims, shape_of(v, i));
    if (!next || too_many(*next)) return std::nullopt;
    dims = *next;
  }
  return dims;
}

// `f` over the elements of two inputs, broadcast.
template <typename F>
MaybeElements zip(const NodeView& v, std::size_t left, std::size_t right,
                  F f) {
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
  const auto dims = common_shape(v, v.input_count());
  if (!dims || v.input_count() == 0) return std::nullopt;
  MaybeElements out;
  for (std::size_t i = 0; i < v.input_count(); ++i) {
    const Elements next = [&] {
      Elements e;
      for (std::size_t p : spread(v, i, *dims)) e.push_back((*v.elements(i))[p]);
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

MaybeElements expand(const NodeView& v, std::size_t) {
  const ir::Type* type = v.output_type(0);
  if (!v.elements(0) || !wanted(v)) return std::nullopt;
  Ints dims;
  for (Dim d : type->dims) dims.push_back(d.size());
  // The target may be smaller than the input along an axis.
  if (broadcast_dims(shape_of(v, 0), dims) != dims) return std::nullopt;
  Elements out;
  for (std::size_t p : spread(v, 0, dims)) out.push_back((*v.elements(0))[p]);
  return out;
}

MaybeElements tile(const NodeView& v, std::size_t) {
  const auto n = wanted(v);
  const auto in = v.elements(0);
  if (!n || !in || in->empty() || v.rank(0) != 1) return std::nullopt;
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

// B, H, W, padded H and W, effective shifts.
MaybeElements window_partition(const NodeView& v, std::size_t output) {
  const auto window = v.attribute_ints("window_size");
  if (output != 1 || !v.ranked(0) || v.rank(0) != 4 || !window ||
      window->size() != 2 || (*window)[0] <= 0 || (*window)[1] <= 0) {
    return std::nullopt;
  }
  const auto shift =
      v.attribute_ints("shift_size").value_or(std::vector<std::int64_t>{0, 0});
  if (shift.size() != 2) return std::nullopt;
  const auto x = v.shape(0);
  Elements out(x.begin(), x.begin() + 3);
  for (std::size_t i = 0; i < 2; ++i) {
    const Dim w((*window)[i]);
    out.push_back(v.dims().mul(v.dims().ceil_div(x[1 + i], w), w));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const Dim padded = out[3 + i];
    // No shift where one window covers the axis.
    const bool covered = padded == Dim((*window)[i]);
    out.push_back(covered || shift[i] == 0 ? Dim(0)
                  : padded.known()         ? Dim(shift[i])
                                           : kUnknown);
  }
  return out;
}

constexpr ElementRule kPartition{"SwinWindowPartition", window_partition, 0,
                                 1};

constexpr std::uint32_t kAll = ~0u;
constexpr ElementRule kRules[] = {
    {"Abs", abs, 1},
    {"Add", add, 3},
    {"Cast", cast, 1},
    {"Concat", concat, kAll, kAll},
    {"ConstantOfShape", constant_of_shape},
    {"Div", div, 3},
    {"Equal", equal, 3},
    {"Expand", expand, 1},
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
    {"Tile", tile, 1},
    {"Transpose", transpose, 1},
    {"Unsqueeze", same, 1},
    {"Where", where, 7},
};

}  // namespace

const ElementRule* find_element_rule(const ir::Op& op) {
  if (op.is("ruleengine", kPartition.type)) return &kPartition;
  if (!op.domain.empty()) return nullptr;
  const auto at = std::lower_bound(
      std::begin(kRules), std::end(kRules), op.type,
      [](const ElementRule& r, std::string_view t) { return r.type < t; });
  return at != std::end(kRules) && at->type == op.type ? &*at : nullptr;
}

}  // namespace ruleengine::analysis
