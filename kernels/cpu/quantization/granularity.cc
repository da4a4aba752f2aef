#include "kernels/cpu/quantization/granularity.h"

namespace ruleengine::kernels {

Granularity::Granularity(const Tensor& x)
    : size_(std::min(x.count(), kGrain)), total_(x.count()) {
  count_ = size_ == 0 ? 0 : (total_ - 1) / size_ + 1;
}

Granularity::Granularity(const Call& c, const Tensor& x, const Tensor& scale,
                         const ScaleAxis& said)
    : Granularity(x) {
  if (scale.count() == 1) return;
  block_ = said.block;
  if (block_ < 0) c.wrong_attribute("block_size", "0 or more");
  const std::size_t axis = said.axis.of(c, x.rank());
  axis_ = x.dim(axis);
  if (block_ == 0) {
    set_axis(c, x, axis);
  } else {
    set_blocks(c, x, axis);
  }
}

void Granularity::set_axis(const Call& c, const Tensor& x, std::size_t axis) {
  c.expect_shape(1, Dims{axis_});
  const std::int64_t inner = product(x.dims(), axis + 1, x.rank());
  kind_ = inner == 1 ? Kind::kLastAxis : Kind::kAxis;
  size_ = inner == 1 ? axis_ : inner;
  count_ = size_ == 0 ? 0 : total_ / size_;
}

void Granularity::set_blocks(const Call& c, const Tensor& x, std::size_t axis) {
  scales_ = axis_ / block_ + (axis_ % block_ != 0 ? 1 : 0);
  Dims expected(x.dims());
  expected[axis] = scales_;
  c.expect_shape(1, expected);
  const std::int64_t inner = product(x.dims(), axis + 1, x.rank());
  if (total_ == 0) return;
  kind_ = inner == 1 ? Kind::kLastBlocks : Kind::kBlocks;
  size_ = inner == 1 ? std::min(block_, axis_) : inner;
  count_ = inner == 1 ? total_ / axis_ * scales_ : total_ / inner;
}

Granularity::Part Granularity::part(std::int64_t i) const {
  switch (kind_) {
    case Kind::kAll:
      return {i * size_, std::min(size_, total_ - i * size_), 0, 0};
    case Kind::kAxis:
      return {i * size_, size_, i % axis_, 0};
    case Kind::kLastAxis:
      return {i * size_, size_, 0, 1};
    case Kind::kBlocks:
      return {i * size_, size_,
              (i / axis_ * scales_ + i % axis_ / block_) * size_, 1};
    case Kind::kLastBlocks: {
      const std::int64_t from = i % scales_ * block_;
      return {i / scales_ * axis_ + from, std::min(block_, axis_ - from), i, 0};
    }
  }
  return {};
}

}  // namespace ruleengine::kernels
