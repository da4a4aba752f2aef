#include "kernels/cuda/attending_steps.h"

#include <algorithm>

#include "kernels/strided.h"

namespace ruleengine::kernels::cuda {
namespace {

// Whether a description can say it.
bool set_band(AttentionDescription& d, const GpuAttending& a) {
  Band& band = d.band;
  if (a.left >= 0) band.left = a.left;
  if (a.right >= 0) band.right = a.right;
  if (a.is_causal) band.right = 0;
  if (!band.is_there()) return true;
  const bool meets = !d.has_lengths && !a.has_mask() && a.offset > 0 &&
                     a.offset == d.kv_length - d.q_length;
  if (a.ends_meet || meets) {
    band.diagonal = Diagonal::kBottomRight;
    return true;
  }
  if (band.right) *band.right += a.offset;
  if (band.left) *band.left -= a.offset;
  return !band.left || *band.left >= 0;
}

void set_bias(AttentionDescription& d, const GpuAttending& a) {
  if (!a.has_mask()) return;
  const bool is_bool = a.mask.dtype() == DataType::kBool;
  Bias out{.dims = {1, 1, 1, 1},
           .strides = {1, 1, 1, 1},
           .element = is_bool ? d.element : a.mask.dtype()};
  const Dims steps = strides_of(a.mask.dims());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::size_t axis = 4 - steps.size() + i;
    out.dims[axis] = a.mask.dim(i);
    out.strides[axis] = steps[i];
  }
  if (out.dims[3] != 1) out.dims[3] = d.kv_length;
  d.bias = out;
}

HeadView some_rows(const HeadView& x, std::int64_t begin, std::int64_t count,
                   DataType type) {
  HeadView out = x;
  out.data += index_of(begin * x.strides[2]) * runtime::bytes_of(type, 1);
  out.rows = count;
  return out;
}

// Whether a head is beside the next one, so that strides do not depend on the
// length.
bool is_by_length(const HeadView& x) {
  return x.heads == 1 || x.strides[1] < x.strides[2];
}

}  // namespace

bool fits_buckets(const GpuAttending& a) {
  return !a.has_mask() && !a.is_guarded && is_by_length(a.q) &&
         is_by_length(a.k) && is_by_length(a.v) && is_by_length(a.out);
}

GpuAttending in_buckets(Call& c, Session& session, const GpuAttending& a) {
  GpuAttending out = a;
  out.offsets = SequenceOffsets(
      c, session, a.q.batch,
      {a.q.strides[0], a.k.strides[0], a.v.strides[0], a.out.strides[0]});
  if (!a.lengths.is_there()) {
    out.lengths = find_lengths(c, session,
                               {.batch = a.q.batch,
                                .queries = a.q.rows,
                                .rows = a.k.rows,
                                .plus = a.k.rows});
  }
  return out;
}

GpuAttending within_bucket(Call& c, Session& session, const GpuAttending& a,
                           const AttentionDescription& d) {
  GpuAttending out = a;
  const auto shorten = [](HeadView& x, std::int64_t rows) {
    x.rows = rows - rows / 4;
    x.strides[0] = rows * x.strides[2];
  };
  shorten(out.q, d.q_length);
  shorten(out.out, d.q_length);
  shorten(out.k, d.kv_length);
  shorten(out.v, d.kv_length);
  out.lengths = KeyLengths();
  return in_buckets(c, session, out);
}

std::optional<AttentionDescription> description_of(const GpuAttending& a,
                                                   DataType type,
                                                   bool in_buckets) {
  AttentionDescription d{.element = type,
                         .batch = a.q.batch,
                         .q_heads = a.q.heads,
                         .kv_heads = a.k.heads,
                         .q_length = a.q.rows,
                         .kv_length = a.seen_keys(),
                         .qk_size = a.q.size,
                         .v_size = a.v.size,
                         .q = a.q.strides,
                         .k = a.k.strides,
                         .v = a.v.strides,
                         .o = a.out.strides,
                         .has_lengths = in_buckets || a.lengths.is_there(),
                         .has_sink = a.has_sinks(),
                         .has_cap = a.cap > 0,
                         .has_statistics = a.is_guarded};
  // Lengths may go beyond them.
  if (a.lengths.is_there() && a.seen_keys() != a.k.rows) return std::nullopt;
  set_bias(d, a);
  if (!set_band(d, a)) return std::nullopt;
  if (!in_buckets) return d;
  return with_buckets(d, bucket_of(d.q_length), bucket_of(d.kv_length));
}

std::optional<GpuAttending> without_band(Call& c, const GpuAttending& a,
                                         DataType type) {
  GpuAttending out = a;
  std::int64_t begin = 0, end = a.seen_keys();
  if (a.right >= 0) end = std::min(end, a.offset + a.right + 1);
  if (a.is_causal) end = std::min(end, a.offset + 1);
  if (a.left >= 0) begin = std::clamp(a.offset - a.left, begin, end);
  if (begin > 0 && a.lengths.is_there()) return std::nullopt;
  out.k = some_rows(a.k, begin, end - begin, type);
  out.v = some_rows(a.v, begin, end - begin, type);
  const std::size_t rank = a.mask.rank();
  if (begin > 0 && rank > 0 && a.mask.dim(rank - 1) != 1) {
    out.mask = cut(c, a.mask, rank - 1, begin, end - begin);
  }
  out.mask_keys = -1;
  out.is_causal = false;
  out.left = out.right = -1;
  return out;
}

}  // namespace ruleengine::kernels::cuda
