// The innermost loops of gemm.h for AVX-512.
#include <cstdint>

#include "kernels/cpu/gemm_loops.h"

#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512vl,avx512dq,avx2,fma")
#endif

#include "kernels/cpu/gemm_micro.h"

namespace ruleengine::kernels {

template <>
GemmLoops<float> gemm_loops_64<float>() {
  return gemm_loops<float, 64, 12>();
}
template <>
GemmLoops<double> gemm_loops_64<double>() {
  return gemm_loops<double, 64, 12>();
}

}  // namespace ruleengine::kernels
