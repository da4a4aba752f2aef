#include "kernels/cpu/indices.h"

#include "kernels/cpu/elementwise.h"

namespace ruleengine::kernels {
namespace {

std::int64_t checked_index(std::int64_t index, std::int64_t size) {
  if (index < -size || index >= size) {
    fail("an index is out of range",
         std::to_string(-size) + " to " + std::to_string(size - 1),
         std::to_string(index));
  }
  return index < 0 ? index + size : index;
}

// How many slices the indices name; fails where their last axis is not that of
// so many indices.
std::int64_t slices_of(const Tensor& data, const Tensor& indices,
                       std::size_t batch_dims) {
  if (indices.is_scalar()) fail("the indices are a scalar", "an axis or more");
  for (std::size_t i = 0; i < batch_dims; ++i) {
    if (i + 1 >= indices.rank() || indices.dim(i) != data.dim(i)) {
      fail("the batch axes of the indices are not those of the data",
           data.text(), indices.text());
    }
  }
  const std::int64_t depth = indices.dim(indices.rank() - 1);
  const auto most = static_cast<std::int64_t>(data.rank() - batch_dims);
  if (depth > most) {
    fail("the last axis of the indices is longer than the data has axes",
         std::to_string(most) + " at most", indices.text());
  }
  return runtime::count_of(indices.dims().first(indices.rank() - 1));
}

}  // namespace

void check_indices(Ints& indices, std::int64_t size) {
  for (std::int64_t& i : indices) i = checked_index(i, size);
}

ElementPlaces::ElementPlaces(const KernelContext& c, const Tensor& data,
                             const Tensor& indices, std::int64_t axis) {
  if (data.rank() != indices.rank()) {
    fail("the indices have another rank than the data", data.text(),
         indices.text());
  }
  const std::size_t along = axis_of(axis, data.rank());
  along_ = c.ints(1);
  if (along_.empty()) return;
  check_indices(along_, data.dim(along));
  const Dims strides = strides_of(data.dims());
  for (std::size_t i = 0; i < data.rank(); ++i) {
    if (i != along && indices.dim(i) > data.dim(i)) {
      fail("the indices are longer than the data along another axis",
           data.text(), indices.text());
    }
    axes_.push_back({indices.dim(i), i == along ? 0 : strides[i], 0});
  }
  step_ = strides[along];
}

SlicePlaces::SlicePlaces(const KernelContext& c, const Tensor& data,
                         const Tensor& indices, std::size_t batch_dims) {
  const std::int64_t count = slices_of(data, indices, batch_dims);
  const auto depth = static_cast<std::size_t>(indices.dim(indices.rank() - 1));
  axes_ = batch_dims + depth;
  if (count == 0) return;
  const Ints all = c.ints(1);
  // Indices without a number each name the whole; they may be many.
  c.allocate(DataType::kInt64, {&count, 1});
  places_.assign(static_cast<std::size_t>(count), 0);
  if (data.count() > 0) inner_ = product(data.dims(), axes_, data.rank());
  std::int64_t batches = 1, batch_step = 0;
  if (data.count() > 0) {
    batches = product(data.dims(), 0, batch_dims);
    batch_step = data.count() / batches;
  }
  const std::int64_t per_batch = count / batches;
  const Dims strides =
      data.count() > 0 ? strides_of(data.dims()) : Dims(data.rank(), 0);
  for_each_element(c, count, [&](std::int64_t i) {
    std::int64_t place = i / per_batch * batch_step;
    for (std::size_t k = 0; k < depth; ++k) {
      const std::size_t axis = batch_dims + k;
      place += checked_index(all[static_cast<std::size_t>(i) * depth + k],
                             data.dim(axis)) *
               strides[axis];
    }
    places_[static_cast<std::size_t>(i)] = place;
  });
}

}  // namespace ruleengine::kernels
