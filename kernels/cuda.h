// The first GPU of the machine as a backend.
#pragma once

#include "core/base/result.h"
#include "runtime/backend.h"

namespace ruleengine::kernels {

struct CudaOptions {
  // Whether products round factors of float32 to tf32, which has 10 bits of
  // mantissa: several times as fast on tensor cores.
  bool tf32 = false;
};

// Any thread may ask; the answer stays. An error (kUsage) says what is missing:
// a GPU, a driver, or CUDA in this build.
Result<const runtime::Backend*> find_cuda(const CudaOptions& options = {});

}  // namespace ruleengine::kernels
