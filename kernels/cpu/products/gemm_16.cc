// The innermost loops of gemm.h for any processor.
#include <cstdint>

#include "kernels/cpu/products/gemm_loops.h"

#include "kernels/cpu/products/gemm_micro.h"

namespace ruleengine::kernels {

template <typename T>
GemmLoops<T> gemm_loops_16() {
  return gemm_loops<T, 16, 4>();
}
template GemmLoops<float> gemm_loops_16();
template GemmLoops<double> gemm_loops_16();

}  // namespace ruleengine::kernels
