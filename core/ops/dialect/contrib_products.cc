// Products of ONNX Runtime's domain: with transposes, factors and activations,
// and by weights of few bits.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/ops/dialect/our_row.h"
#include "core/ops/rules/flow.h"
#include "core/ops/rules/meaning_helpers.h"
#include "core/ops/sized_node.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::Dim;
using ir::ValueId;

constexpr FormalValue kMatMulIn[] = {in("A"), in("B")};
constexpr FormalAttribute kMatMul[] = {
    with("alpha", 1.0f), with("transA", 0), with("transB", 0),
    with("transBatchA", 0), with("transBatchB", 0)};

constexpr FormalValue kGemmIn[] = {in("A"), in("B"), opt("C")};
constexpr FormalAttribute kGemm[] = {attr("activation", kString),
                                     attr("activation_alpha", kFloat),
                                     attr("activation_beta", kFloat),
                                     attr("activation_gamma", kFloat),
                                     with("alpha", 1.0f),
                                     with("beta", 1.0f),
                                     with("transA", 0),
                                     with("transB", 0)};

constexpr FormalValue kConvIn[] = {in("X"), in("W"), opt("B"), opt("Z")};
constexpr FormalAttribute kConv[] = {
    attr("activation", kString),
    attr("activation_params", AttributeKind::kFloats),
    attr("auto_pad", kString),
    attr("dilations", kInts),
    with("group", 1),
    attr("kernel_shape", kInts),
    attr("pads", kInts),
    attr("strides", kInts)};

constexpr FormalValue kBitsIn[] = {in("A", "T1"),
                                   in("B", "T2"),
                                   in("scales", "T1"),
                                   opt("zero_points", "T3"),
                                   opt("g_idx", "tensor(int32)"),
                                   opt("bias", "T1")};
constexpr FormalValue kBitsOut[] = {in("Y", "T1")};
constexpr FormalAttribute kBits[] = {
    need("K", kInt), need("N", kInt),          with("accuracy_level", 0),
    with("bits", 4), need("block_size", kInt), with("weight_prepacked", 0)};

// The axes of A (input 0) or B (input 1) as the product reads them.
Shape factor(const NodeView& v, std::size_t i, std::string_view flips,
             std::string_view batch_flips) {
  Shape shape(v.shape(i).begin(), v.shape(i).end());
  if (shape.size() < 2) return shape;
  if (v.attribute_int(batch_flips) != 0) {
    std::rotate(shape.begin(), shape.begin() + 1, shape.end() - 1);
  }
  if (v.attribute_int(flips) != 0)
    std::iter_swap(shape.end() - 1, shape.end() - 2);
  return shape;
}

bool fused_matmul(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (!v.ranked(0) || !v.ranked(1) || v.rank(0) < 2 || v.rank(1) < 2) {
    return true;
  }
  const Shape a = factor(v, 0, "transA", "transBatchA");
  const Shape b = factor(v, 1, "transB", "transBatchB");
  Dims dims = broadcast_shapes(v, std::span(a).first(a.size() - 2),
                               std::span(b).first(b.size() - 2));
  dims.push_back(a[a.size() - 2]);
  dims.push_back(b.back());
  out[0].set_dims(dims);
  return true;
}

bool fused_gemm(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  set_gemm(v, 0, 1, out[0]);
  return true;
}

// A convolution; or like what is added to it; else [N,M,...].
bool fused_conv(const NodeView& v, Outputs out) {
  if (like_standard("Conv", v, out)) return true;
  out[0].elem = v.elem(0);
  if (v.has_input(3)) {
    copy_type(v, 3, out[0]);
  } else if (v.ranked(0) && v.ranked(1) && v.rank(0) > 1 && v.rank(1) > 1) {
    Shape shape(v.rank(0), kUnknown);
    shape[0] = v.shape(0)[0];
    shape[1] = v.shape(1)[0];
    out[0].set_dims(shape);
  }
  return true;
}

