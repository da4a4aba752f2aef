// Attention: scaled dot products, with masks; that of the standard has caches.
#include <algorithm>
#include <cmath>

#include "core/ops/dialect.h"
#include "kernels/attention.h"
#include "kernels/cuda/attending.h"
#include "kernels/strided.h"

namespace ruleengine::kernels::cuda {
namespace {

enum Cached { kPastKey = kMask + 1, kPastValue, kLengths };
enum Output { kY, kPresentKey, kPresentValue, kScores };

DataType attention_type(const Preparation& p) {
  const DataType type = input_type(p, kQ);
  for (const std::size_t i : {kK, kV}) {
    if (input_type(p, i) != type) decline("the inputs differ in type");
  }
  if (p.wants(kScores)) decline("it gives scores, which are never there whole");
  if (!p.node().has_input(kMask)) return type;
  const DataType mask = input_type(p, kMask);
  if (mask != DataType::kBool && mask != type && mask != DataType::kFloat) {
    decline("a mask of " + std::string(ir::data_type_name(mask)));
  }
  return type;
}

// Keys or values: those of the past, and the new ones behind them.
struct Cache {
  Tensor all;
  HeadView view;
  std::int64_t past = 0;
  std::int64_t rows = 0;  // that are there; then there is room
};

// Of the standard.
class StandardAttention {
 public:
  StandardAttention(const Preparation& p, Session& session)
      : parts_(p, session, attention_type(p),
               known_head_size(p, kQ, "q_num_heads"),
               known_head_size(p, kV, "kv_num_heads")),
        flag_(p.node().has_input(kLengths)
                  ? node_flag(p, session, "a length of keys is less than 0")
                  : nullptr),
        heads_(p.attribute_int("q_num_heads")),
        kv_heads_(p.attribute_int("kv_num_heads")),
        left_(window_of(p, "left_window_size")),
        right_(window_of(p, "right_window_size")),
        softcap_(std::max(p.attribute_float("softcap"), 0.0F)),
        is_causal_(p.attribute_flag("is_causal")),
        scale_(p, "scale"),
        out_(p, kY) {}

  void operator()(Call& c) const {
    const Tensor q = with_whole_rows(c, c.expect_rank(kQ, 3, 4));
    c.expect_type(kQ, parts_.type());
    if (c.has_input(kPastKey) != c.has_input(kPastValue)) {
      fail("only one of the inputs 'past_key' and 'past_value' is given",
           "both or neither");
    }
    const Cache keys = cache_of(c, kK, kPastKey);
    const Cache values = cache_of(c, kV, kPastValue);
    GpuAttending a{.q = head_view(q, heads_), .k = keys.view, .v = values.view};
    a.scale = scale_.of(a.q.size);
    a.cap = static_cast<double>(softcap_);
    a.offset = keys.past;
    set_masks(c, a);
    if (keys.rows < a.k.rows) {
      a.lengths = find_lengths(c, parts_.session(),
                               {.batch = a.q.batch,
                                .queries = a.q.rows,
                                .rows = keys.rows,
                                .plus = keys.rows});
      a.ends_meet = true;
    }
    const std::int64_t split[] = {a.q.batch, a.q.heads, a.q.rows, a.v.size};
    const std::int64_t joined[] = {a.q.batch, a.q.rows, a.q.heads * a.v.size};
    Tensor& y = out_.make(c, parts_.type(),
                          q.rank() == 3 ? Shape(joined) : Shape(split));
    a.out = head_view(y, a.q.heads);
    a.run(c, parts_, y);
    if (c.wants(kPresentKey)) c.set_output(kPresentKey, present_of(c, keys));
    if (c.wants(kPresentValue)) {
      c.set_output(kPresentValue, present_of(c, values));
    }
  }

 private:
  // A past that grows with each run would need a plan for each: there is room
  // up to the end of its bucket, where the last query meets the last key.
  std::int64_t room_for(const Call& c, std::int64_t added,
                        std::int64_t past) const {
    const HeadView q = head_view(c.input(kQ), heads_);
    const bool may_grow = past > 0 && q.rows == added && !c.has_input(kMask) &&
                          !c.has_input(kLengths);
    return may_grow ? bucket_of(past + added) : past + added;
  }

  Cache cache_of(Call& c, std::size_t input, std::size_t past) const {
    Dims fits(c.input(kQ).rank(), -1);
    fits[0] = c.input(kQ).dim(0);
    const Tensor x =
        with_whole_rows(c, c.expect_shape(input, fits, parts_.type()));
    Cache out{.all = x, .view = head_view(x, kv_heads_)};
    out.rows = out.view.rows;
    if (!c.has_input(past)) return out;
    const HeadView added = out.view;
    const Dims old_dims{added.batch, added.heads, -1, added.size};
    const Tensor& old = c.expect_shape(past, old_dims, parts_.type());
    out.past = old.dim(2);
    out.rows = out.past + added.rows;
    out.all = extended(c, parts_.session(), parts_.type(), &old,
                       {.x = added, .first = out.past},
                       room_for(c, added.rows, out.past));
    out.view = head_view(out.all, added.heads);
    return out;
  }

  Tensor present_of(Call& c, const Cache& cache) const {
    const HeadView& view = cache.view;
    const Dims dims{view.batch, view.heads, cache.rows, view.size};
    if (runtime::is_same_shape(cache.all.dims(), dims)) return cache.all;
    Tensor out = c.allocate(parts_.type(), dims);
    copy_block(c, dims, cache.all, {0, Dims(Shape(view.strides))}, out,
               dense(dims));
    return out;
  }

