// What stands behind a product becomes part of it, and gates are one kernel.
#include <doctest/doctest.h>

#include <string>

#include "tests/cuda/backend/support.h"

namespace ruleengine::kernels {
namespace {

struct Work {
  std::size_t kernels = 0, products = 0;  // of one run
  bool operator==(const Work&) const = default;
};

// What a model asks for, which gives what the CPU gives, and is one launch.
Work work_of(std::string_view text) {
  const auto model = model_of(text);
  const auto counts = check_runs(*model, 2);
  CHECK(check_runs(*model, 4).calls == kOneLaunch);
  const auto products = counts.calls.find("cublasLtMatmul");
  return {counts.kernels,
          products == counts.calls.end() ? 0 : products->second};
}

// The model with a type in the place of each T.
std::string in_type(std::string text, std::string_view type) {
  for (std::size_t at = 0; (at = text.find("T[", at)) != std::string::npos;) {
    text.replace(at, 1, type);
  }
  return text;
}

// What it asks for in each type.
void check_types(const std::string& text, Work work) {
  for (const std::string_view type : {"float", "float16", "bfloat16"}) {
    const std::string own = in_type(text, type);
    CAPTURE(own);
    const Work found = work_of(own);
    CHECK(found.kernels == work.kernels);
    CHECK(found.products == work.products);
  }
}

TEST_CASE("a bias, a sum and Relu behind a product are part of it") {
  const std::string inputs =
      "(T[2,3,8] x, T[8,5] w, T[5] b, T[1,1,5] r, T[2,3,5] s) =>"
      " (T[2,3,5] y) ";
  check_types(inputs + "{ p = MatMul(x, w) y = Add(p, b) }", {0, 1});
  check_types(inputs + "{ p = MatMul(x, w) y = Add(r, p) }", {0, 1});
  check_types(inputs + "{ p = MatMul(x, w) y = Add(s, p) }", {0, 1});
  check_types(inputs + "{ p = MatMul(x, w) y = Relu(p) }", {0, 1});
  check_types(inputs +
                  "{ p = MatMul(x, w) a = Add(p, s) c = Add(b, a)"
                  " y = Relu(c) }",
              {0, 1});
  // One of two rows.
  check_types(inputs + "{ p = MatMul(x, w) a = Add(p, b) y = Add(r, a) }",
              {1, 1});
}

TEST_CASE("products of two joined products are one kernel each") {
  check_types(
      "(T[4,8] x, T[8,8] w, T[8] b) => (T[4,8] y) {"
      " p = MatMul(x, w) q = Add(p, b) c = MatMul(q, w) d = Add(c, b)"
      " y = Add(d, x) }",
      {0, 2});
  // A sum that is a factor, too, is not written over.
  check_types(
      "(T[4,8] x, T[8,8] w) => (T[4,8] y) { a = MatMul(x, w)"
      " p = MatMul(a, w) y = Add(p, a) }",
      {0, 2});
}

TEST_CASE("what stands behind Gemm is part of it") {
  const std::string inputs =
      "(T[3,4] x, T[4,5] w, T[5,3] v, T[5] b, T[4,5] s, T[3,5] t) => ";
  check_types(inputs +
                  "(T[4,5] y) { p = Gemm<transA = 1, transB = 1, alpha ="
                  " 0.5>(x, v, b) q = Add(s, p) y = Relu(q) }",
              {0, 1});
  check_types(inputs + "(T[3,5] y) { p = Gemm(x, w) y = Add(p, b) }", {0, 1});
  check_types(
      inputs + "(T[3,5] y) { p = Gemm<beta = 0.5>(x, w, b) y = Relu(p) }",
      {2, 1});
}

TEST_CASE("Gelu by tanh is part of a product in half precision") {
  const std::string text =
      "(T[2,3,8] x, T[8,5] w, T[5] b) => (T[2,3,5] y) {"
      " p = MatMul(x, w) q = Add(p, b) y = Gelu<approximate = \"tanh\">(q) }";
  CHECK(work_of(in_type(text, "float16")) == Work{0, 1});
  CHECK(work_of(in_type(text, "bfloat16")) == Work{0, 1});
  CHECK(work_of(in_type(text, "float")) == Work{1, 1});
}

TEST_CASE("what others read stays apart") {
  check_types(
      "(T[2,8] x, T[8,5] w, T[5] b) => (T[2,5] y, T[2,5] z) {"
      " p = MatMul(x, w) y = Add(p, b) z = Relu(y) }",
      {1, 1});
  check_types(
      "(T[2,8] x, T[8,5] w, T[5] b) => (T[2,5] y, T[2,5] p) {"
      " p = MatMul(x, w) y = Add(p, b) }",
      {1, 1});
  // A sum that the product broadcasts to.
  check_types(
      "(T[1,8] x, T[8,5] w, T[3,5] b) => (T[3,5] y) {"
      " p = MatMul(x, w) y = Add(p, b) }",
      {1, 1});
}

TEST_CASE("products that the library has no algorithm for are followed") {
  // The stand-in has none for a batch with a row and Relu.
  check_types(
      "(T[2,3,4] x, T[2,4,5] w, T[5] b, T[2,3,5] s) => (T[2,3,5] y) {"
      " p = MatMul(x, w) q = Add(p, b) r = Add(q, s) y = Relu(r) }",
      {3, 1});
  // And finds out late that it has none for a batch with Relu.
  check_types(
      "(T[2,3,4] x, T[2,4,5] w) => (T[2,3,5] y) {"
      " p = MatMul(x, w) y = Relu(p) }",
      {1, 1});
  check_types(
      "(T[2,0] x, T[0,5] w, T[5] b) => (T[2,5] y) {"
      " p = MatMul(x, w) q = Add(p, b) y = Relu(q) }",
      {3, 0});
}

TEST_CASE("shapes that a file declares wrongly are those of the run") {
  const auto model = model_of(
      "(float[N,4] x, float[4,5] w, float[M,5] s) => (float[K,5] y)"
      " <float[1,5] p> { p = MatMul(x, w) y = Add(p, s) }");
  check_runs(*model);
}

TEST_CASE("gates are one kernel") {
  const std::string inputs = "(T[2,8] x, T[2,8] u) => (T[2,8] y) ";
  check_types(inputs + "{ s = Sigmoid(x) y = Mul(s, x) }", {1, 0});
  check_types(inputs + "{ s = Sigmoid(x) g = Mul(x, s) y = Mul(u, g) }",
              {1, 0});
  check_types(inputs + "{ g = Swish(x) y = Mul(g, u) }", {1, 0});
  check_types(inputs + "{ g = Swish<alpha = 0.5>(x) y = Mul(g, u) }", {2, 0});
  check_types(inputs + "{ s = Sigmoid(x) y = Mul(s, u) }", {2, 0});
}

}  // namespace
}  // namespace ruleengine::kernels
