// Quantization by a scale and a zero point.
#include "core/ops/families.h"
#include "core/ops/rules/flow.h"
#include "core/ops/rules/type_helpers.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;

bool quantize_linear(const NodeView& v, Outputs out) {
  copy_type(v, 0, out[0]);
  out[0].elem = DataType::kUint8;
  if (const auto to = v.attribute_int("output_dtype"); to != 0) {
    out[0].elem = static_cast<DataType>(to);
  } else if (v.has_input(2)) {
    out[0].elem = v.elem(2);
  }
  return true;
}

bool dequantize(const NodeView& v, Outputs out) {
  copy_type(v, 0, out[0]);
  out[0].elem = v.opset() < 19 ? DataType::kFloat : v.elem(1);
  if (const auto to = v.attribute_int("output_dtype"); to != 0) {
    out[0].elem = static_cast<DataType>(to);
  }
  return true;
}

// One scale for all, or along one axis.
bool quantizes_along_another(const Flow& flow, int axis) {
  if (flow.types.inputs.size() < 2) return false;
  const ir::Type* in = flow.types.inputs[0];
  const ir::Type* scale = flow.types.inputs[1];
  if (!is_ranked(scale) || !is_ranked(in)) return false;
  if (scale->rank() == 0) return true;
  const NodeView& v = flow.node;
  if (scale->rank() > 1 || v.attribute_int("block_size") != 0) return false;
  return scale->dims[0] == ir::Dim(1) ||
         Flow::from_front(v.attribute_int("axis"), Flow::rank(in)) != axis;
}

bool quantize(Flow& flow, Port port, int axis) {
  return quantizes_along_another(flow, axis) &&
         flow_like_first(flow, port, axis);
}

constexpr OpRow kStandardQuantization[] = {
    {.type = "DequantizeLinear",
     .roles = {.dequantizes = true},
     .types = {dequantize},
     .axes = quantize},
    {.type = "QuantizeLinear",
     .roles = {.quantizes = true},
     .types = {quantize_linear},
     .axes = quantize},
};

}  // namespace

std::span<const OpRow> standard::quantization() {
  return kStandardQuantization;
}

}  // namespace ruleengine::ops
