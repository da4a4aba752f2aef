// Ops that move, split or repeat elements.
#include <algorithm>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/strided.h"

namespace ruleengine::kernels {
namespace {

// Without `said` the axes are reversed.
void transpose(Call& c, const std::optional<Ints>& said) {
  const Tensor& x = c.input(0);
  std::vector<std::size_t> perm;
  if (said) {
    for (const std::int64_t axis : *said) {
      perm.push_back(axis_of(axis, x.rank()));
    }
    auto sorted = perm;
    std::ranges::sort(sorted);
    const bool twice = std::ranges::adjacent_find(sorted) != sorted.end();
    if (perm.size() != x.rank() || twice) {
      c.wrong_attribute("perm",
                        "each of " + std::to_string(x.rank()) + " axes once");
    }
  } else {
    for (std::size_t i = x.rank(); i-- > 0;) perm.push_back(i);
  }
  c.set_output(0, transposed(c, x, perm));
}

Op prepare_transpose(const Preparation& p) {
  std::optional<Ints> perm;
  if (p.has_attribute("perm")) perm = p.attribute_ints("perm");
  return [perm](Call& c) { transpose(c, perm); };
}

void concat(Call& c, std::int64_t axis) {
  std::vector<const Tensor*> parts;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    parts.push_back(&c.input(i));
  }
  if (parts.empty()) fail("there is nothing to join");
  c.set_output(0, joined(c, parts, axis_of(axis, parts[0]->rank())));
}

Op prepare_concat(const Preparation& p) {
  p.need_attribute("axis");
  return [axis = p.attribute_int("axis")](Call& c) { concat(c, axis); };
}

// Sizes of the parts along an axis of `size`. `said`: how many, if the node
// says it.
Ints split_sizes(const Call& c, std::optional<std::int64_t> said,
                 std::int64_t size) {
  const auto parts = static_cast<std::int64_t>(c.output_count());
  Ints sizes;
  if (c.has_input(1)) {
    sizes = whole_numbers(c, c.input(1));
  } else {
    if (said.value_or(parts) != parts) {
      c.wrong_attribute("num_outputs", std::to_string(parts));
    }
    const std::int64_t each = size / parts + (size % parts != 0 ? 1 : 0);
    for (std::int64_t rest = size; std::ssize(sizes) < parts;) {
      sizes.push_back(std::min(each, rest));
      rest -= sizes.back();
    }
  }
  if (std::ssize(sizes) != parts) {
    fail("wrong number of sizes in 'split'", std::to_string(parts),
         std::to_string(sizes.size()));
  }
  check_parts(sizes, size);
  return sizes;
}

void split(Call& c, AttributeAxis axis_said,
           std::optional<std::int64_t> parts) {
  const Tensor& x = c.input(0);
  const std::size_t axis = axis_said.of(c, x.rank());
  std::int64_t at = 0;
  const Ints sizes = split_sizes(c, parts, x.dim(axis));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (c.wants(i)) c.set_output(i, cut(c, x, axis, at, sizes[i]));
    at += sizes[i];
  }
}

Op prepare_split(const Preparation& p) {
  std::optional<std::int64_t> parts;
  if (p.has_attribute("num_outputs")) parts = p.attribute_int("num_outputs");
  return [axis = AttributeAxis(p), parts](Call& c) { split(c, axis, parts); };
}

// Places of elements where the image and its blocks are axes of their own:
// [N, depth, H, block row, W, block column].
Places blocked(bool depth_last, Shape deep, std::int64_t block) {
  const std::int64_t plane = deep[2] * deep[3];
  const std::int64_t depth = deep[1] / (block * block);
  Places out;
  // DCR: depth is the last of [block row, block column, depth]; CRD: the first.
  const std::int64_t step = depth_last ? 1 : block * block;
  const std::int64_t across = depth_last ? depth : 1;
  out.strides = {
      deep[1] * plane, step * plane, deep[3], across * block * plane, 1,
      across * plane};
  return out;
}

bool is_depth_last(const Preparation& p) {
  return p.choice("mode", {"DCR", "CRD", ""}) != "CRD";
}

std::int64_t block_size(const Preparation& p) {
  const std::int64_t block = p.attribute_int("blocksize");
  if (block < 1 || block > (std::int64_t{1} << 20)) {
    p.wrong_attribute("blocksize", "1 to 2^20");
  }
  return block;
}

