// Loops over elements that line up, with broadcasting. Internal to kernels/cpu.
#pragma once

#include <algorithm>

#include "kernels/shapes.h"
#include "runtime/vectors.h"

namespace ruleengine::kernels {

// Elements that one piece of a loop takes at least.
inline constexpr std::int64_t kGrain = 1 << 14;

// Calls f(i) for each i below `count`, on all threads.
template <typename F>
void for_each_element(const Call& c, std::int64_t count, F f) {
  c.threads().for_each_index(count, kGrain, f);
}

// Calls f(at, from, begin, end) for elements [begin, end) of each row, on all
// threads: a single row in pieces, several rows whole.
template <std::size_t N, typename F>
void for_each_piece(const Call& c, const Rows<N>& rows, F f) {
  const std::int64_t n = rows.length();
  if (rows.count() == 1) {
    c.threads().for_each(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
      rows.for_each(0, 1, [&](std::int64_t at, const auto& from) {
        f(at, from, begin, end);
      });
    });
    return;
  }
  c.threads().for_each(
      rows.count(), kGrain / n, [&](std::int64_t begin, std::int64_t end) {
        rows.for_each(begin, end, [&](std::int64_t at, const auto& from) {
          f(at, from, 0, n);
        });
      });
}

// Sets `count` elements, on all threads.
template <typename T>
void fill(const Call& c, T* to, std::int64_t count, const T& value) {
  c.threads().for_each(count, kGrain,
                       [&](std::int64_t begin, std::int64_t end) {
                         std::fill(to + begin, to + end, value);
                       });
}

// Truth values are bytes in loops: those fit vectors.
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

// Output 0 = f(input 0), element by element.
template <typename From, typename To, typename F>
void map_unary(Call& c, F f) {
  const Tensor& x = c.input(0);
  const auto* in = x.data<Stored<From>>();
  const std::int64_t count = x.count();
  Tensor& y = c.output_in_place(0, 0, kTypeOf<To>, x.dims());
  auto* out = y.mutable_data<Stored<To>>();
  c.threads().for_each(
      count, kGrain, [&](std::int64_t begin, std::int64_t end) {
        const auto loop = [&]() RULEENGINE_INLINE {
          const F own = f;  // held in registers
          runtime::map_line(in + begin, out + begin, end - begin, own);
        };
        if constexpr (std::is_floating_point_v<From>) {
          runtime::for_vectors(loop);
        } else {
          loop();
        }
      });
}

// to[i] = f(x[i * sa], y[i * sb]) for i below n. `to` may be `x` or `y`.
template <typename A, typename B, typename To, typename F>
[[gnu::always_inline]] inline void binary_line(const A* x, std::int64_t sa,
                                               const B* y, std::int64_t sb,
                                               To* to, std::int64_t n,
                                               const F& f) {
  if (sa == 1 && sb == 1) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) to[i] = f(x[i], y[i]);
  } else if (sa == 1 && sb == 0) {
    const B v = *y;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) to[i] = f(x[i], v);
  } else if (sa == 0 && sb == 1) {
    const A v = *x;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) to[i] = f(v, y[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] = f(x[i * sa], y[i * sb]);
  }
}

// One line of a binary op: out[i] = f(a[i * sa], b[i * sb]) for i below n.
struct BinaryLine {
  std::size_t a_size, b_size, out_size;  // bytes of an element
  void (*run)(const std::byte* a, std::int64_t sa, const std::byte* b,
              std::int64_t sb, std::byte* out, std::int64_t n, const void* f);
  const void* f;
};
// Runs the line over `a` and `b`, each broadcast to the shape of `out`.
void for_each_line(Call& c, const Tensor& a, const Tensor& b, Tensor& out,
                   const BinaryLine& line);

// `out` = f(a, b), each broadcast to the shape of `out`.
template <typename A, typename B, typename To, typename F>
void map_binary(Call& c, const Tensor& a, const Tensor& b, Tensor& out,
                const F& f) {
  const auto run = [](const std::byte* a_bytes, std::int64_t sa,
                      const std::byte* b_bytes, std::int64_t sb,
                      std::byte* out_bytes, std::int64_t n, const void* g) {
    const F op = *static_cast<const F*>(g);  // held in registers
    const auto* x = reinterpret_cast<const A*>(a_bytes);
    const auto* y = reinterpret_cast<const B*>(b_bytes);
    auto* to = reinterpret_cast<To*>(out_bytes);
    if constexpr (std::is_floating_point_v<A>) {
      runtime::for_vectors([=]() RULEENGINE_INLINE {
        const F own = op;
        binary_line(x, sa, y, sb, to, n, own);
      });
    } else {
      binary_line(x, sa, y, sb, to, n, op);
    }
  };
  for_each_line(c, a, b, out, {sizeof(A), sizeof(B), sizeof(To), run, &f});
}

}  // namespace ruleengine::kernels
