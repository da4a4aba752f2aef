// MatMulInteger and QLinearMatMul. Products of 8-bit numbers are whole, and the
// sum of 256 of them fits a float's 24 bits; so they are computed exactly as
// products of float matrices, piece by piece.
#include <algorithm>

#include "kernels/cpu/elementwise/cast.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/products/gemm.h"
#include "kernels/cpu/quantization/quantization.h"

namespace ruleengine::kernels {
namespace {

// 256 * 255 * 255 < 2^24.
constexpr std::int64_t kExactTerms = 256;

struct IntegerProduct {
  Tensor a, b;  // as float, of rank 2 and more
  Dims batch, out;
  std::int64_t m = 0, n = 0, k = 0;
};

Tensor as_matrix(const Tensor& t, bool is_row) {
  if (t.rank() == 0) fail("a factor is a scalar", "rank 1 or more", t.text());
  if (t.rank() > 1) return t;
  const std::int64_t n = t.count();
  return is_row ? t.reshaped(Dims{1, n}) : t.reshaped(Dims{n, 1});
}

IntegerProduct product_of(const Tensor& a, const Tensor& b) {
  IntegerProduct p{.a = as_matrix(a, true), .b = as_matrix(b, false)};
  const std::size_t ra = p.a.rank(), rb = p.b.rank();
  p.m = p.a.dim(ra - 2);
  p.k = p.a.dim(ra - 1);
  p.n = p.b.dim(rb - 1);
  if (p.b.dim(rb - 2) != p.k) {
    fail("wrong shape of the second matrix", std::to_string(p.k) + " rows",
         b.text());
  }
  p.batch = broadcast(p.a.dims().first(ra - 2), p.b.dims().first(rb - 2));
  p.out = p.batch;
  if (a.rank() > 1) p.out.push_back(p.m);
  if (b.rank() > 1) p.out.push_back(p.n);
  return p;
}

// Calls f(matrix of a, matrix of b, place in the result) for all of the batch.
template <typename F>
void for_each_product(const Call& c, const IntegerProduct& p, F f) {
  const auto strides = [&](const Tensor& t, std::int64_t size) {
    Dims out = broadcast_strides(t.dims().first(t.rank() - 2), p.batch);
    for (std::int64_t& each : out) each *= size;
    return out;
  };
  const Rows<2> rows(p.batch,
                     {strides(p.a, p.m * p.k), strides(p.b, p.k * p.n)});
  const float *a = p.a.data<float>(), *b = p.b.data<float>();
  const std::int64_t inner = rows.length();
  // One product uses all threads by itself.
  c.threads().for_each(
      rows.count() * inner, 1, [&](std::int64_t i, std::int64_t) {
        rows.for_each(i / inner, i / inner + 1,
                      [&](std::int64_t, const auto& from) {
                        const std::int64_t j = i % inner;
                        f(a + from[0] + j * rows.inner(0),
                          b + from[1] + j * rows.inner(1), i * p.m * p.n);
                      });
      });
}

// The shape of the result is product_of's; all matrices are contiguous.
void multiply_integers(const Call& c, const IntegerProduct& p, Tensor& sums) {
  if (sums.count() == 0) return;
  std::int32_t* to = sums.mutable_data<std::int32_t>();
  for_each_product(c, p, [&](const float* a, const float* b, std::int64_t at) {
    integer_gemm(c, p.m, p.n, p.k, a, p.k, b, p.n, to + at, p.n);
  });
}

// Of float8: sums are float.
void multiply_float8(Call& c, const IntegerProduct& p, const Tensor& factor,
                     const Tensor& zero, DataType to) {
  Tensor sums = c.allocate(DataType::kFloat, p.out);
  if (sums.count() > 0) {
    float* out = sums.mutable_data<float>();
    for_each_product(c, p,
                     [&](const float* a, const float* b, std::int64_t at) {
                       gemm<float>(c.threads(),
                                   {.m = p.m,
                                    .n = p.n,
                                    .k = p.k,
                                    .a = a,
                                    .lda = p.k,
                                    .c = out + at,
                                    .ldc = p.n},
                                   false, b, p.n);
                     });
  }
  if (ir::is_integer(to)) return requantize(c, sums, factor, zero, to);
  Tensor scaled = c.allocate(DataType::kFloat, p.out);
  map_binary<float, float, float>(c, sums, factor, scaled,
                                  [](float v, float by) { return v * by; });
  map_binary<float, float, float>(c, scaled, zero, sums,
                                  [](float v, float by) { return v + by; });
  c.set_output(0, cast_tensor(c, sums, to, {}));
}

}  // namespace

void integer_gemm(const Call& c, std::int64_t m, std::int64_t n, std::int64_t k,
                  const float* a, std::int64_t lda, const float* b,
                  std::int64_t ldb, std::int32_t* to, std::int64_t ldc) {
  constexpr std::int64_t kBlock = 1 << 20;
  const std::int64_t height = std::clamp<std::int64_t>(kBlock / n, 1, m);
  Tensor block = c.allocate(DataType::kFloat, Dims{height, n});
  float* piece = block.mutable_data<float>();
  for (std::int64_t row = 0; row < m; row += height) {
    const std::int64_t rows = std::min(height, m - row);
    for (std::int64_t i = 0; i < rows; ++i) {
      std::fill_n(to + (row + i) * ldc, n, 0);
    }
    for (std::int64_t at = 0; at < k; at += kExactTerms) {
      gemm<float>(c.threads(),
                  {.m = rows,
                   .n = n,
                   .k = std::min(kExactTerms, k - at),
                   .a = a + row * lda + at,
                   .lda = lda,
                   .c = piece,
                   .ldc = n},
                  false, b + at * ldb, ldb);
      for (std::int64_t i = 0; i < rows; ++i) {
        std::int32_t* sums = to + (row + i) * ldc;
        for (std::int64_t j = 0; j < n; ++j) {
          const auto term = static_cast<std::int32_t>(piece[i * n + j]);
          sums[j] =
              static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[j]) +
                                        static_cast<std::uint32_t>(term));
        }
      }
    }
  }
}

void mat_mul_integer(Call& c) {
  const IntegerProduct p =
      product_of(shifted_input(c, 0, 2, 1), shifted_input(c, 1, 3, 0));
  Tensor& y = c.output(0, DataType::kInt32, p.out);
  multiply_integers(c, p, y);
}

void qlinear_mat_mul(Call& c) {
  const IntegerProduct p =
      product_of(shifted_input(c, 0, 2, 1), shifted_input(c, 3, 5, 0));
  const Tensor factor =
      scale_factor(c, spread(float_input(c, 1), 1),
                   spread(float_input(c, 4), 0), spread(float_input(c, 6), 1));
  const DataType to = c.input(7).dtype();
  const Tensor zero = spread(float_input(c, 7), 1);
  check_spread(factor, p.out);
  check_spread(zero, p.out);
  if (!ir::is_integer(c.input(0).dtype()) ||
      !ir::is_integer(c.input(3).dtype()) || !ir::is_integer(to)) {
    return multiply_float8(c, p, factor, zero, to);
  }
  Tensor sums = c.allocate(DataType::kInt32, p.out);
  multiply_integers(c, p, sums);
  requantize(c, sums, factor, zero, to);
}

}  // namespace ruleengine::kernels
