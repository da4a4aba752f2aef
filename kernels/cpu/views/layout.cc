// Ops that move, split or repeat elements.
#include <algorithm>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/moves.h"
#include "kernels/patterns.h"
#include "kernels/strided.h"

namespace ruleengine::kernels {
namespace {

void trilu(Call& c, bool upper) {
  const Tensor& x = c.expect_min_rank(0, 2);
  const std::int64_t height = x.dim(x.rank() - 2), width = x.dim(x.rank() - 1);
  const std::int64_t k = diagonal_of(c);
  dispatch_width(x.dtype(), [&]<typename T>() {
    Tensor& out = output_copy(c);
    if (out.count() == 0) return;
    T* to = mutable_elements<T>(out);
    c.threads().for_each_index(
        out.count() / width, kGrain / width, [&](std::int64_t i) {
          const std::int64_t diagonal = i % height + k;
          const std::int64_t edge = std::clamp<std::int64_t>(
              upper ? diagonal : diagonal + 1, 0, width);
          T* row = to + i * width;
          std::fill(upper ? row : row + edge, upper ? row + edge : row + width,
                    T());
        });
  });
}

void reverse_sequence(Call& c, AttributeAxis time_axis,
                      AttributeAxis batch_axis) {
  const Tensor& x = c.expect_min_rank(0, 2);
  const std::size_t time = time_axis.of(c, 2), batch = batch_axis.of(c, 2);
  if (time == batch) {
    c.wrong_attribute("time_axis", "an axis other than 'batch_axis'");
  }
  c.expect_count(1, x.dim(batch));
  const Ints lengths = ints_up_to(c, 1, x.dim(time));
  Tensor& out = c.output(0, x.dtype(), x.dims());
  if (out.count() == 0) return;
  const std::int64_t inner = product(x.dims(), 2, x.rank());
  const std::int64_t step = time == 0 ? x.dim(1) * inner : inner;
  const std::int64_t apart = time == 0 ? inner : x.dim(1) * inner;
  dispatch_width(x.dtype(), [&]<typename T>() {
    const T* from = elements<T>(x);
    T* to = mutable_elements<T>(out);
    const std::int64_t steps = x.dim(time);
    c.threads().for_each_index(
        x.dim(batch), kGrain / (steps * inner), [&](std::int64_t b) {
          const std::int64_t n = lengths[index_of(b)];
          for (std::int64_t t = 0; t < steps; ++t) {
            const std::int64_t source = t < n ? n - 1 - t : t;
            std::copy_n(from + b * apart + source * step, inner,
                        to + b * apart + t * step);
          }
        });
  });
}

}  // namespace

const KernelRows kLayoutRows = {
    {"", "Concat", moves::concat, Adapt::kUnpack},
    {"", "DepthToSpace", moves::depth_to_space, Adapt::kUnpack},
    {"", "Expand", moves::expand, Adapt::kUnpack},
    {"", "ReverseSequence",
     keeping<reverse_sequence, axis_attribute<"time_axis">,
             axis_attribute<"batch_axis">>,
     Adapt::kUnpack},
    {"", "Slice", moves::slice, Adapt::kUnpack},
    {"", "SpaceToDepth", moves::space_to_depth, Adapt::kUnpack},
    {"", "Split", moves::split, Adapt::kUnpack},
    {"", "Tile", moves::tile, Adapt::kUnpack},
    {"", "Transpose", moves::transpose, Adapt::kUnpack},
    {"", "Trilu", keeping<trilu, flag_attribute<"upper">>, Adapt::kUnpack},
};

}  // namespace ruleengine::kernels
