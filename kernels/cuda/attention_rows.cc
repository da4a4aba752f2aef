// Attention of the standard: scaled dot products, with masks and caches.
#include <algorithm>

#include "kernels/attention.h"
#include "kernels/cuda/attending.h"
#include "kernels/cuda/attention/buckets.h"
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

std::int32_t* length_flag(const Preparation& p, Session& session) {
  return node_flag(p, session, "a length of keys is less than 0");
}

// Keys or values: those of the past, and the new ones behind them.
struct Cache {
  Tensor all;
  HeadView view;
  std::int64_t past = 0;
  std::int64_t rows = 0;  // that are there; then there is room
};

class StandardAttention {
 public:
  StandardAttention(const Preparation& p, Session& session)
      : parts_(p, session, attention_type(p),
               known_head_size(p, kQ, "q_num_heads"),
               known_head_size(p, kV, "kv_num_heads")),
        flag_(p.node().has_input(kLengths) ? length_flag(p, session) : nullptr),
        heads_(p.attribute_int("q_num_heads")),
        kv_heads_(p.attribute_int("kv_num_heads")),
        left_(window_of(p, "left_window_size")),
        right_(window_of(p, "right_window_size")),
        softcap_(std::max(p.attribute_float("softcap"), 0.0F)),
        is_causal_(p.attribute_flag("is_causal")),
        scale_(p, "scale"),
        out_(p, kY) {}
  void operator()(Call& c) const;

 private:
  Cache cache_of(Call& c, std::size_t input, std::size_t past) const;
  std::int64_t room_for(const Call& c, std::int64_t added,
                        std::int64_t past) const;
  void set_masks(Call& c, GpuAttending& a) const;
  Tensor present_of(Call& c, const Cache& cache) const;

  AttentionParts parts_;
  std::int32_t* flag_;  // of a wrong length
  std::int64_t heads_, kv_heads_, left_, right_;
  float softcap_;
  bool is_causal_;
  ScoreScale scale_;
  HeadOutput out_;
};

Places places_of(const HeadView& view, std::int64_t at = 0) {
  return {at, Dims(Shape(view.strides))};
}

// A past that grows with each run would need a plan for each: there is room up
// to the end of its bucket, where the last query meets the last key.
std::int64_t StandardAttention::room_for(const Call& c, std::int64_t added,
                                         std::int64_t past) const {
  const HeadView q = head_view(c.input(kQ), heads_);
  const bool may_grow = past > 0 && q.rows == added && !c.has_input(kMask) &&
                        !c.has_input(kLengths);
  return may_grow ? bucket_of(past + added) : past + added;
}

Cache StandardAttention::cache_of(Call& c, std::size_t input,
                                  std::size_t past) const {
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

Tensor StandardAttention::present_of(Call& c, const Cache& cache) const {
  const HeadView& view = cache.view;
  const Dims dims{view.batch, view.heads, cache.rows, view.size};
  if (runtime::is_same_shape(cache.all.dims(), dims)) return cache.all;
  Tensor out = c.allocate(parts_.type(), dims);
  copy_block(c, dims, cache.all, places_of(view), out, dense(dims));
  return out;
}

void StandardAttention::set_masks(Call& c, GpuAttending& a) const {
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

void StandardAttention::operator()(Call& c) const {
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
  Tensor& y =
      out_.make(c, parts_.type(), q.rank() == 3 ? Shape(joined) : Shape(split));
  a.out = head_view(y, a.q.heads);
  a.run(c, parts_, y);
  if (c.wants(kPresentKey)) {
    c.set_output(kPresentKey, present_of(c, keys));
  }
  if (c.wants(kPresentValue)) {
    c.set_output(kPresentValue, present_of(c, values));
  }
}

Op attention(const Preparation& p, Session& session) {
  return StandardAttention(p, session);
}

constexpr Kernel kAttentionKernels[] = {
    {"", "Attention", attention, 0, kAttentionViews}};

}  // namespace

const KernelRows kAttentionRows = kAttentionKernels;

}  // namespace ruleengine::kernels::cuda
