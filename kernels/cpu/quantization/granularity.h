// Which scale an element of a quantized tensor has: one for all, one for each
// place of an axis, or one for each block along an axis. Internal to
// kernels/cpu.
#pragma once

#include <algorithm>

#include "kernels/cpu/elementwise/elementwise.h"

namespace ruleengine::kernels {

// The attributes `axis` and `block_size`.
struct ScaleAxis {
  explicit ScaleAxis(const Preparation& p)
      : axis(p), block(p.attribute_int("block_size")) {}

  AttributeAxis axis;
  std::int64_t block;
};

class Granularity {
 public:
  // Elements [at, at + size) have the scales from `scale` on: each the next
  // one, or all the same.
  struct Part {
    std::int64_t at, size, scale, step;
  };

  // One scale for all elements.
  explicit Granularity(const Tensor& x);
  // The scale is input 1; where it is more than one number, the attributes say
  // how they lie.
  Granularity(const Call& c, const Tensor& x, const Tensor& scale,
              const ScaleAxis& said);

  // Calls f(part), on all threads.
  template <typename F>
  void for_each(const Call& c, F f) const {
    if (size_ == 0) return;
    c.threads().for_each_index(count_, kGrain / size_,
                               [&](std::int64_t i) { f(part(i)); });
  }

 private:
  enum class Kind : std::uint8_t {
    kAll,         // one scale; parts are pieces
    kAxis,        // parts are rows after the axis
    kLastAxis,    // parts are rows along the axis
    kBlocks,      // parts are rows after the axis
    kLastBlocks,  // parts are blocks
  };

  void set_axis(const Call& c, const Tensor& x, std::size_t axis);
  void set_blocks(const Call& c, const Tensor& x, std::size_t axis);
  Part part(std::int64_t i) const;

  Kind kind_ = Kind::kAll;
  std::int64_t count_ = 0, size_ = 0;  // of parts; of one, at most
  std::int64_t total_ = 0, axis_ = 1, scales_ = 1, block_ = 1;
};

}  // namespace ruleengine::kernels
