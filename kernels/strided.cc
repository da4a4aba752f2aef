#include "kernels/strided.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace ruleengine::kernels {

void copy_block(const Call& c, Shape dims, const Tensor& from,
                const Places& from_places, Tensor& to,
                const Places& to_places) {
  if (std::ranges::find(dims, 0) != dims.end()) return;
  StridedAxes axes =
      runtime::joined_axes(dims, from_places.strides, to_places.strides);
  runtime::DeviceMemory* place = to.place();
  if (place == nullptr) {
    return copy_on_host(c, std::move(axes), from, from_places.at, to,
                        to_places.at);
  }
  const auto bytes =
      static_cast<std::int64_t>(runtime::bytes_of(from.dtype(), 1));
  place->copy({.element_bytes = bytes,
               .axes = axes,
               .from = from.data<std::byte>() + from_places.at * bytes,
               .to = to.mutable_data<std::byte>() + to_places.at * bytes});
}

Tensor taken(const Call& c, const Tensor& x, Shape dims, const Places& from,
             bool is_view) {
  if (is_view || !x.is_dense()) {
    Tensor view = x.view(dims, from.strides, from.at);
    if (is_view || view.is_dense()) return view;
  }
  Tensor out = c.allocate(x.dtype(), dims);
  if (out.count() > 0) copy_block(c, dims, x, from, out, dense(dims));
  return out;
}

Tensor transposed(const Call& c, const Tensor& x,
                  std::span<const std::size_t> perm, bool is_view) {
  Dims dims;
  std::vector<std::size_t> moving;
  for (const std::size_t axis : perm) {
    dims.push_back(x.dim(axis));
    if (x.dim(axis) != 1) moving.push_back(axis);
  }
  if (x.is_dense() && std::ranges::is_sorted(moving)) return x.reshaped(dims);
  const Dims strides = places_of(x).strides;
  Places from;
  for (const std::size_t axis : perm) from.strides.push_back(strides[axis]);
  return taken(c, x, dims, from, is_view);
}

std::vector<std::size_t> axis_first(std::size_t axis, std::size_t rank) {
  std::vector<std::size_t> perm{axis};
  for (std::size_t i = 0; i < rank; ++i) {
    if (i != axis) perm.push_back(i);
  }
  return perm;
}

Tensor cut(const Call& c, const Tensor& x, std::size_t axis, std::int64_t begin,
           std::int64_t size, bool is_view) {
  if (x.is_dense() && begin == 0 && size == x.dim(axis)) return x;
  Dims dims(x.dims());
  dims[axis] = size;
  Places from = places_of(x);
  from.at = begin * from.strides[axis];
  return taken(c, x, dims, from, is_view);
}

Tensor joined(const Call& c, std::span<const Tensor* const> parts,
              std::size_t axis) {
  const Tensor& first = *parts[0];
  Dims dims(first.dims());
  std::int64_t size = 0;
  for (const Tensor* part : parts) {
    bool fits = part->dtype() == first.dtype() && part->rank() == first.rank();
    for (std::size_t i = 0; fits && i < dims.size(); ++i) {
      fits = i == axis || part->dim(i) == first.dim(i);
    }
    if (!fits) {
      fail("wrong type or shape of a joined tensor",
           first.text() + " but for axis " + std::to_string(axis),
           part->text());
    }
    if (part->dim(axis) > std::numeric_limits<std::int64_t>::max() - size) {
      fail("the joined axis is too long", "less than 2^63 elements",
           std::to_string(size) + " and " + std::to_string(part->dim(axis)));
    }
    size += part->dim(axis);
  }
  if (parts.size() == 1) return first;
  dims[axis] = size;
  Tensor out = c.allocate(first.dtype(), dims);
  if (out.count() == 0) return out;
  Places to = dense(dims);
  for (const Tensor* part : parts) {
    if (part->count() == 0) continue;
    copy_block(c, part->dims(), *part, dense(part->dims()), out, to);
    to.at += part->dim(axis) * to.strides[axis];
  }
  return out;
}

void check_parts(const Ints& sizes, std::int64_t size) {
  std::int64_t rest = size;
  for (const std::int64_t each : sizes) {
    if (each < 0) {
      fail("wrong value of 'split'", "0 or more", std::to_string(each));
    }
    if (each > rest) {
      fail("wrong sum of 'split'",
           std::to_string(size) + ", the size of the axis",
           std::to_string(each) + " where " + std::to_string(rest) +
               " are left");
    }
    rest -= each;
  }
  if (rest != 0) {
    fail("wrong sum of 'split'",
         std::to_string(size) + ", the size of the axis",
         std::to_string(size - rest));
  }
}

std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out))
    fail("a size is too large", "a product less than 2^63",
         std::to_string(a) + " times " + std::to_string(b));
  return out;
}

}  // namespace ruleengine::kernels
