// The innermost loops of gemm.h for AVX2.
#include <cstdint>

#include "kernels/cpu/products/gemm_loops.h"

#if defined(__x86_64__)
#pragma GCC target("avx2,fma")
#endif

#include "kernels/cpu/products/gemm_micro.h"

namespace ruleengine::kernels {

template <typename T>
GemmLoops<T> gemm_loops_32() {
  return gemm_loops<T, 32, 6>();
}
template GemmLoops<float> gemm_loops_32();
template GemmLoops<double> gemm_loops_32();

}  // namespace ruleengine::kernels
