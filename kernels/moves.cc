#include "kernels/moves.h"

#include <algorithm>
#include <limits>

#include "core/ops/slice_math.h"
#include "kernels/keeping.h"
#include "kernels/strided.h"

namespace ruleengine::kernels {
namespace {

void identity(Call& c) { c.set_output(0, c.value(0)); }

// The strides of a view in another shape of as many elements; none where it
// takes a copy.
std::optional<Dims> reshaped_strides(const Tensor& x, Shape dims) {
  // The axes without those of one element, joined where one goes on in the
  // next.
  Dims sizes, strides;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const std::int64_t size = x.dim(i), stride = x.strides()[i];
    if (size == 1) continue;
    if (!sizes.empty() && strides.back() == size * stride) {
      sizes.back() *= size;
      strides.back() = stride;
    } else {
      sizes.push_back(size);
      strides.push_back(stride);
    }
  }
  Dims out(dims.size(), 0);
  std::int64_t left = 1, step = 0;
  for (std::size_t i = dims.size(), at = sizes.size(); i-- > 0;) {
    if (dims[i] == 1) continue;
    if (left == 1) {
      --at;
      left = sizes[at];
      step = strides[at];
    }
    if (left % dims[i] != 0) return std::nullopt;
    out[i] = step;
    step *= dims[i];
    left /= dims[i];
  }
  return out;
}

// Output 0: `x` in another shape of as many elements.
void give_reshaped(Call& c, const Tensor& x, Shape dims) {
  if (!x.is_dense() && c.gives_view(0)) {
    if (const auto strides = reshaped_strides(x, dims)) {
      return c.set_output(0, x.view(dims, *strides, 0));
    }
  }
  c.set_output(0, runtime::compact(x, c.run()).reshaped(dims));
}

// `zero_is_size`: a 0 does not stand for the size of the input's axis.
void reshape(Call& c, bool zero_is_size) {
  const Ints wanted = c.ints(1);
  const Tensor& x = c.input(0);
  Dims dims;
  std::int64_t known = 1, open = -1;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::int64_t size = wanted[i];
    if (size == 0 && !zero_is_size) {
      if (i >= x.rank()) {
        fail("wrong value of 'shape'",
             "0 only where the input has an axis to copy",
             "0 for axis " + std::to_string(i) + " of " + x.text());
      }
      size = x.dim(i);
    }
    if (size < -1) {
      fail("wrong value of 'shape'", "-1 or more", std::to_string(size));
    }
    if (size == -1) {
      if (open >= 0) {
        fail("wrong value of 'shape'", "-1 once at most", "-1 twice");
      }
      open = static_cast<std::int64_t>(i);
      size = 1;
    }
    dims.push_back(size);
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    if (__builtin_mul_overflow(known, size, &known)) known = kMost;
  }
  if (open >= 0) {
    if (known == 0 || x.count() % known != 0) {
      fail("wrong number of elements for the -1 of 'shape'",
           "a multiple of " + std::to_string(known), x.text());
    }
    dims[index_of(open)] = x.count() / known;
    known = x.count();
  }
  if (known != x.count()) {
    fail("wrong number of elements in 'shape'", x.text(),
         runtime::text_of(x.dtype(), dims));
  }
  give_reshaped(c, x, dims);
}

// `axis`: of a cut before, between or behind the axes.
void flatten(Call& c, std::int64_t axis) {
  const Tensor& x = c.input(0);
  const auto rank = static_cast<std::int64_t>(x.rank());
  if (axis < -rank || axis > rank) {
    c.wrong_attribute("axis",
                      std::to_string(-rank) + " to " + std::to_string(rank));
  }
  const std::size_t at = index_of(axis < 0 ? axis + rank : axis);
  const std::int64_t rows = product(x.dims(), 0, at);
  give_reshaped(c, x, Dims{rows, product(x.dims(), at, x.rank())});
}

void squeeze(Call& c) {
  const Tensor& x = c.input(0);
  const bool is_said = c.has_input(1);
  const auto gone = axes_of(is_said ? c.ints(1) : Ints(), x.rank());
  Dims dims;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const bool named = std::ranges::binary_search(gone, i);
    if (named && x.dim(i) != 1) {
      c.wrong_shape(
          0, "size 1 along axis " + std::to_string(i) + ", which 'axes' names");
    }
    if (!named && (is_said || x.dim(i) != 1)) dims.push_back(x.dim(i));
  }
  give_reshaped(c, x, dims);
}

