#include "kernels/cuda/attention/description.h"

#include <algorithm>
#include <bit>
#include <initializer_list>

#include "kernels/cuda/attention/bytes.h"

namespace ruleengine::kernels::cuda {
namespace {

// One sequence has no distance to the next: that of dense ones stands for all.
void set_distance(FourSizes& strides, std::int64_t heads, std::int64_t length) {
  strides[0] = std::max(strides[1] * heads, strides[2] * length);
}

}  // namespace

std::string AttentionDescription::key() const {
  ByteWriter to;
  const auto add = [&](std::initializer_list<std::int64_t> numbers) {
    for (const std::int64_t each : numbers) to.number(each);
  };
  const auto add_sizes = [&](const FourSizes& x) {
    add({x[0], x[1], x[2], x[3]});
  };
  add({static_cast<std::int64_t>(element), batch, q_heads, kv_heads, q_length,
       kv_length, qk_size, v_size});
  for (const FourSizes& strides : {q, k, v, o}) add_sizes(strides);
  const Paging p = paging.value_or(Paging{});
  add({paging.has_value(), p.page_size, p.pages, p.table_length,
       p.table_stride});
  add({static_cast<std::int64_t>(band.diagonal), band.left.has_value(),
       band.left.value_or(0), band.right.has_value(), band.right.value_or(0)});
  const Bias b = bias.value_or(Bias{});
  add({bias.has_value()});
  add_sizes(b.dims);
  add_sizes(b.strides);
  add({static_cast<std::int64_t>(b.element), is_ragged, has_lengths, has_sink,
       has_cap, has_statistics});
  return to.take();
}

AttentionDescription canonical(AttentionDescription d) {
  Band& band = d.band;
  // The last query sees all keys, and a sequence has no other here.
  if (d.q_length == 1 && band.diagonal == Diagonal::kBottomRight) {
    band.right.reset();
  }
  const bool diagonals_agree = d.q_length == d.kv_length && !d.has_lengths;
  if (!band.is_there() || diagonals_agree) band.diagonal = Diagonal::kTopLeft;
  if (d.batch != 1) return d;
  set_distance(d.q, d.q_heads, d.q_length);
  set_distance(d.o, d.q_heads, d.q_length);
  if (d.paging) return d;
  set_distance(d.k, d.kv_heads, d.kv_length);
  set_distance(d.v, d.kv_heads, d.kv_length);
  return d;
}

FourSizes strides_by_length(std::int64_t heads, std::int64_t length,
                            std::int64_t size) {
  return {length * heads * size, size, heads * size, 1};
}

FourSizes strides_by_head(std::int64_t heads, std::int64_t length,
                          std::int64_t size) {
  return {heads * length * size, length * size, size, 1};
}

std::int64_t bucket_of(std::int64_t length) {
  constexpr std::int64_t kLeast = 64;
  // Beyond it a bucket would be no length that cuDNN takes.
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  if (length <= 1 || length > kMost) return length;
  return std::max(kLeast, static_cast<std::int64_t>(std::bit_ceil(
                              static_cast<std::uint64_t>(length))));
}

AttentionDescription with_buckets(AttentionDescription d, std::int64_t q_length,
                                  std::int64_t kv_length) {
  d.is_ragged = d.has_lengths = true;
  d.q_length = q_length;
  d.kv_length = kv_length;
  // One head has no next one.
  if (d.q_heads == 1) d.q[1] = d.o[1] = 8;
  if (d.kv_heads == 1) d.k[1] = d.v[1] = 8;
  // Offsets stand for these.
  d.q[0] = q_length * d.q[2];
  d.o[0] = q_length * d.o[2];
  d.k[0] = kv_length * d.k[2];
  d.v[0] = kv_length * d.v[2];
  return canonical(std::move(d));
}

}  // namespace ruleengine::kernels::cuda
