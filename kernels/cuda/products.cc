// Products of matrices.
#include <algorithm>

#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/families.h"
#include "kernels/matrix_factors.h"
#include "kernels/strided.h"

namespace ruleengine::kernels::cuda {
namespace {

DataType product_type(const Preparation& p) {
  const DataType type = input_type(p, 0);
  if (std::ranges::find(kFloats, type) == std::end(kFloats)) {
    decline("products of " + std::string(ir::data_type_name(type)));
  }
  if (input_type(p, 1) != type) decline("the factors differ in type");
  return type;
}

class MatMul {
 public:
  MatMul(const Preparation& p, Session& session)
      : session_(session), type_(product_type(p)) {
    session.products().open();
  }

  void operator()(Call& c) const {
    const Tensor& x = c.expect_type(0, type_);
    const Tensor& y = c.expect_type(1, type_);
    const MatrixFactors f(x, y, [&](std::int64_t rows) {
      c.wrong_shape(1, std::to_string(rows) + " rows");
    });
    Tensor& out = c.output(0, type_, f.out);
    if (out.count() == 0) return;
    if (f.k == 0) return fill(session_, out, 0);
    run(f, out);
  }

 private:
  void run(const MatrixFactors& f, Tensor& out) const {
    const auto [m, n, k, places] = f.shape();
    const std::int64_t inner = places.length();
    Product product{.type = type_, .m = m, .n = n, .k = k, .batch = inner};
    product.a_step = places.inner(0) * m * k;
    product.b_step = places.inner(1) * k * n;
    // All matrices of the first operand, below each other, times one.
    if (product.b_step == 0 && places.inner(0) == 1) {
      product.m = m * inner;
      product.batch = 1;
      product.a_step = 0;
    }
    const auto width = static_cast<std::int64_t>(runtime::bytes_of(type_, 1));
    places.for_each(0, places.count(), [&](std::int64_t i, const auto& from) {
      session_.products().run(
          product, {.a = f.a.data<std::byte>() + from[0] * m * k * width,
                    .b = f.b.data<std::byte>() + from[1] * k * n * width,
                    .out = out.mutable_data<std::byte>() + i * m * n * width});
    });
  }

  Session& session_;
  DataType type_;
};

Op matmul(const Preparation& p, Session& session) { return MatMul(p, session); }

class Gemm {
 public:
  Gemm(const Preparation& p, Session& session)
      : session_(session),
        type_(product_type(p)),
        transpose_a_(p.attribute_flag("transA")),
        transpose_b_(p.attribute_flag("transB")),
        alpha_(p.attribute_float("alpha")),
        beta_(p.attribute_float("beta")) {
    session.products().open();
  }

  void operator()(Call& c) const {
    const Tensor& a = c.expect_rank(0, 2);
    const Tensor& b = c.expect_rank(1, 2);
    c.expect_type(0, type_);
    c.expect_type(1, type_);
    Product p{.type = type_,
              .transpose_a = transpose_a_,
              .transpose_b = transpose_b_,
              .m = a.dim(transpose_a_ ? 1 : 0),
              .n = b.dim(transpose_b_ ? 0 : 1),
              .k = a.dim(transpose_a_ ? 0 : 1)};
    if (b.dim(transpose_b_ ? 1 : 0) != p.k) {
      c.wrong_shape(
          1, std::to_string(p.k) + (transpose_b_ ? " columns" : " rows"));
    }
    Tensor& out = c.output(0, type_, Dims{p.m, p.n});
    if (out.count() == 0) return;
    ProductData data{.a = a.data<std::byte>(),
                     .b = b.data<std::byte>(),
                     .out = out.mutable_data<std::byte>(),
                     .alpha = alpha_};
    const Tensor zeros = p.k == 0 ? zeros_for(c, p, data) : Tensor();
    add_bias(c, p, data, out);
    session_.products().run(p, data);
  }

 private:
  // A sum of nothing is one of zeros.
  Tensor zeros_for(const Call& c, Product& p, ProductData& data) const {
    Tensor zeros = c.allocate(type_, Dims{std::max(p.m, p.n)});
    fill(session_, zeros, 0);
    p.k = 1;
    data.a = data.b = zeros.data<std::byte>();
    return zeros;
  }

  // What is added to the product: as a row that each row gets, or in the place
  // of the result.
  void add_bias(Call& c, Product& p, ProductData& data, Tensor& out) const {
    if (!c.has_input(2) || beta_ == 0) return;
    const Tensor& bias = c.expect_type(2, type_);
    expect_broadcast(c, 2, bias, out.dims());
    p.has_bias = beta_ == 1 && bias.count() == p.n && bias.rank() > 0 &&
                 bias.dim(bias.rank() - 1) == p.n;
    if (p.has_bias) {
      data.bias = bias.data<std::byte>();
      return;
    }
    copy_block(c, out.dims(), bias,
               {0, broadcast_strides(bias.dims(), out.dims())}, out,
               dense(out.dims()));
    p.adds = true;
    data.beta = beta_;
  }

  Session& session_;
  DataType type_;
  bool transpose_a_, transpose_b_;
  float alpha_, beta_;
};

Op gemm(const Preparation& p, Session& session) { return Gemm(p, session); }

constexpr Kernel kProductKernels[] = {
    {"", "Gemm", gemm},
    {"", "MatMul", matmul},
};

}  // namespace

const KernelRows kProductRows = kProductKernels;

}  // namespace ruleengine::kernels::cuda
