#include "kernels/indexing.h"

#include <algorithm>

namespace ruleengine::kernels {

SliceShape slice_shape(const Call& c, std::int64_t batch_dims) {
  const Tensor& data = c.input(0);
  const auto most =
      static_cast<std::int64_t>(std::min(data.rank(), c.input(1).rank()));
  if (batch_dims < 0 || batch_dims > most) {
    c.wrong_attribute("batch_dims", "0 to " + std::to_string(most));
  }
  const std::size_t batches = index_of(batch_dims);
  const Tensor& indices = c.expect_min_rank(1, batches + 1);
  Dims fits(indices.rank(), -1);
  std::ranges::copy(data.dims().first(batches), fits.begin());
  c.expect_shape(1, fits);
  const std::int64_t depth = indices.dim(indices.rank() - 1);
  const auto deepest = static_cast<std::int64_t>(data.rank() - batches);
  if (depth > deepest) {
    c.wrong_shape(1, "a last axis of at most " + std::to_string(deepest));
  }
  const Shape items = indices.dims().first(indices.rank() - 1);
  SliceShape out{.axes = batches + index_of(depth),
                 .depth = index_of(depth),
                 .count = runtime::count_of(items)};
  out.named.append(items);
  out.named.append(data.dims().subspan(out.axes));
  return out;
}

void expect_part(const Call& c, std::size_t along) {
  const Tensor& data = c.input(0);
  const Tensor& indices = c.expect_rank(1, data.rank());
  if (indices.count() == 0) return;
  for (std::size_t i = 0; i < data.rank(); ++i) {
    if (i == along || indices.dim(i) <= data.dim(i)) continue;
    c.wrong_shape(1, "at most " + std::to_string(data.dim(i)) + " along axis " +
                         std::to_string(i));
  }
}

CacheSizes cache_sizes(const Call& c, const AttributeAxis& axis_said) {
  const Tensor& x = c.input(0);
  const std::size_t axis = axis_said.of(c, x.rank());
  if (axis == 0) c.wrong_attribute("axis", "an axis after that of the batch");
  Dims fits(x.dims());
  fits[axis] = -1;
  const Tensor& update = c.expect_shape(1, fits, x.dtype());
  if (update.dim(axis) > x.dim(axis)) {
    c.wrong_shape(1, "at most " + std::to_string(x.dim(axis)) + " along axis " +
                         std::to_string(axis));
  }
  if (x.count() == 0) return {};
  return {.inner = product(x.dims(), axis + 1, x.rank()),
          .length = x.dim(axis),
          .update = update.dim(axis),
          .batch = x.dim(0),
          .rows = product(x.dims(), 1, axis)};
}

}  // namespace ruleengine::kernels
