#include "kernels/cpu/families.h"

#include <type_traits>

#include "kernels/cpu/reductions/reduce.h"

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

// ArgMax or ArgMin.
struct ArgOp {
  ArgOp(const Preparation& p, bool is_max)
      : axis_said(p),
        largest(is_max),
        last(p.attribute_flag("select_last_index")),
        keepdims(p.attribute_flag("keepdims")) {}
  void operator()(Call& c) const;

  AttributeAxis axis_said;
  bool largest, last, keepdims;
};

void ArgOp::operator()(Call& c) const {
  const Tensor& x = c.input(0);
  const std::size_t axis = axis_said.of(c, x.rank());
  const Dims dims = reduced_shape(x.dims(), {axis}, keepdims).result;
  Tensor& out = c.output(0, DataType::kInt64, dims);
  if (out.count() == 0) return;
  const CutShape s = cut_at(x.dims(), axis);
  if (s.size == 0) c.wrong_shape(0, "1 element or more along the axis");
  auto* y = out.mutable_data<std::int64_t>();
  dispatch(NumbersAndBool(), x.dtype(), [&]<typename T>() {
    for_columns(c.threads(), s,
                [&](std::int64_t block, std::int64_t first, std::int64_t end) {
                  arg_columns(x.data<T>() + block * s.size * s.inner + first, s,
                              end - first, largest, last,
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

struct ScanDirection {
  bool exclusive, reverse;
};

template <typename F, typename T>
void cumulate_columns(const T* x, const CutShape& s, std::int64_t columns,
                      ScanDirection d, T* y) {
  using Sum =
      std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
  Sum sums[kColumns];
  std::fill_n(sums, columns, Sum(F::kFirst));
  for (std::int64_t i = 0; i < s.size; ++i) {
    const std::int64_t at = (d.reverse ? s.size - 1 - i : i) * s.inner;
    for (std::int64_t j = 0; j < columns; ++j) {
      const T before = static_cast<T>(sums[j]);
      sums[j] = F::of(sums[j], static_cast<Sum>(x[at + j]));
      y[at + j] = d.exclusive ? before : static_cast<T>(sums[j]);
    }
  }
}

template <typename F>
void cumulate(Call& c, ScanDirection d) {
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
                  cumulate_columns<F>(x.data<T>() + at, s, end - first, d,
                                      y + at);
                });
  });
}

template <typename F>
Op prepare_cumulate(const Preparation& p) {
  const ScanDirection d{p.attribute_flag("exclusive"),
                        p.attribute_flag("reverse")};
  return [d](Call& c) { cumulate<F>(c, d); };
}

}  // namespace

Op arg_max(const Preparation& p) { return ArgOp(p, true); }
Op arg_min(const Preparation& p) { return ArgOp(p, false); }
Op cum_prod(const Preparation& p) { return prepare_cumulate<Times>(p); }
Op cum_sum(const Preparation& p) { return prepare_cumulate<Plus>(p); }

}  // namespace ruleengine::kernels
