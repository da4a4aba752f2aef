// RotaryEmbedding of the standard.
#include "kernels/rotary.h"
#include "kernels/cpu/attention/attending.h"
#include "kernels/cpu/attention/rotation.h"
#include "kernels/cpu/families.h"

namespace ruleengine::kernels {
namespace {

struct RotaryEmbedding {
  explicit RotaryEmbedding(const Preparation& p)
      : heads(p.attribute_int("num_heads")),
        turned(p.attribute_int("rotary_embedding_dim")),
        interleaved(p.attribute_flag("interleaved")) {}
  void operator()(Call& c) const;
  Rotation rotation(Call& c) const;

  std::int64_t heads, turned;
  bool interleaved;
};

// What follows from the input and the attributes.
Rotation RotaryEmbedding::rotation(Call& c) const {
  const Tensor& x = c.expect_rank(0, 3, 4);
  Rotation r;
  const bool merged = x.rank() == 3;
  r.batch = x.dim(0);
  r.heads = merged ? heads : x.dim(1);
  r.rows = x.dim(merged ? 1 : 2);
  r.size = merged ? head_size(x.dim(2), heads) : x.dim(3);
  r.at = merged ? merged_strides(r.heads, r.rows, r.size)
                : split_strides(r.heads, r.rows, r.size);
  r.out_at = r.at;
  r.turned = turned == 0 ? r.size : turned;
  r.interleaved = interleaved;
  return r;
}

void RotaryEmbedding::operator()(Call& c) const {
  const Tensor x = c.input(0);
  if (x.count() == 0)
    return static_cast<void>(c.output(0, x.dtype(), x.dims()));
  Rotation r = rotation(c);
  const bool has_positions = c.has_input(3);
  r.cosines = c.expect_rank(1, has_positions ? 2 : 3);
  r.sines = c.input(2);
  const std::int64_t count = r.batch * r.rows;
  if (has_positions) {
    c.expect_count(3, count);
    r.positions = c.ints(3);
    for (std::int64_t& p : r.positions) {
      if (p < 0) p += r.cosines.dim(0);
    }
  } else {
    // Rows of cosines of [batch, rows, half], each axis of which may be 1.
    const std::int64_t bs = r.cosines.dim(0), rs = r.cosines.dim(1);
    expect_angles(c, 1, r.batch, r.rows);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t b = bs == 1 ? 0 : i / r.rows;
      r.positions.push_back(b * rs + (rs == 1 ? 0 : i % r.rows));
    }
  }
  check_rotation(r);
  rotate(c, r, x, c.output(0, x.dtype(), x.dims()));
}

constexpr Kernel kRotaryKernels[] = {
    {"", "RotaryEmbedding", prepared<RotaryEmbedding>, Adapt::kWiden},
};

}  // namespace

const KernelRows kRotaryRows = kRotaryKernels;

}  // namespace ruleengine::kernels
