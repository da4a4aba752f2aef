// Quantizers, and linear layers of what they quantized.
#include <algorithm>

#include "core/ops/dialect/our_row.h"
#include "core/ops/rules/flow.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::Dim;

constexpr std::int64_t kLastAxis[] = {-1};

constexpr FormalAttribute kToInt8[] = {with("out_dtype", 3)};

constexpr FormalAttribute kDynamic[] = {with("dims", kLastAxis),
                                        with("out_dtype", 3)};

constexpr FormalAttribute kToFloat[] = {with("out_dtype", 1)};

constexpr FormalAttribute kGroup[] = {with("group_size", 32)};

constexpr FormalAttribute kGroupToFloat[] = {with("group_size", 32),
                                             with("out_dtype", 1)};

constexpr FormalValue kQuantizeIn[] = {in("x"), in("scale", "S"),
                                       opt("offset", "O")};

constexpr FormalValue kQuantizeOut[] = {in("q", "Q")};

constexpr FormalValue kSymmetricOut[] = {in("q", "Q"), opt("scale", "S")};

constexpr FormalValue kAsymmetricOut[] = {in("q", "Q"), opt("scale", "S"),
                                          opt("offset", "O")};

constexpr FormalValue kStaticIn[] = {in("x"),
                                     in("w", "W"),
                                     in("w_scale", "S"),
                                     opt("w_offset", "O"),
                                     opt("x_scale", "S2"),
                                     opt("x_offset", "O2"),
                                     opt("bias", "B")};

constexpr FormalValue kScaledIn[] = {in("x"), in("w", "W"), in("x_scale", "S"),
                                     in("w_scale", "S2"), opt("bias", "B")};

constexpr FormalValue kScaledOut[] = {in("Y", "R")};

DataType out_dtype(const NodeView& v) {
  return static_cast<DataType>(v.attribute_int("out_dtype"));
}

// q like x.
bool quantized(const NodeView& v, Outputs out) {
  copy_type(v, 0, out[0]);
  out[0].elem = out_dtype(v);
  return true;
}

// The broadcast of a shape with an input, which no file need declare: of
// unknown rank it is taken for a scalar or for the last axis, as it should be.
void widen(const NodeView& v, std::size_t i, Inferred& out) {
  if (!out.ranked || !v.has_input(i)) return;
  if (v.ranked(i)) {
    out.set_dims(broadcast_shapes(v, out.dims, v.shape(i)));
  } else if (out.dims.empty()) {
    out.ranked = false;  // a vector of one element gives a scalar an axis
  }
}

// x / scale + offset
bool quantize(const NodeView& v, Outputs out) {
  quantized(v, out);
  widen(v, 1, out[0]);
  widen(v, 2, out[0]);
  return true;
}

// q like x; scale (and offset) with the reduced axes kept as 1, or a scalar.
bool dynamic_quantize(const NodeView& v, Outputs out) {
  quantized(v, out);
  for (std::size_t o = 1; o < out.size(); ++o) {
    out[o].elem = o == 1 ? DataType::kFloat : DataType::kInt32;
    const auto axes = v.attribute_ints("dims");
    if (!axes) continue;
    if (axes->empty()) {
      out[o].set_dims(Shape());
    } else if (v.ranked(0)) {
      const auto places = places_of_axes(*axes, v.rank(0));
      if (!places) continue;
      out[o].set_dims(v.shape(0));
      for (std::size_t p : *places) out[o].dims[p] = Dim(1);
    }
  }
  return true;
}

bool dynamic_quantize_mxfp4(const NodeView& v, Outputs out) {
  copy_type(v, 0, out[0]);
  out[0].elem = DataType::kUint8;
  if (out.size() < 2) return true;
  out[1].elem = DataType::kFloat;
  const auto group = v.attribute_int("group_size");
  if (!v.ranked(0) || v.rank(0) == 0 || group <= 0) return true;
  out[1].set_dims(v.shape(0));
  out[1].dims.back() = v.dims().floor_div(v.shape(0).back(), Dim(group));
  return true;
}

