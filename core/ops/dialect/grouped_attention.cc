// Attention of ONNX Runtime's domain over a cache, whose rows each of the batch
// fills to its own length.
#include <algorithm>
#include <limits>

#include "core/ops/dialect/contrib_heads.h"
#include "core/ops/dialect/our_row.h"
#include "core/ops/dialect/rotary.h"
#include "core/ops/rules/meaning_helpers.h"
#include "core/ops/sized_node.h"

namespace ruleengine::ops {
namespace {

using ir::DataType;
using ir::ValueId;

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
constexpr FormalValue kGroupedOut[] = {in("output"), opt("present_key"),
                                       opt("present_value"), opt("output_qk")};
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

// Like the query, where queries, keys and values come apart.
bool grouped_attention(const NodeView& v, Outputs out) {
  out[0].elem = v.elem(0);
  if (v.input(1)) copy_type(v, 0, out[0]);
  for (std::size_t i = 1; i < std::min<std::size_t>(out.size(), 3); ++i) {
    out[i].elem = v.elem(i + 2);
    if (!v.ranked(i + 2) || v.rank(i + 2) != 4) continue;
    out[i].set_dims(v.shape(i + 2));
    out[i].dims[2] = kUnknown;
  }
  return true;
}

double grouped_attention(const SizedNode& n) {
  const auto heads = static_cast<double>(n.node.attribute_int("num_heads"));
  const auto groups = static_cast<double>(n.node.attribute_int("kv_num_heads"));
  const double all = n.node.has_input(1) ? heads : heads + 2 * groups;
  // Without keys, they are packed with the queries.
  const double rows = n.node.has_input(1) ? n.in(1, -2) : n.in(0, 1);
  const double cached = n.node.has_input(3) ? n.in(3, -2) : 0;
  return 2 * (cached + rows) * n.in(0) * heads / all;
}

class GroupedAttention {
 public:
  explicit GroupedAttention(const CallSite& call)
      : call_(call),
        body_(call.body()),
        heads_(heads_of(call, "num_heads")),
        groups_(heads_of(call, "kv_num_heads")) {
    if (heads_ % groups_ != 0) {
      body_.refuse("kv_num_heads does not divide num_heads");
    }
  }

  Body::Values write() {
    check();
    read_heads();
    read_lengths();
    if (call_.int_of("do_rotary") != 0) rotate();
    const Past past = past_of(call_);
    k_ = cached(k_, past.keys);
    v_ = cached(v_, past.values);
    ValueId mask = seen();
    const bool adds_sinks = call_["head_sink"] || is_smooth();
    if (call_["attention_bias"] || adds_sinks) {
      const ValueId shown =
          call_["attention_bias"] ? bias() : body_.number(0, q_in(), "shown");
      mask = body_.node("Where", {mask, shown, never(body_, q_in())}, "mask");
    }
    // What the rows behind a cache hold must not count, not even as NaN.
    ValueId k = adds_sinks || call_["attention_bias"] ? filled(k_) : k_;
    ValueId v = filled(v_);
    if (adds_sinks) {
      k = with_row_of_zeros(k);
      v = with_row_of_zeros(v);
      mask = with_sinks(mask);
    }
    const ValueId y =
        attended(call_, {.q = q_,
                         .k = k,
                         .v = v,
                         .mask = mask,
                         .heads = heads_,
                         .softcap = std::max(call_.float_of("softcap"), 0.0f),
                         .may_hide_all = true});
    return {merged_heads(body_, y, size_ * heads_), k_, v_};
  }

 private:
  ValueId q_in() const { return call_["query"]; }
  ValueId list(std::int64_t n, std::string_view name) {
    return body_.integers({n}, name);
  }
  ValueId wide(ValueId x, const std::vector<std::int64_t>& axes) {
    return body_.unsqueezed(x, axes, "wide");
  }
  bool is_smooth() const { return call_.int_of("smooth_softmax") > 0; }

  void check() {
    refuse_inputs(call_,
                  {"k_scale", "v_scale", "q_norm_weight", "k_norm_weight"});
    refuse_attributes(
        call_, {"kv_cache_bit_width", "qk_output", "sliding_window_cache"});
    if (call_.wants(3)) {
      body_.refuse("output 'output_qk' has no meaning");
    }
  }

