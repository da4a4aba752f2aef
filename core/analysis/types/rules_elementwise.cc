// Types of ops that work element by element, with broadcasting, and of those
// whose output looks like their first input.
#include <algorithm>

#include "core/analysis/inference.h"
#include "core/analysis/types/rule_helpers.h"

namespace ruleengine::analysis {
namespace {

using ir::DataType;
using ir::Dim;

bool like_first(const NodeView& v, Outputs out) {
  need_axis(v);
  if (!out.empty()) copy_type(v, 0, out[0]);
  return true;
}

// Cosines and sines are [B,S,D/2], or where positions pick rows, [P,D/2].
bool rotary_embedding(const NodeView& v, Outputs out) {
  const std::size_t rank = v.has_input(3) ? 2 : 3;
  need_rank(v, 1, rank, "the cosines have another rank");
  need_rank(v, 2, rank, "the sines have another rank");
  return like_first(v, out);
}

bool like_first_bool(const NodeView& v, Outputs out) {
  like_first(v, out);
  if (!out.empty()) out[0].elem = DataType::kBool;
  return true;
}

bool dropout(const NodeView& v, Outputs out) {
  like_first(v, out);
  if (out.size() > 1) {
    copy_type(v, 0, out[1]);
    out[1].elem = v.opset() < 10 ? v.elem(0) : DataType::kBool;
  }
  return true;
}

// Before opset 7, broadcasting was an attribute.
bool old_broadcast(const NodeView& v) {
  return v.op().domain.empty() && v.opset() < 7;
}

bool broadcast_all(const NodeView& v, Outputs out) {
  if (old_broadcast(v)) return false;
  if (out.empty()) return true;
  out[0].elem = v.elem(0);
  set_broadcast(v, 0, v.input_count(), out[0]);
  return true;
}

bool arithmetic(const NodeView& v, Outputs out) {
  if (!broadcast_all(v, out)) return false;
  // Either operand tells the type, except that of Pow and BitShift.
  if (!out.empty() && out[0].elem == DataType::kUndefined &&
      v.op().type != "Pow") {
    out[0].elem = v.elem(1);
  }
  return true;
}

bool comparison(const NodeView& v, Outputs out) {
  if (!broadcast_all(v, out)) return false;
  if (!out.empty()) out[0].elem = DataType::kBool;
  return true;
}

bool where(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  out[0].elem = v.elem(1) != DataType::kUndefined ? v.elem(1) : v.elem(2);
  set_broadcast(v, 0, 3, out[0]);
  return true;
}

bool cast(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  const ir::Attribute* to = v.attribute("to");
  if (to == nullptr || to->kind != ir::AttributeKind::kInt) return false;
  copy_type(v, 0, out[0]);
  out[0].elem = static_cast<DataType>(to->i);
  return true;
}

bool cast_like(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  copy_type(v, 0, out[0]);
  out[0].elem = v.elem(1);
  return true;
}

bool quantize(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
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
  if (out.empty()) return true;
  copy_type(v, 0, out[0]);
  out[0].elem = v.opset() < 19 ? DataType::kFloat : v.elem(1);
  if (const auto to = v.attribute_int("output_dtype"); to != 0) {
    out[0].elem = static_cast<DataType>(to);
  }
  return true;
}

bool layer_normalization(const NodeView& v, Outputs out) {
  if (out.empty()) return true;
  like_first(v, out);
  // ONNX Runtime's own of before opset 17 takes x in another type.
  const ir::Type* scale = v.input(1);
  if (scale != nullptr && scale->is_tensor() &&
      scale->elem != DataType::kUndefined) {
    out[0].elem = scale->elem;
  }
  const auto axis = v.ranked(0)
                        ? ir::place_of_axis(v.attribute_int("axis"), v.rank(0))
                        : std::nullopt;
  for (std::size_t o = 1; o < out.size(); ++o) {
    const auto stash = v.attribute_int("stash_type");
    out[o].elem = static_cast<DataType>(stash);
    if (!axis) continue;
    out[o].set_dims(v.shape(0));
    std::fill(out[o].dims.begin() + static_cast<std::ptrdiff_t>(*axis),
              out[o].dims.end(), Dim(1));
  }
  return true;
}

bool batch_normalization(const NodeView& v, Outputs out) {
  if (out.size() > 1) return false;
  return like_first(v, out);
}

constexpr std::string_view kLikeFirst[] = {
    "Abs",
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BitwiseNot",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Cosh",
    "CumSum",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "GroupNormalization",
    "HardSigmoid",
    "HardSwish",
    "Hardmax",
    "Identity",
    "InstanceNormalization",
    "LRN",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "LpNormalization",
    "MeanVarianceNormalization",
    "Mish",
    "Neg",
    "Not",
    "PRelu",
    "RMSNormalization",
    "Reciprocal",
    "Relu",
    "Round",
    "ScatterElements",
    "ScatterND",
    "Scatter",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softmax",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Trilu",
};
constexpr std::string_view kArithmetic[] = {
    "Add",        "Sub", "Mul",  "Div",      "Mod",        "Pow",
    "And",        "Or",  "Xor",  "BitShift", "BitwiseAnd", "BitwiseOr",
    "BitwiseXor", "Sum", "Mean", "Max",      "Min"};
constexpr std::string_view kComparisons[] = {"Equal", "Less", "Greater",
                                             "LessOrEqual", "GreaterOrEqual"};

std::vector<TypeRule> make() {
  std::vector<TypeRule> out = {
      {"", "BatchNormalization", batch_normalization},
      {"", "Cast", cast},
      {"", "CastLike", cast_like},
      {"", "DequantizeLinear", dequantize},
      {"", "Dropout", dropout},
      {"", "IsInf", like_first_bool},
      {"", "IsNaN", like_first_bool},
      {"", "LayerNormalization", layer_normalization},
      {"", "QuantizeLinear", quantize},
      {"", "RotaryEmbedding", rotary_embedding},
      {"", "Where", where},
  };
  for (auto name : kLikeFirst) out.push_back({"", name, like_first});
  for (auto name : kArithmetic) out.push_back({"", name, arithmetic});
  for (auto name : kComparisons) out.push_back({"", name, comparison});
  return out;
}

}  // namespace

std::span<const TypeRule> elementwise_rules() {
  static const std::vector<TypeRule> kRules = make();
  return kRules;
}

bool broadcasts(const ir::Op& op) {
  static constexpr TypeFunction kAll[] = {broadcast_all, arithmetic, comparison,
                                          where};
  const TypeRule* rule = find_type_rule(op);
  return rule != nullptr &&
         std::ranges::find(kAll, rule->infer) != std::end(kAll);
}

}  // namespace ruleengine::analysis
