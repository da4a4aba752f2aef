// MatMulInteger and QLinearMatMul.
#include "kernels/cpu/elementwise/cast.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/products/integer_gemm.h"
#include "kernels/cpu/products/matrix.h"
#include "kernels/cpu/quantization/quantization.h"

namespace ruleengine::kernels {
namespace {

MatrixFactors integer_factors(const Tensor& a, const Tensor& b) {
  return {a, b, [&](std::int64_t rows) {
            fail("wrong shape of the second matrix",
                 std::to_string(rows) + " rows", b.text());
          }};
}

// Calls f(number of the matrix of a, that of b, that of the result) for all of
// the batch.
template <typename F>
void for_each_product(const Call& c, const MatrixFactors& p, F f) {
  const Rows<2> rows = p.shape().places;
  const std::int64_t inner = rows.length();
  // One product uses all threads by itself.
  c.threads().for_each(
      rows.count() * inner, 1, [&](std::int64_t i, std::int64_t) {
        const auto one = [&](std::int64_t, const auto& from) {
          const std::int64_t j = i % inner;
          f(from[0] + j * rows.inner(0), from[1] + j * rows.inner(1), i);
        };
        rows.for_each(i / inner, i / inner + 1, one);
      });
}

// A factor of bytes with its zero points: inputs `i` and `zero`.
struct Factor {
  std::size_t i, zero;
  // The constant packed once; nothing where it is none.
  Tensor packed;
};

// The second factor where it is a constant matrix.
Factor constant_factor(const Preparation& p, std::size_t i, std::size_t zero) {
  Factor out{i, zero, {}};
  const Tensor* b = p.constant(i);
  if (!p.arranges_weights() || b == nullptr || b->rank() != 2) return out;
  const bool is_signed = b->dtype() == DataType::kInt8;
  if (!is_signed && b->dtype() != DataType::kUint8) return out;
  const std::int64_t k = b->dim(0), n = b->dim(1);
  const std::int64_t size = packed_columns_size(k, n);
  if (auto packed = p.arranged(*b, DataType::kUint8, {&size, 1})) {
    pack_columns(p.threads(), k, n, {b->data<std::uint8_t>(), is_signed, n},
                 packed->mutable_data<std::byte>());
    out.packed = *std::move(packed);
    p.release(i);
  }
  return out;
}

// The matrices of a factor, one after the other.
struct PackedFactor {
  Tensor bytes, zeros;
  std::int64_t size, each;  // bytes and zero points of a matrix
  bool is_signed;

