#include "kernels/cuda/attention/description.h"

#include <algorithm>

#include "kernels/cuda/attention/bytes.h"

namespace ruleengine::kernels::cuda {
namespace {

class KeyWriter {
 public:
  void add(std::int64_t value) { bytes_.number(value); }
  void add(const FourSizes& sizes) {
    for (const std::int64_t size : sizes) add(size);
  }
  void add(const std::optional<std::int64_t>& value) {
    add(std::int64_t{value.has_value()});
    add(value.value_or(0));
  }
  void add(const Paging& p) {
    add(p.page_size);
    add(p.pages);
    add(p.table_length);
    add(p.table_stride);
  }
  void add(const Band& band) {
    add(static_cast<std::int64_t>(band.diagonal));
    add(band.left);
    add(band.right);
  }
  void add(const Bias& bias) {
    add(bias.dims);
    add(bias.strides);
    add(static_cast<std::int64_t>(bias.element));
  }
  std::string take() { return bytes_.take(); }

 private:
  ByteWriter bytes_;
};

// One sequence has no distance to the next: that of dense ones stands for all.
void set_distance(FourSizes& strides, std::int64_t heads, std::int64_t length) {
  strides[0] = std::max(strides[1] * heads, strides[2] * length);
}

}  // namespace

std::string AttentionDescription::key() const {
  KeyWriter to;
  to.add(static_cast<std::int64_t>(element));
  for (const std::int64_t size :
       {batch, q_heads, kv_heads, q_length, kv_length, qk_size, v_size}) {
    to.add(size);
  }
  for (const FourSizes& strides : {q, k, v, o}) to.add(strides);
  to.add(std::int64_t{paging.has_value()});
  to.add(paging.value_or(Paging{}));
  to.add(band);
  to.add(std::int64_t{bias.has_value()});
  to.add(bias.value_or(Bias{}));
  for (const bool flag :
       {is_ragged, has_lengths, has_sink, has_cap, has_statistics}) {
    to.add(std::int64_t{flag});
  }
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

}  // namespace ruleengine::kernels::cuda
