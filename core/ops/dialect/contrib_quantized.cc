// Quantized numbers of ONNX Runtime's domain: its quantizers, and products of
// integers that give floats. Ops between quantizers: contrib_qlinear.cc.
#include "core/ops/dialect/our_row.h"
#include "core/ops/rules/meaning_helpers.h"
#include "core/ops/sized_node.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::ValueId;

constexpr FormalValue kToFloatIn[] = {in("x", "T1"), in("x_scale", "T2"),
                                      opt("x_zero_point", "T1")};
constexpr FormalValue kFromFloatIn[] = {in("x", "T1"), in("y_scale", "T1"),
                                        opt("y_zero_point", "T2")};
constexpr FormalValue kQuantizerOut[] = {in("y", "T2")};
constexpr FormalAttribute kAxis[] = {attr("axis", kInt)};

constexpr FormalValue kDynamicProductIn[] = {
    in("A", "T1"), in("B", "T2"), in("b_scale", "T1"),
    opt("b_zero_point", "T2"), opt("bias", "T1")};
constexpr FormalValue kIntegerProductIn[] = {in("A", "T1"),
                                             in("B", "T2"),
                                             in("a_scale", "T3"),
                                             in("b_scale", "T3"),
                                             opt("a_zero_point", "T1"),
                                             opt("b_zero_point", "T2"),
                                             opt("bias", "T3")};
constexpr FormalValue kProductOut[] = {in("Y", "T1")};
constexpr FormalValue kRealProductOut[] = {in("Y", "T3")};

bool from_float(const NodeView& v, Outputs out) {
  copy_type(v, 0, out[0]);
  out[0].elem = v.has_input(2) ? v.elem(2) : DataType::kUint8;
  return true;
}

// A product of the element type of input `kLike`.
template <std::size_t kLike>
bool real_product(const NodeView& v, Outputs out) {
  like_standard("MatMul", v, out);
  out[0].elem = v.elem(kLike);
  return true;
}

double real_product(const SizedNode& n) { return n.out(0) * n.in(0, -1); }

// The standard's op of that name.
Body::Values standard_op(const CallSite& call, Body::Values inputs) {
  return {
      call.body().node(call.type(), std::move(inputs), "y", call.others({}))};
}

Body::Values to_float(const CallSite& call) {
  return standard_op(call, {call["x"], call["x_scale"], call["x_zero_point"]});
}
Body::Values from_float(const CallSite& call) {
  return standard_op(call, {call["x"], call["y_scale"], call["y_zero_point"]});
}

struct Factor {
  ValueId x, scale, zero;
};

// ((A - zero) (B - zero)) scales + bias
Body::Values scaled_product(const CallSite& call, const Factor& a,
                            const Factor& b) {
  Body& body = call.body();
  const ValueId product =
      body.node("MatMulInteger", {a.x, b.x, a.zero, b.zero}, "product");
  const ValueId scale = body.node("Mul", {a.scale, b.scale}, "scale");
  const ValueId y =
      body.node("Mul", {body.like(product, b.scale, "product_real"), scale},
                "scaled_product");
  return {body.plus(y, call["bias"], "Y")};
}

Body::Values dynamic_product(const CallSite& call) {
  const auto a = call.body().nodes("DynamicQuantizeLinear", {call["A"]},
                                   {"a", "a_scale", "a_zero_point"}, {});
  return scaled_product(call, {a[0], a[1], a[2]},
                        {call["B"], call["b_scale"], call["b_zero_point"]});
}

Body::Values integer_product(const CallSite& call) {
  return scaled_product(call,
                        {call["A"], call["a_scale"], call["a_zero_point"]},
                        {call["B"], call["b_scale"], call["b_zero_point"]});
}

constexpr OpRow kDialectContribQuantized[] = {
    ours(dialect::kMicrosoft, "DequantizeLinear", kToFloatIn, kQuantizerOut,
         kAxis,
         {.roles = {.dequantizes = true},
          .types = {like_first_cast},
          .formula = "the standard's",
          .meaning = to_float}),
    ours(dialect::kMicrosoft, "DynamicQuantizeMatMul", kDynamicProductIn,
         kProductOut, {},
         {.factors = {true, 0, 1, true},
          .types = {real_product<0>},
          .products = real_product,
          .formula = "MatMulIntegerToFloat(DynamicQuantizeLinear(A), B) + bias",
          .meaning = dynamic_product}),
    ours(dialect::kMicrosoft, "MatMulIntegerToFloat", kIntegerProductIn,
         kRealProductOut, {},
         {.factors = {true, 0, 1, true},
          .types = {real_product<2>},
          .products = real_product,
          .formula = "MatMulInteger(A, B) a_scale b_scale + bias",
          .meaning = integer_product}),
    ours(dialect::kMicrosoft, "QuantizeLinear", kFromFloatIn, kQuantizerOut,
         kAxis,
         {.roles = {.quantizes = true},
          .types = {from_float},
          .formula = "the standard's",
          .meaning = from_float}),
};

}  // namespace

std::span<const OpRow> dialect::contrib_quantized() {
  return kDialectContribQuantized;
}

}  // namespace ruleengine::ops
