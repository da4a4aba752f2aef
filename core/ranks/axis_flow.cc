#include "core/ranks/axis_flow.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/ir/model.h"
#include "core/ir/op_facts.h"
#include "core/ir/op_family.h"

namespace ruleengine::ranks {
namespace {

using ir::Dim;
using ir::NodeId;
using ir::Type;

enum class Family : std::uint8_t {
  kElementwise,  // with broadcasting; vectors of norms among the operands
  kLinear,       // the same, and linear
  kNorm,         // elementwise except along its own axes, the last ones
  kFirst,        // shaped like its first input; the others are settings
  kReduction,
  kView,
  kTranspose,
  kConcat,
  kRowQuantizer,   // tensor_cast's, which quantize each row by itself
  kAxisQuantizer,  // ONNX's, with one scale for all or along one axis
};

struct Row {
  std::string_view domain, type;
  Family family;
};

constexpr std::string_view kCast = "tensor_cast";
constexpr std::string_view kContrib = "com.microsoft";

// Where ir::op_family says too little.
constexpr Row kRows[] = {
    {"", "Add", Family::kLinear},
    {"", "Cast", Family::kLinear},
    {"", "CastLike", Family::kFirst},
    {"", "Concat", Family::kConcat},
    {"", "DequantizeLinear", Family::kAxisQuantizer},
    {"", "Div", Family::kLinear},
    {"", "Identity", Family::kLinear},
    {"", "LayerNormalization", Family::kNorm},
    {"", "Mul", Family::kLinear},
    {"", "Neg", Family::kLinear},
    {"", "QuantizeLinear", Family::kAxisQuantizer},
    {"", "RMSNormalization", Family::kNorm},
    {"", "SimplifiedLayerNormalization", Family::kNorm},
    {"", "Sub", Family::kLinear},
    {"", "Sum", Family::kLinear},
    {"", "Transpose", Family::kTranspose},
    {kContrib, "SkipLayerNormalization", Family::kNorm},
    {kContrib, "SkipSimplifiedLayerNormalization", Family::kNorm},
    {kCast, "_internal_copy_region", Family::kLinear},
    {kCast, "_internal_mark_region_begin", Family::kLinear},
    {kCast, "_internal_mark_region_end", Family::kLinear},
    {kCast, "add_rms_norm", Family::kNorm},
    {kCast, "add_rms_norm2", Family::kNorm},
    {kCast, "dynamic_quantize_asymmetric", Family::kRowQuantizer},
    {kCast, "dynamic_quantize_mxfp4", Family::kRowQuantizer},
    {kCast, "dynamic_quantize_symmetric", Family::kRowQuantizer},
    {kCast, "quantize", Family::kElementwise},
    {kCast, "rms_norm", Family::kNorm},
};

constexpr bool before(const Row& a, const Row& b) {
  return a.domain != b.domain ? a.domain < b.domain : a.type < b.type;
}
static_assert(std::ranges::is_sorted(kRows, before));

std::optional<Family> family_of(const ir::Op& op) {
  const Row key{op.domain, op.type, Family::kFirst};
  const auto* at = std::ranges::lower_bound(kRows, key, before);
  const bool found =
      at != std::end(kRows) && at->domain == op.domain && at->type == op.type;
  if (found) return at->family;
  switch (ir::op_family(op.domain, op.type)) {
    case ir::OpFamily::kElementwise:
      return Family::kElementwise;
    case ir::OpFamily::kReduction:
      return Family::kReduction;
    case ir::OpFamily::kView:
      return Family::kView;
    case ir::OpFamily::kOther:
      break;
  }
  return std::nullopt;
}

class Flow {
 public:
  Flow(const ir::Graph& graph, NodeId node, const PortTypes& types)
      : graph_(graph), node_(node), types_(types) {
    flow_.inputs.resize(types.inputs.size(), AxisFlow::kSame);
    flow_.outputs.resize(types.outputs.size(), AxisFlow::kSame);
  }

  std::optional<AxisFlow> along(Family family, Port port, int axis) {
    const Type* type =
        port.output ? types_.outputs[port.index] : types_.inputs[port.index];
    if (!is_ranked(type) || axis < 0 || axis >= rank(type)) return std::nullopt;
    bool good = false;
    switch (family) {
      case Family::kElementwise:
      case Family::kLinear:
      case Family::kNorm:
        good = broadcast(family, type, axis);
        break;
      case Family::kFirst:
        good = first_only(port) && same_place(axis);
        break;
      case Family::kReduction:
        // The reduced axes are a setting; each of them has size 1 in the
        // result.
        good = first_only(port) && same_place(axis) &&
               type->dims[at(axis)] != Dim(1);
        break;
      case Family::kView:
        good = first_only(port) && view(port, type, axis);
        break;
      case Family::kTranspose:
        good = transpose(port, axis);
        break;
      case Family::kConcat:
        good = concat(axis);
        break;
      case Family::kRowQuantizer:
        good = first_only(port) && quantizes_rows(axis) && same_place(axis);
        break;
      case Family::kAxisQuantizer:
        good = first_only(port) && quantizes_along_another(axis) &&
               same_place(axis);
        break;
    }
    return good ? std::optional(flow_) : std::nullopt;
  }

