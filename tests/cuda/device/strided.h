// Operands of loops, for tests.
#pragma once

#include "kernels/cuda/device/strided.h"
#include "tests/cuda/device/support.h"

namespace ruleengine::kernels::device {

using Dims = std::vector<int64_t>;

inline int64_t count_of(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t each : dims) count *= each;
  return count;
}

// A tensor of sizes `own` that stands for one of `dims`, which are as many.
template <typename T>
Operand operand_of(Buffer<T>& buffer, const Dims& own, const Dims& dims) {
  Operand operand;
  operand.data = buffer.data();
  operand.bytes = sizeof(T);
  int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    operand.strides[i] = own[i] == dims[i] ? stride : 0;
    stride *= own[i];
  }
  return operand;
}

// Where element `at` of `dims` is in a tensor of sizes `own`.
inline int64_t broadcast_index(int64_t at, const Dims& dims, const Dims& own) {
  int64_t index = 0, stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (own[i] != 1) index += at % dims[i] * stride;
    at /= dims[i];
    stride *= own[i];
  }
  return index;
}

}  // namespace ruleengine::kernels::device
