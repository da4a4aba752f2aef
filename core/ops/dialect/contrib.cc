// Ops of ONNX Runtime's own domain: those that the target ort writes, and what
// is known of some others.
#include "core/ops/dialect/our_row.h"
#include "core/ops/rules/flow.h"
#include "core/ops/sized_node.h"

namespace ruleengine::ops {
namespace {

using ir::Dim;

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

// The norm and the sum; mean and deviation between them are seldom read.
bool skip_norm(const NodeView& v, Outputs out) {
  copy_type(v, 0, out[0]);
  if (out.size() > 3) copy_type(v, 0, out[3]);
  return true;
}

// Like the query, where queries, keys and values come apart.
bool grouped_attention(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (v.input(1)) copy_type(v, 0, out[0]);
  return true;
}

// [B,S,H*E] of a query that is [B,S,...], and of values [B,L,H*E] or
// [B,H,L,E].
bool contrib_attention(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (!v.ranked(0) || v.rank(0) != 3 || !v.ranked(2)) return true;
  const auto values = v.shape(2);
  if (values.size() != 3 && values.size() != 4) return true;
  const Dim size =
      values.size() == 3 ? values[2] : product(v, values[1], values[3]);
  out[0].set_dims(Shape{v.shape(0)[0], v.shape(0)[1], size});
  return true;
}

// Rows of cosines and sines, which positions (input 1) pick.
bool contrib_rotary_embedding(const NodeView& v, Outputs out) {
  need_rank(v, 2, 2, "wrong rank of the cosines");
  need_rank(v, 3, 2, "wrong rank of the sines");
  return all_like_first(v, out);
}

// Keys are [B,L,H*D] or [B,H,L,D], a cache [B,H,P,D]; without keys they are
// packed with the queries.
double keys_of(const SizedNode& n, std::size_t past) {
  const double cached = n.node.has_input(past) ? n.in(past, -2) : 0;
  return cached + (n.node.has_input(1) ? n.in(1, -2) : n.in(0, 1));
}

double contrib_attention(const SizedNode& n) {
  return n.attended(keys_of(n, 6));
}

double grouped_attention(const SizedNode& n) {
  const auto heads = static_cast<double>(n.node.attribute_int("num_heads"));
  const auto groups = static_cast<double>(n.node.attribute_int("kv_num_heads"));
  const double all = n.node.has_input(1) ? heads : heads + 2 * groups;
  return 2 * keys_of(n, 3) * n.in(0) * heads / all;
}

// Attention with the projection to queries, keys and values, [size, 3 * width].
double projecting_attention(const SizedNode& n) {
  const double past = n.node.has_input(4) ? n.in(4, -2) : 0;
  double width = 2 * n.in(1, 1) / 3;  // of queries and values
  if (const auto own = n.node.attribute_ints("qkv_hidden_sizes");
      own && own->size() == 3) {
    width = static_cast<double>((*own)[0] + (*own)[2]);
  }
  return n.in(0, 0) * n.in(0, 1) * (n.in(1) + (n.in(0, 1) + past) * width);
}

double fused_matmul(const SizedNode& n) {
  return n.out(0) * n.in(0, n.node.attribute_int("transA") != 0 ? -2 : -1);
}

double matmul_nbits(const SizedNode& n) {
  return n.in(0) * static_cast<double>(n.node.attribute_int("N"));
}

// Ops that no target writes, of which no more is known.
constexpr OpRow other(std::string_view type, Roles roles,
                      Factors factors = {}) {
  return {.domain = dialect::kMicrosoft,
          .type = type,
          .roles = roles,
          .factors = factors};
}

constexpr OpRow other_attention(
    std::string_view type, double (*products)(const SizedNode&) = nullptr) {
  OpRow row = other(type, {.attention = true});
  row.products = products;
  return row;
}

constexpr OpRow kDialectContrib[] = {
    ours(dialect::kMicrosoft, "BiasGelu", kBiasGeluIn, kBiasGeluOut, {},
         {.types = {all_like_first}, .formula = "Gelu(A + B)"}),
    ours(dialect::kMicrosoft, "FastGelu", kFastGeluIn, kY, {},
         {.types = {all_like_first}, .formula = "Gelu(X + bias), by tanh"}),
    ours(dialect::kMicrosoft, "Gelu", kGeluIn, kY, {},
         {.family = OpFamily::kElementwise,
          .types = {all_like_first},
          .axes = flow_elementwise,
          .formula = "x (1 + erf(x / sqrt(2))) / 2"}),
    ours(dialect::kMicrosoft, "GroupQueryAttention", kGroupedIn, kGroupedOut,
         kGrouped,
         {.roles = {.attention = true},
          .types = {grouped_attention},
          .products = grouped_attention,
          .formula = "Attention over a cache, with groups of heads"}),
    ours(dialect::kMicrosoft, "MultiHeadAttention", kContribIn, kContribOut,
         kContrib,
         {.roles = {.attention = true},
          .types = {contrib_attention},
          .products = contrib_attention,
          .formula = "softmax(q k^T scale + mask) v, heads merged"}),
    ours(dialect::kMicrosoft, "QuickGelu", kGeluIn, kY, kQuickGelu,
         {.family = OpFamily::kElementwise,
          .types = {all_like_first},
          .axes = flow_elementwise,
          .formula = "x sigmoid(alpha x)"}),
    ours(dialect::kMicrosoft, "RotaryEmbedding", kRotaryIn, kOutput, kRotary,
         {.types = {contrib_rotary_embedding},
          .formula = "pairs of x turned by the angles of their positions"}),
    ours(dialect::kMicrosoft, "SkipLayerNormalization", kSkipNormIn,
         kSkipNormOut, kSkipNorm,
         {.roles = {.normalizing = true},
          .types = {skip_norm},
          .axes = flow_norm,
          .sum_output = 3,
          .formula = "LayerNormalization(input + skip + bias)"}),
    ours(dialect::kMicrosoft, "SkipSimplifiedLayerNormalization", kSkipRmsIn,
         kSkipNormOut, kSkipNorm,
         {.roles = {.normalizing = true},
          .types = {skip_norm},
          .axes = flow_norm,
          .sum_output = 3,
          .formula = "RMSNormalization(input + skip + bias)"}),
    {.domain = dialect::kMicrosoft,
     .type = "FusedMatMul",
     .factors = {true},
     .products = fused_matmul},
    {.domain = dialect::kMicrosoft,
     .type = "MatMulNBits",
     .products = matmul_nbits},
    other("DynamicQuantizeMatMul", {}, {true, 0, 1, true}),
    other("FusedGemm", {}, {true}),
    other("FusedMatMulActivation", {}, {true}),
    other("MatMulIntegerToFloat", {}, {true, 0, 1, true}),
    other("QGemm", {}, {true, 0, 3, true}),
    other("TransposeMatMul", {}, {true}),
    other("DequantizeLinear", {.dequantizes = true}),
    other("QLinearAdd", {.linear = true}),
    other("QLinearMul", {.linear = true}),
    other("QLinearWhere", {.joins = true}),
    other("QuantizeLinear", {.quantizes = true}),
    other_attention("Attention", projecting_attention),
    other_attention("DecoderMaskedMultiHeadAttention"),
    other_attention("PackedAttention"),
    other_attention("PackedMultiHeadAttention"),
    other_attention("PagedAttention"),
    other_attention("QAttention"),
    other_attention("SparseAttention"),
};

}  // namespace

std::span<const OpRow> dialect::contrib() { return kDialectContrib; }

}  // namespace ruleengine::ops
