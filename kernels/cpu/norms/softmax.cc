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

Op softmax(const Preparation& p) {
  return for_rows(p, []<typename T>(const T* x, T* y, std::int64_t n) {
    runtime::for_vectors([&]() RULEENGINE_INLINE { softmax_row(x, n, y); });
  });
}

Op log_softmax(const Preparation& p) {
  return for_rows(p, []<typename T>(const T* x, T* y, std::int64_t n) {
    runtime::for_vectors([&]() RULEENGINE_INLINE { log_softmax_row(x, n, y); });
  });
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
    {"", "LogSoftmax", log_softmax, Adapt::kWiden},
    {"", "Softmax", softmax, Adapt::kWiden},
};

}  // namespace

const KernelRows kSoftmaxRows = kSoftmaxKernels;

}  // namespace ruleengine::kernels