bool matmul_nbits(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (!v.ranked(0) || v.rank(0) == 0) return true;
  out[0].set_dims(v.shape(0));
  out[0].dims.back() = count(v.attribute_int("N"));
  return true;
}

double fused_matmul(const SizedNode& n) {
  return n.out(0) * n.in(0, n.node.attribute_int("transA") != 0 ? -2 : -1);
}

double matmul_nbits(const SizedNode& n) {
  return n.in(0) * static_cast<double>(n.node.attribute_int("N"));
}

struct Parameter {
  std::string_view name;
  float value = 0;
};

// f(x) of an activation by its name. `like` has x's element type.
ValueId activated(Body& body, ValueId x, ValueId like, std::string_view name,
                  std::span<const Parameter> parameters) {
  constexpr std::string_view kKnown[] = {
      "Celu",           "Clip",      "Elu",      "HardSigmoid",
      "HardSwish",      "LeakyRelu", "Relu",     "Selu",
      "Sigmoid",        "Softplus",  "Softsign", "Tanh",
      "ThresholdedRelu"};
  if (std::ranges::find(kKnown, name) == std::end(kKnown)) {
    body.refuse("no activation '" + std::string(name) + "' is known");
    return x;
  }
  const OpFacts& op = *newest_op("", name);
  Body::Values inputs = {x};
  Body::Attributes attributes;
  for (const Parameter& each : parameters) {
    if (name == "Clip") {  // has them as inputs, in this order
      inputs.push_back(body.number(each.value, like, each.name));
    } else if (op.attribute(each.name) != nullptr) {
      attributes.push_back(Body::real(each.name, each.value));
    } else {
      body.refuse("an activation has no such parameter: " +
                  std::string(each.name));
    }
  }
  return body.node(name, std::move(inputs), "activated", std::move(attributes));
}

// The factor with its transposes: that of the batch moves the first axis behind
// the others of the batch.
ValueId factor(const CallSite& call, std::string_view input,
               std::string_view flips, std::string_view batch_flips) {
  const bool flips_last = call.int_of(flips) != 0;
  const bool flips_batch = call.int_of(batch_flips) != 0;
  const ValueId x = call[input];
  if (!flips_last && !flips_batch) return x;
  const auto rank = call.rank(input);
  if (!rank) {
    // Matrices of a batch of any rank.
    return call.body().node(
        "Einsum", {x}, "transposed",
        {Body::text("equation", flips_batch ? (flips_last ? "a...ij->...aji"
                                                          : "a...ij->...aij")
                                            : "...ij->...ji")});
  }
  if (*rank < 2) return x;
  std::vector<std::int64_t> perm(*rank);
  std::iota(perm.begin(), perm.end(), 0);
  if (flips_batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (flips_last) std::iter_swap(perm.end() - 1, perm.end() - 2);
  return call.body().transposed(x, perm, "transposed");
}

Body::Values fused_matmul(const CallSite& call) {
  Body& body = call.body();
  ValueId a = factor(call, "A", "transA", "transBatchA");
  const float alpha = call.float_of("alpha");
  const auto scaled = [&](ValueId x) {
    return body.node("Mul", {x, body.number(alpha, call["A"], "alpha")},
                     "scaled");
  };
  // A is most often smaller than the product. What makes numbers larger comes
  // last, so that none overflows before.
  if (std::abs(alpha) < 1) a = scaled(a);
  const ValueId y = body.node(
      "MatMul", {a, factor(call, "B", "transB", "transBatchB")}, "product");
  return {std::abs(alpha) < 1 || alpha == 1 ? y : scaled(y)};
}

Body::Values fused_gemm(const CallSite& call) {
  const ValueId y =
      call.body().node("Gemm", {call["A"], call["B"], call["C"]}, "Y",
                       call.others({"activation", "activation_alpha",
                                    "activation_beta", "activation_gamma"}));
  if (!call.is_written("activation")) return {y};
  const std::string_view name = call.string_of("activation");
  std::vector<Parameter> parameters;
  for (const std::string_view own : {"alpha", "beta", "gamma"}) {
    const std::string attribute = "activation_" + std::string(own);
    if (call.is_written(attribute)) {
      parameters.push_back({own, call.float_of(attribute)});
    }
  }
  return {activated(call.body(), y, call["A"], name, parameters)};
}

Body::Values fused_conv(const CallSite& call) {
  Body& body = call.body();
  ValueId y = body.node("Conv", {call["X"], call["W"], call["B"]}, "convolved",
                        call.others({"activation", "activation_params"}));
  y = body.plus(y, call["Z"], "sum");
  if (!call.is_written("activation")) return {y};
  const std::string_view name = call.string_of("activation");
  const auto given = call.floats_of("activation_params");
  std::vector<Parameter> parameters;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::array<std::string_view, 2> names =
        name == "Clip" ? std::array<std::string_view, 2>{"min", "max"}
                       : std::array<std::string_view, 2>{"alpha", "beta"};
    parameters.push_back({i < names.size() ? names[i] : "another", given[i]});
  }
  return {activated(body, y, call["X"], name, parameters)};
}

