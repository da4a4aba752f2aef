// The second operand of a product where it is a constant, packed once. Internal
// to kernels/cpu.
#pragma once

#include <cstddef>

#include "kernels/cpu/products/gemm.h"
#include "kernels/dispatch.h"

namespace ruleengine::kernels {

class Weights {
 public:
  Weights() = default;
  // Input `i`, transposed if the flag says so. Nothing where it is no constant
  // matrix of floats, or where weights are not to be arranged.
  static Weights of(const Preparation& p, std::size_t i, bool transposed);
  // Columns [first, first + count) of that operand. Where it is transposed, all
  // axes of the input but the last are columns.
  static Weights of(const Preparation& p, std::size_t i, bool transposed,
                    std::int64_t first, std::int64_t count);

  // kUndefined where there is nothing.
  DataType dtype() const { return panels_.dtype(); }
  // The product, with these in place of its b where they have its type.
  template <typename T>
  void multiply(runtime::Threads& threads,
                const GemmArguments<T>& product) const {
    if (dtype() != kTypeOf<T>) return gemm(threads, product);
    gemm_packed(threads, product, panels_.data<T>());
  }
  // `out` = all rows of x by these, or by `b`.
  template <typename T>
  void multiply_rows(const RunContext& c, const Tensor& x, const Matrix<T>& b,
                     Tensor& out) const {
    if (out.count() == 0) return;
    const std::int64_t k = x.dims().back(), n = out.dims().back();
    multiply<T>(c.threads(), {.m = out.count() / n,
                              .n = n,
                              .k = k,
                              .a = {x.data<T>(), k},
                              .b = b,
                              .c = out.mutable_data<T>(),
                              .ldc = n});
  }

 private:
  Tensor panels_;
};

}  // namespace ruleengine::kernels
