// Attention of ONNX Runtime's domain whose keys are all there: Attention,
// MultiHeadAttention and QAttention. Packed, paged and masked forms for one
// step are known by name alone.
#include <array>

#include "core/ops/dialect/contrib_heads.h"
#include "core/ops/dialect/our_row.h"
#include "core/ops/rules/meaning_helpers.h"
#include "core/ops/sized_node.h"

namespace ruleengine::ops {

using ir::DataType;
using ir::Dim;
using ir::ValueId;

// --- Heads (contrib_heads.h) -------------------------------------------------

std::int64_t heads_of(const CallSite& call, std::string_view attribute) {
  const std::int64_t heads = call.int_of(attribute);
  if (heads > 0 && heads <= kMostSize) return heads;
  call.body().refuse("'" + std::string(attribute) +
                     "' is not a positive number of heads");
  return 1;
}

ValueId length_of(Body& body, ValueId x, std::int64_t axis,
                  std::string_view name) {
  return body.node(
      "Gather",
      {body.node("Shape", {x}, "shape"), body.integers({axis}, "axis")}, name);
}

ValueId joined(Body& body, Body::Values lists, std::string_view name) {
  return body.node("Concat", std::move(lists), name,
                   {Body::integer("axis", 0)});
}

ValueId sliced(Body& body, ValueId x, ValueId begin, ValueId end,
               std::int64_t axis, std::string_view name) {
  return body.node("Slice", {x, begin, end, body.integers({axis}, "axis")},
                   name);
}

ValueId split_heads(Body& body, ValueId x, std::int64_t heads,
                    std::int64_t size) {
  const ValueId sizes =
      body.integers({0, 0, heads, size > 0 ? size : -1}, "head_sizes");
  return body.node("Transpose", {body.node("Reshape", {x, sizes}, "by_head")},
                   "heads_apart", {body.ints("perm", {0, 2, 1, 3})});
}

ValueId merged_heads(Body& body, ValueId x, std::int64_t width) {
  const ValueId together = body.node("Transpose", {x}, "heads_together",
                                     {body.ints("perm", {0, 2, 1, 3})});
  return body.node(
      "Reshape",
      {together, body.integers({0, 0, width > 0 ? width : -1}, "merged")},
      "output");
}

ValueId after_past(Body& body, ValueId past, ValueId x) {
  return past ? body.node("Concat", {past, x}, "present",
                          {Body::integer("axis", 2)})
              : x;
}

ValueId never(Body& body, ValueId like) {
  return body.number(-std::numeric_limits<double>::infinity(), like, "never");
}

ValueId attended(const CallSite& call, const Attended& a) {
  Body::Attributes attributes;
  if (!a.may_hide_all) attributes.push_back(Body::integer("guarded", 0));
  if (a.is_causal) attributes.push_back(Body::integer("is_causal", 1));
  attributes.push_back(Body::integer("num_heads", a.heads));
  // A scale of 0 stands for the usual one.
  if (call.is_written("scale") && call.float_of("scale") != 0) {
    attributes.push_back(Body::real("scale", call.float_of("scale")));
  }
  if (a.softcap != 0) attributes.push_back(Body::real("softcap", a.softcap));
  return call.body().call(dialect::kOwn, "ScaledDotProductAttention",
                          {a.q, a.k, a.v, a.mask}, std::move(attributes))[0];
}

namespace {

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

// --- Types -------------------------------------------------------------------

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
// values [2,B,H,L,D / H].
bool projecting_attention(const NodeView& v, Outputs out, std::size_t like) {
  for (Inferred& o : out) o.elem = v.elem(like);
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

bool attention(const NodeView& v, Outputs out) {
  return projecting_attention(v, out, 0);
}
bool q_attention(const NodeView& v, Outputs out) {
  return projecting_attention(v, out, 3);
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

// --- Meanings ----------------------------------------------------------------

// Queries, keys and values of heads, and what hides keys from queries.
class HeadedAttention {
 public:
  HeadedAttention(const CallSite& call, ValueId like)
      : call_(call),
        body_(call.body()),
        like_(like),
        heads_(heads_of(call, "num_heads")) {}

  std::int64_t heads() const { return heads_; }

  // The size of a head of `width` numbers; 0 where it is not known.
  std::int64_t head_size(std::int64_t width) const {
    if (width % heads_ == 0) return width / heads_;
    body_.refuse("num_heads does not divide the hidden size");
    return 0;
  }

  // [B,S,width] as heads.
  ValueId split(ValueId x, std::int64_t width) const {
    return split_heads(body_, x, heads_, head_size(width));
  }

  void set(ValueId q, ValueId k, ValueId v) { q_ = q, k_ = k, v_ = v; }

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
    ValueId seen =
        *rank == 1 ? between(mask)
                   : body_.node("Greater", {mask, body_.integers({0}, "none")},
                                "is_seen");
    const std::vector<std::int64_t> axes =
        *rank == 3 ? std::vector<std::int64_t>{1} : std::vector{1L, 2L};
    seen = body_.node("Unsqueeze", {seen, body_.integers(axes, "axes")},
                      "seen_keys");
    constexpr float kHidden = -10000;
    const float hidden = call_.is_written("mask_filter_value")
                             ? call_.float_of("mask_filter_value")
                             : kHidden;
    add(body_.node("Where",
                   {seen, body_.number(0, like_, "seen"),
                    body_.number(hidden, like_, "hidden")},
                   "padding"));
  }

  // To the scores.
  void add(ValueId mask) {
    if (!mask) return;
    mask_ = mask_ ? body_.node("Add", {mask_, mask}, "masks") : mask;
  }

  // Hides later keys where the call says so. `is_square`: there are as many
  // keys as queries; `past`: so many keys are before the first query's.
  void hide_later(bool is_square, ValueId past) {
    if (call_.int_of("unidirectional") == 0) return;
    if (is_square) {
      is_causal_ = true;
      return;
    }
    const ValueId rows = body_.size_of(q_, 2, "rows");
    const ValueId row = column(body_.places_below(rows));
    ValueId last = row;
    if (past) last = body_.node("Add", {row, past}, "last_key");
    const ValueId keys = body_.places_below(body_.size_of(k_, 2, "keys"));
    ValueId later = body_.node("Greater", {keys, last}, "is_later");
    // The loop of ONNX Runtime that hides later keys stops before the last row.
    const ValueId end =
        body_.node("Sub", {rows, body_.integers({1}, "one")}, "last_row");
    later = body_.node(
        "And", {later, body_.node("Less", {row, end}, "is_before_last")},
        "is_hidden");
    add(body_.node("Where",
                   {later, never(body_, like_), body_.number(0, like_, "seen")},
                   "causal"));
  }

  // [B,S,width]
  ValueId write(std::int64_t width) const {
    const ValueId y = attended(call_, {.q = q_,
                                       .k = k_,
                                       .v = v_,
                                       .mask = mask_,
                                       .heads = heads_,
                                       .is_causal = is_causal_});
    return merged_heads(body_, y, width);
  }

 private:
  ValueId column(ValueId list) const {
    return body_.node("Unsqueeze", {list, body_.integers({1}, "axis")},
                      "column");
  }

  // [B,L]: whether a key is before the end of its row of the batch, and not
  // before the begin.
  ValueId between(ValueId mask) const {
    const ValueId batch = length_of(body_, q_, 0, "batch");
    const ValueId zeros = body_.node(
        "Expand", {body_.integers({0}, "no_begin"), batch}, "no_begins");
    const ValueId both = joined(body_, {mask, zeros}, "ends_and_begins");
    const ValueId twice = body_.node("Add", {batch, batch}, "end_of_begins");
    const ValueId ends = column(
        sliced(body_, both, body_.integers({0}, "first"), batch, 0, "ends"));
    const ValueId begins =
        column(sliced(body_, both, batch, twice, 0, "begins"));
    const ValueId keys = body_.places_below(body_.size_of(k_, 2, "keys"));
    const ValueId early = body_.node("Less", {keys, begins}, "is_early");
    return body_.node("And",
                      {body_.node("Less", {keys, ends}, "is_before_end"),
                       body_.node("Not", {early}, "is_not_early")},
                      "is_seen");
  }

  const CallSite& call_;
  Body& body_;
  ValueId like_;
  std::int64_t heads_;
  ValueId q_, k_, v_, mask_;
  bool is_causal_ = false;
};

void refuse_inputs(const CallSite& call,
                   std::initializer_list<std::string_view> inputs) {
  for (const std::string_view input : inputs) {
    if (call[input]) {
      call.body().refuse("input '" + std::string(input) + "' has no meaning");
    }
  }
}

// Part `part` of [B,S,heads,parts,D] as [B,S,heads*D].
ValueId unpacked(Body& body, ValueId x, std::int64_t part, std::int64_t width) {
  const ValueId own =
      body.node("Gather", {x, body.integers({part}, "part", true)}, "of_part",
                {Body::integer("axis", 3)});
  return body.node(
      "Reshape",
      {own, body.integers({0, 0, width > 0 ? width : -1}, "merged_part")},
      "part");
}

Body::Values multi_head_attention(const CallSite& call) {
  Body& body = call.body();
  refuse_inputs(call, {"past_sequence_length", "cache_indirection"});
  if (call.reads(3)) body.refuse("output 'qk' has no meaning");
  HeadedAttention attention(call, call["query"]);
  const auto rank = call.rank("query");
  const bool is_packed = !call["key"];
  if (rank != (is_packed ? 5 : 3)) {
    body.refuse("the query is not of the rank that it should have",
                call["query"]);
    return {};
  }
  const std::int64_t heads = attention.heads();
  ValueId q = call["query"], k = call["key"], v = call["value"];
  std::int64_t q_width = call.size("query", 1), v_width = 0;
  bool is_split = false;  // keys and values, by heads
  if (is_packed) {
    const ValueId all = q;
    q_width = v_width = q_width * heads;
    q = unpacked(body, all, 0, q_width);
    k = unpacked(body, all, 1, q_width);
    v = unpacked(body, all, 2, q_width);
  } else if (!v) {
    if (call.rank("key") != 5) {
      body.refuse("keys without values are not packed with them", k);
      return {};
    }
    v_width = q_width;
    v = unpacked(body, k, 1, v_width);
    k = unpacked(body, k, 0, q_width);
  } else {
    const auto rank_of_keys = call.rank("key");
    is_split = rank_of_keys == 4;
    if ((!is_split && rank_of_keys != 3) ||
        call.rank("value") != rank_of_keys) {
      body.refuse("keys and values are not both of 3 or 4 axes", k);
      return {};
    }
    v_width = call.size("value", 1) * (is_split ? heads : 1);
  }
  if (const ValueId bias = call["bias"]) {
    ValueId begin = body.integers({0}, "first");
    const auto add_bias = [&](ValueId& x) {
      const ValueId end = body.node(
          "Add", {begin, length_of(body, x, 2, "width")}, "end_of_bias");
      x = body.node("Add", {x, sliced(body, bias, begin, end, 0, "own_bias")},
                    "biased");
      begin = end;
    };
    add_bias(q);
    if (!is_split) add_bias(k), add_bias(v);
  }
  q = attention.split(q, q_width);
  if (!is_split) {
    k = attention.split(k, q_width);
    v = attention.split(v, v_width);
  }
  const ValueId past = call["past_key"];
  if (past.valid() != call["past_value"].valid()) {
    body.refuse("only one of 'past_key' and 'past_value' is given");
  }
  k = after_past(body, past, k);
  v = after_past(body, call["past_value"], v);
  attention.set(q, k, v);
  attention.pad("key_padding_mask");
  attention.add(call["attention_bias"]);
  const bool is_square =
      !past && (is_packed || (!is_split && call.same_size("query", "key", 2)));
  if (is_square) body.note("square");
  attention.hide_later(is_square,
                       past ? body.size_of(past, 2, "past_rows") : past);
  return {attention.write(v_width), k, v};
}

// Of queries, keys and values, [B,S,sum of the sizes].
struct Projected {
  ValueId all;
  std::vector<std::int64_t> sizes;  // empty: three thirds
  ValueId like;                     // of the type of all
};

Body::Values projected_attention(const CallSite& call, const Projected& p) {
  Body& body = call.body();
  if (call.int_of("do_rotary") != 0) {
    body.refuse("a rotation within the op has no meaning");
  }
  HeadedAttention attention(call, p.like);
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
  const auto width = [&](std::size_t i) {
    return p.sizes.empty() ? 0 : p.sizes[i];
  };
  for (std::size_t i = 0; i < 3; ++i) {
    parts[i] = attention.split(parts[i], width(i));
  }
  const ValueId past = call["past"];
  const auto half = [&](std::int64_t i) {
    return past ? body.node("Gather", {past, body.integers({i}, "half", true)},
                            "past_half")
                : past;
  };
  const ValueId k = after_past(body, half(0), parts[1]);
  const ValueId v = after_past(body, half(1), parts[2]);
  attention.set(parts[0], k, v);
  attention.pad("mask_index");
  if (call.type() == "Attention") attention.add(call["attention_bias"]);
  attention.hide_later(!past, past ? body.size_of(past, 3, "past_rows") : past);
  const ValueId y = attention.write(width(2));
  if (!call.reads(1)) return {y, {}};
  const auto first = [&](ValueId x) {
    return body.node("Unsqueeze", {x, body.integers({0}, "first")}, "half");
  };
  return {y, body.node("Concat", {first(k), first(v)}, "present",
                       {Body::integer("axis", 0)})};
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
  if (const ValueId bias = call["bias"]) {
    all = body.node("Add", {all, bias}, "projected_and_bias");
  }
  return projected_attention(
      call, {.all = all,
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
          .types = {attention},
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
          .types = {q_attention},
          .formula = "Attention of quantized numbers",
          .meaning = q_attention}),
    other_attention("SparseAttention"),
};

}  // namespace

std::span<const OpRow> dialect::contrib_attention() {
  return kDialectContribAttention;
}

}  // namespace ruleengine::ops
