// What ONNX Runtime computes between quantizers: of 8-bit numbers, with a scale
// and a zero point for each input and for the result.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "core/ops/dialect/contrib_heads.h"
#include "core/ops/dialect/our_row.h"
#include "core/ops/sized_node.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::ValueId;

constexpr std::string_view kScale = "tensor(float)";

constexpr FormalValue kQLinearIn[] = {in("A"),
                                      in("A_scale", kScale),
                                      opt("A_zero_point"),
                                      in("B"),
                                      in("B_scale", kScale),
                                      opt("B_zero_point"),
                                      in("C_scale", kScale),
                                      opt("C_zero_point")};
constexpr FormalValue kQLinearOut[] = {in("C")};

constexpr FormalValue kOfOneIn[] = {in("X"), in("X_scale", kScale),
                                    opt("X_zero_point"), in("Y_scale", kScale),
                                    opt("Y_zero_point")};
constexpr FormalAttribute kPool[] = {
    attr("auto_pad", kString),   with("ceil_mode", 0),
    with("channels_last", 0),    with("count_include_pad", 0),
    need("kernel_shape", kInts), attr("pads", kInts),
    attr("strides", kInts)};
constexpr FormalAttribute kGlobalPool[] = {with("channels_last", 0)};
constexpr FormalAttribute kLeakyRelu[] = {with("alpha", 0.01f)};
constexpr FormalAttribute kSoftmax[] = {with("axis", -1), need("opset", kInt)};

constexpr FormalValue kConcatIn[] = {in("Y_scale", kScale),
                                     in("Y_zero_point"),
                                     {"inputs", Arity::kVariadic, "TV"}};
constexpr FormalAttribute kConcat[] = {need("axis", kInt)};
constexpr FormalValue kWhereIn[] = {in("condition", "tensor(bool)"),
                                    in("X"),
                                    in("X_scale", kScale),
                                    in("X_zero_point"),
                                    in("Y"),
                                    in("Y_scale", kScale),
                                    in("Y_zero_point"),
                                    in("Z_scale", kScale),
                                    in("Z_zero_point")};
constexpr FormalValue kWhereOut[] = {in("Z")};
constexpr FormalValue kQGemmIn[] = {in("A", "TA"),
                                    in("A_scale", kScale),
                                    in("A_zero_point", "TA"),
                                    in("B", "TB"),
                                    in("B_scale", kScale),
                                    in("B_zero_point", "TB"),
                                    opt("C", "tensor(int32)"),
                                    opt("Y_scale", kScale),
                                    opt("Y_zero_point", "TY")};
constexpr FormalValue kQGemmOut[] = {in("Y", "TY")};
constexpr FormalAttribute kQGemm[] = {with("alpha", 1.0f), with("transA", 0),
                                      with("transB", 0)};

bool q_linear(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (v.ranked(0) && v.ranked(3)) {
    out[0].set_dims(broadcast_shapes(v, v.shape(0), v.shape(3)));
  }
  return true;
}

// The standard's op on floats that a QLinear* is between quantizers.
std::string_view real_op(std::string_view type) {
  return type.substr(std::string_view("QLinear").size());
}

bool q_pool(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  return v.attribute_int("channels_last") != 0 ||
         like_standard(real_op(v.op().type), v, out);
}

// Y's scale and zero point, then each part with its own.
bool q_concat(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(1);
  if (!v.ranked(2)) return true;
  Shape dims(v.shape(2).begin(), v.shape(2).end());
  const auto axis = ir::place_of_axis(v.attribute_int("axis"), dims.size());
  if (!axis) return true;
  for (std::size_t i = 5; i < v.input_count(); i += 3) {
    if (!v.ranked(i) || v.rank(i) != dims.size()) return true;
    const ir::Dim more = v.shape(i)[*axis];
    const bool known = more != kUnknown && dims[*axis] != kUnknown;
    dims[*axis] = known ? v.dims().add(dims[*axis], more) : kUnknown;
  }
  out[0].set_dims(dims);
  return true;
}