  const std::byte* matrix(std::int64_t i) const {
    return bytes.data<std::byte>() + i * size;
  }
  // One for all matrices, or one for each row or column.
  ZeroPoints zero(std::int64_t i) const {
    const std::int64_t step = zeros.count() == 1 ? 0 : 1;
    return {zeros.data<std::int32_t>() + i * each * step, step};
  }
};

PackedFactor packed(Call& c, const Factor& f, const Tensor& matrices,
                    bool is_first) {
  const Tensor& x = c.input(f.i);
  // Along the terms there is one zero point.
  Dims each(x.dims());
  each[is_first || x.rank() == 1 ? x.rank() - 1 : x.rank() - 2] = 1;
  const Tensor zeros = integer_zeros(c, f.i, f.zero, is_first ? 1 : 0, each);
  const std::size_t rank = matrices.rank();
  const std::int64_t rows = matrices.dim(rank - 2);
  const std::int64_t columns = matrices.dim(rank - 1);
  const std::int64_t size = is_first ? packed_rows_size(rows, columns)
                                     : packed_columns_size(rows, columns);
  PackedFactor out{f.packed, zeros, size, is_first ? rows : columns,
                   x.dtype() == DataType::kInt8};
  if (out.bytes.dtype() != DataType::kUndefined) return out;
  const std::int64_t count = product(matrices.dims(), 0, rank - 2);
  out.bytes = c.allocate(DataType::kUint8, Dims{count * size});
  auto* to = out.bytes.mutable_data<std::byte>();
  const auto* from = matrices.data<std::uint8_t>();
  const auto pack = is_first ? pack_rows : pack_columns;
  c.threads().for_each(count, 1, [&](std::int64_t i, std::int64_t) {
    pack(c.threads(), rows, columns,
         {from + i * rows * columns, out.is_signed, columns}, to + i * size);
  });
  return out;
}

// The product of the factors as int32. make(shape): where it goes.
template <typename F>
void multiply_integers(Call& c, const Factor& a, const Factor& b, F make) {
  MatrixFactors p = integer_factors(c.input(a.i), c.input(b.i));
  // One matrix for all: rows of the batch are rows of one product.
  if (p.b.rank() == 2) {
    p.m *= product(p.batch);
    p.batch = {};
    p.a = p.a.reshaped(Dims{p.m, p.k});
  }
  const PackedFactor x = packed(c, a, p.a, true), y = packed(c, b, p.b, false);
  Tensor& sums = make(p.out);
  if (sums.count() == 0) return;
  std::int32_t* to = sums.mutable_data<std::int32_t>();
  for_each_product(c, p, [&](std::int64_t i, std::int64_t j, std::int64_t at) {
    integer_gemm(c.threads(), {.m = p.m,
                               .n = p.n,
                               .k = p.k,
                               .a = x.matrix(i),
                               .a_is_signed = x.is_signed,
                               .a_zero = x.zero(i),
                               .b = y.matrix(j),
                               .b_is_signed = y.is_signed,
                               .b_zero = y.zero(j),
                               .c = to + at * p.m * p.n,
                               .ldc = p.n});
  });
}

// Of float8: sums are float.
void multiply_float8(Call& c, const MatrixFactors& p, const Tensor& factor,
                     const Tensor& zero, DataType to) {
  Tensor sums = c.allocate(DataType::kFloat, p.out);
  if (sums.count() > 0) {
    float* out = sums.mutable_data<float>();
    for_each_product(
        c, p, [&](std::int64_t i, std::int64_t j, std::int64_t at) {
          gemm<float>(c.threads(),
                      {.m = p.m,
                       .n = p.n,
                       .k = p.k,
                       .a = {p.a.data<float>() + i * p.m * p.k, p.k},
                       .b = {p.b.data<float>() + j * p.k * p.n, p.n},
                       .c = out + at * p.m * p.n,
                       .ldc = p.n});
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

void linear_product(Call& c, const Factor& a, const Factor& b) {
  const Tensor factor =
      scale_factor(c, spread(float_input(c, 1), 1),
                   spread(float_input(c, 4), 0), spread(float_input(c, 6), 1));
  const DataType to = c.input(7).dtype();
  const Tensor zero = spread(float_input(c, 7), 1);
  if (!ir::is_integer(c.input(0).dtype()) ||
      !ir::is_integer(c.input(3).dtype()) || !ir::is_integer(to)) {
    const MatrixFactors p =
        integer_factors(shifted_input(c, 0, 2, 1), shifted_input(c, 3, 5, 0));
    check_spread(factor, p.out);
    check_spread(zero, p.out);
    return multiply_float8(c, p, factor, zero, to);
  }
  Tensor sums;
  multiply_integers(c, a, b, [&](Shape dims) -> Tensor& {
    check_spread(factor, dims);
    check_spread(zero, dims);
    return sums = c.allocate(DataType::kInt32, dims);
  });
  requantize(c, sums, factor, zero, to);
}

}  // namespace

Op mat_mul_integer(const Preparation& p) {
  return [a = Factor{0, 2, {}}, b = constant_factor(p, 1, 3)](Call& c) {
    multiply_integers(c, a, b, [&](Shape dims) -> Tensor& {
      return c.output(0, DataType::kInt32, dims);
    });
  };
}

Op qlinear_mat_mul(const Preparation& p) {
  return [a = Factor{0, 2, {}}, b = constant_factor(p, 3, 5)](Call& c) {
    linear_product(c, a, b);
  };
}

}  // namespace ruleengine::kernels
