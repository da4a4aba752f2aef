// The build found no CUDA toolkit.
#include "kernels/cuda.h"

namespace ruleengine::kernels {

Result<const runtime::Backend*> find_cuda(const CudaOptions&) {
  return Diagnostic{.kind = ErrorKind::kUsage,
                    .what = "this build of ruleengine is without CUDA",
                    .hint =
                        "build it where there is a CUDA toolkit, with "
                        "cuDNN's headers"};
}

}  // namespace ruleengine::kernels