  // [B,heads,S,D] of queries, keys and values, which may come packed.
  void read_heads() {
    const std::int64_t width = call_.size("query", 1);
    if (call_["key"]) {
      size_ = width / heads_;
      q_ = split_heads(body_, q_in(), heads_, size_);
      k_ = split_heads(body_, call_["key"], groups_, size_);
      v_ = split_heads(body_, call_["value"], groups_, size_);
      return;
    }
    size_ = width / (heads_ + 2 * groups_);
    if (size_ == 0) {
      return body_.refuse("the size of a head is unknown", q_in());
    }
    const auto parts = body_.nodes(
        "Split",
        {q_in(),
         body_.integers({heads_ * size_, groups_ * size_, groups_ * size_},
                        "sizes")},
        {"Q", "K", "V"}, {Body::integer("axis", 2)});
    q_ = split_heads(body_, parts[0], heads_, size_);
    k_ = split_heads(body_, parts[1], groups_, size_);
    v_ = split_heads(body_, parts[2], groups_, size_);
  }

  // Each of the batch has `lengths_` keys, of which the new ones come after
  // `past_`. Where all rows are new, none is past, whatever the lengths.
  void read_lengths() {
    const auto numbers = [&](std::string_view input) {
      return body_.reshaped(
          body_.cast(call_[input], DataType::kInt64, "numbers"), {-1}, "flat",
          "list");
    };
    batch_ = body_.length_of(q_in(), 0, "batch");
    rows_ = body_.length_of(q_in(), 1, "rows");
    total_ = numbers("total_sequence_length");
    lengths_ =
        body_.node("Add", {numbers("seqlens_k"), list(1, "one")}, "lengths");
    const ValueId before = body_.node("Sub", {lengths_, rows_}, "rows_before");
    is_first_ = body_.node("Equal", {total_, rows_}, "is_first");
    past_ =
        body_.node("Where", {is_first_, list(0, "no_rows"), before}, "past");
    keys_ = total_;
    if (const ValueId cache = call_["past_key"]) {
      const ValueId most = body_.length_of(cache, 2, "rows_of_cache");
      keys_ = body_.node(
          "Where", {body_.node("Less", {total_, most}, "fits"), most, total_},
          "keys");
    }
    row_ = body_.places_below(body_.size_of(q_in(), 1, "length"));
    position_ = body_.node("Add", {wide(past_, {1}), row_}, "positions");
  }

  void rotate() {
    ValueId positions = position_;
    if (const ValueId given = call_["position_ids"]) {
      // Of a first prompt, the first position is taken and counted on.
      const ValueId zero = list(0, "first"), one = list(1, "one");
      const ValueId first =
          body_.sliced(body_.sliced(given, zero, one, 0, "of_first"), zero, one,
                       1, "first_position");
      const ValueId counted = body_.node("Add", {first, row_}, "counted");
      positions =
          body_.node("Where", {is_first_, counted, given}, "all_positions");
      positions = body_.node(
          "Expand", {positions, body_.joined({batch_, rows_}, "each_row")},
          "all_positions");
    }
    const Rotation r{.cosines = call_["cos_cache"],
                     .sines = call_["sin_cache"],
                     .positions = positions,
                     .is_interleaved = call_.int_of("rotary_interleaved") != 0,
                     .turned = turned_by(call_, size_)};
    q_ = rotated(body_, q_, r);
    k_ = rotated(body_, k_, r);
  }

  // The cache, [B,groups,keys,D], with the new rows in their places and zeros
  // where there are none yet.
  ValueId cached(ValueId rows, ValueId past) {
    const ValueId groups = list(groups_, "groups");
    const ValueId size = body_.length_of(rows, 3, "head_size");
    ValueId base;
    if (past) {
      const ValueId more = body_.node(
          "Sub", {keys_, body_.length_of(past, 2, "rows_of_cache")}, "more");
      const ValueId pads =
          body_.joined({body_.integers({0, 0, 0, 0, 0, 0}, "before"), more,
                        list(0, "after")},
                       "pads");
      base = body_.node("Pad", {past, pads}, "cache");
    } else {
      base = body_.node(
          "Expand",
          {body_.number(0, q_in(), "empty"),
           body_.joined({batch_, groups, keys_, size}, "shape_of_cache")},
          "cache");
    }
    if (!places_) {
      const ValueId shape = body_.joined(
          {batch_, groups, rows_, list(1, "each")}, "shape_of_places");
      const auto spread = [&](ValueId x,
                              const std::vector<std::int64_t>& axes) {
        return body_.node("Expand", {wide(x, axes), shape}, "spread");
      };
      const ValueId batch =
          body_.places_below(body_.size_of(q_in(), 0, "batch_size"));
      const ValueId group =
          body_.places_below(body_.integers({groups_}, "groups", true));
      places_ = body_.joined({spread(batch, {1, 2, 3}), spread(group, {1, 2}),
                              spread(position_, {1, 3})},
                             "places", 3);
    }
    return body_.node("ScatterND", {base, places_, rows}, "present");
  }

