// The engine's own ops of attention, as kernels/cpu/attention has them.
#include <cmath>

#include "core/ops/dialect.h"
#include "kernels/attention.h"
#include "kernels/cuda/attending.h"
#include "kernels/strided.h"

namespace ruleengine::kernels::cuda {
namespace {

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

constexpr Kernel kOwnAttentionKernels[] = {
    {ops::dialect::kAten, "scaled_dot_product_attention", scaled_attention, 0,
     kAttentionViews},
    {ops::dialect::kOwn, "AttentionForward", attention_forward, 0,
     kAttentionViews},
    {ops::dialect::kOwn, "ScaledDotProductAttention", scaled_attention, 0,
     kAttentionViews},
};

}  // namespace

const KernelRows kOwnAttentionRows = kOwnAttentionKernels;

}  // namespace ruleengine::kernels::cuda
