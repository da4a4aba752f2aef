// Attention of queries, keys and values that are there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/ops/call_site.h"
#include "core/ops/dialect/our_row.h"
#include "core/ops/rules/meaning_helpers.h"
#include "core/ops/sized_node.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::Dim;
using ir::ValueId;

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
    with("dropout_p", 0.0f), permission("guarded", 1), attr("head_dim", kInt),
    with("is_causal", 0),    need("num_heads", kInt),  attr("scale", kFloat),
    with("softcap", 0.0f)};

constexpr FormalValue kForwardIn[] = {in("q"), in("k"), in("v"),
                                      opt("attention_mask")};
constexpr FormalAttribute kForward[] = {
    permission("guarded", 1), with("is_causal", 0), need("sm_scale", kFloat)};

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
    if (rank == 4)
      need_equal(v, q[1], heads, "num_heads is not the number of heads");
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
  // A mask may have more rows than the queries, and sizes with names that are 1
  // in the queries when the model runs.
  if (v.ranked(3) && v.rank(3) <= v.rank(0)) {
    const std::size_t skip = v.rank(0) - v.rank(3);
    for (std::size_t i = 0; i + 1 < v.rank(3); ++i) {
      Dim& size = out[0].dims[skip + i];
      size = broadcast_axis(v, size, v.shape(3)[i]);
    }
  }
  const bool known = v.ranked(2) && v.rank(2) == v.rank(0);
  out[0].dims.back() = known ? v.shape(2).back() : kUnknown;
  return true;
}

double dot_product_attention(const SizedNode& n) {
  return n.attended(n.in(1, -2));
}

// The projections of all inputs and of the result, and what is between them.
double multihead_attention(const SizedNode& n) {
  const NodeView& v = n.node;
  const bool later =
      v.attribute_int("batch_first") != 0 && n.node.ranked(1) && v.rank(1) == 3;
  double keys = n.in(1, later ? 1 : 0);
  if (v.has_input("bias_k")) ++keys;
  if (v.attribute_int("add_zero_attn") != 0) ++keys;
  const auto width = static_cast<double>(v.attribute_int("embed_dim"));
  return width * (n.in(0) + n.in(1) + n.in(2) + n.out(0)) +
         keys * (n.out(0) + n.out(0));
}

// More heads than anybody means: each is a number of the model.
constexpr std::int64_t kMostHeads = 1 << 16;

// The names that the inputs have in the rows of the three ops.
struct Names {
  std::string_view q, k, v, mask;
};

class Attention {
 public:
  Attention(const CallSite& call, const Names& names)
      : call_(call),
        body_(call.body()),
        names_(names),
        rank_(static_cast<std::int64_t>(call.rank_or(names.q, 4))) {
    if (rank_ != 4) body_.note(fmt::format("rank{}", rank_));
  }

  Body::Values write(std::string_view scale_attribute, float softcap) {
    if (rank_ < 2) body_.refuse("queries have less than two axes", q());
    share_ = find_share();
    const ValueId k = repeated(names_.k, "all_keys");
    const ValueId values = repeated(names_.v, "all_values");
    const bool late = scales_scores(scale_attribute);
    const ValueId queries =
        together(late ? q() : scaled(q(), scale_attribute), "grouped_Q");
    ValueId s = body_.node("MatMul", {queries, swapped(k)}, "scores");
    s = apart(s, "scores_of_heads");
    if (late) s = scaled(s, scale_attribute);
    s = masked(capped(s, softcap));
    const ValueId p = softmax(s);
    if (may_add_rows()) rows_ = {};  // the mask says how many there are
    const ValueId weights = together(p, "grouped_weights");
    return {apart(body_.node("MatMul", {weights, values}, "Y"), "Y_of_heads")};
  }

 private:
  ValueId q() const { return call_[names_.q]; }
  ValueId mask() const { return call_[names_.mask]; }