// The product of x, which its scale and offset may widen, and w; the bias is
// added to it.
bool quantized_linear(const NodeView& v, Outputs out,
                      std::span<const std::size_t> of_x, std::size_t bias) {
  out[0].elem = out_dtype(v);
  if (!v.ranked(0) || v.rank(0) == 0) return true;
  out[0].set_dims(v.shape(0));
  for (std::size_t i : of_x) widen(v, i, out[0]);
  const bool known = v.ranked(1) && v.rank(1) == 2;
  out[0].dims.back() = known ? v.shape(1)[1] : kUnknown;
  widen(v, bias, out[0]);
  return true;
}

bool static_quant_linear(const NodeView& v, Outputs out) {
  constexpr std::size_t kOfX[] = {4, 5};
  return quantized_linear(v, out, kOfX, 6);
}

bool fp8_linear(const NodeView& v, Outputs out) {
  constexpr std::size_t kOfX[] = {2};
  return quantized_linear(v, out, kOfX, 4);
}

// The scales of x are of blocks.
bool mxfp4_linear(const NodeView& v, Outputs out) {
  return quantized_linear(v, out, {}, 4);
}

// Each row by itself, or what `dims` leaves together.
bool quantizes_rows(Flow& flow, Port port, int axis) {
  const ir::Type* in = flow.types.inputs[0];
  if (!Flow::ranked(in)) return false;
  const auto dims = flow.node.may_have("dims")
                        ? flow.node.attribute_ints("dims")
                        : std::vector<std::int64_t>{-1};
  if (!dims || dims->empty()) return false;
  const int rank = Flow::rank(in);
  return std::ranges::none_of(*dims,
                              [&](std::int64_t d) {
                                return Flow::from_front(d, rank) == axis;
                              }) &&
         flow_like_first(flow, port, axis);
}

constexpr OpRow kRows[] = {
    ours(
        ir::dialect::kCast, "dynamic_quantize_asymmetric", kX, kAsymmetricOut,
        kDynamic,
        {.types = {dynamic_quantize},
         .axes = quantizes_rows,
         .formula =
             "rint(x / scale) + offset, scale = (max - min) / 255 along dims"}),
    ours(ir::dialect::kCast, "dynamic_quantize_mxfp4", kX, kSymmetricOut,
         kGroup,
         {.types = {dynamic_quantize_mxfp4},
          .axes = quantizes_rows,
          .formula = "E2M1 codes of x / scale, a scale for each group"}),
    ours(ir::dialect::kCast, "dynamic_quantize_symmetric", kX, kSymmetricOut,
         kDynamic,
         {.types = {dynamic_quantize},
          .axes = quantizes_rows,
          .formula = "rint(x / scale), scale = max|x| / 127 along dims"}),
    ours(ir::dialect::kCast, "fp8_linear", kScaledIn, kScaledOut, kToFloat,
         {.types = {fp8_linear}, .formula = "(x x_scale) (w w_scale) + bias"}),
    ours(ir::dialect::kCast, "mxfp4_linear", kScaledIn, kScaledOut,
         kGroupToFloat,
         {.types = {mxfp4_linear},
          .formula = "(E2M1[x] x_scale) (E2M1[w] w_scale) + bias"}),
    ours(ir::dialect::kCast, "quantize", kQuantizeIn, kQuantizeOut, kToInt8,
         {.types = {quantize},
          .axes = flow_elementwise,
          .formula = "rint(x / scale + offset), clipped"}),
    ours(ir::dialect::kCast, "static_quant_linear", kStaticIn, kScaledOut,
         kToFloat,
         {.types = {static_quant_linear},
          .formula =
              "((x - x_offset) x_scale) ((w - w_offset) w_scale) + bias"}),
    ours(ir::dialect::kCast, "static_quant_linear_int4", kStaticIn, kScaledOut,
         kToFloat,
         {.types = {static_quant_linear},
          .formula = "static_quant_linear with w from -8 to 7"}),
};

}  // namespace

std::span<const OpRow> dialect::quantization() { return kRows; }

}  // namespace ruleengine::ops
