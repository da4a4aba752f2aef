// Moving elements between places that step through memory differently: the one
// loop behind Transpose, Slice, Expand, Tile, Concat and their like. Internal
// to kernels.
#pragma once

#include <cstdlib>
#include <span>
#include <vector>

#include "kernels/shapes.h"

namespace ruleengine::kernels {

using runtime::StridedAxis;
using StridedAxes = std::vector<StridedAxis>;

// Where the elements of a block lie: the first one, and the step along each
// axis, which may be 0 or negative.
struct Places {
  std::int64_t at = 0;
  Dims strides;
};

// A whole tensor of this shape.
inline Places dense(Shape dims) { return {0, strides_of(dims)}; }

// The elements of a tensor, which may be a view.
inline Places places_of(const Tensor& x) {
  return x.is_dense() ? dense(x.dims()) : Places{0, Dims(x.strides())};
}

// The elements of `x` at these places, as a view of it or a dense tensor.
Tensor taken(const Call& c, const Tensor& x, Shape dims, const Places& from,
             bool is_view);

// Copies a block of this shape. No two of its elements may have the same place
// in `to`.
void copy_block(const Call& c, Shape dims, const Tensor& from,
                const Places& from_places, Tensor& to, const Places& to_places);

// The same on the host, along axes that nothing joins.
void copy_on_host(const Call& c, StridedAxes axes, const Tensor& from,
                  std::int64_t from_at, Tensor& to, std::int64_t to_at);

// Axis i of the result is axis perm[i] of `x`. The bytes are shared where none
// moves.
Tensor transposed(const Call& c, const Tensor& x,
                  std::span<const std::size_t> perm, bool is_view = false);

// The order of axes in which `axis` is first.
std::vector<std::size_t> axis_first(std::size_t axis, std::size_t rank);

// Along the axis elements [begin, begin + size).
Tensor cut(const Call& c, const Tensor& x, std::size_t axis, std::int64_t begin,
           std::int64_t size, bool is_view = false);

// `out` = the elements of `x` along the axis at these places.
void take(const Call& c, const Tensor& x, std::size_t axis, const Ints& at,
          Tensor& out);

// Fails unless the sizes are those of parts that make up `size`.
void check_parts(const Ints& sizes, std::int64_t size);

// One after the other along the axis; they must agree elsewhere and there must
// be at least one.
Tensor joined(const Call& c, std::span<const Tensor* const> parts,
              std::size_t axis);

// Output 0 with the elements of input 0, in its memory where that is free.
Tensor& output_copy(Call& c);

// Elements that are whole numbers, of any type of numbers; what an index is
// given as.
Ints whole_numbers(const Call& c, const Tensor& t);

// a * b; fails where that is beyond what a size can be. Neither is negative.
std::int64_t checked_product(std::int64_t a, std::int64_t b);

// The places of the elements of a block one after the other, the last axis
// fastest.
class Walk {
 public:
  Walk(std::span<const StridedAxis> axes, std::int64_t begin)
      : axes_(axes), index_(axes.size(), 0) {
    for (std::size_t i = axes.size(); i-- > 0;) {
      index_[i] = begin % axes[i].size;
      begin /= axes[i].size;
      from_ += index_[i] * axes[i].from;
      to_ += index_[i] * axes[i].to;
    }
  }

  std::int64_t from() const { return from_; }
  std::int64_t to() const { return to_; }
  std::int64_t index(std::size_t axis) const { return index_[axis]; }

  void next() {
    for (std::size_t i = axes_.size(); i-- > 0;) {
      const StridedAxis& axis = axes_[i];
      from_ += axis.from;
      to_ += axis.to;
      if (++index_[i] < axis.size) return;
      from_ -= axis.from * axis.size;
      to_ -= axis.to * axis.size;
      index_[i] = 0;
    }
  }

 private:
  std::span<const StridedAxis> axes_;
  Dims index_;
  std::int64_t from_ = 0, to_ = 0;
};

}  // namespace ruleengine::kernels
