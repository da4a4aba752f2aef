// Elements of small integer tensors, in row-major order, through shape
// arithmetic. The Solver checks their count against the type.
#include "core/analysis/types/rules.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/analysis/elements/element_helpers.h"
#include "core/analysis/types/rule_helpers.h"
#include "core/analysis/types/slice_math.h"

namespace ruleengine::analysis {
namespace {

using ir::Dim;

MaybeElements same(const NodeView& v, std::size_t) { return copied(v, 0); }

MaybeElements cast(const NodeView& v, std::size_t) {
  auto out = copied(v, 0);
  if (!out || v.attribute_int("to") == 7) return out;
  const bool to_bool = v.attribute_int("to") == 9;
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
  const Ints shape = shape_of(v, 0);
  const auto axis = ir::place_of_axis(v.attribute_int("axis"), shape.size());
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
    const auto place = ir::place_of_axis(axis, shape.size());
    const std::int64_t step = *steps ? (**steps)[i] : 1;
    if (!place) return std::nullopt;
    const auto r = slice_range(shape[*place], (*starts)[i], (*ends)[i], step);
    if (!r) return std::nullopt;
    first[*place] = r->start;
    stride[*place] = r->count > 1 ? step : 1;
    dims[*place] = r->count;
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
  const auto places =
      transposed_places(shape, v.attribute_ints("perm").value_or(reversed));
  if (!places) return std::nullopt;
  return picked(*data, *places);
}

MaybeElements concat(const NodeView& v, std::size_t) {
  const ir::Type* type = v.output_type(0);
  if (type == nullptr || !type->has_shape || type->rank() == 0) {
    return std::nullopt;
  }
  const auto axis = ir::place_of_axis(v.attribute_int("axis"), type->rank());
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
    const auto n =
        t != nullptr && t->has_shape ? known_count(t->dims) : std::nullopt;
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

// One row of `depth` for each index, as repeat_interleave counts its repeats.
MaybeElements one_hot(const NodeView& v, std::size_t) {
  const auto indices = v.ints(0);
  const auto depth = v.ints(1);
  const auto values = v.elements(2);
  if (!indices || !depth || depth->size() != 1 || !values ||
      values->size() != 2 || v.attribute_int("axis") != -1 ||
      (*depth)[0] <= 0 || (*depth)[0] * indices->size() > 4096) {
    return std::nullopt;
  }
  Elements out;
  for (const std::int64_t index : *indices) {
    for (std::int64_t i = 0; i < (*depth)[0]; ++i) {
      const bool hot = i == (index < 0 ? index + (*depth)[0] : index);
      out.push_back((*values)[hot ? 1 : 0]);
    }
  }
  return out;
}

constexpr ElementRule kPartition{"SwinWindowPartition", window_partition, 0, 1};

constexpr std::uint32_t kAll = ~0u;
constexpr ElementRule kRules[] = {
    {"Cast", cast, 1},
    {"Concat", concat, kAll, kAll},
    {"ConstantOfShape", constant_of_shape},
    {"Expand", expand, 1},
    {"Flatten", same, 1},
    {"Gather", gather, 3},
    {"Identity", same, 1},
    {"OneHot", one_hot, 7},
    {"Range", range, 7},
    {"Reshape", same, 1},
    {"Shape", shape, 0, 1},
    {"Size", size, 0, 1},
    {"Slice", slice, 31},
    {"Split", split, 3},
    {"Squeeze", same, 1},
    {"Tile", tile, 1},
    {"Transpose", transpose, 1},
    {"Unsqueeze", same, 1},
};

}  // namespace

const ElementRule* find_element_rule(const ir::Op& op) {
  if (op.is("ruleengine", kPartition.type)) return &kPartition;
  if (!op.domain.empty()) return nullptr;
  for (const auto rules :
       {std::span<const ElementRule>(kRules), element_math_rules()}) {
    const auto at = std::lower_bound(
        rules.begin(), rules.end(), op.type,
        [](const ElementRule& r, std::string_view t) { return r.type < t; });
    if (at != rules.end() && at->type == op.type) return &*at;
  }
  return nullptr;
}

}  // namespace ruleengine::analysis
