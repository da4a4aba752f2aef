#include "kernels/cuda/attending.h"

#include <algorithm>
#include <limits>

#include "kernels/attention.h"
#include "kernels/strided.h"

namespace ruleengine::kernels::cuda {
namespace {

Tensor scalar_of(const Preparation& p, Session& session, DataType type,
                 double value) {
  Tensor out = p.allocate(type, {});
  fill(session, out, bits_of(value, type));
  return out;
}

// The description of an attention, and what its masks change of its keys.
class Describing {
 public:
  explicit Describing(const GpuAttending& a) : a_(a) {
    d_.batch = a.q.batch;
    d_.q_heads = a.q.heads;
    d_.kv_heads = a.k.heads;
    d_.q_length = a.q.rows;
    d_.kv_length = a.k.rows;
    d_.qk_size = a.q.size;
    d_.v_size = a.v.size;
    d_.q = a.q.strides;
    d_.k = a.k.strides;
    d_.v = a.v.strides;
    d_.has_lengths = !a.lengths.empty();
    d_.has_cap = a.cap > 0;
    set_band();
    set_bias();
  }

  const AttentionDescription& description() const { return d_; }

 private:
  void set_band() {
    Band& band = d_.band;
    if (a_.left >= 0) band.left = a_.left;
    if (a_.right >= 0) band.right = a_.right;
    if (a_.is_causal) band.right = 0;
    if (!band.is_there()) return;
    const bool meets = !d_.has_lengths && !a_.has_bias() && a_.offset > 0 &&
                       a_.offset == d_.kv_length - d_.q_length;
    if (a_.ends_meet || meets) {
      band.diagonal = Diagonal::kBottomRight;
      return;
    }
    if (band.right) *band.right += a_.offset;
    if (!band.left) return;
    *band.left -= a_.offset;
    if (*band.left < 0) {
      runtime::fail_limit(
          Remedy::kDevice,
          "the GPU cannot compute a window that begins behind the first key",
          {}, {});
    }
  }

  void set_bias() {
    if (!a_.has_bias()) return;
    Bias out{.dims = {1, 1, 1, 1},
             .strides = {1, 1, 1, 1},
             .element = a_.bias.dtype()};
    const Dims steps = strides_of(a_.bias.dims());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::size_t axis = 4 - steps.size() + i;
      out.dims[axis] = a_.bias.dim(i);
      out.strides[axis] = steps[i];
    }
    if (out.dims[3] != 1) out.dims[3] = d_.kv_length;
    d_.bias = out;
  }

  const GpuAttending& a_;
  AttentionDescription d_;
};

HeadView rows_of(const HeadView& x, std::int64_t begin, std::int64_t count,
                 DataType type) {
  HeadView out = x;
  out.data += index_of(begin * x.strides[2]) * runtime::bytes_of(type, 1);
  out.rows = count;
  return out;
}

// One query sees keys in a row, which need no mask: cuDNN is wrong there.
GpuAttending without_band(Call& c, const GpuAttending& a, DataType type) {
  GpuAttending out = a;
  std::int64_t begin = 0, end = a.k.rows;
  if (a.right >= 0) end = std::min(end, a.offset + a.right + 1);
  if (a.is_causal) end = std::min(end, a.offset + 1);
  if (a.left >= 0) begin = std::clamp(a.offset - a.left, begin, end);
  if (begin > 0 && !a.lengths.empty()) {
    runtime::fail_limit(
        Remedy::kDevice,
        "the GPU cannot compute a window of one query beside lengths", {}, {});
  }
  out.k = rows_of(a.k, begin, end - begin, type);
  out.v = rows_of(a.v, begin, end - begin, type);
  const std::size_t rank = a.bias.rank();
  if (begin > 0 && rank > 0 && a.bias.dim(rank - 1) != 1) {
    out.bias = cut(c, a.bias, rank - 1, begin, end - begin);
  }
  out.is_causal = false;
  out.left = out.right = -1;
  return out;
}

// The lengths of queries and of keys, which a plan takes as int32.
Tensor lengths_on_gpu(Call& c, const AttentionDescription& d, const Ints& keys,
                      Session& session) {
  // cuDNN wants both at multiples of 16 bytes.
  const std::int64_t half = ceil_div(d.batch, std::int64_t{4}) * 4;
  const std::int64_t count = 2 * half;
  std::vector<std::int32_t> all(index_of(count),
                                static_cast<std::int32_t>(d.q_length));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    all[index_of(half) + i] =
        static_cast<std::int32_t>(std::min(keys[i], d.kv_length));
  }
  Tensor out = c.allocate(DataType::kInt32, {&count, 1});
  session.memory()->write(std::as_bytes(std::span(all)),
                          out.mutable_data<std::byte>());
  return out;
}

