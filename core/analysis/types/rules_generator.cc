// Types of ops that make tensors from attributes, shapes or bodies: Constant,
// ConstantOfShape, Range, Shape, Size, If, Loop, Scan.
#include <algorithm>
#include <cmath>

#include "core/analysis/solver/solver.h"
#include "core/analysis/types/rule_helpers.h"

namespace ruleengine::analysis {
namespace {

using ir::Attribute;
using ir::AttributeKind;
using ir::DataType;
using ir::Dim;

void from_tensor(const ir::Tensor& t, Inferred& out) {
  out.elem = t.dtype;
  std::vector<Dim> dims;
  for (std::int64_t d : t.dims) dims.push_back(Dim(d));
  out.set_dims(std::move(dims));
}

Dim count(std::size_t n) { return Dim(static_cast<std::int64_t>(n)); }

bool constant(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  for (const Attribute& attribute : v.graph().node(v.id()).attributes) {
    const Attribute* a = v.attribute(attribute.name);
    if (a == nullptr) continue;
    const bool is_float =
        a->kind == AttributeKind::kFloat || a->kind == AttributeKind::kFloats;
    const bool is_int =
        a->kind == AttributeKind::kInt || a->kind == AttributeKind::kInts;
    out[0].elem = is_float ? DataType::kFloat
                  : is_int ? DataType::kInt64
                           : DataType::kString;
    switch (a->kind) {
      case AttributeKind::kTensor:
        if (a->tensors.empty()) return false;
        from_tensor(*a->tensors[0], out[0]);
        return true;
      case AttributeKind::kFloat:
      case AttributeKind::kInt:
      case AttributeKind::kString:
        out[0].set_dims(std::vector<Dim>());
        return true;
      case AttributeKind::kFloats:
        out[0].set_dims(std::vector<Dim>{count(a->floats.size())});
        return true;
      case AttributeKind::kInts:
        out[0].set_dims(std::vector<Dim>{count(a->ints.size())});
        return true;
      case AttributeKind::kStrings:
        out[0].set_dims(std::vector<Dim>{count(a->strings.size())});
        return true;
      default:
        out[0] = {};
    }
  }
  return false;
}

bool constant_of_shape(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  out[0].elem = DataType::kFloat;
  const Attribute* value = v.attribute("value");
  if (value != nullptr && !value->tensors.empty()) {
    out[0].elem = value->tensors[0]->dtype;
  }
  if (const auto shape = v.elements(0)) {
    std::vector<Dim> dims(shape->begin(), shape->end());
    for (Dim& d : dims) {
      if (d.known() && d.size() < 0) d = kUnknown;
    }
    out[0].set_dims(std::move(dims));
  } else if (v.ranked(0) && v.rank(0) == 1) {
    const auto n = known_count(v.shape(0));
    if (n && *n <= kMaxElements) {
      out[0].set_dims(std::vector<Dim>(static_cast<std::size_t>(*n), kUnknown));
    }
  }
  return true;
}

std::optional<double> number(const NodeView& v, std::size_t i) {
  const ir::Tensor* t = v.constant(i);
  if (t == nullptr) return std::nullopt;
  const auto all = ir::to_doubles(*t, v.solver().model().external.get(), 1);
  if (!all || all->size() != 1) return std::nullopt;
  return (*all)[0];
}

Dim range_length(const NodeView& v) {
  const auto start = v.elements(0), limit = v.elements(1),
             delta = v.elements(2);
  if (start && limit && delta && start->size() == 1 && limit->size() == 1 &&
      delta->size() == 1) {
    const Dim s = (*start)[0], l = (*limit)[0], d = (*delta)[0];
    if (s == kUnknown || l == kUnknown || !d.known() || d == Dim(0)) {
      return kUnknown;
    }
    // ceil((limit - start) / delta), not below 0.
    return v.dims().max(v.dims().ceil_div(v.dims().sub(l, s), d), Dim(0));
  }
  if (!ir::is_float(v.elem(0))) return kUnknown;
  const auto s = number(v, 0), l = number(v, 1), d = number(v, 2);
  if (!s || !l || !d || *d == 0) return kUnknown;
  const double n = std::ceil((*l - *s) / *d);
  if (!(n < 9e15)) return kUnknown;
  return Dim(n > 0 ? static_cast<std::int64_t>(n) : 0);
}

bool range(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  out[0].elem = v.elem(0);
  out[0].set_dims(std::vector<Dim>{range_length(v)});
  return true;
}

bool shape(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  out[0].elem = DataType::kInt64;
  Dim n = kUnknown;
  if (v.ranked(0)) {
    const auto [from, to] = shape_range(v);
    n = count(to - from);
  }
  out[0].set_dims(std::vector<Dim>{n});
  return true;
}

bool size(const NodeView&, Outputs out) {
  if (out.empty()) return true;
  out[0].elem = DataType::kInt64;
  out[0].set_dims(std::vector<Dim>());
  return true;
}

// The outputs of the body named `name`.
std::vector<const ir::Type*> body_types(const NodeView& v,
                                        std::string_view name) {
  std::vector<const ir::Type*> out;
  const Attribute* a = v.graph().attribute(v.id(), name);
  if (a == nullptr || a->blocks.empty()) return out;
  for (ir::ValueId value : v.graph().block(a->blocks[0]).outputs) {
    out.push_back(v.solver().known(value).type);
  }
  return out;
}

bool if_node(const NodeView& v, Outputs out) {
  const auto yes = body_types(v, "then_branch");
  const auto no = body_types(v, "else_branch");
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i < yes.size() && i < no.size()) meet(v, yes[i], no[i], out[i]);
  }
  return true;
}

