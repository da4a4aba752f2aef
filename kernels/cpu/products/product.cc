// Products of matrices: MatMul and Gemm; the determinant and the inverse, which
// only ONNX Runtime's domain has.
#include <cmath>

#include "core/ops/dialect.h"
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

Weights factor_of(const Preparation& p) { return Weights::of(p, 1, false); }

struct GemmShape {
  std::int64_t m, n, k;
  float beta;  // 0 where there is no C
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
  template <typename T>
  void multiply_whole(Call& c, const GemmShape& s, const Tensor& a,
                      const Tensor& b, Tensor& out) const;

  bool transpose_a, transpose_b;
  float alpha, beta;
  Weights weights;
};

template <typename T>
void GemmOp::multiply_whole(Call& c, const GemmShape& s, const Tensor& a,
                            const Tensor& b, Tensor& out) const {
  Tensor ab = c.allocate(out.dtype(), out.dims());
  multiply<T>(c.threads(), s.m, s.n, s.k, {a.data<T>(), a.dim(1), transpose_a},
              {b.data<T>(), b.dim(1), transpose_b}, ab.mutable_data<T>());
  T* to = out.mutable_data<T>();
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const T x = ab.data<T>()[i];
    const double bias = s.beta == 0 ? 0 : double(s.beta) * double(to[i]);
    if (alpha == 1 && (s.beta == 1 || s.beta == 0)) {
      to[i] = s.beta == 0 ? x : Add()(x, to[i]);
    } else {
      to[i] = to_number<T>(double(alpha) * double(x) + bias);
    }
  }
}

GemmShape GemmOp::shape(Call& c, const Tensor& a, const Tensor& b) const {
  c.expect_rank(0, 2);
  c.expect_rank(1, 2);
  if (weights.dtype() != a.dtype()) c.expect_type(1, a.dtype());
  const std::int64_t k = a.dim(transpose_a ? 0 : 1);
  if (b.dim(transpose_b ? 1 : 0) != k) {
    c.wrong_shape(1, std::to_string(k) + (transpose_b ? " columns" : " rows"));
  }
  return {.m = a.dim(transpose_a ? 1 : 0),
          .n = b.dim(transpose_b ? 0 : 1),
          .k = k,
          .beta = c.has_input(2) ? beta : 0};
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
                           .alpha = T(alpha),
                           .a = {a.data<T>(), a.dim(1), transpose_a},
                           .b = {b.data<T>(), b.dim(1), transpose_b},
                           .beta = T(s.beta),
                           .c = out.mutable_data<T>(),
                           .ldc = s.n});
    } else {
      multiply_whole<T>(c, s, a, b, out);
    }
  });
}

// The size of the matrices of input 0.
std::int64_t square_size(const Call& c) {
  const Tensor& x = c.input(0);
  const std::size_t rank = x.rank();
  if (rank < 2 || x.dim(rank - 1) != x.dim(rank - 2)) {
    c.wrong_shape(0, "square matrices");
  }
  return x.dim(rank - 1);
}

// Swaps row k of `n` with the one from there on that has the largest element in
// column k; whether that is another one.
bool raise_pivot(double* m, std::int64_t n, std::int64_t width,
                 std::int64_t k) {
  std::int64_t pivot = k;
  for (std::int64_t i = k + 1; i < n; ++i) {
    if (std::abs(m[i * width + k]) > std::abs(m[pivot * width + k])) pivot = i;
  }
  if (pivot == k) return false;
  std::swap_ranges(m + k * width, m + (k + 1) * width, m + pivot * width);
  return true;
}

// By elimination with the largest pivot of a column; `m` is n x n.
double determinant(double* m, std::int64_t n, Ticker& tick) {
  double result = 1;
  for (std::int64_t i = 0; i < n; ++i) {
    if (raise_pivot(m, n, n, i)) result = -result;
    if (m[i * n + i] == 0) return 0;
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
  const std::int64_t n = square_size(c);
  Tensor& out = c.output(0, x.dtype(), x.dims().first(x.rank() - 2));
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

// Gauss and Jordan with the largest pivot of a column, in double.
template <typename T>
void invert(const T* in, T* out, std::int64_t n, double* m, Ticker tick) {
  const std::int64_t width = 2 * n;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      m[i * width + j] = static_cast<double>(in[i * n + j]);
      m[i * width + n + j] = i == j ? 1 : 0;
    }
  }
  for (std::int64_t k = 0; k < n; ++k) {
    raise_pivot(m, n, width, k);
    const double value = m[k * width + k];
    if (value == 0) fail("a matrix has no inverse");
    for (std::int64_t j = k; j < width; ++j) m[k * width + j] /= value;
    for (std::int64_t i = 0; i < n; ++i) {
      tick(width - k);
      const double by = m[i * width + k];
      if (i == k || by == 0) continue;
      for (std::int64_t j = k; j < width; ++j) {
        m[i * width + j] -= by * m[k * width + j];
      }
    }
  }
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      out[i * n + j] = static_cast<T>(m[i * width + n + j]);
    }
  }
}

void inverse(Call& c) {
  const Tensor x = c.input(0);
  const std::int64_t n = square_size(c);
  Tensor& y = c.output(0, x.dtype(), x.dims());
  if (x.count() == 0) return;
  dispatch(Floats(), x.dtype(), [&]<typename T>() {
    c.threads().for_each(
        x.count() / (n * n), 1, [&](std::int64_t i, std::int64_t) {
          Tensor scratch = c.allocate(DataType::kDouble, Dims{n, 2 * n});
          invert(x.data<T>() + i * n * n, y.mutable_data<T>() + i * n * n, n,
                 scratch.mutable_data<double>(), Ticker(c.threads()));
        });
  });
}

}  // namespace

const KernelRows kProductRows = {
    {"", "Det", det, Adapt::kWiden},
    {"", "Einsum", einsum, Adapt::kWiden},
    {"", "Gemm", prepared<GemmOp>, Adapt::kWiden},
    {ops::dialect::kMicrosoft, "Inverse", inverse, Adapt::kWiden},
    {"", "MatMul", keeping<matmul, factor_of>, Adapt::kWiden},
};

}  // namespace ruleengine::kernels