bool q_where(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(1);
  if (v.ranked(0) && v.ranked(1) && v.ranked(4)) {
    out[0].set_dims(broadcast_shapes(
        v, broadcast_shapes(v, v.shape(0), v.shape(1)), v.shape(4)));
  }
  return true;
}

bool q_gemm(const NodeView& v, Outputs out) {
  out[0].elem = v.has_input(7) ? v.elem(8) : DataType::kFloat;
  set_gemm(v, 0, 3, out[0]);
  return true;
}

double q_gemm(const SizedNode& n) {
  return n.out(0) * n.in(0, n.node.attribute_int("transA") != 0 ? -2 : -1);
}

// The numbers that input `x` stands for.
ValueId real(const CallSite& call, const std::string& x) {
  return call.body().node(
      "DequantizeLinear",
      {call[x], call[x + "_scale"], call[x + "_zero_point"]}, "real");
}

// `value` with the scale and the zero point of output `y`; without one, 0 of
// the type of input `like`.
Body::Values quantized(const CallSite& call, ValueId value,
                       const std::string& y, std::string_view like) {
  Body& body = call.body();
  ValueId zero = call[y + "_zero_point"];
  if (!zero) {
    const DataType elem = call.elem(like);
    if (elem != DataType::kInt8 && elem != DataType::kUint8) {
      body.refuse("the type is unknown", call[like]);
    }
    zero = body.cast(body.integers({0}, "zero", true), elem, "zero_point");
  }
  return {body.node("QuantizeLinear", {value, call[y + "_scale"], zero}, y)};
}

Body::Values q_linear(const CallSite& call) {
  const ValueId y = call.body().node(
      real_op(call.type()), {real(call, "A"), real(call, "B")}, "real_result");
  return quantized(call, y, "C", "A");
}

// Of one input.
Body::Values q_unary(const CallSite& call, Body::Attributes attributes) {
  const ValueId y = call.body().node(real_op(call.type()), {real(call, "X")},
                                     "real_result", std::move(attributes));
  return quantized(call, y, "Y", "X");
}
Body::Values q_sigmoid(const CallSite& call) { return q_unary(call, {}); }
Body::Values q_leaky_relu(const CallSite& call) {
  return q_unary(call, {Body::real("alpha", call.float_of("alpha"))});
}
Body::Values q_pool(const CallSite& call) {
  refuse_attributes(call, {"channels_last"});
  return q_unary(call, call.others({"channels_last"}));
}

Body::Values q_softmax(const CallSite& call) {
  constexpr std::int64_t kAlongOneAxis = 13;  // the opset that brought it
  Body& body = call.body();
  const Body::Attributes axis = {Body::integer("axis", call.int_of("axis"))};
  if (call.int_of("opset") >= kAlongOneAxis) {
    return q_unary(call, axis);
  }
  // Over all axes from that one on.
  const ValueId x = real(call, "X");
  const ValueId rows =
      body.node("Softmax", {body.node("Flatten", {x}, "rows", axis)},
                "probabilities", {Body::integer("axis", -1)});
  const ValueId y = body.node(
      "Reshape", {rows, body.node("Shape", {x}, "shape")}, "real_result");
  return quantized(call, y, "Y", "X");
}

Body::Values q_concat(const CallSite& call) {
  Body& body = call.body();
  Body::Values parts;
  for (std::size_t i = 2; call.input(i); i += 3) {
    if (!call.input(i + 1) || !call.input(i + 2)) {
      body.refuse("a part has no scale or no zero point", call.input(i));
    }
    parts.push_back(body.node(
        "DequantizeLinear",
        {call.input(i), call.input(i + 1), call.input(i + 2)}, "real"));
  }
  if (parts.empty()) body.refuse("there is no part");
  body.note(fmt::format("of{}", parts.size()));
  return quantized(
      call, body.joined(std::move(parts), "real_result", call.int_of("axis")),
      "Y", "Y_zero_point");
}

Body::Values q_where(const CallSite& call) {
  const ValueId z = call.body().node(
      "Where", {call["condition"], real(call, "X"), real(call, "Y")},
      "real_result");
  return quantized(call, z, "Z", "X");
}

