// Loops over floats in vector registers of a width, written once and compiled
// for each instruction set: all of it is inlined into functions that name their
// target. Internal to kernels/cpu.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

namespace ruleengine::kernels {

inline constexpr std::int64_t kMostLanes = 16;

// c = a b, or c += a b. Rows of b and c are read in whole blocks.
struct SmallProduct {
  const float* a;
  const float* b;
  float* c;
  std::int64_t rows, columns, inner;
  std::int64_t a_row, b_row, c_row;
};

template <typename T, int kLanes>
struct Registers {
  using type [[gnu::vector_size(kLanes * sizeof(T))]] = T;
};

template <int kLanes>
struct Lanes {
  using Floats = typename Registers<float, kLanes>::type;
  using Words = typename Registers<std::int32_t, kLanes>::type;
  static constexpr std::int64_t kWidth = kLanes;
  static constexpr std::int64_t kBlock = kLanes * 2;

  // By reference: a vector that is passed by value has another ABI for each
  // instruction set.
  [[gnu::always_inline]] static void load(Floats& v, const float* p) {
    std::memcpy(&v, p, sizeof v);
  }
  [[gnu::always_inline]] static void store(float* p, const Floats& v) {
    std::memcpy(p, &v, sizeof v);
  }
  [[gnu::always_inline]] static float sum(const Floats& v) {
    float out = 0;
    for (int i = 0; i < kLanes; ++i) out += v[i];
    return out;
  }

  // x = e^x, to about 1 ulp; 0 below the least normal number.
  [[gnu::always_inline]] static void exp(Floats& x) {
    constexpr float kLeast = -87.33654f, kMost = 88.72283f;
    const Floats least = kLeast - Floats{}, most = kMost - Floats{};
    const Floats given = x;
    Floats y = given > most ? most : given;
    y = y > least ? y : least;  // NaN as well
    // y = n ln 2 + r; adding 1.5 * 2^23 rounds n to a whole number.
    const Floats n = (y * 1.44269504f + 12582912.0f) - 12582912.0f;
    const Floats r = (y - n * 0.693359375f) + n * 2.12194440e-4f;
    Floats p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    // In two steps, since 2^128 overflows a float.
    const Words whole = __builtin_convertvector(n, Words);
    const Words half = whole >> 1;
    Floats by;
    Words bits = (half + 127) << 23;
    std::memcpy(&by, &bits, sizeof by);
    p = p * by;
    bits = (whole - half + 127) << 23;
    std::memcpy(&by, &bits, sizeof by);
    p = p * by;
    p = given < least ? Floats{} : p;
    p = given > most ? Floats{} + std::numeric_limits<float>::infinity() : p;
    x = given != given ? given : p;
  }

  [[gnu::always_inline]] static float dot(const float* a, const float* b,
                                          std::int64_t n) {
    Floats sums[4] = {};
    std::int64_t i = 0;
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
      for (int u = 0; u < 4; ++u) {
        Floats x, y;
        load(x, a + i + u * kLanes);
        load(y, b + i + u * kLanes);
        sums[u] += x * y;
      }
    }
    for (; i + kLanes <= n; i += kLanes) {
      Floats x, y;
      load(x, a + i);
      load(y, b + i);
      sums[0] += x * y;
    }
    float rest = 0;
    for (; i < n; ++i) rest += a[i] * b[i];
    return sum((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
  }

  // The largest of n numbers, n a multiple of the width; NaN is passed over.
  [[gnu::always_inline]] static float largest(const float* p, std::int64_t n) {
    Floats most = Floats{} - std::numeric_limits<float>::infinity();
    for (std::int64_t i = 0; i < n; i += kLanes) {
      Floats x;
      load(x, p + i);
      most = x > most ? x : most;
    }
    float out = most[0];
    for (int i = 1; i < kLanes; ++i) out = most[i] > out ? most[i] : out;
    return out;
  }

  // p = e^(p - base), and the sum of it.
  [[gnu::always_inline]] static float exp_and_sum(float* p, std::int64_t n,
                                                  float base) {
    Floats sums = {};
    for (std::int64_t i = 0; i < n; i += kLanes) {
      Floats x;
      load(x, p + i);
      x = x - base;
      exp(x);
      store(p + i, x);
      sums += x;
    }
    return sum(sums);
  }

  // p = cap tanh(p / cap), by e^(2 |x|). Reads and writes whole registers.
  [[gnu::always_inline]] static void soft_cap(float* p, std::int64_t n,
                                              float cap) {
    for (std::int64_t i = 0; i < n; i += kLanes) {
      Floats x;
      load(x, p + i);
      x = x / cap;
      const Floats size = x < 0.0f ? -x : x;
      Floats grown = size * -2.0f;
      exp(grown);
      const Floats far = (1.0f - grown) / (1.0f + grown);
      // Near 0 the difference loses digits.
      const Floats s = x * x;
      const Floats near =
          size * (1.0f + s * (-0.33333333f +
                              s * (0.13333333f +
                                   s * (-0.053968254f + s * 0.021869489f))));
      const Floats y = size < 0.25f ? near : far;
      store(p + i, (x < 0.0f ? -y : y) * cap);
    }
  }

  [[gnu::always_inline]] static void scale(float* p, std::int64_t n, float by) {
    for (std::int64_t i = 0; i < n; i += kLanes) {
      Floats x;
      load(x, p + i);
      store(p + i, x * by);
    }
  }

  // kRows rows by a block of columns.
  template <bool kAdd, int kRows>
  [[gnu::always_inline]] static void multiply_block(const SmallProduct& m,
                                                    std::int64_t row,
                                                    std::int64_t column) {
    Floats sums[kRows][2] = {};
    const float* a = m.a + row * m.a_row;
    const float* b = m.b + column;
    for (std::int64_t e = 0; e < m.inner; ++e) {
      Floats x, y;
      load(x, b);
      load(y, b + kLanes);
      for (int r = 0; r < kRows; ++r) {
        const float v = a[r * m.a_row + e];
        sums[r][0] += x * v;
        sums[r][1] += y * v;
      }
      b += m.b_row;
    }
    for (int r = 0; r < kRows; ++r) {
      float* c = m.c + (row + r) * m.c_row + column;
      for (int u = 0; u < 2; ++u) {
        Floats sum = sums[r][u];
        if constexpr (kAdd) {
          Floats old;
          load(old, c + u * kLanes);
          sum += old;
        }
        store(c + u * kLanes, sum);
      }
    }
  }

  template <bool kAdd>
  [[gnu::always_inline]] static void multiply(const SmallProduct& m) {
    for (std::int64_t j = 0; j < m.columns; j += kBlock) {
      std::int64_t i = 0;
      for (; i + 6 <= m.rows; i += 6) multiply_block<kAdd, 6>(m, i, j);
      for (; i + 2 <= m.rows; i += 2) multiply_block<kAdd, 2>(m, i, j);
      for (; i < m.rows; ++i) multiply_block<kAdd, 1>(m, i, j);
    }
  }
};

}  // namespace ruleengine::kernels
