#include "kernels/cpu/norms/softmax.h"

#include "kernels/cpu/families.h"
#include "kernels/cpu/reductions/reduce.h"

namespace ruleengine::kernels {
namespace {

CutShape shape_to_normalize(const Call& c, const Tensor& x,
                            AttributeAxis axis_said) {
  // A scalar is a row of one element.
  const std::size_t rank = std::max<std::size_t>(x.rank(), 1);
  const std::size_t axis = axis_said.of(c, rank);
  return x.is_scalar() ? CutShape{1, 1, 1} : cut_at(x.dims(), axis);
}

// Output 0: f(from, to, n) for each row along the axis.
template <typename F>
Op for_rows(const Preparation& p, F f) {
  return [axis = AttributeAxis(p), f](Call& c) {
    const Tensor& x = c.input(0);
    Tensor& out = c.output_in_place(0, 0, x.dtype(), x.dims());
    if (out.count() == 0) return;
    const CutShape s = shape_to_normalize(c, x, axis);
    dispatch(Floats(), x.dtype(), [&]<typename T>() {
      for_lines(c, s, x.data<T>(), out.mutable_data<T>(), f);
    });
  };
}

// Softmax, or its logarithm.
template <bool kIsLog>
Op softmax(const Preparation& p) {
  return [axis = AttributeAxis(p)](Call& c) {
    const Tensor& x = c.input(0);
    Tensor& out = c.output_in_place(0, 0, x.dtype(), x.dims());
    if (out.count() == 0) return;
    const CutShape s = shape_to_normalize(c, x, axis);
    dispatch(Floats(), x.dtype(), [&]<typename T>() {
      const T* from = x.data<T>();
      T* to = out.mutable_data<T>();
      // Few lines side by side do not fill a vector.
      if (s.inner >= 8) {
        return for_columns(
            c.threads(), s,
            [&](std::int64_t block, std::int64_t first, std::int64_t last) {
              const std::int64_t at = block * s.size * s.inner + first;
              Ticker tick(c.threads());
              runtime::for_vectors([&]() RULEENGINE_INLINE {
                static_assert(kColumns <= kSoftmaxColumns);
                softmax_columns<kIsLog>(from + at, s.size, s.inner,
                                        last - first, to + at, tick);
              });
            });
      }
      for_lines(c, s, from, to, [](const T* row, T* y, std::int64_t n) {
        runtime::for_vectors([&]() RULEENGINE_INLINE {
          if constexpr (kIsLog) {
            log_softmax_row(row, n, y);
          } else {
            softmax_row(row, n, y);
          }
        });
      });
    });
  };
}

Op hardmax(const Preparation& p) {
  return for_rows(p, []<typename T>(const T* x, T* y, std::int64_t n) {
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < n && x[best] == x[best]; ++i) {
      if (x[i] > x[best] || x[i] != x[i]) best = i;
    }
    std::fill_n(y, n, T(0));
    y[best] = 1;
  });
}

constexpr Kernel kSoftmaxKernels[] = {
    {"", "Hardmax", hardmax, Adapt::kWiden},
    {"", "LogSoftmax", softmax<true>, Adapt::kWiden},
    {"", "Softmax", softmax<false>, Adapt::kWiden},
};

}  // namespace

const KernelRows kSoftmaxRows = kSoftmaxKernels;

}  // namespace ruleengine::kernels
