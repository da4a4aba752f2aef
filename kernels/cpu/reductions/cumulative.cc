#include "kernels/cpu/families.h"

#include <algorithm>
#include <type_traits>

#include "kernels/cpu/reductions/fold.h"
#include "kernels/cpu/reductions/reduce.h"
#include "runtime/vectors.h"

namespace ruleengine::kernels {
namespace {

// Whether `x` is to take the place of `best`, which stands before it. NaN beats
// all.
template <typename T>
bool beats(T x, T best, bool largest, bool last) {
  if (best != best) return last && x != x;
  if (x != x) return true;
  return (largest ? x > best : x < best) || (last && x == best);
}

template <typename T>
void arg_columns(const T* x, const CutShape& s, std::int64_t columns,
                 bool largest, bool last, std::int64_t* y) {
  T best[kColumns];
  for (std::int64_t j = 0; j < columns; ++j) {
    best[j] = x[j];
    y[j] = 0;
  }
  for (std::int64_t i = 1; i < s.size; ++i) {
    const T* row = x + i * s.inner;
    for (std::int64_t j = 0; j < columns; ++j) {
      if (!beats(row[j], best[j], largest, last)) continue;
      best[j] = row[j];
      y[j] = i;
    }
  }
}

// Of a line that lies side by side.
template <typename T>
std::int64_t arg_of(const T* x, std::int64_t n, bool largest, bool last) {
  T best = x[0];
  bool has_nan = false;
  const auto fold = [&](auto take) RULEENGINE_INLINE {
    best = fold_lanes<64>(
        n, x[0], [&](T& a, std::int64_t i) { take(a, x[i]); }, take);
  };
  runtime::for_vectors([&]() RULEENGINE_INLINE {
    std::uint8_t any = 0;
    for (std::int64_t i = 0; i < n; ++i) any |= x[i] != x[i];
    has_nan = any != 0;
    if (largest) {
      fold([](T& a, T v) { a = v > a ? v : a; });
    } else {
      fold([](T& a, T v) { a = v < a ? v : a; });
    }
  });
  const auto is_best = [=](T v) { return has_nan ? v != v : v == best; };
  if (!last) return std::find_if(x, x + n, is_best) - x;
  while (!is_best(x[--n])) {
  }
  return n;
}

// ArgMax or ArgMin.
template <bool kLargest>
void arg_extreme(Call& c, AttributeAxis axis_said, bool last, bool keepdims) {
  const Tensor& x = c.input(0);
  const std::size_t axis = axis_said.of(c, x.rank());
  const Dims dims = reduced_shape(x.dims(), {axis}, keepdims).result;
  Tensor& out = c.output(0, DataType::kInt64, dims);
  if (out.count() == 0) return;
  const CutShape s = cut_at(x.dims(), axis);
  if (s.size == 0) c.wrong_shape(0, "1 element or more along the axis");
  auto* y = out.mutable_data<std::int64_t>();
  dispatch(NumbersAndBool(), x.dtype(), [&]<typename T>() {
    if (s.inner == 1) {
      return c.threads().for_each_index(
          s.outer, (1 << 14) / s.size, [&](std::int64_t i) {
            y[i] = arg_of(x.data<T>() + i * s.size, s.size, kLargest, last);
          });
    }
    for_columns(c.threads(), s,
                [&](std::int64_t block, std::int64_t first, std::int64_t end) {
                  arg_columns(x.data<T>() + block * s.size * s.inner + first, s,
                              end - first, kLargest, last,
                              y + block * s.inner + first);
                });
  });
}

struct Plus {
  static constexpr int kFirst = 0;
  template <typename Sum>
  static Sum of(Sum a, Sum b) {
    return a + b;
  }
};
struct Times {
  static constexpr int kFirst = 1;
  template <typename Sum>
  static Sum of(Sum a, Sum b) {
    return a * b;
  }
};

template <typename F, typename T>
void cumulate_columns(const T* x, const CutShape& s, std::int64_t columns,
                      bool exclusive, bool reverse, T* y) {
  using Sum = SumType<T>;
  Sum sums[kColumns];
  std::fill_n(sums, columns, Sum(F::kFirst));
  for (std::int64_t i = 0; i < s.size; ++i) {
    const std::int64_t at = (reverse ? s.size - 1 - i : i) * s.inner;
    const T* from = x + at;
    T* to = y + at;
    const auto line = [&](auto f) {
#pragma GCC ivdep
      for (std::int64_t j = 0; j < columns; ++j) {
        const Sum before = sums[j];
        sums[j] = F::of(before, static_cast<Sum>(from[j]));
        to[j] = static_cast<T>(f(before, sums[j]));
      }
    };
    if (exclusive) {
      line([](Sum before, Sum) { return before; });
    } else {
      line([](Sum, Sum after) { return after; });
    }
  }
}

template <typename F>
void cumulate(Call& c, bool exclusive, bool reverse) {
  const Tensor x = c.input(0);
  const std::size_t axis = input_place(c, 1, x.rank());
  Tensor& out = c.output(0, x.dtype(), x.dims());
  if (out.count() == 0) return;
  const CutShape s = cut_at(x.dims(), axis);
  dispatch(Numbers(), x.dtype(), [&]<typename T>() {
    T* y = out.mutable_data<T>();
    for_columns(c.threads(), s,
                [&](std::int64_t block, std::int64_t first, std::int64_t end) {
                  const std::int64_t at = block * s.size * s.inner + first;
                  runtime::for_vectors([&]() RULEENGINE_INLINE {
                    cumulate_columns<F>(x.data<T>() + at, s, end - first,
                                        exclusive, reverse, y + at);
                  });
                });
  });
}

template <bool kLargest>
constexpr auto kArgOp =
    keeping<arg_extreme<kLargest>, axis_attribute<>,
            flag_attribute<"select_last_index">, flag_attribute<"keepdims">>;
template <typename F>
constexpr auto kCumulate = keeping<cumulate<F>, flag_attribute<"exclusive">,
                                   flag_attribute<"reverse">>;

}  // namespace

const KernelRows kCumulativeRows = {
    {"", "ArgMax", kArgOp<true>, Adapt::kWiden},
    {"", "ArgMin", kArgOp<false>, Adapt::kWiden},
    {"", "CumProd", kCumulate<Times>, Adapt::kWiden},
    {"", "CumSum", kCumulate<Plus>, Adapt::kWiden},
};

}  // namespace ruleengine::kernels
