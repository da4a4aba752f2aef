// The innermost loops of gemm.h, over vectors of a width that the including
// file is compiled for: each of gemm_*.cc sets its instruction set before it
// includes this. Everything is in an unnamed namespace, so that no two
// instruction sets share a function.
#pragma once

#include <cstdint>

#include "kernels/cpu/products/gemm_loops.h"

namespace ruleengine::kernels {
namespace {

template <typename T, int kBytes>
struct Vector {
  using type
      [[gnu::vector_size(kBytes), gnu::aligned(alignof(T)), gnu::may_alias]] =
          T;
  static constexpr int kLanes = kBytes / static_cast<int>(sizeof(T));
};

template <typename T, int kBytes, int kRows>
struct Loops {
  using V = typename Vector<T, kBytes>::type;
  static constexpr int kLanes = Vector<T, kBytes>::kLanes;
  static constexpr int kColumns = 2 * kLanes;

  static const V& at(const T* p) { return *reinterpret_cast<const V*>(p); }
  static V& at(T* p) { return *reinterpret_cast<V*>(p); }

  // See GemmLoops::tile.
  static void tile(std::int64_t k, const T* a, const T* b, const GemmTile<T>& t,
                   T* c, std::int64_t ldc) {
    V sum[kRows][2] = {};
    for (std::int64_t i = 0; i < k; ++i, a += kRows, b += kColumns) {
      const V b0 = at(b), b1 = at(b + kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const T x = a[r];
        sum[r][0] += x * b0;
        sum[r][1] += x * b1;
      }
    }
    if (t.rows == kRows && t.columns == kColumns) {
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        for (int h = 0; h < 2; ++h) {
          T* to = c + r * ldc + h * kLanes;
          const V scaled = sum[r][h] * t.alpha;
          at(to) = t.beta == 0 ? scaled : scaled + at(to) * t.beta;
        }
      }
      return;
    }
    T all[kRows * kColumns];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      at(all + r * kColumns) = sum[r][0];
      at(all + r * kColumns + kLanes) = sum[r][1];
    }
    for (std::int64_t r = 0; r < t.rows; ++r) {
      for (std::int64_t j = 0; j < t.columns; ++j) {
        const T scaled = all[r * kColumns + j] * t.alpha;
        T& to = c[r * ldc + j];
        to = t.beta == 0 ? scaled : scaled + to * t.beta;
      }
    }
  }

  // See GemmLoops::add_rows.
  static void add_rows(std::int64_t n, const T* a, const T* b, std::int64_t ldb,
                       T* c) {
    std::int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) {
      V sum[2] = {at(c + j), V{}};
#pragma GCC unroll 8
      for (int i = 0; i < kGemmStep; ++i) {
        sum[i % 2] += a[i] * at(b + i * ldb + j);
      }
      at(c + j) = sum[0] + sum[1];
    }
    for (; j < n; ++j) {
      T sum = c[j];
      for (int i = 0; i < kGemmStep; ++i) sum += a[i] * b[i * ldb + j];
      c[j] = sum;
    }
  }

  // See GemmLoops::dot.
  static T dot(std::int64_t k, const T* a, const T* b) {
    V sum[4] = {};
    std::int64_t i = 0;
    for (; i + 4 * kLanes <= k; i += 4 * kLanes) {
#pragma GCC unroll 4
      for (int s = 0; s < 4; ++s) {
        sum[s] += at(a + i + s * kLanes) * at(b + i + s * kLanes);
      }
    }
    for (; i + kLanes <= k; i += kLanes) sum[0] += at(a + i) * at(b + i);
    const V all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    T total = 0;
    for (int s = 0; s < kLanes; ++s) total += all[s];
    for (; i < k; ++i) total += a[i] * b[i];
    return total;
  }
};

template <typename T, int kBytes, int kRows>
constexpr GemmLoops<T> gemm_loops() {
  using L = Loops<T, kBytes, kRows>;
  return {kRows, L::kColumns, L::tile, L::add_rows, L::dot};
}

}  // namespace
}  // namespace ruleengine::kernels
