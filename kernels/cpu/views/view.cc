// Ops that give the same elements in the same order another shape; the bytes
// are shared.
#include <algorithm>
#include <limits>

#include "kernels/cpu/families.h"
#include "kernels/cpu/shapes.h"

namespace ruleengine::kernels {
namespace {

void identity(Call& c) { c.set_output(0, c.value(0)); }

// `zero_is_size`: a 0 does not stand for the size of the input's axis.
void reshape(Call& c, const Ints& wanted, bool zero_is_size) {
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
    if (size != 0 && known > x.count() && known != 0 && x.count() != 0) {
      known = x.count() + 1;  // beyond any that fits
    } else {
      known *= size;
    }
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
  c.set_output(0, x.reshaped(dims));
}

Op prepare_reshape(const Preparation& p) {
  return [zero_is_size = p.attribute_flag("allowzero")](Call& c) {
    reshape(c, c.ints(1), zero_is_size);
  };
}

Op flatten(const Preparation& p) {
  return [axis = p.attribute_int("axis")](Call& c) {
    const Tensor& x = c.input(0);
    const std::size_t cut = cut_of(c, axis, x.rank());
    const std::int64_t rows = product(x.dims(), 0, cut);
    c.set_output(0, x.reshaped(Dims{rows, product(x.dims(), cut, x.rank())}));
  };
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
  c.set_output(0, x.reshaped(dims));
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
  c.set_output(0, x.reshaped(dims));
}

// Sizes of the axes from `start` to `stop`.
void shape(Call& c, std::int64_t start, std::int64_t stop) {
  const Tensor& x = c.input(0);
  const auto rank = static_cast<std::int64_t>(x.rank());
  const auto clamped = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t begin = clamped(start), end = clamped(stop);
  Ints sizes;
  for (std::int64_t i = begin; i < end; ++i) {
    sizes.push_back(x.dim(index_of(i)));
  }
  c.set_output(0, list_of<std::int64_t>(c, sizes));
}

void size(Call& c) { c.set_output(0, scalar(c, c.input(0).count())); }

constexpr Kernel kViewKernels[] = {
    {"", "Flatten", flatten},
    {"", "Identity", identity},
    {"", "Reshape", prepare_reshape},
    {"", "Shape",
     keeping<shape, int_attribute<"start">,
             int_attribute<"end", std::numeric_limits<std::int64_t>::max()>>},
    {"", "Size", size},
    {"", "Squeeze", squeeze},
    {"", "Unsqueeze", unsqueeze},
};

}  // namespace

const KernelRows kViewRows = kViewKernels;

}  // namespace ruleengine::kernels
