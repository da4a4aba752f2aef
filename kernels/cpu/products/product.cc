// Products of matrices: MatMul, Gemm, and the determinant.
#include <cmath>

#include "kernels/cpu/families.h"
#include "kernels/cpu/number.h"
#include "kernels/cpu/products/matrix.h"
#include "kernels/cpu/products/weights.h"
#include "kernels/strided.h"

namespace ruleengine::kernels {
namespace {

void matmul(Call& c, const Weights& weights) {
  const Tensor& x = c.expect_min_rank(0, 1);
  const Tensor& y = c.expect_min_rank(1, 1);
  const bool is_packed = weights.dtype() == x.dtype();
  if (!is_packed) c.expect_type(1, x.dtype());
  const MatrixFactors p(x, y, [&](std::int64_t rows) {
    c.wrong_shape(1, std::to_string(rows) + " rows");
  });
  Tensor& out = c.output(0, x.dtype(), p.out);
  if (out.count() == 0) return;
  if (is_packed) {
    return dispatch(Floats(), x.dtype(), [&]<typename T>() {
      weights.multiply_rows<T>(c, p.a, {}, out);
    });
  }
  dispatch(Numbers(), x.dtype(), [&]<typename T>() {
    multiply_batch<T>(c.threads(), p.shape(), {p.a.data<T>(), p.k},
                      {p.b.data<T>(), p.n}, out.mutable_data<T>());
  });
}

Op prepare_matmul(const Preparation& p) {
  return [weights = Weights::of(p, 1, false)](Call& c) { matmul(c, weights); };
}

// How the operands are multiplied.
struct GemmShape {
  std::int64_t m, n, k;
  bool transpose_a, transpose_b;
  float alpha, beta;  // beta is 0 where there is no C
};

struct GemmOp {
  explicit GemmOp(const Preparation& p)
      : transpose_a(p.attribute_flag("transA")),
        transpose_b(p.attribute_flag("transB")),
        alpha(p.attribute_float("alpha")),
        beta(p.attribute_float("beta")),
        weights(Weights::of(p, 1, transpose_b)) {}
  void operator()(Call& c) const;
  GemmShape shape(Call& c, const Tensor& a, const Tensor& b) const;

