// Attention of queries, keys and values that are there.
#include <algorithm>

#include "core/ops/dialect/our_row.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::Dim;

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

constexpr FormalValue kSdpaIn[] = {in("Q"), in("K"), in("V"),
                                   opt("attn_mask", "M")};
constexpr FormalAttribute kSdpa[] = {
    with("dropout_p", 0.0f), attr("head_dim", kInt), with("is_causal", 0),
    need("num_heads", kInt), attr("scale", kFloat),  with("softcap", 0.0f)};

constexpr FormalValue kForwardIn[] = {in("q"), in("k"), in("v"),
                                      opt("attention_mask")};
constexpr FormalAttribute kForward[] = {with("is_causal", 0),
                                        need("sm_scale", kFloat)};

constexpr FormalValue kAtenSdpaIn[] = {in("q"), in("k"), in("v"),
                                       opt("attn_mask", "M")};
constexpr FormalAttribute kAtenSdpa[] = {
    with("dropout_p", 0.0f), with("enable_gqa", 0), with("is_causal", 0),
    attr("scale", kFloat)};

// Outputs [B,S,E] and, where the layout says so, the weights [B,S,L].
bool multihead_attention(const NodeView& v, Outputs out) {
  copy_type(v, 0, out[0]);
  if (out.size() < 2) return true;
  out[1].elem = v.elem(0);
  if (!v.ranked(0) || !v.ranked(1) || v.rank(0) != 3 || v.rank(1) != 3) {
    return true;
  }
  const std::size_t batch = v.attribute_int("batch_first") != 0 ? 0 : 1;
  const bool longer = v.has_input("bias_k") || v.has_input("bias_v") ||
                      v.attribute_int("add_zero_attn") != 0;
  out[1].set_dims(Shape{v.shape(0)[batch], v.shape(0)[1 - batch],
                        longer ? kUnknown : v.shape(1)[1 - batch]});
  return true;
}

// Heads of the queries that share one of `own`, in a row.
void need_groups(const NodeView& v, Dim heads, Dim own) {
  if (!heads.known() || !own.known()) return;
  if (own.size() <= 0 || heads.size() % own.size() != 0) {
    v.refuse("the heads of keys or values do not divide those of queries");
  }
}

// Broadcasts to the scores, or is refused.
void need_mask(const NodeView& v, std::span<const Dim> scores) {
  const DataType elem = v.elem(3);
  if (elem != DataType::kUndefined && elem != DataType::kBool &&
      v.elem(0) != DataType::kUndefined && elem != v.elem(0)) {
    v.refuse("the mask is neither bool nor of the type of the scores");
  }
  if (!v.ranked(3)) return;
  if (v.rank(3) > scores.size()) {
    return v.refuse("the mask has more axes than the scores");
  }
  const auto target = scores.last(v.rank(3));
  for (std::size_t i = 0; i < target.size(); ++i) {
    const Dim d = v.shape(3)[i];
    if (d != Dim(1)) need_equal(v, d, target[i], "the mask does not fit");
  }
}

// What softmax(q k^T + mask) v asks of its inputs, [..., heads, length, size].
void need_attention(const NodeView& v) {
  if (!v.ranked(0) || !v.ranked(1) || !v.ranked(2)) return;
  const std::size_t rank = v.rank(0);
  if (rank < 2 || v.rank(1) != rank || v.rank(2) != rank) {
    return v.refuse("queries, keys and values differ in rank");
  }
  const auto q = v.shape(0), k = v.shape(1), values = v.shape(2);
  need_equal(v, q[rank - 1], k[rank - 1], "queries and keys differ in size");
  need_equal(v, k[rank - 2], values[rank - 2],
             "keys and values differ in length");
  const std::size_t batch = rank - std::min<std::size_t>(rank, 3);
  Dims scores = broadcast_shapes(v, q.first(batch), k.first(batch));
  if (rank > 2) {
    need_groups(v, q[rank - 3], k[rank - 3]);
    need_groups(v, q[rank - 3], values[rank - 3]);
    const Dim heads = count(v.attribute_int("num_heads"));
    if (rank == 4) need_equal(v, q[1], heads, "num_heads is another number");
    scores.push_back(q[rank - 3]);
  }
  scores.push_back(q[rank - 2]);
  scores.push_back(k[rank - 2]);
  if (v.has_input(3)) need_mask(v, scores);
}

// The batch of the query, which may be 1 beside that of the keys.
Dim batch_of(const NodeView& v) {
  const Dim own = v.shape(0)[0];
  for (std::size_t i = 1; i < 3; ++i) {
    const bool as_wide = v.ranked(i) && v.rank(i) == v.rank(0);
    const Dim other = as_wide ? v.shape(i)[0] : kUnknown;
    if (own == Dim(1) && other != Dim(1)) return other;
    if (!own.known() && other.known() && other != Dim(1)) return other;
  }
  return own;
}

// Q's shape with V's last axis.
bool dot_product_attention(const NodeView& v, Outputs out) {
  need_attention(v);
  out[0].elem = v.elem(0);
  if (!v.ranked(0) || v.rank(0) == 0) return true;
  out[0].set_dims(v.shape(0));
  if (v.rank(0) == 4) out[0].dims[0] = batch_of(v);
  // A mask may have more rows than the queries.
  const std::size_t rows = v.rank(0) - 2;
  if (v.rank(0) >= 2 && v.ranked(3) && v.rank(3) >= 2) {
    const Dim masked = v.shape(3)[v.rank(3) - 2];
    out[0].dims[rows] = broadcast_axis(v, v.shape(0)[rows], masked);
  }
  const bool known = v.ranked(2) && v.rank(2) == v.rank(0);
  out[0].dims.back() = known ? v.shape(2).back() : kUnknown;
  return true;
}

constexpr OpRow kRows[] = {
    ours(ir::dialect::kAten, "scaled_dot_product_attention", kAtenSdpaIn,
         kOutput, kAtenSdpa,
         {.roles = {.attention = true},
          .types = {dot_product_attention},
          .formula = "as in PyTorch, on [B,H,S,D]"}),
    ours(ir::dialect::kOwn, "AttentionForward", kForwardIn, kOutput, kForward,
         {.roles = {.attention = true},
          .types = {dot_product_attention},
          .formula = "softmax(q k^T sm_scale + mask) v"}),
    ours(ir::dialect::kOwn, "MultiheadAttention", kMultiheadIn, kMultiheadOut,
         kMultihead,
         {.roles = {.attention = true},
          .types = {multihead_attention},
          .formula = "nn.MultiheadAttention of PyTorch"}),
    ours(ir::dialect::kOwn, "ScaledDotProductAttention", kSdpaIn, kY, kSdpa,
         {.roles = {.attention = true},
          .types = {dot_product_attention},
          .formula = "softmax(cap(q k^T scale) + causal + mask) v"}),
};

}  // namespace

std::span<const OpRow> dialect::attention() { return kRows; }

}  // namespace ruleengine::ops
