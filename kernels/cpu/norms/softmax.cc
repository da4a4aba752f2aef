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

// Output 0 by f(shape, from, to).
template <typename F>
void normalize(Call& c, AttributeAxis axis, F f) {
  const Tensor& x = c.input(0);
  Tensor& out = c.output_in_place(0, 0, x.dtype(), x.dims());
  if (out.count() == 0) return;
  const CutShape s = shape_to_normalize(c, x, axis);
  dispatch(Floats(), x.dtype(),
           [&]<typename T>() { f(s, x.data<T>(), out.mutable_data<T>()); });
}

// Softmax, or its logarithm.
template <bool kIsLog>
void softmax(Call& c, AttributeAxis axis) {
  normalize(c, axis, [&]<typename T>(const CutShape& s, const T* from, T* to) {
    // Few lines side by side do not fill a vector.
    if (s.inner >= 8) {
      return for_columns(
          c.threads(), s,
          [&](std::int64_t block, std::int64_t first, std::int64_t last) {
            const std::int64_t at = block * s.size * s.inner + first;
            Ticker tick(c.threads());
            runtime::for_vectors([&]() RULEENGINE_INLINE {
              static_assert(kColumns <= kSoftmaxColumns);
              softmax_columns<kIsLog>(from + at, s.size, s.inner, last - first,
                                      to + at, tick);
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
}

void hardmax(Call& c, AttributeAxis axis) {
  normalize(c, axis, [&]<typename T>(const CutShape& s, const T* from, T* to) {
    for_lines(c, s, from, to, [](const T* x, T* y, std::int64_t n) {
      std::int64_t best = 0;
      for (std::int64_t i = 1; i < n && x[best] == x[best]; ++i) {
        if (x[i] > x[best] || x[i] != x[i]) best = i;
      }
      std::fill_n(y, n, T(0));
      y[best] = 1;
    });
  });
}

}  // namespace

const KernelRows kSoftmaxRows = {
    {"", "Hardmax", keeping<hardmax, axis_attribute<>>, Adapt::kWiden},
    {"", "LogSoftmax", keeping<softmax<true>, axis_attribute<>>, Adapt::kWiden},
    {"", "Softmax", keeping<softmax<false>, axis_attribute<>>, Adapt::kWiden},
};

}  // namespace ruleengine::kernels