  // Heads of queries.
  std::int64_t heads() const {
    const std::int64_t said =
        call_.has_attribute("num_heads") ? call_.quiet_int("num_heads") : 0;
    return said > 0 ? said : call_.quiet_size(names_.q, 3);
  }

  // The number of query heads that one head of keys and values serves, if it is
  // known and more than 1; else 0. Such heads stand in a row, so their queries
  // are the rows of one product and no key is repeated:
  // [B,H,S,D] = [B,G,H/G S,D].
  std::int64_t find_share() const {
    const std::int64_t all = heads(), own = call_.quiet_size(names_.k, 3);
    if (rank_ < 3 || own <= 0 || own != call_.quiet_size(names_.v, 3) ||
        all <= own || all > kMostHeads || all % own != 0) {
      return 0;
    }
    body_.note(fmt::format("{}_{}of{}", names_.k, own, all));
    return all / own;
  }

  // x, [...,H,rows,_], as [...,G,H/G rows,_].
  ValueId together(ValueId x, std::string_view name) {
    if (share_ == 0) return x;
    if (!rows_) {
      rows_ = body_.node("Gather",
                         {body_.node("Shape", {x}, "shape_of_rows"),
                          body_.integers({rank_ - 2}, "axis_of_rows")},
                         "rows");
    }
    const ValueId all = body_.node(
        "Mul", {rows_, body_.integers({share_}, "share")}, "rows_of_group");
    return reshaped(x, heads() / share_, all, name);
  }
  // And back.
  ValueId apart(ValueId x, std::string_view name) {
    return share_ == 0 ? x : reshaped(x, heads(), rows_, name);
  }

  // The zeros keep the other axes as they are, also where one is 0.
  ValueId reshaped(ValueId x, std::int64_t heads, ValueId rows,
                   std::string_view name) {
    std::vector<std::int64_t> first(static_cast<std::size_t>(rank_ - 3));
    first.push_back(heads);
    const ValueId shape = body_.joined({body_.integers(first, "first_sizes"),
                                        rows, body_.integers({0}, "last_size")},
                                       "sizes");
    return body_.node("Reshape", {x, shape}, name);
  }

  // Whether the scores may have more rows than the queries.
  bool may_add_rows() const {
    if (share_ == 0 || !mask() || call_.rank_or(names_.mask, 2) < 2)
      return false;
    const bool fits = call_.quiet_size(names_.mask, 2) == 1 ||
                      call_.same_size(names_.q, names_.mask, 2);
    if (!fits) body_.note("more_rows");
    return !fits;
  }

  // Heads of keys or values, each once for each query head that shares it. One
  // head alone broadcasts.
  ValueId repeated(std::string_view input, std::string_view name) {
    const ValueId x = call_[input];
    if (share_ != 0) return x;
    const std::int64_t own = call_.quiet_size(input, 3), all = heads();
    const bool as_many =
        own > 0 ? own == all || own == 1 : call_.same_size(names_.q, input, 3);
    if (rank_ < 3 || as_many) return x;
    body_.note(fmt::format("{}_{}of{}", input, own, all));
    if (own > 0 && (all > kMostHeads || all % own != 0)) {
      body_.refuse("wrong number of heads of the keys", x);
      return x;
    }
    return body_.node(
        "Gather", {x, own > 0 && all > 0 ? heads_of(own, all) : heads_of(x)},
        name, {Body::integer("axis", rank_ - 3)});
  }

