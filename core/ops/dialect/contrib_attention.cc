// Attention of ONNX Runtime's domain whose keys are all there: Attention,
// MultiHeadAttention and QAttention. Packed, paged and masked forms for one
// step are known by name alone.
#include <limits>

#include "core/ops/dialect/contrib_heads.h"
#include "core/ops/dialect/our_row.h"
#include "core/ops/rules/meaning_helpers.h"
#include "core/ops/sized_node.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::Dim;
using ir::ValueId;

constexpr FormalValue kMultiHeadIn[] = {in("query"),
                                        opt("key"),
                                        opt("value"),
                                        opt("bias"),
                                        opt("key_padding_mask", "M"),
                                        opt("attention_bias"),
                                        opt("past_key"),
                                        opt("past_value"),
                                        opt("past_sequence_length", "M"),
                                        opt("cache_indirection", "M")};
constexpr FormalValue kMultiHeadOut[] = {in("output"), opt("present_key"),
                                         opt("present_value"), opt("qk")};
constexpr FormalAttribute kMultiHead[] = {
    attr("mask_filter_value", kFloat), need("num_heads", kInt),
    attr("scale", kFloat), with("unidirectional", 0)};

constexpr FormalValue kProjectingIn[] = {in("input"),
                                         in("weights"),
                                         opt("bias"),
                                         opt("mask_index", "M"),
                                         opt("past"),
                                         opt("attention_bias"),
                                         opt("past_sequence_length", "M")};
constexpr FormalValue kProjectingOut[] = {in("output"), opt("present")};
constexpr FormalAttribute kProjecting[] = {with("do_rotary", 0),
                                           attr("mask_filter_value", kFloat),
                                           need("num_heads", kInt),
                                           with("past_present_share_buffer", 0),
                                           attr("qkv_hidden_sizes", kInts),
                                           with("rotary_embedding_dim", 0),
                                           attr("scale", kFloat),
                                           with("unidirectional", 0)};

constexpr FormalValue kQuantizedIn[] = {in("input", "T1"),
                                        in("weight", "T2"),
                                        in("bias", "T3"),
                                        in("input_scale", "T3"),
                                        in("weight_scale", "T3"),
                                        opt("mask_index", "T4"),
                                        opt("input_zero_point", "T1"),
                                        opt("weight_zero_point", "T2"),
                                        opt("past", "T3")};
constexpr FormalValue kQuantizedOut[] = {in("output", "T3"),
                                         opt("present", "T3")};
constexpr FormalAttribute kQuantized[] = {
    with("do_rotary", 0),    attr("mask_filter_value", kFloat),
    need("num_heads", kInt), with("past_present_share_buffer", 0),
    attr("scale", kFloat),   with("unidirectional", 0)};

// [B,S,H*E] of a query that is [B,S,...], and of values [B,L,H*E] or
// [B,H,L,E].
bool multi_head_attention(const NodeView& v, Outputs out) {
  for (Inferred& o : out) o.elem = v.elem(0);
  if (!v.ranked(0) || v.rank(0) != 3 || !v.ranked(2)) return true;
  const auto values = v.shape(2);
  if (values.size() != 3 && values.size() != 4) return true;
  const Dim size =
      values.size() == 3 ? values[2] : product(v, values[1], values[3]);
  out[0].set_dims(Shape{v.shape(0)[0], v.shape(0)[1], size});
  return true;
}

// [B,S,D] with D a third of the weights' columns, or said; beside it keys and
// values [2,B,H,L,D / H]; all of the element type of input `kLike`.
template <std::size_t kLike>
bool projecting_attention(const NodeView& v, Outputs out) {
  for (Inferred& o : out) o.elem = v.elem(kLike);
  if (!v.ranked(0) || v.rank(0) != 3) return true;
  const auto sizes = v.attribute_ints("qkv_hidden_sizes");
  Dim width = kUnknown;
  if (sizes && sizes->size() == 3) {
    width = count((*sizes)[2]);
  } else if (v.ranked(1) && v.rank(1) == 2 && v.shape(1)[1].known()) {
    width = count(v.shape(1)[1].size() / 3);
  }
  const Dim batch = v.shape(0)[0];
  out[0].set_dims(Shape{batch, v.shape(0)[1], width});
  const std::int64_t heads = v.attribute_int("num_heads");
  if (out.size() > 1 && heads > 0) {
    const Dim size = width.known() ? count(width.size() / heads) : kUnknown;
    out[1].set_dims(Shape{Dim(2), batch, Dim(heads), kUnknown, size});
  }
  return true;
}