void set_stacked(const ir::Type* t, std::size_t axis, Dim length,
                 Inferred& out) {
  if (t == nullptr || !t->is_tensor()) return;
  out.elem = t->elem;
  if (!t->has_shape || axis > t->rank()) return;
  out.set_dims(t->dims);
  out.dims.push_back(length);
  std::rotate(out.dims.begin() + axis, out.dims.end() - 1, out.dims.end());
}

bool loop(const NodeView& v, Outputs out) {
  // Body outputs: the condition, carried values, what is stacked.
  const auto body = body_types(v, "body");
  const std::size_t carried = v.input_count() > 2 ? v.input_count() - 2 : 0;
  for (std::size_t i = 0; i < out.size() && i + 1 < body.size(); ++i) {
    if (i < carried) {
      meet(v, v.input(i + 2), body[i + 1], out[i]);
    } else {
      set_stacked(body[i + 1], 0, kUnknown, out[i]);
    }
  }
  return true;
}

bool scan(const NodeView& v, Outputs out) {
  if (v.opset() < 9) return false;
  const auto body = body_types(v, "body");
  const auto scanned = v.attribute_int("num_scan_inputs");
  if (scanned < 0 || scanned > static_cast<std::int64_t>(v.input_count())) {
    return false;
  }
  const std::size_t states =
      v.input_count() - static_cast<std::size_t>(scanned);
  const auto axes = v.attribute_ints("scan_output_axes");
  for (std::size_t i = 0; i < out.size() && i < body.size(); ++i) {
    if (i < states) {
      meet(v, v.input(i), body[i], out[i]);
      continue;
    }
    std::size_t place = 0;
    if (axes && body[i] != nullptr && body[i]->has_shape) {
      if (i - states >= axes->size()) return false;
      const auto at =
          ir::place_of_axis((*axes)[i - states], body[i]->rank() + 1);
      if (!at) return false;
      place = *at;
    }
    set_stacked(body[i], place, kUnknown, out[i]);
  }
  return true;
}

constexpr TypeRule kRules[] = {
    {"", "Constant", constant},
    {"", "ConstantOfShape", constant_of_shape, 1},
    {"", "If", if_node},
    {"", "Loop", loop},
    {"", "Range", range, 1 | 2 | 4},
    {"", "Scan", scan},
    {"", "Shape", shape},
    {"", "Size", size},
};

}  // namespace

std::pair<std::size_t, std::size_t> shape_range(const NodeView& v) {
  const auto rank = static_cast<std::int64_t>(v.rank(0));
  const auto place = [&](std::int64_t at) {
    if (at < 0) at += rank;
    return std::clamp<std::int64_t>(at, 0, rank);
  };
  const std::int64_t from = place(std::max(v.attribute_int("start"), -rank));
  const std::int64_t end =
      v.attribute("end") == nullptr ? rank : v.attribute_int("end");
  const std::int64_t to = place(std::max(end, -rank));
  return {static_cast<std::size_t>(from),
          static_cast<std::size_t>(std::max(from, to))};
}

std::span<const TypeRule> generator_rules() { return kRules; }

}  // namespace ruleengine::analysis