  // The key head of each query head.
  ValueId heads_of(std::int64_t own, std::int64_t all) {
    std::vector<std::int64_t> which(static_cast<std::size_t>(all));
    for (std::size_t i = 0; i < which.size(); ++i) {
      which[i] = static_cast<std::int64_t>(i) / (all / own);
    }
    return body_.integers(which, "heads");
  }
  // The same where the numbers of heads are known only when the model runs.
  ValueId heads_of(ValueId x) {
    const ValueId one = body_.integers({1}, "one", true);
    const ValueId zero = body_.integers({0}, "zero", true);
    const ValueId all = body_.size_of(q(), rank_ - 3, "all_heads");
    const ValueId own = body_.size_of(x, rank_ - 3, "own_heads");
    const auto positive = [&](ValueId n) {
      const ValueId none = body_.node("Equal", {n, zero}, "is_zero");
      return body_.node("Where", {none, one, n}, "at_least_one");
    };
    const ValueId share =
        body_.node("Div", {all, positive(own)}, "heads_of_one");
    return body_.node("Div", {body_.places_below(all), positive(share)},
                      "heads");
  }

  // The factor multiplies the queries, which are fewer numbers than keys or
  // scores, and then float16 does not overflow before it is scaled. If there
  // may be more queries than keys, the scores: each runtime knows a better
  // place for that.
  bool scales_scores(std::string_view attribute) const {
    const ir::DataType elem = call_.quiet_elem(names_.q);
    const bool wide =
        elem == ir::DataType::kFloat || elem == ir::DataType::kDouble;
    const bool known =
        call_.is_written(attribute) || call_.quiet_size(names_.q, 1) > 0;
    if (!wide || !known || call_.at_most(names_.q, names_.k, 2)) return false;
    body_.note("late");
    return true;
  }

  // x times the factor of the scores. The default is 1 / sqrt(size of a head).
  ValueId scaled(ValueId x, std::string_view attribute) {
    const bool written = call_.is_written(attribute);
    const std::int64_t size = written ? 0 : call_.size(names_.q, 1);
    if (!written && size <= 0) return divided_by_root();
    const double scale = written ? double{call_.float_of(attribute)}
                                 : 1 / std::sqrt(static_cast<double>(size));
    if (scale == 1) return x;
    const ValueId factor =
        is_double() ? body_.number(scale, ir::DataType::kDouble, "scale")
                    : body_.number(scale, q(), "scale");
    return body_.node("Mul", {x, factor}, "scaled");
  }

  // Whether the factor is a double: 1 / sqrt(size) need not be a float.
  bool is_double() {
    const bool is = call_.quiet_elem(names_.q) == ir::DataType::kDouble;
    if (is) body_.note("double");
    return is;
  }

  ValueId divided_by_root() {
    const ValueId shape = body_.node("Shape", {q()}, "shape");
    const ValueId size = body_.node(
        "Gather", {shape, body_.integers({rank_ - 1}, "last")}, "size");
    const ValueId real = body_.cast(
        size, is_double() ? ir::DataType::kDouble : ir::DataType::kFloat,
        "size_real");
    const ValueId root = body_.node("Sqrt", {real}, "root");
    return body_.node("Div", {q(), body_.like(root, q(), "divisor")},
                      "scaled_Q");
  }

  ValueId swapped(ValueId k) {
    std::vector<std::int64_t> perm(static_cast<std::size_t>(rank_));
    std::iota(perm.begin(), perm.end(), std::int64_t{0});
    if (rank_ >= 2) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return body_.transposed(k, perm, "keys_transposed");
  }

  // softcap tanh(s / softcap)
  ValueId capped(ValueId s, float softcap) {
    if (softcap == 0) return s;
    const ValueId cap = body_.number(softcap, q(), "softcap");
    const ValueId part = body_.node("Div", {s, cap}, "scores_of_cap");
    return body_.node("Mul", {body_.node("Tanh", {part}, "scores_bent"), cap},
                      "capped_scores");
  }

  ValueId masked(ValueId s) {
    const auto never = [&] {
      constexpr float kNever = -std::numeric_limits<float>::infinity();
      return body_.number(kNever, q(), "never");
    };
    if (call_.int_of("is_causal") != 0) {
      s = body_.node("Where", {behind(), never(), s}, "causal_scores");
    }
    if (!mask()) return s;
    if (call_.elem(names_.mask) == ir::DataType::kBool) {
      return body_.node("Where", {mask(), s, never()}, "masked_scores");
    }
    return body_.node("Add", {s, mask()}, "masked_scores");
  }

