// The innermost loops of gemm.h for any processor.
#include <cstdint>

#include "kernels/cpu/gemm_loops.h"

#include "kernels/cpu/gemm_micro.h"

namespace ruleengine::kernels {

template <>
GemmLoops<float> gemm_loops_16<float>() {
  return gemm_loops<float, 16, 4>();
}
template <>
GemmLoops<double> gemm_loops_16<double>() {
  return gemm_loops<double, 16, 4>();
}

}  // namespace ruleengine::kernels
