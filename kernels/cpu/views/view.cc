// Ops that give the same elements in the same order another shape, and those
// that tell a shape.
#include <algorithm>
#include <limits>

#include "kernels/cpu/families.h"
#include "kernels/moves.h"

namespace ruleengine::kernels {
namespace {

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

}  // namespace

const KernelRows kViewRows = {
    {"", "Flatten", moves::flatten},
    {"", "Identity", moves::identity},
    {"", "Reshape", moves::reshape},
    {"", "Shape",
     keeping<shape, int_attribute<"start">,
             int_attribute<"end", std::numeric_limits<std::int64_t>::max()>>},
    {"", "Size", size},
    {"", "Squeeze", moves::squeeze},
    {"", "Unsqueeze", moves::unsqueeze},
};

}  // namespace ruleengine::kernels
