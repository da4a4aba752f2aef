// What gemm.cc has from a file for one instruction set. Internal to gemm_*.
#pragma once

#include <cstdint>

namespace ruleengine::kernels {

// Rows of b that add_rows takes.
inline constexpr int kGemmStep = 8;

// The part of a tile that is in c, and how it is combined with what is there.
template <typename T>
struct GemmTile {
  std::int64_t rows, columns;
  T alpha, beta;
};

template <typename T>
struct GemmLoops {
  int rows, columns;  // of a full tile
  // c = alpha * a * b + beta * c; a has k columns of `rows` elements, b has k
  // rows of `columns`.
  void (*tile)(std::int64_t k, const T* a, const T* b, const GemmTile<T>& t,
               T* c, std::int64_t ldc);
  // c[j] += a[i] * b[i][j] over j < n and i < kGemmStep.
  void (*add_rows)(std::int64_t n, const T* a, const T* b, std::int64_t ldb,
                   T* c);
  T (*dot)(std::int64_t k, const T* a, const T* b);
};

// For vectors of 16, 32 and 64 bytes; the last two only where the processor has
// them.
template <typename T>
GemmLoops<T> gemm_loops_16();
template <typename T>
GemmLoops<T> gemm_loops_32();
template <typename T>
GemmLoops<T> gemm_loops_64();

}  // namespace ruleengine::kernels
