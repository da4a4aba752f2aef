// Types of the ops outside the standard that the engine makes and reads itself
// (docs/dialect.md).
#include <algorithm>

#include "core/analysis/types/rule_helpers.h"

namespace ruleengine::analysis {
namespace {

using ir::DataType;
using ir::Dim;
using Shape = std::vector<Dim>;

bool like_first(const NodeView& v, Outputs out) {
  for (Inferred& o : out) copy_type(v, 0, o);
  return true;
}

// A file may declare one leading 1 more or less: then nothing is said.
void loosely(const NodeView& v, Outputs out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const ir::ValueId value = v.graph().output(v.id(), i);
    const ir::Type* declared =
        value ? v.graph().value(value).declared : nullptr;
    if (declared != nullptr && declared->has_shape && out[i].ranked &&
        (declared->rank() == out[i].dims.size() + 1 ||
         declared->rank() + 1 == out[i].dims.size())) {
      out[i].ranked = false;
      out[i].dims.clear();
    }
  }
}

bool all_reduce(const NodeView& v, Outputs out) {
  like_first(v, out);
  loosely(v, out);
  return true;
}

// Of the first input's element type, and as wide as all inputs together: what
// is computed element by element with whatever broadcasts.
bool like_all(const NodeView& v, Outputs out, std::size_t count) {
  Dims shape;
  bool ranked = true;
  for (std::size_t i = 0; i < count && ranked; ++i) {
    if (i > 0 && !v.has_input(i)) continue;
    ranked = v.ranked(i);
    if (ranked) shape = broadcast_shapes(v, shape, v.shape(i));
  }
  for (Inferred& o : out) {
    o.elem = v.elem(0);
    if (ranked) o.set_dims(shape);
  }
  return true;
}

// A weight goes along the last axis, but nothing keeps it from being wider.
bool norm(const NodeView& v, Outputs out) { return like_all(v, out, 2); }

bool norm_of_sum(const NodeView& v, Outputs out) { return like_all(v, out, 3); }

// The second output is the sum alone.
bool norm_and_sum(const NodeView& v, Outputs out) {
  like_all(v, out, 3);
  if (out.size() > 1) like_all(v, out.subspan(1), 2);
  loosely(v, out);
  return true;
}

// Of heads, or their size: a node that does not say it has 0.
Dim count(std::int64_t n) { return n > 0 ? Dim(n) : kUnknown; }

Dim product(const NodeView& v, Dim a, Dim b) {
  return a == kUnknown || b == kUnknown ? kUnknown : v.dims().mul(a, b);
}

// Outputs [B,S,E] and, where the layout says so, the weights [B,S,L].
bool multihead_attention(const NodeView& v, Outputs out) {
  if (!out.empty()) copy_type(v, 0, out[0]);
  if (out.size() < 2) return true;
  out[1].elem = v.elem(0);
  if (!v.ranked(0) || !v.ranked(1) || v.rank(0) != 3 || v.rank(1) != 3) {
    return true;
  }
  const std::size_t batch = v.attribute_int("batch_first") != 0 ? 0 : 1;
  const bool longer = v.has_input(12) || v.has_input(13) ||
                      v.attribute_int("add_zero_attn") != 0;
  out[1].set_dims(Shape{v.shape(0)[batch], v.shape(0)[1 - batch],
                        longer ? kUnknown : v.shape(1)[1 - batch]});
  return true;
}

struct Window {
  Dim height = kUnknown, width = kUnknown;
};

Window window(const NodeView& v) {
  const auto size = v.attribute_ints("window_size");
  if (!size || size->size() != 2 || (*size)[0] <= 0 || (*size)[1] <= 0) {
    return {};
  }
  return {Dim((*size)[0]), Dim((*size)[1])};
}

bool relative_position_bias(const NodeView& v, Outputs out) {
  const Window w = window(v);
  const Dim n = product(v, w.height, w.width);
  out[0].elem = v.elem(0);
  const bool known = v.ranked(0) && v.rank(0) == 2;
  out[0].set_dims(Shape{Dim(1), known ? v.shape(0)[1] : kUnknown, n, n});
  return true;
}

bool window_partition(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (out.size() > 1) {
    out[1].elem = DataType::kInt64;
    out[1].set_dims(Shape{Dim(7)});
  }
  if (!v.ranked(0) || v.rank(0) != 4) return true;
  const Window w = window(v);
  if (w.height == kUnknown) return true;
  ir::DimTable& dims = v.dims();
  const auto x = v.shape(0);
  const Dim windows =
      dims.mul(dims.ceil_div(x[1], w.height), dims.ceil_div(x[2], w.width));
  out[0].set_dims(
      Shape{dims.mul(x[0], windows), dims.mul(w.height, w.width), x[3]});
  return true;
}

bool swin_attention(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  const auto heads = v.attribute_int("num_heads");
  const auto size = v.attribute_int("head_dim");
  const bool known = v.ranked(0) && v.rank(0) == 4;
  out[0].set_dims(Shape{known ? v.shape(0)[0] : kUnknown,
                        known ? v.shape(0)[2] : kUnknown,
                        product(v, count(heads), count(size))});
  return true;
}

bool in_projection(const NodeView& v, Outputs out) {
  const Dim heads = count(v.attribute_int("num_heads"));
  const Dim size = count(v.attribute_int("head_dim"));
  const bool has_weight = v.ranked(3) && v.rank(3) == 2;
  if (has_weight && heads != kUnknown && size != kUnknown) {
    need_equal(v, v.shape(3)[0],
               v.dims().mul(Dim(3), v.dims().mul(heads, size)),
               "the weight has not three times heads by head_dim rows");
  }
  for (std::size_t i = 0; i < 3 && has_weight; ++i) {
    if (!v.ranked(i) || v.rank(i) != 3) continue;
    need_equal(v, v.shape(i)[2], v.shape(3)[1],
               "the weight takes another size");
  }
  for (std::size_t i = 0; i < out.size() && i < 3; ++i) {
    out[i].elem = v.elem(i);
    const bool known = v.ranked(i) && v.rank(i) == 3;
    out[i].set_dims(Shape{known ? v.shape(i)[0] : kUnknown, heads,
                          known ? v.shape(i)[1] : kUnknown, size});
  }
  return true;
}

bool window_reverse(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  Shape dims(4, kUnknown);
  if (v.ranked(0) && v.rank(0) == 3) dims[3] = v.shape(0)[2];
  if (const auto spatial = v.elements(1); spatial && spatial->size() == 7) {
    for (std::size_t i = 0; i < 3; ++i) dims[i] = (*spatial)[i];
  }
  out[0].set_dims(std::move(dims));
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

bool linear(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (!v.ranked(0) || v.rank(0) == 0) return true;
  out[0].set_dims(v.shape(0));
  const bool known = v.ranked(1) && v.rank(1) == 2;
  out[0].dims.back() = known ? v.shape(1)[0] : kUnknown;
  if (v.ranked(1) && !known) v.refuse("the weight is no matrix");
  if (known) {
    need_equal(v, v.shape(0).back(), v.shape(1)[1],
               "the weight takes another size");
  }
  return true;
}

std::optional<std::size_t> sharded_axis(const NodeView& v) {
  return v.ranked(0) ? ir::place_of_axis(v.attribute_int("dim"), v.rank(0))
                     : std::nullopt;
}

Dim world(const NodeView& v) {
  const auto group = v.attribute_ints("rank_group");
  if (!group || group->empty()) return kUnknown;
  return Dim(static_cast<std::int64_t>(group->size()));
}

bool reduce_scatter(const NodeView& v, Outputs out) {
  copy_type(v, 0, out[0]);
  if (const auto axis = sharded_axis(v)) {
    Dim& d = out[0].dims[*axis];
    const Dim ranks = world(v);
    // Divisible, so the floor is the quotient.
    d = ranks == kUnknown ? kUnknown : v.dims().floor_div(d, ranks);
  }
  return true;
}

bool all_gather(const NodeView& v, Outputs out) {
  copy_type(v, 0, out[0]);
  if (const auto axis = sharded_axis(v)) {
    out[0].dims[*axis] = product(v, out[0].dims[*axis], world(v));
  }
  return true;
}

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
    const auto axes =
        v.attribute_ints("dims").value_or(std::vector<std::int64_t>{-1});
    if (axes.empty()) {
      out[o].set_dims(Shape());
    } else if (v.ranked(0)) {
      const auto places = places_of_axes(axes, v.rank(0));
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

// No op of ours is without outputs, but a file may write it so.
template <TypeFunction kRule>
bool with_output(const NodeView& v, Outputs out) {
  return out.empty() || kRule(v, out);
}

constexpr TypeRule row(std::string_view domain, std::string_view type,
                       TypeFunction rule, std::uint32_t values = 0) {
  return {domain, type, rule, values};
}

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

// [B,S,H*E] of a query and a value that are [B,S,...] and [B,L,H*E].
bool contrib_attention(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (!v.ranked(0) || v.rank(0) != 3 || !v.ranked(2) || v.rank(2) != 3) {
    return true;
  }
  out[0].set_dims(Shape{v.shape(0)[0], v.shape(0)[1], v.shape(2)[2]});
  return true;
}

// Rows of cosines and sines, which positions (input 1) pick.
bool contrib_rotary_embedding(const NodeView& v, Outputs out) {
  need_rank(v, 2, 2, "the cosines have another rank");
  need_rank(v, 3, 2, "the sines have another rank");
  return like_first(v, out);
}

constexpr std::string_view kOwn = "ruleengine";
constexpr std::string_view kCast = "tensor_cast";
constexpr TypeRule kRules[] = {
    row("aten", "scaled_dot_product_attention",
        with_output<dot_product_attention>),
    row("com.microsoft", "BiasGelu", with_output<like_first>),
    row("com.microsoft", "FastGelu", with_output<like_first>),
    row("com.microsoft", "Gelu", with_output<like_first>),
    row("com.microsoft", "GroupQueryAttention", with_output<grouped_attention>),
    row("com.microsoft", "MultiHeadAttention", with_output<contrib_attention>),
    row("com.microsoft", "QuickGelu", with_output<like_first>),
    row("com.microsoft", "RotaryEmbedding",
        with_output<contrib_rotary_embedding>),
    row("com.microsoft", "SkipLayerNormalization", with_output<skip_norm>),
    row("com.microsoft", "SkipSimplifiedLayerNormalization",
        with_output<skip_norm>),
    row(kOwn, "AttentionForward", with_output<dot_product_attention>),
    row(kOwn, "Linear", with_output<linear>),
    row(kOwn, "MHAInProjection", in_projection),
    row(kOwn, "MultiheadAttention", multihead_attention),
    row(kOwn, "RelativePositionBias", with_output<relative_position_bias>),
    row(kOwn, "ScaledDotProductAttention", with_output<dot_product_attention>),
    row(kOwn, "ShiftedWindowAttention", like_first),
    row(kOwn, "SwinAttention", with_output<swin_attention>),
    row(kOwn, "SwinWindowPartition", with_output<window_partition>),
    row(kOwn, "SwinWindowReverse", with_output<window_reverse>, 2),
    row(kCast, "_internal_copy_region", like_first),
    row(kCast, "_internal_mark_region_begin", like_first),
    row(kCast, "_internal_mark_region_end", like_first),
    row(kCast, "add_rms_norm", norm_of_sum),
    row(kCast, "add_rms_norm2", norm_and_sum),
    row(kCast, "all_gather", with_output<all_gather>),
    row(kCast, "all_reduce", all_reduce),
    row(kCast, "dynamic_quantize_asymmetric", with_output<dynamic_quantize>),
    row(kCast, "dynamic_quantize_mxfp4", with_output<dynamic_quantize_mxfp4>),
    row(kCast, "dynamic_quantize_symmetric", with_output<dynamic_quantize>),
    row(kCast, "fp8_linear", with_output<fp8_linear>),
    row(kCast, "mxfp4_linear", with_output<mxfp4_linear>),
    row(kCast, "quantize", with_output<quantize>),
    row(kCast, "reduce_scatter", with_output<reduce_scatter>),
    row(kCast, "rms_norm", norm),
    row(kCast, "static_quant_linear", with_output<static_quant_linear>),
    row(kCast, "static_quant_linear_int4", with_output<static_quant_linear>),
};

}  // namespace

std::span<const TypeRule> dialect_rules() { return kRules; }

}  // namespace ruleengine::analysis
