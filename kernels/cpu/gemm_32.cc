// The innermost loops of gemm.h for AVX2.
#include <cstdint>

#include "kernels/cpu/gemm_loops.h"

#if defined(__x86_64__)
#pragma GCC target("avx2,fma")
#endif

#include "kernels/cpu/gemm_micro.h"

namespace ruleengine::kernels {

template <>
GemmLoops<float> gemm_loops_32<float>() {
  return gemm_loops<float, 32, 6>();
}
template <>
GemmLoops<double> gemm_loops_32<double>() {
  return gemm_loops<double, 32, 6>();
}

}  // namespace ruleengine::kernels
