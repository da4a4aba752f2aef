// Products of matrices.
#include <algorithm>

#include "core/ops/dialect.h"
#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/families.h"
#include "kernels/matrix_factors.h"
#include "kernels/strided.h"
#include "runtime/joining.h"

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

// run(product, a, b, at) for the products of two tensors, with the place of
// their results in the output, in bytes.
template <typename Run>
void for_products(const MatrixFactors& f, DataType type, Run run) {
  const auto [m, n, k, places] = f.shape();
  const std::int64_t inner = places.length();
  Product product{.type = type, .m = m, .n = n, .k = k, .batch = inner};
  product.a_step = places.inner(0) * m * k;
  product.b_step = places.inner(1) * k * n;
  // All matrices of the first operand, below each other, times one.
  if (product.b_step == 0 && places.inner(0) == 1) {
    product.m = m * inner;
    product.batch = 1;
    product.a_step = 0;
  }
  const int width = width_of(type);
  places.for_each(0, places.count(), [&](std::int64_t i, const auto& from) {
    run(product, f.a.data<std::byte>() + from[0] * m * k * width,
        f.b.data<std::byte>() + from[1] * k * n * width, i * m * n * width);
  });
}

Op matmul(const Preparation& p, Session& session) {
  const DataType type = product_type(p);
  session.products().open();
  return [&session, type](Call& c) {
    const Tensor& x = c.expect_type(0, type);
    const Tensor& y = c.expect_type(1, type);
    const MatrixFactors f(x, y, [&](std::int64_t rows) {
      c.wrong_shape(1, std::to_string(rows) + " rows");
    });
    Tensor& out = c.output(0, type, f.out);
    if (out.count() == 0) return;
    if (f.k == 0) return fill(session, out, 0);
    for_products(
        f, type,
        [&](const Product& product, const std::byte* a, const std::byte* b,
            std::int64_t at) {
          session.products().run(
              product,
              {.a = a, .b = b, .out = out.mutable_data<std::byte>() + at});
        });
  };
}

// That of inputs 0 and 1, which are matrices.
Product matrix_product(const Call& c, DataType type, bool transpose_a,
                       bool transpose_b) {
  const Tensor& a = c.expect_rank(0, 2);
  const Tensor& b = c.expect_rank(1, 2);
  const Product p{.type = type,
                  .transpose_a = transpose_a,
                  .transpose_b = transpose_b,
                  .m = a.dim(transpose_a ? 1 : 0),
                  .n = b.dim(transpose_b ? 0 : 1),
                  .k = a.dim(transpose_a ? 0 : 1)};
  if (b.dim(transpose_b ? 1 : 0) != p.k) {
    c.wrong_shape(1,
                  std::to_string(p.k) + (transpose_b ? " columns" : " rows"));
  }
  return p;
}

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
    const Tensor& a = c.expect_type(0, type_);
    const Tensor& b = c.expect_type(1, type_);
    Product p = matrix_product(c, type_, transpose_a_, transpose_b_);
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
    p.adds = true;
    data.beta = beta_;
    if (runtime::is_same_shape(bias.dims(), out.dims())) {
      data.c = bias.data<std::byte>();
      return;
    }
    copy_block(c, out.dims(), bias,
               {0, broadcast_strides(bias.dims(), out.dims())}, out,
               dense(out.dims()));
  }

  Session& session_;
  DataType type_;
  bool transpose_a_, transpose_b_;
  float alpha_, beta_;
};

// --- products with what comes behind them ------------------------------------

Activation activation_of(const Preparation& p) {
  const std::string_view name = p.attribute_string("activation");
  return name == "Relu"   ? Activation::kRelu
         : name == "Gelu" ? Activation::kGeluTanh
                          : Activation::kNone;
}

class JoinedProduct {
 public:
  JoinedProduct(const Preparation& p, Session& session)
      : session_(session),
        type_(product_type(p)),
        transpose_a_(p.attribute_flag("transA")),
        transpose_b_(p.attribute_flag("transB")),
        alpha_(p.attribute_float("alpha", 1)),
        activation_(activation_of(p)),
        add_(kernel_of(session, "binary", "add", type_, kFloats)) {
    if (activation_ != Activation::kNone) {
      const bool is_relu = activation_ == Activation::kRelu;
      activate_ = kernel_of(session, "unary", is_relu ? "relu" : "gelu_tanh",
                            type_, kFloats);
    }
    session.products().open();
  }

