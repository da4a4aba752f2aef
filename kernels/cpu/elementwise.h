// Loops over elements that line up, with broadcasting. Internal to kernels/cpu.
#ifndef RULEENGINE_KERNELS_CPU_ELEMENTWISE_H_
#define RULEENGINE_KERNELS_CPU_ELEMENTWISE_H_

#include <algorithm>

#include "kernels/cpu/shapes.h"

namespace ruleengine::kernels {

// Elements that one piece of a loop takes at least.
inline constexpr std::int64_t kGrain = 1 << 14;

// Calls f(i) for each i below `count`, on all threads.
template <typename F>
void for_each_element(const KernelContext& c, std::int64_t count, F f) {
  c.threads().for_each(count, kGrain,
                       [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t i = begin; i < end; ++i) f(i);
                       });
}

// Sets `count` elements, on all threads.
template <typename T>
void fill(const KernelContext& c, T* to, std::int64_t count, const T& value) {
  c.threads().for_each(count, kGrain,
                       [&](std::int64_t begin, std::int64_t end) {
                         std::fill(to + begin, to + end, value);
                       });
}

// Output 0 = f(input 0), element by element.
template <typename From, typename To, typename F>
void map_unary(KernelContext& c, F f) {
  const Tensor& x = c.input(0);
  const From* in = x.data<From>();
  const std::int64_t count = x.count();
  Tensor& y = c.output_in_place(0, 0, kTypeOf<To>, x.dims());
  To* out = y.mutable_data<To>();
  for_each_element(c, count, [&](std::int64_t i) { out[i] = f(in[i]); });
}

// `out` = f(a, b), each broadcast to the shape of `out`.
template <typename A, typename B, typename To, typename F>
void map_binary(KernelContext& c, const Tensor& a, const Tensor& b, Tensor& out,
                F f) {
  const A* x = a.data<A>();
  const B* y = b.data<B>();
  To* to = out.mutable_data<To>();
  const Rows<2> rows(out.dims(), {broadcast_strides(a.dims(), out.dims()),
                                  broadcast_strides(b.dims(), out.dims())});
  const std::int64_t n = rows.length(), sx = rows.inner(0), sy = rows.inner(1);
  if (out.count() == 0) return;
  const auto line = [&](std::int64_t at, const auto& from, std::int64_t begin,
                        std::int64_t end) {
    const A* p = x + from[0];
    const B* q = y + from[1];
    To* r = to + at;
    if (sx == 1 && sy == 1) {
      for (std::int64_t i = begin; i < end; ++i) r[i] = f(p[i], q[i]);
    } else if (sx == 1 && sy == 0) {
      const B v = *q;
      for (std::int64_t i = begin; i < end; ++i) r[i] = f(p[i], v);
    } else if (sx == 0 && sy == 1) {
      const A v = *p;
      for (std::int64_t i = begin; i < end; ++i) r[i] = f(v, q[i]);
    } else {
      for (std::int64_t i = begin; i < end; ++i) r[i] = f(p[i * sx], q[i * sy]);
    }
  };
  if (rows.count() == 1) {
    c.threads().for_each(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
      rows.for_each(0, 1, [&](std::int64_t at, const auto& from) {
        line(at, from, begin, end);
      });
    });
    return;
  }
  c.threads().for_each(rows.count(), std::max<std::int64_t>(1, kGrain / n),
                       [&](std::int64_t begin, std::int64_t end) {
                         rows.for_each(begin, end,
                                       [&](std::int64_t at, const auto& from) {
                                         line(at, from, 0, n);
                                       });
                       });
}

// Output 0 = f(input 0, input 1) with broadcasting.
template <typename T, typename To, typename F>
void map_binary(KernelContext& c, F f) {
  const Tensor a = c.input(0), b = c.input(1);
  if (a.dtype() != b.dtype()) {
    fail("the inputs have different element types", a.text(), b.text());
  }
  const Dims dims = broadcast(a.dims(), b.dims());
  Tensor& out = c.output(0, kTypeOf<To>, {dims.data(), dims.size()});
  map_binary<T, T, To>(c, a, b, out, f);
}

}  // namespace ruleengine::kernels

#endif  // RULEENGINE_KERNELS_CPU_ELEMENTWISE_H_
