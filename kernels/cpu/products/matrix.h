// Products of matrices of any number type. Internal to kernels/cpu.
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/cpu/products/gemm.h"
#include "kernels/matrix_factors.h"

namespace ruleengine::kernels {

// c = a * b; c is m x n and contiguous, a has k columns. Whole numbers wrap.
template <typename T>
void multiply(runtime::Threads& threads, std::int64_t m, std::int64_t n,
              std::int64_t k, const Matrix<T>& a, const Matrix<T>& b, T* c) {
  if constexpr (std::is_floating_point_v<T>) {
    gemm<T>(threads,
            {.m = m, .n = n, .k = k, .a = a, .b = b, .c = c, .ldc = n});
  } else {
    using Wide =
        std::conditional_t<(sizeof(T) < 8), std::uint32_t, std::uint64_t>;
    const std::int64_t b_step = b.column_step();
    const auto line = [&](std::int64_t i) {
      T* to = c + i * n;
      std::fill(to, to + n, T(0));
      for (std::int64_t t = 0; t < k; ++t) {
        const Wide x = static_cast<Wide>(*a.at(i, t));
        const T* from = b.at(t, 0);
        for (std::int64_t j = 0; j < n; ++j) {
          const Wide product = x * static_cast<Wide>(from[j * b_step]);
          to[j] = static_cast<T>(static_cast<Wide>(to[j]) + product);
        }
      }
    };
    const std::int64_t grain =
        (1 << 16) /
            std::max<std::int64_t>(1, std::min<std::int64_t>(n, 1 << 16)) +
        1;
    threads.for_each_index(m, grain, line);
  }
}

// c = a * b for all of the batch; c has as many matrices of m x n, contiguous.
// No size is 0 but k.
template <typename T>
void multiply_batch(runtime::Threads& threads, const BatchShape& s, Matrix<T> a,
                    Matrix<T> b, T* c) {
  const std::int64_t inner = s.places.length();
  const std::int64_t a_size = s.m * s.k, b_size = s.k * s.n;
  const std::int64_t sa = s.places.inner(0), sb = s.places.inner(1);
  const std::int64_t batch = s.places.count() * inner;
  // All matrices of the first operand, below each other, times one.
  if (s.places.count() == 1 && sb == 0 && !a.transposed && a.stride == s.k &&
      sa == 1) {
    return multiply(threads, inner * s.m, s.n, s.k, a, b, c);
  }
  const auto one = [&](std::int64_t i, const auto& from, std::int64_t j) {
    Matrix<T> x = a, y = b;
    x.data += (from[0] + j * sa) * a_size;
    y.data += (from[1] + j * sb) * b_size;
    multiply(threads, s.m, s.n, s.k, x, y, c + (i + j) * s.m * s.n);
  };
  // Small products side by side, large ones each on all threads.
  const double work = double(s.m) * double(s.n) * double(s.k + 1);
  if (work > 1 << 22 || batch == 1) {
    s.places.for_each(0, s.places.count(),
                      [&](std::int64_t i, const auto& from) {
                        for (std::int64_t j = 0; j < inner; ++j)
                          one(i, from, j);
                      });
    return;
  }
  const auto grain = static_cast<std::int64_t>((1 << 18) / work) + 1;
  threads.for_each(batch, grain, [&](std::int64_t begin, std::int64_t end) {
    s.places.for_each(
        begin / inner, (end + inner - 1) / inner,
        [&](std::int64_t i, const auto& from) {
          const std::int64_t last = std::min(inner, end - i);
          for (std::int64_t j = std::max<std::int64_t>(0, begin - i); j < last;
               ++j) {
            one(i, from, j);
          }
        });
  });
}

}  // namespace ruleengine::kernels
