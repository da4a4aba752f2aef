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

// How many slices the indices name; checks their shape.
std::int64_t slices_of(const Call& c, const Tensor& data,
                       std::size_t batch_dims) {
  const Tensor& indices = c.expect_min_rank(1, batch_dims + 1);
  Dims fits(indices.rank(), -1);
  std::ranges::copy(data.dims().first(batch_dims), fits.begin());
  c.expect_shape(1, fits);
  const std::int64_t depth = indices.dim(indices.rank() - 1);
  const auto most = static_cast<std::int64_t>(data.rank() - batch_dims);
  if (depth > most) {
    c.wrong_shape(1, "a last axis of at most " + std::to_string(most));
  }
  return runtime::count_of(indices.dims().first(indices.rank() - 1));
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
  if (along_.count() == 0) return;
  const Dims strides = strides_of(data.dims());
  for (std::size_t i = 0; i < data.rank(); ++i) {
    if (i != along && indices.dim(i) > data.dim(i)) {
      c.wrong_shape(1, "at most " + std::to_string(data.dim(i)) +
                           " along axis " + std::to_string(i));
    }
    axes_.push_back({indices.dim(i), i == along ? 0 : strides[i], 0});
  }
  step_ = strides[along];
}

SlicePlaces::SlicePlaces(const Call& c, const Tensor& data,
                         const Tensor& indices, std::size_t batch_dims) {
  const std::int64_t count = slices_of(c, data, batch_dims);
  const auto depth = index_of(indices.dim(indices.rank() - 1));
  axes_ = batch_dims + depth;
  if (count == 0) return;
  const Ints all = c.ints(1);
  // Indices of depth 0 each name the whole tensor; they may be many.
  c.allocate(DataType::kInt64, {&count, 1});
  places_.assign(index_of(count), 0);
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
      place += checked_index(c, all[index_of(i) * depth + k], data.dim(axis)) *
               strides[axis];
    }
    places_[index_of(i)] = place;
  });
}

}  // namespace ruleengine::kernels