  bool transpose_a, transpose_b;
  float alpha, beta;
  Weights weights;
};

template <typename T>
void gemm_whole(Call& c, const GemmShape& s, const Tensor& a, const Tensor& b,
                Tensor& out) {
  Tensor ab = c.allocate(out.dtype(), out.dims());
  multiply<T>(c.threads(), s.m, s.n, s.k,
              {a.data<T>(), a.dim(1), s.transpose_a},
              {b.data<T>(), b.dim(1), s.transpose_b}, ab.mutable_data<T>());
  T* to = out.mutable_data<T>();
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const T x = ab.data<T>()[i];
    const double bias = s.beta == 0 ? 0 : double(s.beta) * double(to[i]);
    if (s.alpha == 1 && (s.beta == 1 || s.beta == 0)) {
      const T other = s.beta == 0 ? T(0) : to[i];
      to[i] = static_cast<T>(static_cast<std::uint64_t>(x) +
                             static_cast<std::uint64_t>(other));
    } else {
      to[i] = to_number<T>(double(s.alpha) * double(x) + bias);
    }
  }
}

GemmShape GemmOp::shape(Call& c, const Tensor& a, const Tensor& b) const {
  c.expect_rank(0, 2);
  c.expect_rank(1, 2);
  if (weights.dtype() != a.dtype()) c.expect_type(1, a.dtype());
  GemmShape s{};
  s.transpose_a = transpose_a;
  s.transpose_b = transpose_b;
  s.alpha = alpha;
  s.beta = c.has_input(2) ? beta : 0;
  s.m = a.dim(s.transpose_a ? 1 : 0);
  s.k = a.dim(s.transpose_a ? 0 : 1);
  s.n = b.dim(s.transpose_b ? 0 : 1);
  if (b.dim(s.transpose_b ? 1 : 0) != s.k) {
    c.wrong_shape(1,
                  std::to_string(s.k) + (s.transpose_b ? " columns" : " rows"));
  }
  return s;
}

void GemmOp::operator()(Call& c) const {
  const Tensor& a = c.input(0);
  const Tensor& b = c.input(1);
  const GemmShape s = shape(c, a, b);
  Tensor& out = c.output(0, a.dtype(), Dims{s.m, s.n});
  if (s.beta != 0) {
    // The output begins as input 2.
    const Tensor& from = c.expect_type(2, a.dtype());
    expect_broadcast(c, 2, from, out.dims());
    const Dims strides = broadcast_strides(from.dims(), out.dims());
    copy_block(c, out.dims(), from, {0, strides}, out, dense(out.dims()));
  }
  dispatch(Numbers(), a.dtype(), [&]<typename T>() {
    if (out.count() == 0) return;
    if constexpr (std::is_floating_point_v<T>) {
      weights.multiply<T>(c.threads(),
                          {.m = s.m,
                           .n = s.n,
                           .k = s.k,
                           .alpha = T(s.alpha),
                           .a = {a.data<T>(), a.dim(1), s.transpose_a},
                           .b = {b.data<T>(), b.dim(1), s.transpose_b},
                           .beta = T(s.beta),
                           .c = out.mutable_data<T>(),
                           .ldc = s.n});
    } else {
      gemm_whole<T>(c, s, a, b, out);
    }
  });
}

// By elimination with the largest pivot of a column; `m` is n x n.
double determinant(double* m, std::int64_t n, Ticker& tick) {
  double result = 1;
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t pivot = i;
    for (std::int64_t r = i + 1; r < n; ++r) {
      if (std::abs(m[r * n + i]) > std::abs(m[pivot * n + i])) pivot = r;
    }
    if (m[pivot * n + i] == 0) return 0;
    if (pivot != i) {
      std::swap_ranges(m + i * n, m + (i + 1) * n, m + pivot * n);
      result = -result;
    }
    const double* top = m + i * n;
    result *= top[i];
    for (std::int64_t r = i + 1; r < n; ++r) {
      tick(n - i);
      double* row = m + r * n;
      const double by = row[i] / top[i];
      if (by == 0) continue;
      for (std::int64_t j = i + 1; j < n; ++j) row[j] -= by * top[j];
    }
  }
  return result;
}

void det(Call& c) {
  const Tensor x = c.input(0);
  const std::size_t rank = x.rank();
  if (rank < 2 || x.dim(rank - 1) != x.dim(rank - 2)) {
    c.wrong_shape(0, "square matrices");
  }
  const std::int64_t n = x.dim(rank - 1);
  Tensor& out = c.output(0, x.dtype(), x.dims().first(rank - 2));
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    const std::int64_t grain = (1 << 16) / (n * n + 1) + 1;
    T* to = out.mutable_data<T>();
    c.threads().for_each(
        out.count(), grain, [&](std::int64_t begin, std::int64_t end) {
          Tensor copy = c.allocate(DataType::kDouble, Dims{n, n});
          double* m = copy.mutable_data<double>();
          Ticker tick(c.threads());
          for (std::int64_t i = begin; i < end; ++i) {
            const T* from = x.data<T>() + i * n * n;
            std::copy(from, from + n * n, m);
            to[i] = static_cast<T>(determinant(m, n, tick));
          }
        });
  });
}

constexpr Kernel kProductKernels[] = {
    {"", "Det", det, Adapt::kWiden},
    {"", "Einsum", einsum, Adapt::kWiden},
    {"", "Gemm", prepared<GemmOp>, Adapt::kWiden},
    {"", "MatMul", prepare_matmul, Adapt::kWiden},
};

}  // namespace

const KernelRows kProductRows = kProductKernels;

}  // namespace ruleengine::kernels
