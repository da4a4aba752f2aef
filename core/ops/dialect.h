// The ops outside the standard that the engine itself makes and reads, as rows
// of the same table as the standard's. Their meaning: docs/dialect.md. Constant
// data for op_facts.cc alone, which joins it to the generated rows; other code
// asks op_facts.h.
#ifndef RULEENGINE_CORE_OPS_DIALECT_H_
#define RULEENGINE_CORE_OPS_DIALECT_H_

#include <climits>

#include "core/ops/op_facts.h"

namespace ruleengine::ir::dialect {

constexpr FormalValue in(std::string_view name, std::string_view type = "T") {
  return {name, Arity::kSingle, type};
}
constexpr FormalValue opt(std::string_view name, std::string_view type = "T") {
  return {name, Arity::kOptional, type};
}

constexpr FormalAttribute attr(std::string_view name, AttributeKind kind) {
  return {.name = name, .kind = kind};
}
constexpr FormalAttribute need(std::string_view name, AttributeKind kind) {
  return {.name = name, .kind = kind, .required = true};
}
constexpr FormalAttribute with(std::string_view name, int value) {
  return {.name = name,
          .kind = AttributeKind::kInt,
          .has_default = true,
          .default_int = value};
}
constexpr FormalAttribute with(std::string_view name, float value) {
  return {.name = name,
          .kind = AttributeKind::kFloat,
          .has_default = true,
          .default_float = value};
}
constexpr FormalAttribute with(std::string_view name,
                               std::span<const std::int64_t> value) {
  return {.name = name,
          .kind = AttributeKind::kInts,
          .has_default = true,
          .default_ints = value};
}

// The minimum count, as the standard counts it: up to the last required one.
constexpr int least(std::span<const FormalValue> formals) {
  int count = 0;
  for (std::size_t i = 0; i < formals.size(); ++i) {
    if (formals[i].arity == Arity::kSingle) count = static_cast<int>(i) + 1;
  }
  return count;
}
constexpr int most(std::span<const FormalValue> formals) {
  if (!formals.empty() && formals.back().arity == Arity::kVariadic) {
    return INT_MAX;
  }
  return static_cast<int>(formals.size());
}
constexpr OpFacts row(std::string_view domain, std::string_view type,
                      std::span<const FormalValue> inputs,
                      std::span<const FormalValue> outputs,
                      std::span<const FormalAttribute> attributes) {
  return {domain,         type,          1,
          false,          least(inputs), most(inputs),
          least(outputs), most(outputs), inputs,
          outputs,        attributes};
}

constexpr AttributeKind kInt = AttributeKind::kInt;
constexpr AttributeKind kInts = AttributeKind::kInts;
constexpr AttributeKind kFloat = AttributeKind::kFloat;
constexpr std::string_view kInt64 = "tensor(int64)";
constexpr std::int64_t kNoShift[] = {0, 0};
constexpr std::int64_t kLastAxis[] = {-1};

constexpr FormalValue kX[] = {in("X")};
constexpr FormalValue kY[] = {in("Y")};
constexpr FormalValue kOutput[] = {in("output")};
constexpr FormalValue kQkv[] = {in("q"), in("k"), in("v")};

// --- ruleengine ------------------------------------------------------------

// What follows bias_v is an extra positional argument of the source module. A
// rule has to see it in order to leave the node alone.
constexpr FormalValue kMultiheadIn[] = {in("query"),
                                        in("key"),
                                        in("value"),
                                        opt("in_proj_weight"),
                                        opt("in_proj_bias"),
                                        in("out_proj_weight"),
                                        opt("out_proj_bias"),
                                        opt("attn_mask", "M"),
                                        opt("key_padding_mask", "tensor(bool)"),
                                        opt("q_proj_weight"),
                                        opt("k_proj_weight"),
                                        opt("v_proj_weight"),
                                        opt("bias_k"),
                                        opt("bias_v"),
                                        {"extra", Arity::kVariadic, "E"}};
constexpr FormalValue kMultiheadOut[] = {in("Y"), opt("weights")};
constexpr FormalAttribute kMultihead[] = {
    with("add_zero_attn", 0), with("batch_first", 0), with("dropout", 0.0f),
    need("embed_dim", kInt),  attr("kdim", kInt),     with("need_weights", 1),
    need("num_heads", kInt),  attr("vdim", kInt)};

constexpr FormalValue kShiftedIn[] = {
    in("x"),           in("qkv_weight"),
    in("proj_weight"), in("relative_position_bias"),
    opt("qkv_bias"),   opt("proj_bias"),
    opt("logit_scale")};
constexpr FormalAttribute kShifted[] = {
    with("attention_dropout", 0.0f), with("dropout", 0.0f),
    need("num_heads", kInt), with("shift_size", kNoShift),
    need("window_size", kInts)};

constexpr FormalValue kBiasIn[] = {in("table"), in("index", kInt64)};
constexpr FormalAttribute kWindow[] = {need("window_size", kInts)};

constexpr FormalValue kPartitionIn[] = {in("x")};
constexpr FormalValue kPartitionOut[] = {in("windows"), in("spatial", kInt64)};
constexpr FormalAttribute kPartition[] = {with("shift_size", kNoShift),
                                          need("window_size", kInts)};

constexpr FormalValue kSwinIn[] = {in("Q"),
                                   in("K"),
                                   in("V"),
                                   in("table"),
                                   in("index", kInt64),
                                   in("spatial", kInt64)};
constexpr FormalAttribute kSwin[] = {
    with("attention_dropout", 0.0f), need("head_dim", kInt),
    need("num_heads", kInt), need("window_size", kInts)};

constexpr FormalValue kProjectionIn[] = {in("query"), in("key"), in("value"),
                                         in("weight"), opt("bias")};
constexpr FormalAttribute kProjection[] = {need("head_dim", kInt),
                                           need("num_heads", kInt)};

constexpr FormalValue kReverseIn[] = {in("windows"), in("spatial", kInt64)};

constexpr FormalValue kSdpaIn[] = {in("Q"), in("K"), in("V"),
                                   opt("attn_mask", "M")};
constexpr FormalAttribute kSdpa[] = {
    with("dropout_p", 0.0f), attr("head_dim", kInt), with("is_causal", 0),
    need("num_heads", kInt), attr("scale", kFloat),  with("softcap", 0.0f)};

constexpr FormalValue kForwardIn[] = {in("q"), in("k"), in("v"),
                                      opt("attention_mask")};
constexpr FormalAttribute kForward[] = {with("is_causal", 0),
                                        need("sm_scale", kFloat)};

constexpr FormalValue kLinearIn[] = {in("x"), in("weight"), opt("bias")};

// --- aten ------------------------------------------------------------------

constexpr FormalValue kAtenSdpaIn[] = {in("q"), in("k"), in("v"),
                                       opt("attn_mask", "M")};
constexpr FormalAttribute kAtenSdpa[] = {
    with("dropout_p", 0.0f), with("enable_gqa", 0), with("is_causal", 0),
    attr("scale", kFloat)};

// --- com.microsoft ---------------------------------------------------------

// What the target ort writes. The domain has many more ops.
constexpr FormalValue kContribIn[] = {in("query"),
                                      opt("key"),
                                      opt("value"),
                                      opt("bias"),
                                      opt("key_padding_mask", "M"),
                                      opt("attention_bias"),
                                      opt("past_key"),
                                      opt("past_value"),
                                      opt("past_sequence_length", "M"),
                                      opt("cache_indirection", "M")};
constexpr FormalValue kContribOut[] = {in("output"), opt("present_key"),
                                       opt("present_value"), opt("qk")};
constexpr FormalAttribute kContrib[] = {
    attr("mask_filter_value", kFloat), need("num_heads", kInt),
    attr("scale", kFloat), with("unidirectional", 0)};

constexpr FormalValue kRotaryIn[] = {in("input"), in("position_ids", kInt64),
                                     in("cos_cache"), in("sin_cache")};
constexpr FormalAttribute kRotary[] = {
    with("interleaved", 0), with("is_packed_batching", 0), with("num_heads", 0),
    with("rotary_embedding_dim", 0), with("scale", 1.0f)};

constexpr FormalValue kGeluIn[] = {in("X")};
constexpr FormalValue kFastGeluIn[] = {in("X"), opt("bias")};
constexpr FormalValue kBiasGeluIn[] = {in("A"), in("B")};
constexpr FormalValue kBiasGeluOut[] = {in("C")};
constexpr FormalAttribute kQuickGelu[] = {with("alpha", 1.702f)};
constexpr FormalValue kSkipNormIn[] = {in("input"), in("skip"), in("gamma"),
                                       opt("beta"), opt("bias")};
constexpr FormalValue kSkipRmsIn[] = {in("input"), in("skip"), in("gamma"),
                                      opt("bias")};
constexpr FormalValue kSkipNormOut[] = {in("output"), opt("mean", "U"),
                                        opt("inv_std_var", "U"),
                                        opt("input_skip_bias_sum")};
constexpr FormalAttribute kSkipNorm[] = {with("epsilon", 1e-12f)};
constexpr FormalValue kGroupedIn[] = {in("query"),
                                      opt("key"),
                                      opt("value"),
                                      opt("past_key", "C"),
                                      opt("past_value", "C"),
                                      in("seqlens_k", "M"),
                                      in("total_sequence_length", "M"),
                                      opt("cos_cache"),
                                      opt("sin_cache"),
                                      opt("position_ids", "P"),
                                      opt("attention_bias"),
                                      opt("head_sink"),
                                      opt("k_scale", "S"),
                                      opt("v_scale", "S"),
                                      opt("q_norm_weight"),
                                      opt("k_norm_weight")};
constexpr FormalValue kGroupedOut[] = {in("output"), opt("present_key", "C"),
                                       opt("present_value", "C"),
                                       opt("output_qk")};
constexpr FormalAttribute kGrouped[] = {
    with("causal", 1),
    with("do_rotary", 0),
    attr("k_quant_type", AttributeKind::kString),
    attr("kv_cache_bit_width", kInt),
    need("kv_num_heads", kInt),
    with("local_window_size", -1),
    need("num_heads", kInt),
    attr("qk_norm_epsilon", kFloat),
    attr("qk_output", kInt),
    with("rotary_interleaved", 0),
    attr("scale", kFloat),
    attr("sliding_window_cache", kInt),
    attr("smooth_softmax", kInt),
    with("softcap", 0.0f),
    attr("v_quant_type", AttributeKind::kString)};

// --- tensor_cast: collectives, norms, markers ------------------------------

// Some models leave rank_group out: then the number of ranks is unknown.
constexpr FormalAttribute kReduce[] = {attr("rank", kInt),
                                       attr("rank_group", kInts)};
constexpr FormalAttribute kScatter[] = {need("dim", kInt), attr("rank", kInt),
                                        attr("rank_group", kInts)};
constexpr FormalValue kNormIn[] = {in("x"), opt("weight")};
constexpr FormalValue kAddNormIn[] = {in("x"), in("residual"), opt("weight")};
constexpr FormalValue kAddNorm2Out[] = {in("Y"), opt("sum")};
constexpr FormalAttribute kNorm[] = {with("epsilon", 1e-6f)};
constexpr FormalAttribute kRegion[] = {attr("region_id", kInt)};

// --- tensor_cast: quantization ---------------------------------------------

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

// Sorted by domain and type. These rows come after all standard domains.
constexpr std::string_view kAten = "aten";
constexpr std::string_view kMicrosoft = "com.microsoft";
constexpr std::string_view kOwn = "ruleengine";
constexpr std::string_view kCast = "tensor_cast";
constexpr OpFacts kOps[] = {
    row(kAten, "scaled_dot_product_attention", kAtenSdpaIn, kOutput, kAtenSdpa),
    row(kMicrosoft, "BiasGelu", kBiasGeluIn, kBiasGeluOut, {}),
    row(kMicrosoft, "FastGelu", kFastGeluIn, kY, {}),
    row(kMicrosoft, "Gelu", kGeluIn, kY, {}),
    row(kMicrosoft, "GroupQueryAttention", kGroupedIn, kGroupedOut, kGrouped),
    row(kMicrosoft, "MultiHeadAttention", kContribIn, kContribOut, kContrib),
    row(kMicrosoft, "QuickGelu", kGeluIn, kY, kQuickGelu),
    row(kMicrosoft, "RotaryEmbedding", kRotaryIn, kOutput, kRotary),
    row(kMicrosoft, "SkipLayerNormalization", kSkipNormIn, kSkipNormOut,
        kSkipNorm),
    row(kMicrosoft, "SkipSimplifiedLayerNormalization", kSkipRmsIn,
        kSkipNormOut, kSkipNorm),
    row(kOwn, "AttentionForward", kForwardIn, kOutput, kForward),
    row(kOwn, "Linear", kLinearIn, kY, {}),
    row(kOwn, "MHAInProjection", kProjectionIn, kQkv, kProjection),
    row(kOwn, "MultiheadAttention", kMultiheadIn, kMultiheadOut, kMultihead),
    row(kOwn, "RelativePositionBias", kBiasIn, kOutput, kWindow),
    row(kOwn, "ScaledDotProductAttention", kSdpaIn, kY, kSdpa),
    row(kOwn, "ShiftedWindowAttention", kShiftedIn, kY, kShifted),
    row(kOwn, "SwinAttention", kSwinIn, kY, kSwin),
    row(kOwn, "SwinWindowPartition", kPartitionIn, kPartitionOut, kPartition),
    row(kOwn, "SwinWindowReverse", kReverseIn, kY, kWindow),
    row(kCast, "_internal_copy_region", kX, kY, {}),
    row(kCast, "_internal_mark_region_begin", kX, kY, kRegion),
    row(kCast, "_internal_mark_region_end", kX, kY, kRegion),
    row(kCast, "add_rms_norm", kAddNormIn, kY, kNorm),
    row(kCast, "add_rms_norm2", kAddNormIn, kAddNorm2Out, kNorm),
    row(kCast, "all_gather", kX, kY, kScatter),
    row(kCast, "all_reduce", kX, kY, kReduce),
    row(kCast, "dynamic_quantize_asymmetric", kX, kAsymmetricOut, kDynamic),
    row(kCast, "dynamic_quantize_mxfp4", kX, kSymmetricOut, kGroup),
    row(kCast, "dynamic_quantize_symmetric", kX, kSymmetricOut, kDynamic),
    row(kCast, "fp8_linear", kScaledIn, kScaledOut, kToFloat),
    row(kCast, "mxfp4_linear", kScaledIn, kScaledOut, kGroupToFloat),
    row(kCast, "quantize", kQuantizeIn, kQuantizeOut, kToInt8),
    row(kCast, "reduce_scatter", kX, kY, kScatter),
    row(kCast, "rms_norm", kNormIn, kY, kNorm),
    row(kCast, "static_quant_linear", kStaticIn, kScaledOut, kToFloat),
    row(kCast, "static_quant_linear_int4", kStaticIn, kScaledOut, kToFloat),
};

}  // namespace ruleengine::ir::dialect

#endif  // RULEENGINE_CORE_OPS_DIALECT_H_
