// The second operand of a product where it is a constant, packed once. Internal
// to kernels/cpu.
#pragma once

#include <cstddef>

#include "kernels/cpu/dispatch.h"

namespace ruleengine::kernels {

class Weights {
 public:
  Weights() = default;
  // Input `i`, transposed if the flag says so. Nothing where it is no constant
  // matrix of floats, or where weights are not to be arranged.
  static Weights of(const Preparation& p, std::size_t i, bool transposed);
  // Rows [first, first + rows) of it, where all axes but the last are rows.
  static Weights of(const Preparation& p, std::size_t i, bool transposed,
                    std::int64_t first, std::int64_t rows);

  // kUndefined where there is nothing.
  DataType dtype() const { return panels_.dtype(); }
  template <typename T>
  const T* data() const {
    return panels_.data<T>();
  }

 private:
  Tensor panels_;
};

}  // namespace ruleengine::kernels
