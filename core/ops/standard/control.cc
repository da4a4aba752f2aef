// Ops with bodies.
#include <algorithm>

#include "core/ops/families.h"
#include "core/ops/rules/type_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::Attribute;

// The outputs of the body named `name`.
std::vector<const ir::Type*> body_types(const NodeView& v,
                                        std::string_view name) {
  std::vector<const ir::Type*> out;
  const Attribute* a = v.graph().attribute(v.id(), name);
  if (a == nullptr || a->blocks.empty()) return out;
  for (ir::ValueId value : v.graph().block(a->blocks[0]).outputs) {
    out.push_back(v.known().type(value));
  }
  return out;
}

bool if_node(const NodeView& v, Outputs out) {
  const auto yes = body_types(v, "then_branch");
  const auto no = body_types(v, "else_branch");
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i < yes.size() && i < no.size()) meet(yes[i], no[i], out[i]);
  }
  return true;
}

// As many of them as nobody knows, along an axis.
void set_stacked(const ir::Type* t, std::size_t axis, Inferred& out) {
  if (t == nullptr || !t->is_tensor()) return;
  out.elem = t->elem;
  if (!t->has_shape || axis > t->rank()) return;
  out.set_dims(t->dims);
  out.dims.push_back(kUnknown);
  std::rotate(out.dims.begin() + axis, out.dims.end() - 1, out.dims.end());
}

bool loop(const NodeView& v, Outputs out) {
  // Body outputs: the condition, carried values, what is stacked.
  const auto body = body_types(v, "body");
  const std::size_t carried = v.input_count() > 2 ? v.input_count() - 2 : 0;
  for (std::size_t i = 0; i < out.size() && i + 1 < body.size(); ++i) {
    if (i < carried) {
      meet(v.input(i + 2), body[i + 1], out[i]);
    } else {
      set_stacked(body[i + 1], 0, out[i]);
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
      meet(v.input(i), body[i], out[i]);
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
    set_stacked(body[i], place, out[i]);
  }
  return true;
}

// What moves memory are the nodes of their bodies.
constexpr OpRow kStandardControl[] = {
    {.type = "If", .roles = {.free = true}, .types = {if_node}},
    {.type = "Loop", .roles = {.free = true}, .types = {loop}},
    {.type = "Scan", .roles = {.free = true}, .types = {scan}},
};

}  // namespace

std::span<const OpRow> standard::control() { return kStandardControl; }

}  // namespace ruleengine::ops
