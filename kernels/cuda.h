// The first GPU of the machine as a backend.
#pragma once

#include "core/base/result.h"
#include "runtime/backend.h"

namespace ruleengine::kernels {

// Any thread may ask; the answer stays. An error (kUsage) says what is missing:
// a GPU, a driver, or CUDA in this build.
Result<const runtime::Backend*> find_cuda();

}  // namespace ruleengine::kernels
