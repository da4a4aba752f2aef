// The operands of a product of matrices. Internal to kernels.
#pragma once

#include "kernels/shapes.h"

namespace ruleengine::kernels {

// One product of many.
struct BatchShape {
  std::int64_t m, n, k;
  Rows<2> places;  // of the matrices of each operand, counted
};

// The operands of a product as MatMul has them.
struct MatrixFactors {
  // refuse(): fails, as the second one does not have `k` rows.
  template <typename F>
  MatrixFactors(const Tensor& first, const Tensor& second, F refuse)
      : a(as_matrix(first, true)), b(as_matrix(second, false)) {
    const std::size_t ra = a.rank(), rb = b.rank();
    m = a.dim(ra - 2);
    k = a.dim(ra - 1);
    n = b.dim(rb - 1);
    if (b.dim(rb - 2) != k) refuse(k);
    batch = broadcast(a.dims().first(ra - 2), b.dims().first(rb - 2));
    out = batch;
    if (first.rank() > 1) out.push_back(m);
    if (second.rank() > 1) out.push_back(n);
  }

  BatchShape shape() const {
    const auto strides = [&](const Tensor& t) {
      return broadcast_strides(t.dims().first(t.rank() - 2), batch);
    };
    return {m, n, k, Rows<2>(batch, {strides(a), strides(b)})};
  }

  Tensor a, b;  // of rank 2 and more
  Dims batch, out;
  std::int64_t m, n, k;

 private:
  static Tensor as_matrix(const Tensor& t, bool is_row) {
    if (t.rank() == 0) fail("a factor is a scalar", "rank 1 or more", t.text());
    if (t.rank() > 1) return t;
    const std::int64_t size = t.count();
    return t.reshaped(is_row ? Dims{1, size} : Dims{size, 1});
  }
};

}  // namespace ruleengine::kernels
