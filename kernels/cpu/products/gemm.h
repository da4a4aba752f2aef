// Products of matrices of float and double, the one place where they are
// computed. Deterministic whatever the number of threads. Internal to
// kernels/cpu.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/products/tile.h"
#include "runtime/threads.h"

namespace ruleengine::kernels {

// A row-major matrix as it is stored, or its transpose.
template <typename T>
struct Matrix {
  const T* data;
  std::int64_t stride;  // from one stored row to the next
  bool transposed = false;

  const T* at(std::int64_t row, std::int64_t column) const {
    return transposed ? data + column * stride + row
                      : data + row * stride + column;
  }
  // From one row or column to the next.
  std::int64_t row_step() const { return transposed ? 1 : stride; }
  std::int64_t column_step() const { return transposed ? stride : 1; }
};

// c = alpha * a * b + beta * c, where a is m x k, b is k x n and c is row-major
// with ldc elements from one row to the next. c is not read where beta is 0,
// and shares no memory with a and b.
template <typename T>
struct GemmArguments {
  std::int64_t m, n, k;
  T alpha = 1;
  Matrix<T> a, b = {};
  T beta = 0;
  T* c;
  std::int64_t ldc;
};

// May be called within a loop of `threads`.
template <typename T>
void gemm(runtime::Threads& threads, const GemmArguments<T>& product);

// A second operand that many products read is packed once, at an address of
// whole cache lines: panels of so many columns, row by row. Missing rows are 0.
template <typename T>
struct PanelLayout {
  std::int64_t k, n;

  static constexpr std::int64_t columns() { return kTileColumns<T>; }
  // Elements of all panels.
  std::int64_t count() const {
    return place((n + columns() - 1) / columns() * columns());
  }
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
// As BFloat16 (where has_bfloat16_tiles) matrices of float are cut to these;
// rows lie in pairs then.
template <typename T, typename Packed>
void pack_matrix(runtime::Threads& threads, const PanelLayout<T>& layout,
                 const Matrix<T>& b, Packed* packed);
// In place of the product's b.
template <typename T, typename Packed>
void gemm_packed(runtime::Threads& threads, const GemmArguments<T>& product,
                 const Packed* packed);

}  // namespace ruleengine::kernels
