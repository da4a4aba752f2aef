// RotaryEmbedding of the standard, and of ONNX Runtime's domain, which has the
// inputs in another order and one position for a whole sequence.
#include <algorithm>

#include "kernels/cpu/attending.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/rotation.h"

namespace ruleengine::kernels {
namespace {

using runtime::Adapt;
using runtime::Kernel;

// What follows from the input and the attributes.
Rotation read_shape(KernelContext& c, const Tensor& x, std::int64_t heads) {
  if (x.rank() != 3 && x.rank() != 4) {
    fail("the input has another rank", "3 or 4", x.text());
  }
  Rotation r;
  const bool merged = x.rank() == 3;
  r.batch = x.dim(0);
  r.heads = merged ? heads : x.dim(1);
  r.rows = x.dim(merged ? 1 : 2);
  r.size = merged ? head_size(x.dim(2), heads) : x.dim(3);
  r.at = merged ? merged_strides(r.heads, r.rows, r.size)
                : split_strides(r.heads, r.rows, r.size);
  r.out_at = r.at;
  r.turned = c.attribute_int("rotary_embedding_dim");
  if (r.turned == 0) r.turned = r.size;
  r.interleaved = c.attribute_flag("interleaved");
  return r;
}

void finish(KernelContext& c, Rotation& r, const Tensor& x) {
  check_rotation(r);
  rotate(c, r, x, c.output(0, x.dtype(), x.dims()));
}

void standard(KernelContext& c) {
  const Tensor x = c.input(0);
  if (x.count() == 0)
    return static_cast<void>(c.output(0, x.dtype(), x.dims()));
  Rotation r = read_shape(c, x, c.attribute_int("num_heads"));
  r.cosines = c.input(1);
  r.sines = c.input(2);
  const std::int64_t count = r.batch * r.rows;
  const bool has_positions = c.has_input(3);
  const std::size_t rank = has_positions ? 2 : 3;
  if (r.cosines.rank() != rank) {
    fail("the cosines have another rank", std::to_string(rank),
         r.cosines.text());
  }
  if (has_positions) {
    r.positions = c.ints(3);
    for (std::int64_t& p : r.positions) {
      if (p < 0) p += r.cosines.dim(0);
    }
    if (static_cast<std::int64_t>(r.positions.size()) != count) {
      fail("the positions are not one for each token", x.text(),
           c.input(3).text());
    }
  } else {
    // Rows of cosines of [batch, rows, half], each axis of which may be 1.
    const std::int64_t bs = r.cosines.dim(0), rs = r.cosines.dim(1);
    if ((bs != r.batch && bs != 1) || (rs != r.rows && rs != 1)) {
      fail("the cosines are not one row for each token", x.text(),
           r.cosines.text());
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t b = bs == 1 ? 0 : i / r.rows;
      r.positions.push_back(b * rs + (rs == 1 ? 0 : i % r.rows));
    }
  }
  finish(c, r, x);
}

// A head count of 0 follows from the cosines.
void contrib(KernelContext& c) {
  const Tensor x = c.input(0);
  if (x.count() == 0)
    return static_cast<void>(c.output(0, x.dtype(), x.dims()));
  const Tensor& positions = c.input(1);
  const Tensor& cosines = c.input(2);
  if (cosines.rank() != 2) {
    fail("the cosines have another rank", "2", cosines.text());
  }
  std::int64_t heads = c.attribute_int("num_heads");
  if (x.rank() == 3 && heads == 0) {
    heads = head_size(x.dim(2), cosines.dim(1) * 2);
  }
  Rotation r = read_shape(c, x, heads);
  if (x.rank() == 4 && c.attribute_int("rotary_embedding_dim") == 0) {
    r.turned = cosines.dim(1) * 2;
  }
  r.cosines = cosines;
  r.sines = c.input(3);
  const std::int64_t count = r.batch * r.rows;
  const Ints given = c.ints(1);
  if (static_cast<std::int64_t>(given.size()) == count &&
      positions.rank() == 2) {
    r.positions = given;
  } else if (given.size() == 1 && given[0] < cosines.dim(0)) {
    for (std::int64_t i = 0; i < count; ++i) {
      r.positions.push_back(given[0] + i % r.rows);
    }
  } else {
    fail("the positions are neither one nor one for each token", x.text(),
         positions.text());
  }
  if (c.has_attribute("scale") && c.attribute_float("scale") != 1) {
    fail("the kernel does not scale a rotation", "1",
         std::to_string(c.attribute_float("scale")));
  }
  finish(c, r, x);
}

constexpr Kernel kRotaryKernels[] = {
    {"", "RotaryEmbedding", standard, Adapt::kWiden},
    {"com.microsoft", "RotaryEmbedding", contrib, Adapt::kWiden},
};

}  // namespace

KernelRows rotary_kernels() { return kRotaryKernels; }

}  // namespace ruleengine::kernels