void unsqueeze(Call& c) {
  const Tensor& x = c.input(0);
  const Ints axes = c.ints(1);
  const std::size_t rank = x.rank() + axes.size();
  const auto added = axes_of(axes, rank);
  if (added.size() != axes.size()) {
    fail("wrong value of input 'axes'", "each axis once",
         runtime::shape_text(axes));
  }
  Dims dims;
  for (std::size_t i = 0, from = 0; i < rank; ++i) {
    const bool is_new = std::ranges::binary_search(added, i);
    dims.push_back(is_new ? 1 : x.dim(from++));
  }
  give_reshaped(c, x, dims);
}

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
  c.set_output(0, transposed(c, x, perm, c.gives_view(0)));
}

void concat(Call& c, std::int64_t axis) {
  std::vector<const Tensor*> parts;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    parts.push_back(&c.input(i));
  }
  if (parts.empty()) fail("there is nothing to join");
  c.set_output(0, joined(c, parts, axis_of(axis, parts[0]->rank())));
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
    const std::int64_t each = ceil_div(size, parts);
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
    if (c.wants(i)) {
      c.set_output(i, cut(c, x, axis, at, sizes[i], c.gives_view(i)));
    }
    at += sizes[i];
  }
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

void tile(Call& c) {
  const Tensor& x = c.input(0);
  c.expect_count(1, x.rank());
  const Ints repeats = c.ints(1);  // of each axis
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
  Places from;
  for (const std::int64_t stride : strides_of(x.dims())) {
    from.strides.push_back(0);
    from.strides.push_back(stride);
  }
  copy_block(c, block, x, from, out, dense(block));
}

void slice(Call& c) {
  const Tensor& x = c.input(0);
  const Ints starts = c.ints(1), ends = c.ints(2);
  const auto axes = input_axes(c, 3, starts.size(), x.rank());
  const Ints steps = c.has_input(4) ? c.ints(4) : Ints(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    fail("'starts', 'ends', 'axes' and 'steps' have different lengths",
         std::to_string(starts.size()) + " each",
         std::to_string(starts.size()) + ", " + std::to_string(ends.size()) +
             ", " + std::to_string(axes.size()) + ", " +
             std::to_string(steps.size()));
  }
  constexpr auto kLast = std::numeric_limits<std::int64_t>::max();
  Dims dims(x.dims());
  Places from = places_of(x);
  bool is_whole = x.is_dense();
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (steps[i] == 0) fail("wrong value of input 'steps'", "not 0", "0");
    // Nothing is left, but ONNX Runtime goes to the end.
    if (c.run().agreed_only && steps[i] < 0 && ends[i] == kLast) {
      fail("wrong value of input 'ends'", "one that backward steps reach");
    }
    const std::size_t axis = axes[i];
    const auto taken =
        ops::slice_range(dims[axis], starts[i], ends[i], steps[i])
            .value_or(ops::SliceRange());
    // A step that is not taken may be of any size.
    const std::int64_t step = taken.count <= 1 ? 1 : steps[i];
    is_whole = is_whole && taken.count == dims[axis] && step == 1;
    dims[axis] = taken.count;
    from.at += taken.start * from.strides[axis];
    from.strides[axis] *= step;
  }
  c.set_output(0, is_whole ? x : taken(c, x, dims, from, c.gives_view(0)));
}

}  // namespace

Op moves::reshape(const Preparation& p) {
  return keeping<kernels::reshape, flag_attribute<"allowzero">>(p);
}

Op moves::flatten(const Preparation& p) {
  return keeping<kernels::flatten, int_attribute<"axis">>(p);
}

Op moves::transpose(const Preparation& p) {
  return keeping<kernels::transpose, written_ints<"perm">>(p);
}

Op moves::concat(const Preparation& p) {
  return keeping<kernels::concat, needed<"axis", int_attribute<"axis">>>(p);
}

Op moves::split(const Preparation& p) {
  return keeping<kernels::split, axis_attribute<>, written_int<"num_outputs">>(
      p);
}

Op moves::identity(const Preparation&) { return kernels::identity; }
Op moves::squeeze(const Preparation&) { return kernels::squeeze; }
Op moves::unsqueeze(const Preparation&) { return kernels::unsqueeze; }
Op moves::expand(const Preparation&) { return kernels::expand; }
Op moves::tile(const Preparation&) { return kernels::tile; }
Op moves::slice(const Preparation&) { return kernels::slice; }
Op moves::depth_to_space(const Preparation& p) {
  return keeping<kernels::depth_to_space, block_size, is_depth_last>(p);
}
Op moves::space_to_depth(const Preparation& p) {
  return keeping<kernels::space_to_depth, block_size, is_depth_last>(p);
}

}  // namespace ruleengine::kernels
