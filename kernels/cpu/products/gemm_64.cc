// The innermost loops of gemm.h for AVX-512.
#include <cstdint>

#include "kernels/cpu/products/gemm_loops.h"

#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512vl,avx512dq,avx2,fma")
#endif

#include "kernels/cpu/products/gemm_micro.h"

namespace ruleengine::kernels {

template <typename T>
GemmLoops<T> gemm_loops_64() {
  return gemm_loops<T, 64, 12>();
}
template GemmLoops<float> gemm_loops_64();
template GemmLoops<double> gemm_loops_64();

}  // namespace ruleengine::kernels