// Keys are [B,L,H*D] or [B,H,L,D], a cache [B,H,P,D]; without keys they are
// packed with the queries.
double multi_head_attention(const SizedNode& n) {
  const double cached = n.node.has_input(6) ? n.in(6, -2) : 0;
  return n.attended(cached + (n.node.has_input(1) ? n.in(1, -2) : n.in(0, 1)));
}

// With the projection to queries, keys and values, [size, 3 * width].
double projecting_attention(const SizedNode& n) {
  const double past = n.node.has_input(4) ? n.in(4, -2) : 0;
  double width = 2 * n.in(1, 1) / 3;  // of queries and values
  if (const auto own = n.node.attribute_ints("qkv_hidden_sizes");
      own && own->size() == 3) {
    width = static_cast<double>((*own)[0] + (*own)[2]);
  }
  return n.in(0, 0) * n.in(0, 1) * (n.in(1) + (n.in(0, 1) + past) * width);
}

// Queries, keys and values, [B,rows,width] each, and what hides keys.
class RowsAttention {
 public:
  struct Rows {
    ValueId x;
    std::int64_t width = 0;  // 0: not known
    bool is_split = false;   // [B,heads,rows,D] instead
    ValueId past;            // [B,heads,P,D], before the rows; or invalid
  };

  // `is_self`: the rows of keys are those of the queries.
  RowsAttention(const CallSite& call, ValueId like, const Rows& q,
                const Rows& k, const Rows& v, bool is_self)
      : call_(call),
        body_(call.body()),
        like_(like),
        heads_(heads_of(call, "num_heads")),
        q_(q),
        k_(k),
        v_(v),
        is_self_(is_self) {}

  // Integers [B], [2 B] (ends, then begins), [B,L] or [B,S,L] say which keys
  // are seen: those get 0, others `mask_filter_value`.
  void pad(std::string_view input) {
    const ValueId given = call_[input];
    if (!given) return;
    const auto rank = call_.rank(input);
    if (!rank || *rank == 0 || *rank > 3) {
      return body_.refuse("the mask is not of 1 to 3 axes", given);
    }
    const ValueId mask = body_.cast(given, DataType::kInt64, "mask_numbers");
    ValueId seen = *rank == 1 ? between(mask) : positive(mask);
    if (*rank == 2 && call_.size(input, 1) <= 1) {
      // One number for all keys changes nothing.
      const ValueId one =
          body_.node("Equal",
                     {body_.length_of(mask, 1, "length_of_mask"),
                      body_.integers({1}, "one")},
                     "is_one");
      seen = body_.node("Or", {seen, one}, "is_seen");
    }
    std::vector<std::int64_t> axes = {1};
    if (*rank < 3) axes.push_back(2);
    seen = body_.unsqueezed(seen, axes, "seen_keys");
    if (call_.is_written("mask_filter_value")) {
      hidden_ = call_.float_of("mask_filter_value");
    }
    // As long as the keys: a mask of another length fails.
    const ValueId keys = body_.node(
        "Reshape", {key_count(), body_.integers({1}, "list")}, "key_count");
    const ValueId zeros =
        body_.node("Expand", {body_.number(0, like_, "seen"), keys}, "zeros");
    add(body_.node("Where",
                   {seen, zeros, body_.number(hidden_, like_, "hidden")},
                   "padding"));
  }

  // To the scores.
  void add(ValueId mask) {
    if (!mask) return;
    mask_ = mask_ ? body_.node("Add", {mask_, mask}, "masks") : mask;
  }

  // The result, [B,S,width], and where they are asked for all keys and values,
  // [B,heads,L,D].
  Body::Values write(bool wants_keys) {
    const bool is_causal = call_.int_of("unidirectional") != 0;
    // The standard's op reads rows as they are. Other runtimes ask more of its
    // masks.
    const bool by_op = body_.runs_here() && !k_.is_split;
    // A padding that hides as much as the op's own mask ties with it.
    constexpr float kAsMuch = -1e30f;
    const bool ties = hidden_ < kAsMuch;
    const bool by_mask =
        is_causal && (!is_self_ || ties || (k_.past && !by_op));
    if (by_mask) hide_later();
    return by_op ? by_attention(is_causal && !by_mask, wants_keys)
                 : by_heads(is_causal && !by_mask);
  }