  void operator()(Call& c) const {
    for (std::size_t i = 0; i < c.input_count(); ++i) {
      if (c.has_input(i)) c.expect_type(i, type_);
    }
    if (transpose_a_ || transpose_b_) {
      const Product p = matrix_product(c, type_, transpose_a_, transpose_b_);
      return run(c, Dims{p.m, p.n}, p.k, [&](const auto& each) {
        each(p, c.input(kA).data<std::byte>(), c.input(kB).data<std::byte>(),
             0);
      });
    }
    const MatrixFactors f(c.input(kA), c.input(kB), [&](std::int64_t rows) {
      c.wrong_shape(kB, std::to_string(rows) + " rows");
    });
    run(c, f.out, f.k, [&](const auto& each) { for_products(f, type_, each); });
  }

 private:
  enum Input : std::uint8_t { kA, kB, kRow, kSum };

  // `products` calls what it gets for each product.
  template <typename ForProducts>
  void run(Call& c, const Dims& dims, std::int64_t k,
           const ForProducts& products) const {
    if (fits(c, dims) && k > 0 && runtime::count_of(dims) > 0) {
      if (run_at_once(c, dims, products)) return;
    }
    run_apart(c, dims, k, products);
  }

  // Whether what is added has the shapes that it was to have: a file may
  // declare what is not true.
  bool fits(const Call& c, const Dims& dims) const {
    if (c.has_input(kRow)) {
      const Tensor& row = c.input(kRow);
      const bool is_vector = row.rank() > 0 && row.rank() <= dims.size() &&
                             row.dims().back() == row.count();
      if (!is_vector || row.count() != dims.back()) return false;
    }
    return !c.has_input(kSum) ||
           runtime::is_same_shape(c.input(kSum).dims(), dims);
  }

  // By the library; false where it has no algorithm for it.
  template <typename ForProducts>
  bool run_at_once(Call& c, const Dims& dims,
                   const ForProducts& products) const {
    ProductData data{.alpha = alpha_, .beta = c.has_input(kSum) ? 1.0f : 0.0f};
    if (c.has_input(kRow)) data.bias = c.input(kRow).data<std::byte>();
    const auto* sum =
        c.has_input(kSum) ? c.input(kSum).data<std::byte>() : nullptr;
    int count = 0;
    products([&](const auto&...) { ++count; });
    // A factor must not be written over, nor what is read again where the
    // library has no algorithm for a later product.
    const bool stays = count > 1 || sum == c.input(kA).data<std::byte>() ||
                       sum == c.input(kB).data<std::byte>();
    Tensor& out = stays ? c.output(0, type_, dims)
                        : c.output_in_place(0, kSum, type_, dims);
    // How the library computes the other one in float is not said.
    const bool activates =
        activation_ != Activation::kGeluTanh || type_ != DataType::kFloat;
    bool is_possible = true;
    products([&](Product product, const std::byte* a, const std::byte* b,
                 std::int64_t at) {
      product.has_bias = data.bias != nullptr;
      product.adds = sum != nullptr;
      if (activates) product.activation = activation_;
      data.a = a;
      data.b = b;
      data.out = out.mutable_data<std::byte>() + at;
      data.c = sum != nullptr ? sum + at : nullptr;
      is_possible = is_possible && session_.products().try_run(product, data);
    });
    if (is_possible && !activates) compute_each(session_, activate_, out, out);
    return is_possible;
  }

  // The product, and then what follows it.
  template <typename ForProducts>
  void run_apart(Call& c, const Dims& dims, std::int64_t k,
                 const ForProducts& products) const {
    Tensor value = c.allocate(type_, dims);
    if (k == 0) {
      fill(session_, value, 0);
    } else if (value.count() > 0) {
      products([&](const Product& product, const std::byte* a,
                   const std::byte* b, std::int64_t at) {
        session_.products().run(product,
                                {.a = a,
                                 .b = b,
                                 .out = value.mutable_data<std::byte>() + at,
                                 .alpha = alpha_});
      });
    }
    for (const std::size_t i : {kRow, kSum}) {
      if (!c.has_input(i)) continue;
      const Tensor& added = c.input(i);
      Tensor next = c.allocate(type_, broadcast(value.dims(), added.dims()));
      compute_pairs(session_, add_, value, added, next);
      value = std::move(next);
    }
    if (activation_ != Activation::kNone) {
      compute_each(session_, activate_, value, value);
    }
    c.set_output(0, std::move(value));
  }

  Session& session_;
  DataType type_;
  bool transpose_a_, transpose_b_;
  float alpha_;
  Activation activation_;
  CUfunction add_, activate_ = nullptr;
};

constexpr Kernel kProductKernels[] = {
    {"", "Gemm", made<Gemm>},
    {"", "MatMul", matmul},
    {ops::dialect::kOwn, runtime::kJoinedProduct, made<JoinedProduct>},
};

}  // namespace

const KernelRows kProductRows = kProductKernels;

}  // namespace ruleengine::kernels::cuda