 private:
  static int rank(const Type* type) { return static_cast<int>(type->rank()); }
  static std::size_t at(int axis) { return static_cast<std::size_t>(axis); }
  bool first_only(Port port) const { return port.output || port.index == 0; }

  const ir::FormalAttribute* formal(std::string_view name) const {
    const ir::Op& op = graph_.op(node_);
    const auto opset = static_cast<int>(graph_.model().opset(op.domain));
    return ir::find_attribute(op.domain, op.type, opset, name);
  }
  std::int64_t setting(std::string_view name) const {
    return ir::int_of(graph_.attribute(node_, name), formal(name));
  }
  // The first axis that a norm works on; ops that do not say it take the last.
  std::int64_t norm_axis() const {
    return formal("axis") == nullptr ? -1 : setting("axis");
  }
  // The axis counted from the front.
  static std::int64_t from_front(std::int64_t axis, int rank) {
    return axis < 0 ? axis + rank : axis;
  }

  // Whether every operand is aligned with the result from the right.
  bool broadcast(Family family, const Type* port, int axis) {
    const Type* out = types_.outputs[first_output()];
    if (!is_ranked(out)) return false;
    const int from_right = rank(port) - axis;  // 1: the last axis
    if (from_right > rank(out)) return false;
    const Dim size = port->dims[at(axis)];
    if (size == Dim(1)) return false;
    if (family == Family::kNorm) {
      if (!is_ranked(types_.inputs[0])) return false;
      const int own = rank(types_.inputs[0]);
      if (own - from_front(norm_axis(), own) >= from_right) {
        return false;
      }
    }
    return line_up(types_.inputs, from_right, size, flow_.inputs) &&
           line_up(types_.outputs, from_right, size, flow_.outputs) &&
           flow_.outputs[first_output()] != AxisFlow::kSame;
  }

  bool line_up(std::span<const Type* const> types, int from_right, Dim size,
               SmallVector<int, 6>& places) const {
    const bool inputs = &places == &flow_.inputs;
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (!present(inputs, i)) continue;
      if (!is_ranked(types[i])) return false;
      const int axis = rank(types[i]) - from_right;
      if (axis < 0 || types[i]->dims[at(axis)] == Dim(1)) continue;
      if (types[i]->dims[at(axis)] != size) return false;
      places[i] = axis;
    }
    return true;
  }
  // The first output that is present: earlier ones may be left out.
  std::size_t first_output() const {
    std::size_t i = 0;
    while (i + 1 < types_.outputs.size() && !present(false, i)) ++i;
    return i;
  }
  bool present(bool inputs, std::size_t i) const {
    return inputs ? static_cast<bool>(graph_.input(node_, i))
                  : static_cast<bool>(graph_.output(node_, i));
  }

  // Whether the first input and all results have the axis at the same position.
  bool same_place(int axis) {
    const Type* in = types_.inputs[0];
    if (!is_ranked(in) || axis >= rank(in)) return false;
    flow_.inputs[0] = axis;
    for (std::size_t i = 0; i < types_.outputs.size(); ++i) {
      if (!present(false, i)) continue;
      const Type* out = types_.outputs[i];
      if (!is_ranked(out) || rank(out) != rank(in)) return false;
      if (out->dims[at(axis)] != in->dims[at(axis)]) return false;
      flow_.outputs[i] = axis;
    }
    return true;
  }

  // Finds the axis of the other side that has as many positions, and as many
  // elements before it.
  bool view(Port port, const Type* type, int axis) {
    const Type* other = port.output ? types_.inputs[0] : types_.outputs[0];
    if (!is_ranked(other)) return false;
    const Dim size = type->dims[at(axis)];
    if (size == Dim(1)) return false;
    const auto found = place_behind(type->dims.first(at(axis)), other, size);
    if (!found) return false;
    flow_.inputs[0] = port.output ? *found : axis;
    flow_.outputs[0] = port.output ? axis : *found;
    return true;
  }
  static std::optional<int> place_behind(std::span<const Dim> front,
                                         const Type* other, Dim size) {
    std::size_t same = 0;
    while (same < front.size() && same < other->rank() &&
           front[same] == other->dims[same]) {
      ++same;
    }
    const auto wanted = product(front.subspan(same));
    if (!wanted) return std::nullopt;
    std::int64_t passed = 1;
    for (std::size_t i = same; i < other->rank(); ++i) {
      const Dim d = other->dims[i];
      if (passed == *wanted && d == size) return static_cast<int>(i);
      if (!d.known() || d.size() > *wanted) return std::nullopt;
      passed *= d.size();
      if (passed > *wanted) return std::nullopt;
    }
    return std::nullopt;
  }
  static std::optional<std::int64_t> product(std::span<const Dim> dims) {
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    std::int64_t out = 1;
    for (Dim d : dims) {
      if (!d.known() || d.size() < 1 || d.size() > kMost / out) return {};
      out *= d.size();
    }
    return out;
  }