  void set_masks(Call& c, GpuAttending& a) const {
    a.is_causal = is_causal_;
    a.left = left_;
    a.right = right_;
    if (c.has_input(kMask)) a.set_mask(c, kMask);
    if (!c.has_input(kLengths)) return;
    const Tensor& given = c.expect_count(kLengths, a.q.batch, DataType::kInt64);
    a.lengths = find_lengths(c, parts_.session(),
                             {.batch = a.q.batch,
                              .queries = a.q.rows,
                              .rows = a.k.rows,
                              .each = &given,
                              .flag = flag_});
    a.ends_meet = !c.has_input(kPastKey);
  }

  AttentionParts parts_;
  std::int32_t* flag_;  // of a wrong length
  std::int64_t heads_, kv_heads_, left_, right_;
  float softcap_;
  bool is_causal_;
  ScoreScale scale_;
  HeadOutput out_;
};

// --- the engine's own ops, as kernels/cpu/attention has them

std::optional<std::int64_t> known_size(const Preparation& p,
                                       std::size_t input) {
  const ir::Type* type = p.input_type(input);
  if (type == nullptr || !type->has_shape || type->rank() != 4) {
    decline("the inputs are not known to have 4 axes");
  }
  return known_head_size(p, input, "num_heads");
}

DataType own_type(const Preparation& p) {
  const DataType type = input_type(p, kQ);
  if (p.node().has_input(kMask)) {
    const DataType mask = input_type(p, kMask);
    if (mask != DataType::kBool && mask != type) {
      decline("a mask of " + std::string(ir::data_type_name(mask)));
    }
  }
  return type;
}

class OwnAttention {
 public:
  OwnAttention(const Preparation& p, Session& session,
               std::string_view scale_attribute)
      : parts_(p, session, own_type(p), known_size(p, kQ), known_size(p, kV)),
        scale_(p, scale_attribute),
        // 0 where the op has no such attribute.
        softcap_(std::abs(static_cast<double>(p.attribute_float("softcap")))),
        is_causal_(p.attribute_flag("is_causal")),
        is_guarded_(p.node().has_input(kMask) &&
                    p.attribute_int("guarded", 1) != 0),
        out_(p, 0) {}

  void operator()(Call& c) const {
    const Dims common = common_dims(c);
    const Tensor q = spread_to(c, kQ, {common[0], common[1], common[2], -1});
    const Tensor k = spread_to(c, kK, {common[0], -1, -1, -1});
    const Tensor v = spread_to(c, kV, {common[0], -1, -1, -1});
    GpuAttending a{
        .q = head_view(q, 0), .k = head_view(k, 0), .v = head_view(v, 0)};
    a.scale = scale_.of(a.q.size);
    a.cap = softcap_;
    a.is_causal = is_causal_;
    a.is_guarded = is_guarded_;
    // Rows that only the mask has all meet the first query, which sees one key.
    if (is_causal_ && c.input(kQ).dim(2) != common[2]) {
      a.is_causal = false;
      a.k.rows = a.v.rows = std::min<std::int64_t>(1, a.k.rows);
    }
    if (c.has_input(kMask)) a.mask = c.input(kMask);
    const Dims dims{a.q.batch, a.q.heads, a.q.rows, a.v.size};
    Tensor& out = out_.make(c, parts_.type(), dims);
    a.out = head_view(out, 0);
    a.run(c, parts_, out);
  }

 private:
  // Of the scores: batch, heads and rows.
  Dims common_dims(const Call& c) const {
    const Tensor& q = c.expect_rank(kQ, 4);
    Dims out(q.dims().first(3));
    for (const std::size_t i : {kK, kV}) {
      out = broadcast(out, Dims{c.expect_rank(i, 4).dim(0), 1, 1});
    }
    if (!c.has_input(kMask)) return out;
    const Tensor& mask = c.expect_rank(kMask, 0, 4);
    const std::int64_t keys = c.input(kK).dim(2);
    if (mask.rank() == 0) return out;
    const std::int64_t last = mask.dim(mask.rank() - 1);
    if (last != keys && last != 1) {
      c.wrong_shape(kMask, "rows of " + std::to_string(keys));
    }
    return broadcast(out, mask.dims().first(mask.rank() - 1));
  }

  // Input `i` broadcast to these sizes, of which -1 keeps its own.
  Tensor spread_to(Call& c, std::size_t i, Dims dims) const {
    const Tensor& x = c.expect_type(i, parts_.type());
    for (std::size_t k = 0; k < 4; ++k) {
      if (dims[k] < 0) dims[k] = x.dim(k);
    }
    if (runtime::is_same_shape(x.dims(), dims)) return with_whole_rows(c, x);
    const Tensor whole = runtime::compact(x, c.run());
    return taken(c, whole, dims, {0, broadcast_strides(x.dims(), dims)}, false);
  }

  AttentionParts parts_;
  ScoreScale scale_;
  double softcap_;
  bool is_causal_, is_guarded_;
  HeadOutput out_;
};

Op scaled_attention(const Preparation& p, Session& session) {
  return OwnAttention(p, session, "scale");
}
Op attention_forward(const Preparation& p, Session& session) {
  p.need_attribute("sm_scale");
  return OwnAttention(p, session, "sm_scale");
}

constexpr Kernel kAttentionKernels[] = {
    {"", "Attention", made<StandardAttention>, 0, kAttentionViews},
    {ops::dialect::kAten, "scaled_dot_product_attention", scaled_attention, 0,
     kAttentionViews},
    {ops::dialect::kOwn, "AttentionForward", attention_forward, 0,
     kAttentionViews},
    {ops::dialect::kOwn, "ScaledDotProductAttention", scaled_attention, 0,
     kAttentionViews},
};

}  // namespace

const KernelRows kAttentionRows = kAttentionKernels;

}  // namespace ruleengine::kernels::cuda
