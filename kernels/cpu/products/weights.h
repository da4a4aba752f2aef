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
  // axes of the input but the last are columns. `of_inputs`: whether first
  // operands are inputs of the node too, so of the same type in the model.
  static Weights of(const Preparation& p, std::size_t i, bool transposed,
                    std::int64_t first, std::int64_t count,
                    bool of_inputs = true);

  // Of the products; kUndefined where there is nothing.
  DataType dtype() const {
    return is_bfloat16() ? DataType::kFloat : panels_.dtype();
  }
  // The product, with these in place of its b where they have its type.
  template <typename T>
  void multiply(runtime::Threads& threads,
                const GemmArguments<T>& product) const {
    if (dtype() != kTypeOf<T>) return gemm(threads, product);
    if constexpr (std::is_same_v<T, float>) {
      if (is_bfloat16()) {
        return gemm_packed(threads, product, panels_.data<BFloat16>());
      }
    }
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
  bool is_bfloat16() const { return panels_.dtype() == DataType::kBfloat16; }

  Tensor panels_;
};

}  // namespace ruleengine::kernels
