// Products of matrices of float and double, the one place where they are
// computed. Deterministic whatever the number of threads. Internal to
// kernels/cpu.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/products/tile.h"
#include "runtime/threads.h"

namespace ruleengine::kernels {

// A product of matrices without its second operand:
// c = alpha * op(a) * b + beta * c, where op(a) is m x k, b is k x n and op
// transposes if the flag says so. a and c are row-major; lda and ldc are the
// elements from one row to the next of a matrix as it is stored. c is not read
// where beta is 0, and shares no memory with a and b.
template <typename T>
struct GemmArguments {
  bool transpose_a = false;
  std::int64_t m, n, k;
  T alpha = 1;
  const T* a;
  std::int64_t lda;
  T beta = 0;
  T* c;
  std::int64_t ldc;
};

// b is op(b) of a stored matrix with ldb elements from one row to the next. May
// be called within a loop of `threads`.
template <typename T>
void gemm(runtime::Threads& threads, const GemmArguments<T>& product,
          bool transpose_b, const T* b, std::int64_t ldb);

// A second operand that many products read is packed once, in so many elements
// at an address of whole cache lines.
template <typename T>
std::int64_t packed_count(std::int64_t k, std::int64_t n);
// What lies in it: panels of so many columns, row by row. Missing rows are 0.
template <typename T>
struct PanelLayout {
  std::int64_t k, n;

  static constexpr std::int64_t columns() { return kTileColumns<T>; }
  // Elements from one row to the next of the panel with a column.
  std::int64_t width(std::int64_t column) const {
    return std::min(columns(),
                    tile_rounded(n - column / columns() * columns()));
  }
  // Where a column begins.
  std::int64_t place(std::int64_t column) const {
    return column / columns() * columns() * tile_rounded(k) +
           column % columns();
  }
  void clear_missing(T* packed) const {
    for (std::int64_t j = 0; j < n; j += columns()) {
      T* end = packed + place(j) + k * width(j);
      std::fill_n(end, (tile_rounded(k) - k) * width(j), T(0));
    }
  }
};
template <typename T>
void pack_matrix(runtime::Threads& threads, bool transposed, std::int64_t k,
                 std::int64_t n, const T* b, std::int64_t ldb, T* packed);
template <typename T>
void gemm_packed(runtime::Threads& threads, const GemmArguments<T>& product,
                 const T* packed);

}  // namespace ruleengine::kernels