 private:
  Body::Values by_attention(bool is_causal, bool wants_keys) {
    Body::Attributes attributes;
    if (is_causal) attributes.push_back(Body::integer("is_causal", 1));
    attributes.push_back(Body::integer("kv_num_heads", heads_));
    attributes.push_back(Body::integer("q_num_heads", heads_));
    add_scale(call_, attributes);
    std::vector<std::string> names = {"output"};
    if (wants_keys) names = {"output", "present_key", "present_value"};
    auto out =
        body_.nodes("Attention", {q_.x, k_.x, v_.x, mask_, k_.past, v_.past},
                    names, std::move(attributes));
    out.resize(3);
    return out;
  }

  Body::Values by_heads(bool is_causal) const {
    const ValueId k = after_past(body_, k_.past, split(k_));
    const ValueId v = after_past(body_, v_.past, split(v_));
    const ValueId y = attended(call_, {.q = split(q_),
                                       .k = k,
                                       .v = v,
                                       .mask = mask_,
                                       .heads = heads_,
                                       .is_causal = is_causal});
    return {merged_heads(body_, y, v_.width), k, v};
  }

  ValueId split(const Rows& rows) const {
    if (rows.is_split) return rows.x;
    if (rows.width % heads_ != 0) {
      body_.refuse("num_heads does not divide the hidden size");
    }
    return split_heads(body_, rows.x, heads_, rows.width / heads_);
  }

  ValueId positive(ValueId mask) const {
    return body_.node("Greater", {mask, body_.integers({0}, "none")},
                      "is_positive");
  }

  ValueId past_rows() const { return body_.size_of(k_.past, 2, "past_rows"); }
  // How many keys there are, as a scalar, and 0, 1, ... for them.
  ValueId key_count() const {
    const ValueId own = body_.size_of(k_.x, k_.is_split ? 2 : 1, "own_keys");
    return k_.past ? body_.node("Add", {own, past_rows()}, "all_keys") : own;
  }
  ValueId keys() const { return body_.places_below(key_count()); }

  // Masks the keys behind each query, whatever else does.
  void hide_later() {
    const ValueId rows = body_.size_of(q_.x, 1, "rows");
    const ValueId row = column(body_.places_below(rows));
    ValueId last = row;
    if (k_.past) last = body_.node("Add", {row, past_rows()}, "last_key");
    ValueId later = body_.node("Greater", {keys(), last}, "is_later");
    // The loop of ONNX Runtime that hides later keys stops before the last row.
    const ValueId end =
        body_.node("Sub", {rows, body_.integers({1}, "one")}, "last_row");
    later = body_.node(
        "And", {later, body_.node("Less", {row, end}, "is_before_last")},
        "is_hidden");
    constexpr double kLowest = std::numeric_limits<float>::lowest();
    mask_ = body_.node("Where",
                       {later, body_.number(kLowest, like_, "lowest"),
                        mask_ ? mask_ : body_.number(0, like_, "seen")},
                       "causal");
  }

  ValueId column(ValueId list) const {
    return body_.unsqueezed(list, {1}, "column");
  }

  // [B,L]: whether a key is before the end of its row of the batch, and not
  // before the begin.
  ValueId between(ValueId mask) const {
    const ValueId batch = body_.length_of(q_.x, 0, "batch");
    const ValueId twice = body_.node("Add", {batch, batch}, "end_of_begins");
    // Only a mask of exactly 2 B has begins; a longer one begins with the ends.
    const ValueId zeros = body_.node(
        "Expand", {body_.integers({0}, "no_begin"), batch}, "no_begins");
    const ValueId both = body_.joined({mask, zeros}, "ends_and_begins");
    const ValueId has_begins = body_.node(
        "Equal", {body_.length_of(mask, 0, "given"), twice}, "has_begins");
    const ValueId ends = column(
        body_.sliced(both, body_.integers({0}, "first"), batch, 0, "ends"));
    const ValueId begins = column(body_.node(
        "Where",
        {has_begins, body_.sliced(both, batch, twice, 0, "second"), zeros},
        "begins"));
    const ValueId key = keys();
    const ValueId early = body_.node("Less", {key, begins}, "is_early");
    return body_.node("And",
                      {body_.node("Less", {key, ends}, "is_before_end"),
                       body_.node("Not", {early}, "is_not_early")},
                      "is_seen");
  }