// A W^T + bias with W [N,K] = (bits - zero point) scale, where each of both
// serves `block_size` numbers of a row.
class WeightsOfBits {
 public:
  explicit WeightsOfBits(const CallSite& call)
      : call_(call),
        body_(call.body()),
        n_(call.int_of("N")),
        k_(call.int_of("K")),
        block_(call.int_of("block_size")),
        bits_(call.int_of("bits")) {}

  Body::Values write() {
    const bool is_block = block_ >= 16 && (block_ & (block_ - 1)) == 0;
    if (n_ <= 0 || n_ > kMostSize || k_ <= 0 || k_ > kMostSize || !is_block ||
        block_ > kMostSize) {
      body_.refuse("'N', 'K' or 'block_size' is out of range");
      return {};
    }
    if (bits_ != 2 && bits_ != 4 && bits_ != 8) {
      body_.refuse("'bits' is not 2, 4 or 8");
      return {};
    }
    if (call_.int_of("weight_prepacked") != 0) {
      body_.refuse("the weights are packed for one machine");
    }
    blocks_ = (k_ + block_ - 1) / block_;
    ValueId w = unpacked(call_["B"], {n_, blocks_, block_ * bits_ / 8},
                         {n_, blocks_, block_});
    ValueId scale =
        reshaped(call_["scales"], {n_, blocks_, 1}, "scales_of_blocks");
    ValueId zero = zeros();
    if (const ValueId groups = call_["g_idx"]) {
      // Places of a row have groups of their own.
      w = rows(w);
      zero = by_place(zero, groups);
      scale = by_place(scale, groups);
      w = scaled(w, zero, scale);
    } else {
      w = rows(scaled(w, zero, scale));
    }
    const ValueId turned = body_.transposed(w, {1, 0}, "weights");
    const ValueId y = body_.node("MatMul", {call_["A"], turned}, "product");
    return {body_.plus(y, call_["bias"], "Y")};
  }

 private:
  ValueId reshaped(ValueId x, const std::vector<std::int64_t>& sizes,
                   std::string_view name) {
    return body_.reshaped(x, sizes, "sizes", name);
  }

