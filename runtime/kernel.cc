#include "runtime/kernel.h"

#include <new>

namespace ruleengine::runtime {

std::optional<Tensor> Preparation::arranged(DataType dtype, Shape dims) const {
  try {
    return allocate(dtype, dims);
  } catch (const Failure& failure) {
    if (failure.error.kind != ErrorKind::kLimit) throw;
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

}  // namespace ruleengine::runtime