  const CallSite& call_;
  Body& body_;
  ValueId like_;
  std::int64_t heads_;
  Rows q_, k_, v_;
  bool is_self_;
  ValueId mask_;
  float hidden_ = -10000;  // what padding adds to a score
};

// Part `part` of [B,S,heads,parts,D] as [B,S,heads*D].
ValueId unpacked(Body& body, ValueId x, std::int64_t part, std::int64_t width) {
  const ValueId own = body.one_of(x, part, 3, "of_part");
  return body.reshaped(own, {0, 0, width > 0 ? width : -1}, "merged_part",
                       "part");
}

Body::Values multi_head_attention(const CallSite& call) {
  Body& body = call.body();
  refuse_inputs(call, {"past_sequence_length", "cache_indirection"});
  if (call.wants(3)) body.refuse("output 'qk' has no meaning");
  const ValueId query = call["query"], key = call["key"];
  // An unknown rank is taken for the usual one: another fails when it runs.
  if (call.rank("query").value_or(key ? 3 : 5) != (key ? 3 : 5)) {
    body.refuse("the query is not of the rank that it should have", query);
    return {};
  }
  const std::int64_t heads = heads_of(call, "num_heads");
  RowsAttention::Rows q = {.x = query, .width = call.size("query", 1)}, k, v;
  bool is_self = !key;
  if (!key) {
    q.width *= heads;
    k = v = q;
    q.x = unpacked(body, query, 0, q.width);
    k.x = unpacked(body, query, 1, q.width);
    v.x = unpacked(body, query, 2, q.width);
  } else if (!call["value"]) {
    if (call.rank("key").value_or(5) != 5) {
      body.refuse("keys without values are not packed with them", key);
      return {};
    }
    k = v = q;
    k.x = unpacked(body, key, 0, q.width);
    v.x = unpacked(body, key, 1, q.width);
  } else {
    const std::size_t rank = call.rank("key").value_or(3);
    if ((rank != 3 && rank != 4) || call.rank("value").value_or(rank) != rank) {
      body.refuse("keys and values are not both of 3 or 4 axes", key);
      return {};
    }
    k = {.x = key, .width = q.width, .is_split = rank == 4};
    v = {.x = call["value"],
         .width = call.size("value", 1) * (k.is_split ? heads : 1),
         .is_split = k.is_split};
    is_self = !k.is_split && call.same_size("query", "key", 2);
    if (is_self) body.note("self");
  }
  if (const ValueId bias = call["bias"]) {
    ValueId begin = body.integers({0}, "first");
    for (RowsAttention::Rows* rows : {&q, &k, &v}) {
      if (rows->is_split) continue;
      const ValueId end = body.node(
          "Add", {begin, body.length_of(rows->x, 2, "width")}, "end_of_bias");
      const ValueId own = body.sliced(bias, begin, end, 0, "own_bias");
      rows->x = body.node("Add", {rows->x, own}, "biased");
      begin = end;
    }
  }
  const Past past = past_of(call);
  k.past = past.keys;
  v.past = past.values;
  RowsAttention attention(call, query, q, k, v, is_self);
  attention.pad("key_padding_mask");
  attention.add(call["attention_bias"]);
  return attention.write(call.wants(1) || call.wants(2));
}

// Of queries, keys and values, [B,S,sum of the sizes].
struct Projected {
  ValueId all, bias;                // `bias` is added to the scores
  std::vector<std::int64_t> sizes;  // empty: three thirds
  ValueId like;                     // of the type of all
};

