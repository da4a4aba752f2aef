// What ops say that gather or scatter at indices, whatever computes them: input
// 0 is the data, input 1 has the indices. Internal to kernels.
#pragma once

#include "kernels/shapes.h"

namespace ruleengine::kernels {

// GatherND and ScatterND: the last axis of the indices names slices.
struct SliceShape {
  std::size_t axes;    // of the data, before those of a slice
  std::size_t depth;   // indices of each slice
  std::int64_t count;  // of slices that are named
  Dims named;          // the shape of all slices that are named
};
// Fails where the shapes do not fit.
SliceShape slice_shape(const Call& c, std::int64_t batch_dims);

// GatherElements and ScatterElements: fails unless the indices have an element
// for each of a part of the data, but for axis `along`.
void expect_part(const Call& c, std::size_t along);

// TensorScatter: the sizes of a cache, [batch, rows, length, inner], and of
// what is written to it, which has `update` in the place of the length.
struct CacheSizes {
  std::int64_t inner = 1, length = 0, update = 0, batch = 0, rows = 1;
};
// Fails where the shapes do not fit. No sizes where the cache is empty.
CacheSizes cache_sizes(const Call& c, const AttributeAxis& axis_said);

}  // namespace ruleengine::kernels
