#include "kernels/cpu/views/indices.h"

#include "kernels/cpu/elementwise/elementwise.h"

namespace ruleengine::kernels {
namespace {

std::int64_t checked_index(const Call& c, std::int64_t index,
                           std::int64_t size) {
  if (index < -size || index >= size) {
    c.wrong_value(1,
                  size == 0 ? "no index into an axis of size 0"
                            : "indices from " + std::to_string(-size) + " to " +
                                  std::to_string(size - 1),
                  std::to_string(index));
  }
  return index < 0 ? index + size : index;
}

}  // namespace

Ints indices_up_to(const Call& c, std::int64_t size) {
  Ints all = c.ints(1);
  for (std::int64_t& i : all) i = checked_index(c, i, size);
  return all;
}

ElementPlaces::ElementPlaces(const Call& c, const Tensor& data,
                             const Tensor& indices, std::int64_t axis) {
  c.expect_rank(1, data.rank());
  const std::size_t along = axis_of(axis, data.rank());
  size_ = data.dim(along);
  const bool is_native = indices.dtype() == DataType::kInt64 ||
                         indices.dtype() == DataType::kInt32;
  along_ = is_native ? indices : list_of<std::int64_t>(c, c.ints(1));
  dispatch(Indices(), along_.dtype(), [&]<typename T>() {
    // Whether all are right fits vectors; which one is not does not matter yet.
    bool fits = true;
    for (const T i : along_.values<T>()) fits &= i >= -size_ && i < size_;
    if (fits) return;
    for (const T i : along_.values<T>()) checked_index(c, i, size_);
  });
  expect_part(c, along);
  if (along_.count() == 0) return;
  const Dims strides = strides_of(data.dims());
  for (std::size_t i = 0; i < data.rank(); ++i) {
    axes_.push_back({indices.dim(i), i == along ? 0 : strides[i], 0});
  }
  step_ = strides[along];
}

SlicePlaces::SlicePlaces(const Call& c, const SliceShape& shape) {
  const Tensor& data = c.input(0);
  const std::int64_t count = shape.count;
  const std::size_t depth = shape.depth;
  const std::size_t batch_dims = shape.axes - depth;
  if (count == 0) return;
  const Ints all = c.ints(1);
  // Indices of depth 0 each name the whole tensor; they may be many.
  c.allocate(DataType::kInt64, {&count, 1});
  places_.assign(index_of(count), 0);
  if (data.count() > 0) inner_ = product(data.dims(), shape.axes, data.rank());
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
      place += checked_index(c, all[index_of(i) * depth + k], data.dim(axis)) *
               strides[axis];
    }
    places_[index_of(i)] = place;
  });
}

}  // namespace ruleengine::kernels