  // 0, 1, ... for the rows of the cache.
  ValueId places() { return body_.places_below(scalar(keys_)); }

  // [B,groups,keys,D] with zeros behind the rows of each of the batch.
  ValueId filled(ValueId cache) {
    const ValueId is_filled =
        body_.node("Less", {wide(places(), {1}), wide(lengths_, {1, 2, 3})},
                   "is_filled_row");
    return body_.node("Where",
                      {is_filled, cache, body_.number(0, q_in(), "nothing")},
                      "filled");
  }

  // [B,1,S,keys]: whether a query sees a key.
  ValueId seen() {
    const ValueId key = places();
    ValueId seen =
        body_.node("Less", {key, wide(lengths_, {1, 2, 3})}, "is_filled");
    const auto restrict = [&](ValueId by) {
      seen = body_.node("And", {seen, by}, "is_seen");
    };
    const ValueId query = wide(position_, {1, 3});
    if (call_.int_of("causal") != 0) {
      restrict(body_.node("Not",
                          {body_.node("Greater", {key, query}, "is_later")},
                          "is_not_later"));
    }
    const std::int64_t window = call_.int_of("local_window_size");
    if (window == 0) body_.refuse("a window of 0 has no meaning");
    if (window > 0) {
      const ValueId first =
          body_.node("Sub", {query, list(window, "window")}, "before_window");
      restrict(body_.node("Greater", {key, first}, "is_in_window"));
    }
    return seen;
  }

  // What is added to the scores, for as many keys as there are.
  ValueId bias() {
    const ValueId given = call_["attention_bias"];
    const ValueId more = body_.node(
        "Sub", {keys_, body_.length_of(given, 3, "keys_of_bias")}, "more");
    const ValueId pads = body_.joined(
        {body_.integers({0, 0, 0, 0, 0, 0, 0}, "others"), more}, "pads");
    return body_.node("Pad", {given, pads}, "bias");
  }

  ValueId scalar(ValueId one) {
    return body_.reshaped(one, {}, "scalar", "number");
  }

  // A key that all queries score with 0, before the mask.
  ValueId with_row_of_zeros(ValueId x) {
    const ValueId shape =
        body_.joined({batch_, list(groups_, "groups"), list(1, "one_row"),
                      body_.length_of(x, 3, "head_size")},
                     "shape_of_row");
    const ValueId row = body_.node(
        "Expand", {body_.number(0, q_in(), "zero"), shape}, "row_of_zeros");
    return body_.joined({x, row}, "with_row", 2);
  }

  // The mask with the sink of each head for that key.
  ValueId with_sinks(ValueId mask) {
    ValueId sink = call_["head_sink"];
    if (sink) {
      sink = body_.reshaped(sink, {1, heads_, 1, 1}, "by_head", "sinks");
    } else {
      sink = body_.number(0, q_in(), "sink");
    }
    const auto spread = [&](ValueId x, ValueId last) {
      return body_.node(
          "Expand",
          {x, body_.joined({batch_, list(heads_, "heads"), rows_, last},
                           "shape_of_scores")},
          "spread");
    };
    return body_.joined({spread(mask, keys_), spread(sink, list(1, "one_key"))},
                        "mask_and_sinks", 3);
  }

  const CallSite& call_;
  Body& body_;
  std::int64_t heads_, groups_, size_ = 0;
  ValueId q_, k_, v_;
  ValueId batch_, rows_, total_, keys_;  // lists of one
  ValueId lengths_, past_;               // [B]
  ValueId is_first_, row_;               // [1], [S]
  ValueId position_;                     // [B,S]: of the new rows in the cache
  ValueId places_;                       // [B,groups,S,3]
};

Body::Values grouped_attention(const CallSite& call) {
  return GroupedAttention(call).write();
}

constexpr OpRow kDialectGroupedAttention[] = {
    ours(dialect::kMicrosoft, "GroupQueryAttention", kGroupedIn, kGroupedOut,
         kGrouped,
         {.roles = {.attention = true},
          .types = {grouped_attention},
          .products = grouped_attention,
          .formula = "Attention over a cache, with groups of heads",
          .meaning = grouped_attention}),
};

}  // namespace

std::span<const OpRow> dialect::grouped_attention() {
  return kDialectGroupedAttention;
}

}  // namespace ruleengine::ops
