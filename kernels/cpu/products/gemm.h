// Products of matrices of float and double, the one place where they are
// computed. Deterministic whatever the number of threads. Internal to
// kernels/cpu.
#pragma once

#include <cstdint>

#include "runtime/threads.h"

namespace ruleengine::kernels {

// c = alpha * op(a) * op(b) + beta * c, where op(a) is m x k, op(b) is k x n
// and op transposes if the flag says so. All are row-major; lda, ldb and ldc
// are the elements from one row to the next of a matrix as it is stored. c is
// not read where beta is 0, and shares no memory with a and b. May be called
// within a loop of `threads`.
template <typename T>
void gemm(runtime::Threads& threads, bool transpose_a, bool transpose_b,
          std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
          std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c,
          std::int64_t ldc);

}  // namespace ruleengine::kernels