  // [S, L]: true where the key is behind the query.
  ValueId behind() {
    const ValueId query =
        body_.node("Unsqueeze", {places(names_.q), body_.integers({1}, "axis")},
                   "query_column");
    const ValueId key =
        body_.node("Unsqueeze", {places(names_.k), body_.integers({0}, "axis")},
                   "key_row");
    return body_.node("Greater", {key, query}, "behind");
  }

  // 0, 1, ... along the axis before the last one.
  ValueId places(std::string_view input) {
    return body_.places_below(body_.size_of(call_[input], rank_ - 2, "length"));
  }

  ValueId softmax(ValueId s) {
    body_.set_rank(s, static_cast<std::size_t>(rank_));
    const ValueId p = body_.node("Softmax", {s}, "probabilities",
                                 {Body::integer("axis", rank_ - 1)});
    // Only a mask hides every key of a query, which then gives zeros; to look
    // for such rows costs up to a third of the attention.
    const bool free =
        call_.has_attribute("guarded") && call_.int_of("guarded") == 0;
    if (!mask() || free) return p;
    const ValueId none = body_.node("IsNaN", {p}, "sees_nothing");
    return body_.node("Where", {none, body_.number(0, q(), "nothing"), p},
                      "weights");
  }

  const CallSite& call_;
  Body& body_;
  Names names_;
  std::int64_t rank_;
  std::int64_t share_ = 0;
  ValueId rows_;  // a list of one number
};

Body::Values scaled_dot_product_attention(const CallSite& call) {
  return Attention(call, {"Q", "K", "V", "attn_mask"})
      .write("scale", call.float_of("softcap"));
}

Body::Values functional_attention(const CallSite& call) {
  if (!call.rank("q")) {
    call.body().refuse("the rank of the queries is unknown", call["q"]);
    return {};
  }
  return Attention(call, {"q", "k", "v", "attn_mask"}).write("scale", 0);
}

Body::Values attention_forward(const CallSite& call) {
  return Attention(call, {"q", "k", "v", "attention_mask"})
      .write("sm_scale", 0);
}

constexpr OpRow kDialectAttention[] = {
    ours(dialect::kAten, "scaled_dot_product_attention", kAtenSdpaIn, kOutput,
         kAtenSdpa,
         {.roles = {.attention = true},
          .types = {dot_product_attention},
          .products = dot_product_attention,
          .formula = "ScaledDotProductAttention, as in PyTorch",
          .meaning = functional_attention}),
    ours(dialect::kOwn, "AttentionForward", kForwardIn, kOutput, kForward,
         {.roles = {.attention = true},
          .types = {dot_product_attention},
          .products = dot_product_attention,
          .formula = "softmax(q k^T sm_scale + causal + mask) v",
          .meaning = attention_forward}),
    ours(dialect::kOwn, "MultiheadAttention", kMultiheadIn, kMultiheadOut,
         kMultihead,
         {.roles = {.attention = true},
          .types = {multihead_attention},
          .products = multihead_attention,
          .formula = "nn.MultiheadAttention of PyTorch: the source of a "
                     "decomposition"}),
    ours(dialect::kOwn, "ScaledDotProductAttention", kSdpaIn, kY, kSdpa,
         {.roles = {.attention = true},
          .types = {dot_product_attention},
          .products = dot_product_attention,
          .formula = "softmax(cap(q k^T scale) + causal + mask) v, cap(s) "
                     "= softcap tanh(s / softcap), scale = 1 / sqrt(D)",
          .meaning = scaled_dot_product_attention}),
};

}  // namespace

std::span<const OpRow> dialect::attention() { return kDialectAttention; }

}  // namespace ruleengine::ops
