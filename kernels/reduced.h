// The axes that a reduction keeps and those that it goes along. Internal to
// kernels.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/shapes.h"

namespace ruleengine::kernels {

struct ReducedShape {
  std::vector<std::size_t> axes;  // that go, ascending
  Dims result;                    // with the axes that are kept, or all
  Dims kept, gone;                // sizes
  Dims kept_strides, gone_strides;
};

// `gone`: ascending.
inline ReducedShape reduced_shape(Shape dims,
                                  const std::vector<std::size_t>& gone,
                                  bool keepdims) {
  ReducedShape s{.axes = gone};
  const Dims strides = strides_of(dims);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (std::ranges::binary_search(gone, i)) {
      s.gone.push_back(dims[i]);
      s.gone_strides.push_back(strides[i]);
      if (keepdims) s.result.push_back(1);
    } else {
      s.kept.push_back(dims[i]);
      s.kept_strides.push_back(strides[i]);
      s.result.push_back(dims[i]);
    }
  }
  return s;
}

// A tensor cut at an axis: `outer` blocks of `size` lines of `inner` elements.
struct CutShape {
  std::int64_t outer, size, inner;
};
inline CutShape cut_at(Shape dims, std::size_t axis) {
  return {product(dims, 0, axis), dims[axis],
          product(dims, axis + 1, dims.size())};
}

// The result of TopK, whose k is input 1.
struct TopKShape {
  Dims dims;
  std::int64_t k;
};
inline TopKShape top_k_shape(const Call& c, std::size_t axis) {
  const Tensor& x = c.input(0);
  TopKShape out{.dims = Dims(x.dims()), .k = c.scalar_int(1)};
  if (out.k < 0 || out.k > x.dim(axis)) {
    fail("wrong value of 'k'", "0 to " + std::to_string(x.dim(axis)),
         std::to_string(out.k));
  }
  out.dims[axis] = out.k;
  return out;
}

// No axes mean all axes, unless the node says that they mean no axis.
class AxesToReduce {
 public:
  explicit AxesToReduce(const Preparation& p)
      : none_(p.attribute_flag("noop_with_empty_axes")),
        keepdims_(p.attribute_flag("keepdims")) {}

  ReducedShape of(const Call& c, Shape dims) const {
    const Ints axes = c.has_input(1) ? c.ints(1) : Ints();
    std::vector<std::size_t> gone = axes_of(axes, dims.size());
    if (axes.empty() && !none_) {
      for (std::size_t i = 0; i < dims.size(); ++i) gone.push_back(i);
    }
    return reduced_shape(dims, gone, keepdims_);
  }

 private:
  bool none_, keepdims_;
};

}  // namespace ruleengine::kernels
