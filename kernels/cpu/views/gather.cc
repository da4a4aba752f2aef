// Ops that read elements or slices at indices.
#include <algorithm>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/views/indices.h"
#include "kernels/strided.h"

namespace ruleengine::kernels {
namespace {

void gather(Call& c, AttributeAxis axis_said) {
  const Tensor& x = c.input(0);
  const std::size_t axis = axis_said.of(c, x.rank());
  const Ints at = indices_up_to(c, x.dim(axis));
  Dims dims;
  dims.append(x.dims().first(axis));
  dims.append(c.input(1).dims());
  dims.append(x.dims().subspan(axis + 1));
  Tensor& out = c.output(0, x.dtype(), dims);
  take(c, x, axis, at, out);
}

void gather_elements(Call& c, std::int64_t axis) {
  const Tensor& x = c.input(0);
  const Tensor& where = c.input(1);
  const ElementPlaces places(c, x, where, axis);
  Tensor& out = c.output(0, x.dtype(), where.dims());
  dispatch_width(x.dtype(), [&]<typename T>() {
    const T* from = elements<T>(x);
    T* to = mutable_elements<T>(out);
    c.threads().for_each(
        places.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
          places.for_each(begin, end, [&](std::int64_t i, std::int64_t place) {
            to[i] = from[place];
          });
        });
  });
}

void gather_nd(Call& c, std::int64_t batch_dims) {
  const Tensor& x = c.input(0);
  const SliceShape shape = slice_shape(c, batch_dims);
  const SlicePlaces places(c, shape);
  Tensor& out = c.output(0, x.dtype(), shape.named);
  if (out.count() == 0) return;
  const std::int64_t inner = places.inner();
  dispatch_width(x.dtype(), [&]<typename T>() {
    const T* from = elements<T>(x);
    T* to = mutable_elements<T>(out);
    c.threads().for_each_index(
        places.count(), kGrain / inner, [&](std::int64_t i) {
          std::copy_n(from + places[i], inner, to + i * inner);
        });
  });
}

}  // namespace

const KernelRows kGatherRows = {
    {"", "Gather", keeping<gather, axis_attribute<>>, Adapt::kUnpack},
    {"", "GatherElements", keeping<gather_elements, int_attribute<"axis">>,
     Adapt::kUnpack},
    {"", "GatherND", keeping<gather_nd, int_attribute<"batch_dims">>,
     Adapt::kUnpack},
};

}  // namespace ruleengine::kernels