void check_heads(const HeadView& q, const HeadView& k, const HeadView& v) {
  const bool fits = k.batch == q.batch && v.batch == q.batch &&
                    k.size == q.size && v.rows == k.rows &&
                    v.heads == k.heads && k.heads > 0 && q.heads % k.heads == 0;
  if (fits) return;
  fail("queries, keys and values do not fit each other");
}

}  // namespace

HeadView head_view(const Tensor& x, std::int64_t heads) {
  HeadView out{.data = x.data<std::byte>(), .batch = x.dim(0)};
  if (x.rank() == 3) {
    out.heads = heads;
    out.rows = x.dim(1);
    out.size = head_size(x.dim(2), heads);
    out.strides = strides_by_length(heads, out.rows, out.size);
  } else {
    out.heads = x.dim(1);
    out.rows = x.dim(2);
    out.size = x.dim(3);
    out.strides = strides_by_head(out.heads, out.rows, out.size);
  }
  return out;
}

AttentionParts::AttentionParts(const Preparation& p, Session& session,
                               DataType type)
    : session_(session),
      type_(type),
      zero_(scalar_of(p, session, type, 0)),
      least_(scalar_of(p, session, type,
                       -std::numeric_limits<double>::infinity())),
      equal_(kernel_of(session, "binary", "equal", type, kFloats)) {
  session.attention();
}

Tensor AttentionParts::bias_of(Call& c, const Tensor& mask) const {
  if (mask.dtype() != DataType::kBool) return mask;
  Tensor out = c.allocate(type_, mask.dims());
  select(session_, mask, zero_, least_, out);
  return out;
}

void AttentionParts::clear_hidden(Call& c, Tensor& out) const {
  // The sum of no weights is 0, and a row divided by it NaN.
  Tensor is_number = c.allocate(DataType::kBool, out.dims());
  compute_pairs(session_, equal_, out, out, is_number);
  select(session_, is_number, out, zero_, out);
}

void GpuAttending::run(Call& c, const AttentionParts& parts, Tensor& out,
                       const HeadView& out_view) const {
  check_heads(q, k, v);
  if (out.count() == 0) return;
  if (k.count() == 0) return fill(parts.session(), out, 0);
  const bool has_band = is_causal || left >= 0 || right >= 0;
  if (has_band && q.rows == 1 && !ends_meet) {
    return without_band(c, *this, parts.type()).run(c, parts, out, out_view);
  }
  AttentionDescription d = Describing(*this).description();
  d.element = parts.type();
  d.o = out_view.strides;
  AttentionPointers at{.q = q.data,
                       .k = k.data,
                       .v = v.data,
                       .o = out.mutable_data<std::byte>(),
                       .scale = static_cast<float>(scale),
                       .cap = static_cast<float>(cap)};
  if (has_bias()) at.bias = bias.data<std::byte>();
  Tensor counts;
  if (d.has_lengths) {
    counts = lengths_on_gpu(c, d, lengths, parts.session());
    at.q_lengths = counts.data<std::int32_t>();
    at.kv_lengths = counts.data<std::int32_t>() + counts.count() / 2;
  }
  parts.session().attention().run(c, d, at);
  const bool may_hide = has_bias() || std::ranges::any_of(lengths, [&](auto n) {
                          return n < (ends_meet ? q.rows : 1);
                        });
  if (may_hide) parts.clear_hidden(c, out);
}

}  // namespace ruleengine::kernels::cuda
