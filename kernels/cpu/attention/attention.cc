// Attention of the standard: scaled dot products, with masks and caches.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/attention/attending.h"
#include "kernels/cpu/elementwise/cast.h"
#include "kernels/cpu/families.h"

namespace ruleengine::kernels {
namespace {

enum Cached { kPastKey = kMask + 1, kPastValue, kLengths };
enum Output { kY, kPresentKey, kPresentValue, kScores };

std::int64_t mode_of(const Preparation& p) {
  const std::int64_t out = p.attribute_int("qk_matmul_output_mode");
  if (out < 0 || out > 3) {
    p.wrong_attribute("qk_matmul_output_mode", "0 to 3");
  }
  return out;
}

class StandardAttention {
 public:
  explicit StandardAttention(const Preparation& p)
      : heads_(p.attribute_int("q_num_heads")),
        kv_heads_(p.attribute_int("kv_num_heads")),
        left_(window_of(p, "left_window_size")),
        right_(window_of(p, "right_window_size")),
        mode_(mode_of(p)),
        softcap_(p.attribute_float("softcap")),
        is_causal_(p.attribute_flag("is_causal")),
        scale_(p, "scale") {}
  void operator()(Call& c) const;

 private:
  void set_masks(Call& c, Attending& a, std::int64_t past) const;

  std::int64_t heads_, kv_heads_, left_, right_, mode_;
  float softcap_;
  bool is_causal_;
  ScoreScale scale_;
};

// Keys or values as [batch, heads, rows, size], after those of the past.
struct Cache {
  Tensor all;
  std::int64_t past = 0;
};

// `old_rows`: of the past, where they are known; or -1.
Cache cache_of(Call& c, const Attending& a, std::int64_t heads,
               std::size_t input, std::size_t past, std::int64_t old_rows) {
  Dims fits(c.input(kQ).rank(), -1);
  fits[0] = a.batch;
  const Tensor& x = c.expect_shape(input, fits);
  const HeadLayout own(x, heads);
  Cache out{x};
  if (c.has_input(past)) {
    const Dims old{a.batch, own.heads, old_rows, own.size};
    out.past = c.expect_shape(past, old, x.dtype()).dim(2);
  } else if (x.rank() == 4) {
    return out;
  }
  const Dims dims{a.batch, own.heads, out.past + own.rows, own.size};
  out.all = with_past(c, past, x, own.at, own.rows, {out.past}, dims);
  return out;
}

void StandardAttention::set_masks(Call& c, Attending& a,
                                  std::int64_t past) const {
  a.is_causal = is_causal_;
  a.left = left_;
  a.right = right_;
  a.offsets = {past};
  if (c.has_input(kMask)) a.mask = mask_of(c, a, kMask, c.input(kMask));
  if (!c.has_input(kLengths)) return;
  c.expect_count(kLengths, a.batch);
  a.lengths = c.ints(kLengths);
  for (std::int64_t& n : a.lengths) {
    if (n < 0) c.wrong_value(kLengths, "0 or more", std::to_string(n));
    n = std::min(n, a.keys);
  }
  if (c.has_input(kPastKey) || a.batch == 0) return;
  a.offsets.clear();
  for (const std::int64_t n : a.lengths) a.offsets.push_back(n - a.queries);
}

void StandardAttention::operator()(Call& c) const {
  const Tensor q = c.expect_rank(kQ, 3, 4);
  Attending a;
  set_queries(a, q, heads_);
  if (c.has_input(kPastKey) != c.has_input(kPastValue)) {
    fail("only one of the inputs 'past_key' and 'past_value' is given",
         "both or neither");
  }
  const Cache keys = cache_of(c, a, kv_heads_, kK, kPastKey, -1);
  const Cache values = cache_of(c, a, kv_heads_, kV, kPastValue,
                                c.has_input(kPastKey) ? keys.past : -1);
  set_keys(a, in_type(c, keys.all, q.dtype()),
           in_type(c, values.all, q.dtype()));
  a.scale = scale_.of(a.k_size);
  a.softcap = static_cast<double>(softcap_);
  set_masks(c, a, keys.past);
  const bool merged = q.rank() == 3;
  const std::int64_t split[] = {a.batch, a.heads, a.queries, a.v_size};
  const std::int64_t joined[] = {a.batch, a.queries, a.heads * a.v_size};
  a.out_at = merged ? merged_strides(a.heads, a.queries, a.v_size)
                    : split_strides(a.heads, a.queries, a.v_size);
  Tensor& y = c.output(kY, q.dtype(), merged ? Shape(joined) : Shape(split));
  Tensor* scores = nullptr;
  if (c.wants(kScores)) {
    const std::int64_t dims[] = {a.batch, a.heads, a.queries, a.keys};
    scores = &c.output(kScores, q.dtype(), dims);
  }
  attend(c, a, y, scores, mode_);
  if (c.wants(kPresentKey)) c.set_output(kPresentKey, keys.all);
  if (c.wants(kPresentValue)) c.set_output(kPresentValue, values.all);
}

}  // namespace

const KernelRows kAttentionRows = {
    {"", "Attention", prepared<StandardAttention>, Adapt::kWiden},
    {"", "LinearAttention", linear_attention, Adapt::kWiden},
    {"ai.onnx.preview", "FlexAttention", flex_attention},
};

}  // namespace ruleengine::kernels