  bool transpose(Port port, int axis) {
    const Type* in = types_.inputs[0];
    if (!is_ranked(in) || !is_ranked(types_.outputs[0])) return false;
    const ir::Attribute* perm = graph_.attribute(node_, "perm");
    for (int place = 0; place < rank(in); ++place) {
      std::int64_t from = rank(in) - 1 - place;
      if (perm != nullptr) {
        if (perm->ints.size() != in->rank()) return false;
        from = perm->ints[at(place)];
      }
      if ((port.output ? place : from) != axis) continue;
      flow_.inputs[0] = static_cast<int>(from);
      flow_.outputs[0] = place;
      return from >= 0 && from < rank(in);
    }
    return false;
  }

  bool concat(int axis) {
    const Type* out = types_.outputs[0];
    if (!is_ranked(out) || from_front(setting("axis"), rank(out)) == axis) {
      return false;
    }
    flow_.outputs[0] = axis;
    for (std::size_t i = 0; i < types_.inputs.size(); ++i) {
      const Type* in = types_.inputs[i];
      if (!is_ranked(in) || rank(in) != rank(out) ||
          in->dims[at(axis)] != out->dims[at(axis)]) {
        return false;
      }
      flow_.inputs[i] = axis;
    }
    return true;
  }

  bool quantizes_rows(int axis) const {
    const Type* in = types_.inputs[0];
    if (!is_ranked(in)) return false;
    const ir::Attribute* dims = graph_.attribute(node_, "dims");
    if (dims == nullptr) return axis != rank(in) - 1;
    return !dims->ints.empty() &&
           std::ranges::none_of(dims->ints, [&](std::int64_t d) {
             return from_front(d, rank(in)) == axis;
           });
  }

  bool quantizes_along_another(int axis) const {
    const Type* scale = types_.inputs[1];
    if (!is_ranked(scale) || !is_ranked(types_.inputs[0])) return false;
    if (scale->rank() == 0) return true;
    if (scale->rank() > 1 || setting("block_size") != 0) return false;
    return scale->dims[0] == Dim(1) ||
           from_front(setting("axis"), rank(types_.inputs[0])) != axis;
  }

  const ir::Graph& graph_;
  NodeId node_;
  const PortTypes& types_;
  AxisFlow flow_;
};

}  // namespace

std::optional<AxisFlow> axis_flow(const ir::Graph& graph, NodeId node,
                                  const PortTypes& types, Port port, int axis) {
  const auto family = family_of(graph.op(node));
  if (!family || types.inputs.empty() || types.outputs.empty()) {
    return std::nullopt;
  }
  if (family == Family::kAxisQuantizer && types.inputs.size() < 2) {
    return std::nullopt;
  }
  return Flow(graph, node, types).along(*family, port, axis);
}

std::optional<AxisFlow> axis_flow(const ir::Graph& graph, ir::Facts& facts,
                                  NodeId node, Port port, int axis) {
  if (!has_axis_flow(graph.op(node))) return std::nullopt;
  std::vector<const Type*> in, out;
  for (const ir::Operand& o : graph.inputs(node)) {
    in.push_back(o.value ? facts.type(o.value) : nullptr);
  }
  for (ir::ValueId v : graph.outputs(node)) {
    out.push_back(v ? facts.type(v) : nullptr);
  }
  return axis_flow(graph, node, {in, out}, port, axis);
}

bool is_ranked(const Type* type) {
  return type != nullptr && type->is_tensor() && type->has_shape;
}

bool has_axis_flow(const ir::Op& op) { return family_of(op).has_value(); }

bool reads_type_only(const ir::Op& op, std::size_t input) {
  return op.standard("CastLike") && input == 1;
}

bool is_linear(const ir::Op& op) {
  const auto family = family_of(op);
  if (!family) return false;
  switch (*family) {
    case Family::kLinear:
    case Family::kFirst:
    case Family::kView:
    case Family::kTranspose:
    case Family::kConcat:
      return true;
    default:
      return false;
  }
}

bool is_sum(const ir::Op& op) {
  return op.standard("Add") || op.standard("Sub") || op.standard("Sum");
}

bool has_settings(const ir::Op& op) {
  const auto family = family_of(op);
  return family == Family::kFirst || family == Family::kView ||
         family == Family::kReduction;
}

bool is_normalizing(const ir::Op& op) {
  const auto family = family_of(op);
  return family == Family::kNorm || family == Family::kReduction;
}

}  // namespace ruleengine::ranks