  // Numbers of `bits_`, the first ones of a byte in its lowest bits, with the
  // surplus at the end of the last axis cut off.
  ValueId unpacked(ValueId bytes, std::vector<std::int64_t> packed,
                   const std::vector<std::int64_t>& sizes) {
    ValueId x = body_.cast(reshaped(bytes, packed, "bytes"), DataType::kInt32,
                           "numbers");
    if (bits_ < 8) {
      packed.push_back(1);
      x = reshaped(x, packed, "byte_columns");
      std::vector<std::int64_t> steps;
      for (std::int64_t at = 0; at < 8; at += bits_) {
        steps.push_back(std::int64_t{1} << at);
      }
      x = body_.node("Div", {x, narrow(steps, "steps")}, "shifted");
      x = body_.node("Mod", {x, narrow({std::int64_t{1} << bits_}, "range")},
                     "digits");
      packed.pop_back();
      packed.back() *= 8 / bits_;
      x = reshaped(x, packed, "digits_of_rows");
    }
    if (packed.back() != sizes.back()) {
      x = first(x, static_cast<std::int64_t>(sizes.size()) - 1, sizes.back());
    }
    return x;
  }
  ValueId narrow(const std::vector<std::int64_t>& data, std::string_view name) {
    return body_.cast(body_.integers(data, name), DataType::kInt32, name);
  }
  ValueId first(ValueId x, std::int64_t axis, std::int64_t count) {
    const ValueId begin = body_.integers({0}, "first");
    return body_.sliced(x, begin, body_.integers({count}, "count"), axis,
                        "used");
  }

  // [N,blocks,1], or invalid where all are the middle of the range.
  ValueId zeros() {
    const ValueId given = call_["zero_points"];
    if (!given) return given;
    const DataType elem = call_.elem("zero_points");
    if (elem == DataType::kUndefined) {
      body_.refuse("the type of the zero points is unknown", given);
    }
    ValueId x = given;
    if (elem == DataType::kUint8) {
      x = unpacked(given, {n_, (blocks_ * bits_ + 7) / 8}, {n_, blocks_});
    }
    return reshaped(x, {n_, blocks_, 1}, "zero_points_of_blocks");
  }

  // [N,blocks,block] as [N,K].
  ValueId rows(ValueId x) {
    x = reshaped(x, {n_, blocks_ * block_}, "rows");
    return blocks_ * block_ == k_ ? x : first(x, 1, k_);
  }
  // [N,blocks,1] as [N,K].
  ValueId by_place(ValueId x, ValueId groups) {
    if (!x) return x;
    return body_.node("Gather",
                      {reshaped(x, {n_, blocks_}, "of_blocks"), groups},
                      "by_place", {Body::integer("axis", 1)});
  }
  ValueId scaled(ValueId w, ValueId zero, ValueId scale) {
    const ValueId like = call_["A"];
    const ValueId real = body_.like(w, like, "weights_real");
    const auto middle = static_cast<double>(std::int64_t{1} << (bits_ - 1));
    const ValueId from = zero ? body_.like(zero, like, "zero_points_real")
                              : body_.number(middle, like, "middle");
    return body_.node("Mul",
                      {body_.node("Sub", {real, from}, "centered"), scale},
                      "scaled_weights");
  }

  const CallSite& call_;
  Body& body_;
  std::int64_t n_, k_, block_, bits_, blocks_ = 0;
};

Body::Values matmul_nbits(const CallSite& call) {
  return WeightsOfBits(call).write();
}

constexpr OpRow kDialectContribProducts[] = {
    ours(dialect::kMicrosoft, "FusedConv", kConvIn, kY, kConv,
         {.types = {fused_conv},
          .formula = "activation(Conv(X, W, B) + Z)",
          .meaning = fused_conv}),
    ours(dialect::kMicrosoft, "FusedGemm", kGemmIn, kY, kGemm,
         {.factors = {true},
          .types = {fused_gemm},
          .formula = "activation(Gemm(A, B, C))",
          .meaning = fused_gemm}),
    ours(dialect::kMicrosoft, "FusedMatMul", kMatMulIn, kY, kMatMul,
         {.factors = {true},
          .types = {fused_matmul},
          .products = fused_matmul,
          .formula = "alpha op(A) op(B)",
          .meaning = fused_matmul}),
    ours(dialect::kMicrosoft, "MatMulNBits", kBitsIn, kBitsOut, kBits,
         {.types = {matmul_nbits},
          .products = matmul_nbits,
          .formula = "A ((B - zero_points) scales)^T + bias",
          .meaning = matmul_nbits}),
};

}  // namespace

std::span<const OpRow> dialect::contrib_products() {
  return kDialectContribProducts;
}

}  // namespace ruleengine::ops
