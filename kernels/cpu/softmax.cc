#include "kernels/cpu/softmax.h"

#include "kernels/cpu/families.h"
#include "kernels/cpu/reduce.h"

namespace ruleengine::kernels {
namespace {

// Before opset 13 all axes from `axis` on are one.
CutShape shape_to_normalize(const KernelContext& c, const Tensor& x) {
  const std::int64_t axis = c.attribute_int("axis");
  if (c.opset() >= 13) {
    // A scalar is a row of one element.
    if (x.is_scalar()) {
      axis_of(axis, 1);
      return {1, 1, 1};
    }
    return cut_at(x.dims(), axis_of(axis, x.rank()));
  }
  const auto rank = static_cast<std::int64_t>(x.rank());
  if (axis < -rank || axis > rank) {
    c.wrong_attribute("axis",
                      std::to_string(-rank) + " to " + std::to_string(rank));
  }
  const auto cut = index_of(axis < 0 ? axis + rank : axis);
  return {product(x.dims(), 0, cut), product(x.dims(), cut, x.rank()), 1};
}

// Output 0: f(from, to, n) for each row along the axis, which is copied where
// its elements are not side by side.
template <typename F>
void for_rows(KernelContext& c, F f) {
  const Tensor x = c.input(0);
  Tensor& out = c.output_in_place(0, 0, x.dtype(), x.dims());
  if (out.count() == 0) return;
  const CutShape s = shape_to_normalize(c, x);
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    const T* from = x.data<T>();
    T* to = out.mutable_data<T>();
    const std::int64_t grain = (1 << 13) / s.size + 1;
    c.threads().for_each(s.outer * s.inner, grain,
                         [&](std::int64_t begin, std::int64_t end) {
                           if (s.inner == 1) {
                             for (std::int64_t i = begin; i < end; ++i) {
                               f(from + i * s.size, to + i * s.size, s.size);
                             }
                             return;
                           }
                           Tensor row = c.allocate(x.dtype(), Dims{s.size});
                           T* line = row.mutable_data<T>();
                           for (std::int64_t i = begin; i < end; ++i) {
                             const std::int64_t at =
                                 i / s.inner * s.inner * s.size + i % s.inner;
                             for (std::int64_t k = 0; k < s.size; ++k) {
                               line[k] = from[at + k * s.inner];
                             }
                             f(line, line, s.size);
                             for (std::int64_t k = 0; k < s.size; ++k) {
                               to[at + k * s.inner] = line[k];
                             }
                           }
                         });
  });
}

void softmax(KernelContext& c) {
  for_rows(c, []<typename T>(const T* x, T* y, std::int64_t n) {
    softmax_row(x, n, y);
  });
}

void log_softmax(KernelContext& c) {
  for_rows(c, []<typename T>(const T* x, T* y, std::int64_t n) {
    log_softmax_row(x, n, y);
  });
}

void hardmax(KernelContext& c) {
  for_rows(c, []<typename T>(const T* x, T* y, std::int64_t n) {
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

KernelRows softmax_kernels() { return kSoftmaxKernels; }

}  // namespace ruleengine::kernels
