// Comparisons, logic, and the choice between two by a third.
#include <functional>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/families.h"

namespace ruleengine::kernels {
namespace {

// Without a branch, which a processor would guess wrongly half of the time.
struct And {
  bool operator()(auto a, auto b) const { return (a != 0) & (b != 0); }
};
struct Or {
  bool operator()(auto a, auto b) const { return (a != 0) | (b != 0); }
};

// Output 0 = f(input 0, input 1), of booleans.
template <typename List, auto f>
void compare(Call& c) {
  const Tensor a = c.input(0);
  const Tensor b = c.expect_type(1, a.dtype());
  const Dims dims = broadcast(a.dims(), b.dims());
  Tensor& out = c.output(0, DataType::kBool, dims);
  using F = std::remove_const_t<decltype(f)>;
  if constexpr (std::is_same_v<F, std::equal_to<>>) {
    if (a.is_string()) return map_binary<String, String, bool>(c, a, b, out, f);
  }
  dispatch(List(), a.dtype(), [&]<typename T>() {
    map_binary<Stored<T>, Stored<T>, bool>(c, a, b, out, f);
  });
}

void logical_not(Call& c) {
  dispatch(Types<bool>(), c.input(0).dtype(), [&]<typename T>() {
    map_unary<T, T>(
        c, [](std::uint8_t v) { return static_cast<std::uint8_t>(v ^ 1); });
  });
}

// to[i] = p[i] ? q[i * sx] : r[i * sy] for i below n.
template <typename T>
struct Choice {
  const bool* p;
  std::int64_t sc;
  const T* q;
  std::int64_t sx;
  const T* r;
  std::int64_t sy;
  T* to;

  // For steps that are 0 or 1.
  template <bool kX, bool kY>
  [[gnu::always_inline]] inline void run_fixed(std::int64_t n) const {
    const auto* by = reinterpret_cast<const std::uint8_t*>(p);
    const T *x = q, *y = r, one = *q, other = *r;
    T* out = to;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) {
      // Both are read, so that none is read under a condition.
      const T a = kX ? x[i] : one, b = kY ? y[i] : other;
      out[i] = by[i] != 0 ? a : b;
    }
  }
  void run(std::int64_t n) const {
    if constexpr (std::is_integral_v<T>) {
      if (sc == 1 && sx <= 1 && sy <= 1) {
        return runtime::for_vectors([&, this]() RULEENGINE_INLINE {
          if (sx == 1 && sy == 1) return run_fixed<true, true>(n);
          if (sx == 1) return run_fixed<true, false>(n);
          if (sy == 1) return run_fixed<false, true>(n);
          run_fixed<false, false>(n);
        });
      }
    }
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] = p[i * sc] ? q[i * sx] : r[i * sy];
    }
  }
};

template <typename T>
void choose(Call& c, const Rows<3>& rows, Tensor& out) {
  const bool* condition = c.input(0).data<bool>();
  const T *x = elements<T>(c.input(1)), *y = elements<T>(c.input(2));
  T* to = mutable_elements<T>(out);
  const std::int64_t sc = rows.inner(0), sx = rows.inner(1), sy = rows.inner(2);
  const auto line = [&](std::int64_t at, const auto& from, std::int64_t begin,
                        std::int64_t end) {
    Choice<T>{
        condition + from[0] + begin * sc, sc, x + from[1] + begin * sx, sx,
        y + from[2] + begin * sy,         sy, to + at + begin}
        .run(end - begin);
  };
  for_each_piece(c, rows, line);
}

void where(Call& c) {
  const Tensor condition = c.expect_type(0, DataType::kBool);
  const Tensor x = c.input(1), y = c.expect_type(2, x.dtype());
  const Shape shapes[] = {condition.dims(), x.dims(), y.dims()};
  const Dims dims = broadcast(shapes);
  Tensor& out = c.output(0, x.dtype(), dims);
  if (out.count() == 0) return;
  const Rows<3> rows(dims, {broadcast_strides(condition.dims(), dims),
                            broadcast_strides(x.dims(), dims),
                            broadcast_strides(y.dims(), dims)});
  dispatch_width(x.dtype(), [&]<typename T>() { choose<T>(c, rows, out); });
}

}  // namespace

const KernelRows kComparisonRows = {
    {"", "And", compare<Types<bool>, And{}>},
    {"", "Equal", compare<NumbersAndBool, std::equal_to<>{}>, Adapt::kWiden},
    {"", "Greater", compare<Numbers, std::greater<>{}>, Adapt::kWiden},
    {"", "GreaterOrEqual", compare<Numbers, std::greater_equal<>{}>,
     Adapt::kWiden},
    {"", "Less", compare<Numbers, std::less<>{}>, Adapt::kWiden},
    {"", "LessOrEqual", compare<Numbers, std::less_equal<>{}>, Adapt::kWiden},
    {"", "Not", logical_not},
    {"", "Or", compare<Types<bool>, Or{}>},
    {"", "Where", where, Adapt::kUnpack},
    {"", "Xor", compare<Types<bool>, std::not_equal_to<>{}>},
};

}  // namespace ruleengine::kernels