// (alpha A_scale B_scale) ((A - A_zero_point) (B - B_zero_point) + C)
Body::Values q_gemm(const CallSite& call) {
  Body& body = call.body();
  const auto turned = [&](const char* x, const char* flips) {
    return call.int_of(flips) == 0
               ? call[x]
               : body.transposed(call[x], {1, 0}, "transposed");
  };
  ValueId y = body.node("MatMulInteger",
                        {turned("A", "transA"), turned("B", "transB"),
                         call["A_zero_point"], call["B_zero_point"]},
                        "product");
  y = body.plus(y, call["C"], "sum");
  ValueId scale = body.node("Mul", {call["A_scale"], call["B_scale"]}, "scale");
  if (const float alpha = call.float_of("alpha"); alpha != 1) {
    scale = body.node(
        "Mul", {scale, body.number(alpha, DataType::kFloat, "alpha")}, "scale");
  }
  y = body.node("Mul", {body.cast(y, DataType::kFloat, "sum_real"), scale},
                "real_result");
  if (!call["Y_scale"]) return {y};
  if (!call["Y_zero_point"]) body.refuse("the result has no zero point");
  return quantized(call, y, "Y", "Y_zero_point");
}

constexpr OpRow kDialectContribQLinear[] = {
    ours(dialect::kMicrosoft, "QGemm", kQGemmIn, kQGemmOut, kQGemm,
         {.factors = {true, 0, 3, true},
          .types = {q_gemm},
          .products = q_gemm,
          .formula = "Quantize(alpha Dequantize(A) Dequantize(B) + C)",
          .meaning = q_gemm}),
    ours(dialect::kMicrosoft, "QLinearAdd", kQLinearIn, kQLinearOut, {},
         {.roles = {.linear = true},
          .types = {q_linear},
          .formula = "Quantize(Dequantize(A) + Dequantize(B))",
          .meaning = q_linear}),
    ours(dialect::kMicrosoft, "QLinearAveragePool", kOfOneIn, kY, kPool,
         {.types = {q_pool},
          .formula = "Quantize(AveragePool(Dequantize(X)))",
          .meaning = q_pool}),
    ours(dialect::kMicrosoft, "QLinearConcat", kConcatIn, kY, kConcat,
         {.types = {q_concat},
          .formula = "Quantize(Concat(Dequantize(part), ...))",
          .meaning = q_concat}),
    ours(dialect::kMicrosoft, "QLinearGlobalAveragePool", kOfOneIn, kY,
         kGlobalPool,
         {.types = {q_pool},
          .formula = "Quantize(GlobalAveragePool(Dequantize(X)))",
          .meaning = q_pool}),
    ours(dialect::kMicrosoft, "QLinearLeakyRelu", kOfOneIn, kY, kLeakyRelu,
         {.types = {all_like_first},
          .formula = "Quantize(LeakyRelu(Dequantize(X)))",
          .meaning = q_leaky_relu}),
    ours(dialect::kMicrosoft, "QLinearMul", kQLinearIn, kQLinearOut, {},
         {.roles = {.linear = true},
          .types = {q_linear},
          .formula = "Quantize(Dequantize(A) Dequantize(B))",
          .meaning = q_linear}),
    ours(dialect::kMicrosoft, "QLinearSigmoid", kOfOneIn, kY, {},
         {.types = {all_like_first},
          .formula = "Quantize(Sigmoid(Dequantize(X)))",
          .meaning = q_sigmoid}),
    ours(dialect::kMicrosoft, "QLinearSoftmax", kOfOneIn, kY, kSoftmax,
         {.types = {all_like_first},
          .formula = "Quantize(Softmax(Dequantize(X)))",
          .meaning = q_softmax}),
    ours(dialect::kMicrosoft, "QLinearWhere", kWhereIn, kWhereOut, {},
         {.roles = {.joins = true},
          .types = {q_where},
          .formula = "Quantize(Where(condition, Dequantize(X), Dequantize(Y)))",
          .meaning = q_where}),
};

}  // namespace

std::span<const OpRow> dialect::contrib_qlinear() {
  return kDialectContribQLinear;
}

}  // namespace ruleengine::ops