Body::Values projected_attention(const CallSite& call, const Projected& p) {
  Body& body = call.body();
  refuse_attributes(call, {"do_rotary", "past_present_share_buffer"});
  Body::Values parts;
  const std::vector<std::string> names = {"Q", "K", "V"};
  if (p.sizes.empty()) {
    parts =
        body.nodes("Split", {p.all}, names,
                   {Body::integer("axis", 2), Body::integer("num_outputs", 3)});
  } else {
    parts = body.nodes("Split", {p.all, body.integers(p.sizes, "sizes")}, names,
                       {Body::integer("axis", 2)});
  }
  const ValueId past = call["past"];
  const auto rows = [&](std::size_t i) {
    RowsAttention::Rows out{.x = parts[i],
                            .width = p.sizes.empty() ? 0 : p.sizes[i]};
    if (past && i > 0) {
      out.past =
          body.one_of(past, static_cast<std::int64_t>(i) - 1, 0, "past_half");
    }
    return out;
  };
  RowsAttention attention(call, p.like, rows(0), rows(1), rows(2), true);
  attention.pad("mask_index");
  attention.add(p.bias);
  const auto y = attention.write(call.wants(1));
  if (!call.wants(1)) return {y[0], {}};
  const auto first = [&](ValueId x) { return body.unsqueezed(x, {0}, "half"); };
  return {y[0], body.joined({first(y[1]), first(y[2])}, "present")};
}

// `written` or, where the width of the weights is known, three thirds of it.
std::vector<std::int64_t> projected_sizes(const CallSite& call,
                                          std::int64_t width,
                                          std::vector<std::int64_t> written) {
  if (written.empty() && width == 0) return {};
  if (written.empty()) written.assign(3, width / 3);
  bool fits = written.size() == 3;
  std::int64_t sum = 0;
  for (const std::int64_t size : written) {
    fits = fits && size > 0 && size <= kMostSize;
    sum += size;
  }
  if (!fits || (width != 0 && sum != width)) {
    call.body().refuse("the columns of the weights are not three parts");
    return {};
  }
  return written;
}

Body::Values attention(const CallSite& call) {
  Body& body = call.body();
  refuse_inputs(call, {"past_sequence_length"});
  ValueId all =
      body.node("MatMul", {call["input"], call["weights"]}, "projected");
  all = body.plus(all, call["bias"], "projected_and_bias");
  return projected_attention(
      call, {.all = all,
             .bias = call["attention_bias"],
             .sizes = projected_sizes(call, call.size("weights", 1),
                                      call.ints_of("qkv_hidden_sizes")),
             .like = call["input"]});
}

Body::Values q_attention(const CallSite& call) {
  Body& body = call.body();
  const ValueId bias = call["bias"];
  const ValueId product =
      body.node("MatMulInteger",
                {call["input"], call["weight"], call["input_zero_point"],
                 call["weight_zero_point"]},
                "product");
  const ValueId scale = body.node(
      "Mul", {call["input_scale"], call["weight_scale"]}, "scale_of_product");
  const ValueId real = body.like(product, bias, "product_real");
  const ValueId all = body.node(
      "Add", {body.node("Mul", {real, scale}, "scaled_product"), bias},
      "projected");
  return projected_attention(
      call, {.all = all,
             .bias = {},
             .sizes = projected_sizes(call, call.size("weight", 1), {}),
             .like = bias});
}

// Ops of which no more is known than what they are.
constexpr OpRow other_attention(std::string_view type) {
  return {.domain = dialect::kMicrosoft,
          .type = type,
          .roles = {.attention = true}};
}

constexpr OpRow kDialectContribAttention[] = {
    ours(dialect::kMicrosoft, "Attention", kProjectingIn, kProjectingOut,
         kProjecting,
         {.roles = {.attention = true},
          .types = {projecting_attention<0>},
          .products = projecting_attention,
          .formula = "MultiHeadAttention(Split(input weights + bias))",
          .meaning = attention}),
    other_attention("DecoderMaskedMultiHeadAttention"),
    ours(dialect::kMicrosoft, "MultiHeadAttention", kMultiHeadIn, kMultiHeadOut,
         kMultiHead,
         {.roles = {.attention = true},
          .types = {multi_head_attention},
          .products = multi_head_attention,
          .formula = "softmax(q k^T scale + mask) v, heads merged",
          .meaning = multi_head_attention}),
    other_attention("PackedAttention"),
    other_attention("PackedMultiHeadAttention"),
    other_attention("PagedAttention"),
    ours(dialect::kMicrosoft, "QAttention", kQuantizedIn, kQuantizedOut,
         kQuantized,
         {.roles = {.attention = true},
          .types = {projecting_attention<3>},
          .formula = "Attention of quantized numbers",
          .meaning = q_attention}),
    other_attention("SparseAttention"),
};

}  // namespace

std::span<const OpRow> dialect::contrib_attention() {
  return kDialectContribAttention;
}

}  // namespace ruleengine::ops