void depth_to_space(Call& c, std::int64_t block, bool depth_last) {
  const Tensor& x = c.expect_rank(0, 4);
  if (x.dim(1) % (block * block) != 0) {
    c.wrong_shape(
        0, "a multiple of " + std::to_string(block * block) + " channels");
  }
  const Dims dims{x.dim(0), x.dim(1) / (block * block),
                  checked_product(x.dim(2), block),
                  checked_product(x.dim(3), block)};
  Tensor& out = c.output(0, x.dtype(), dims);
  if (out.count() == 0) return;
  const Dims block_dims{dims[0], dims[1], x.dim(2), block, x.dim(3), block};
  copy_block(c, block_dims, x, blocked(depth_last, x.dims(), block), out,
             dense(block_dims));
}

void space_to_depth(Call& c, std::int64_t block, bool depth_last) {
  const Tensor& x = c.expect_rank(0, 4);
  if (x.dim(2) % block != 0 || x.dim(3) % block != 0) {
    c.wrong_shape(
        0, "a height and width that are multiples of " + std::to_string(block));
  }
  const Dims dims{x.dim(0), checked_product(x.dim(1), block * block),
                  x.dim(2) / block, x.dim(3) / block};
  Tensor& out = c.output(0, x.dtype(), dims);
  if (out.count() == 0) return;
  const Dims block_dims{dims[0], x.dim(1), dims[2], block, dims[3], block};
  copy_block(c, block_dims, x, dense(block_dims), out,
             blocked(depth_last, out.dims(), block));
}

void expand(Call& c) {
  const Tensor& x = c.input(0);
  const Ints wanted = c.ints(1);
  const Dims dims = broadcast(x.dims(), wanted);
  if (runtime::count_of(dims) == x.count()) {
    return c.set_output(0, x.reshaped(dims));
  }
  Tensor& out = c.output(0, x.dtype(), dims);
  if (out.count() == 0) return;
  copy_block(c, dims, x, {0, broadcast_strides(x.dims(), dims)}, out,
             dense(dims));
}

// How often each axis is repeated.
Ints repeats_of(const Call& c) {
  const Tensor& x = c.input(0);
  c.expect_count(1, x.rank());
  return c.ints(1);
}

void tile(Call& c) {
  const Tensor& x = c.input(0);
  const Ints repeats = repeats_of(c);
  // Each axis becomes two: the repeats, at one place, and the axis itself.
  Dims dims, block;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (repeats[i] < 0) {
      c.wrong_value(1, "0 or more", std::to_string(repeats[i]));
    }
    dims.push_back(checked_product(x.dim(i), repeats[i]));
    block.push_back(repeats[i]);
    block.push_back(x.dim(i));
  }
  Tensor& out = c.output(0, x.dtype(), dims);
  if (out.count() == 0) return;
  const Dims strides = strides_of(x.dims());
  Places from;
  for (const std::int64_t stride : strides) {
    from.strides.push_back(0);
    from.strides.push_back(stride);
  }
  copy_block(c, block, x, from, out, dense(block));
}

void trilu(Call& c, bool upper) {
  const Tensor& x = c.expect_min_rank(0, 2);
  const std::int64_t height = x.dim(x.rank() - 2), width = x.dim(x.rank() - 1);
  const std::int64_t k =
      std::clamp(c.has_input(1) ? c.scalar_int(1) : 0, -height - 1, width + 1);
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

constexpr Kernel kLayoutKernels[] = {
    {"", "Concat", prepare_concat, Adapt::kUnpack},
    {"", "DepthToSpace", keeping<depth_to_space, block_size, is_depth_last>,
     Adapt::kUnpack},
    {"", "Expand", expand, Adapt::kUnpack},
    {"", "ReverseSequence",
     keeping<reverse_sequence, axis_attribute<"time_axis">,
             axis_attribute<"batch_axis">>,
     Adapt::kUnpack},
    {"", "Slice", slice, Adapt::kUnpack},
    {"", "SpaceToDepth", keeping<space_to_depth, block_size, is_depth_last>,
     Adapt::kUnpack},
    {"", "Split", prepare_split, Adapt::kUnpack},
    {"", "Tile", tile, Adapt::kUnpack},
    {"", "Transpose", prepare_transpose, Adapt::kUnpack},
    {"", "Trilu", keeping<trilu, flag_attribute<"upper">>, Adapt::kUnpack},
};

}  // namespace

const KernelRows kLayoutRows = kLayoutKernels;

}  // namespace ruleengine::kernels
