#include "core/analysis/cost.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "core/text/parse.h"
#include "kernels/cpu.h"

namespace ruleengine::analysis {
namespace {

constexpr const char* kHeader =
    "<ir_version: 10, opset_import: [\"\" : 21, \"ruleengine\" : 1, "
    "\"tensor_cast\" : 1, \"com.microsoft\" : 1, \"own\" : 1]>\n";

struct Counted {
  Cost cost;
  ops::Sizes::Named sizes;
};

Counted count(const std::string& text, ops::Sizes::Named given = {}) {
  const auto model = text::parse_model(kHeader + text, "test");
  REQUIRE(model.ok());
  (*model)->evaluator = kernels::cpu_evaluator();
  ops::Sizes sizes((*model)->dims, std::move(given));
  const Cost cost = cost_of(**model, sizes);
  return {cost, sizes.used()};
}

double products(const std::string& text) {
  CAPTURE(text);
  const Cost cost = count(text).cost;
  CHECK(cost.unknown == 0);
  return cost.products;
}
double bytes(const std::string& text) { return count(text).cost.bytes; }

TEST_CASE("products of matrices") {
  CHECK(products("g (float[2,3,4] a, float[4,5] b) => (float[2,3,5] y) {"
                 " y = MatMul(a, b) }") == 2 * 3 * 5 * 4);
  CHECK(products("g (float[4] a, float[4] b) => (float y) {"
                 " y = MatMul(a, b) }") == 4);
  CHECK(products("g (float[4,3] a, float[5,4] b) => (float[3,5] y) {"
                 " y = Gemm <transA = 1, transB = 1> (a, b) }") == 3 * 5 * 4);
  CHECK(products("g (uint8[3,4] a, uint8[4,5] b) => (int32[3,5] y) {"
                 " y = MatMulInteger(a, b) }") == 3 * 5 * 4);
  const char* const kEinsum[] = {"bhsd,bhld->bhsl", "bhsd, bhld -> bhsl",
                                 "...sd,...ld->...sl", "...d,...ld->...l"};
  for (const std::string equation : kEinsum) {
    const bool thin = equation.starts_with("...d");
    CHECK(products("g (float[2,3," + std::string(thin ? "" : "4,") +
                   "5] a, float[2,3,6,5] b) => (float[2,3," +
                   std::string(thin ? "" : "4,") +
                   "6] y) { y = Einsum <equation = \"" + equation +
                   "\"> (a, b) }") == 2 * 3 * (thin ? 1 : 4) * 6 * 5);
  }
  CHECK(products("g (float[3,4] a, float[4,5] b) => (float[3,5] y) {"
                 " y = Einsum <equation = \"ij,jk\"> (a, b) }") == 3 * 4 * 5);
  CHECK(products("g (float[3,4] a) => (float[4,3] y) {"
                 " y = Einsum <equation = \"ij->ji\"> (a) }") == 0);
}

TEST_CASE("convolutions, with groups, and recurrent layers") {
  CHECK(products("g (float[1,4,8,8] x, float[6,2,3,3] w) =>"
                 " (float[1,6,6,6] y) { y = Conv <group = 2> (x, w) }") ==
        6 * 6 * 6 * (2 * 3 * 3));
  CHECK(products("g (float[1,4,5,5] x, float[4,3,2,2] w) =>"
                 " (float[1,6,10,10] y) {"
                 " y = ConvTranspose <group = 2, strides = [2,2]> (x, w) }") ==
        4 * 5 * 5 * (3 * 2 * 2));
  CHECK(products("g (float[7,2,3] x, float[1,20,3] w, float[1,20,5] r) =>"
                 " (float[7,1,2,5] y) {"
                 " y = LSTM <hidden_size = 5> (x, w, r) }") ==
        7 * 2 * (20 * 3 + 20 * 5));
}

// All forms of one attention: 2 batches, 4 heads of 8 and 6, 3 queries, 5 keys.
TEST_CASE("attention has the products that it is composed of") {
  constexpr double kProducts = 2 * 4 * 3 * 5 * (8 + 6);
  const std::string heads =
      "g (float[2,4,3,8] q, float[2,4,5,8] k, float[2,4,5,6] v) =>"
      " (float[2,4,3,6] y) { ";
  CHECK(products(heads + "t = Transpose <perm = [0,1,3,2]> (k)"
                         " s = MatMul(q, t) p = Softmax(s)"
                         " y = MatMul(p, v) }") == kProducts);
  CHECK(products(heads + "y = ruleengine.ScaledDotProductAttention"
                         " <num_heads = 4> (q, k, v) }") == kProducts);
  CHECK(products("g (float[2,4,3,8] q, float[2,2,5,8] k, float[2,2,5,6] v) =>"
                 " (float[2,4,3,6] y) {"
                 " y = ruleengine.ScaledDotProductAttention"
                 " <num_heads = 4> (q, k, v) }") == kProducts);
  CHECK(products("g (float[2,3,32] q, float[2,5,32] k, float[2,5,24] v) =>"
                 " (float[2,3,24] y) { y = com.microsoft.MultiHeadAttention"
                 " <num_heads = 4> (q, k, v) }") == kProducts);
  CHECK(products("g (float[2,3,32] q, float[2,4,5,8] k, float[2,4,5,6] v) =>"
                 " (float[2,3,24] z) { y = com.microsoft.MultiHeadAttention"
                 " <num_heads = 4> (q, k, v) z = Neg(y) }") == kProducts);
  // Half of the heads, with one size.
  CHECK(products("g (float[2,3,32] q, float[2,3,16] k, float[2,3,16] v,"
                 " float[2,2,2,8] pk, float[2,2,2,8] pv, int32[2] n, int32 t)"
                 " => (float[2,3,32] y, float[2,2,5,8] a, float[2,2,5,8] b) {"
                 " y, a, b = com.microsoft.GroupQueryAttention"
                 " <num_heads = 4, kv_num_heads = 2>"
                 " (q, k, v, pk, pv, n, t) }") == 2 * 4 * 3 * 5 * (8 + 8));
}

TEST_CASE("linear layers of the dialect") {
  CHECK(products("g (float[2,3,4] x, float[5,4] w) => (float[2,3,5] y) {"
                 " y = ruleengine.Linear(x, w) }") == 2 * 3 * 5 * 4);
  CHECK(products("g (float[2,3,4] q, float[2,5,4] k, float[2,5,4] v,"
                 " float[24,4] w) =>"
                 " (float[2,2,3,4] a, float[2,2,5,4] b, float[2,2,5,4] c) {"
                 " a, b, c = ruleengine.MHAInProjection"
                 " <num_heads = 2, head_dim = 4> (q, k, v, w) }") ==
        2 * (3 + 5 + 5) * 8 * 4);
  CHECK(products("g (float[2,3,4] x, int8[4,5] w, float s) =>"
                 " (float[2,3,5] y) {"
                 " y = tensor_cast.static_quant_linear(x, w, s) }") ==
        2 * 3 * 5 * 4);
}

TEST_CASE("bytes: what is read and written") {
  CHECK(bytes("g (float[2,3] x, float16[3] s) => (float16[2,3] y) {"
              " c = Cast <to = 10> (x) y = Add(c, s) }") ==
        24 + 12 + 12 + 6 + 12);
  // Weights are read; values that fold from them are not.
  CHECK(bytes("g (float[2,3] x) => (float[2,3] y)"
              " <float[3] w = {1, 2, 3}> { n = Neg(w) y = Add(x, n) }") ==
        24 + 12 + 24);
  CHECK(bytes("g (float[2,3] x) => (float[6] y, int64[2] n) {"
              " s = Constant <value_ints = [6]> () y = Reshape(x, s)"
              " n = Shape(x) }") == 0);
  // Two rows of a table, with their indices.
  CHECK(bytes("g (float[100,4] x, int64[2] at) => (float[2,4] y) {"
              " y = Gather(x, at) }") == 32 + 16 + 32);
}

TEST_CASE("named sizes have the given number or the default") {
  const std::string text = "g (float[N,S] x) => (float[N,S] y) { y = Relu(x) }";
  const Counted usual = count(text);
  CHECK(usual.cost.bytes == 2 * 4 * 64 * 64);
  CHECK(usual.sizes == ops::Sizes::Named{{"N", 64}, {"S", 64}});
  const Counted given = count(text, {{"N", 3}, {"T", 5}});
  CHECK(given.cost.bytes == 2 * 4 * 3 * 64);
  CHECK(given.sizes == ops::Sizes::Named{{"N", 3}, {"S", 64}});
}

TEST_CASE("nodes of unknown shape are not counted") {
  const Cost cost = count(
                        "g (float[2] x, float z) => (float y) {"
                        " a = own.Odd(x) b = Relu(a) c = MatMul(b, x)"
                        " y = Relu(z) }")
                        .cost;
  CHECK(cost.unknown == 3);
  CHECK(cost.bytes == 8);
  CHECK(cost.products == 0);
}

TEST_CASE("bodies: of a branch once, of a function for each call") {
  CHECK(products("g (bool c, float[2,3] x, float[3,4] w) => (float[2,4] y) {"
                 " y = If (c) <"
                 "   then_branch = a () => (float[2,4] p) {"
                 "     p = MatMul(x, w) },"
                 "   else_branch = b () => (float[2,4] q) {"
                 "     q = MatMul(x, w) }> }") == 2 * (2 * 4 * 3));
  const std::string twice =
      "g (float[2,3] x, float[3,3] w) => (float[2,3] y) {"
      " z = own.F(x, w) y = own.F(z, w) }\n"
      "<domain: \"own\", opset_import: [\"\" : 21]>\n"
      "F (x, w) => (y) { m = MatMul(x, w) y = Relu(m) }";
  CHECK(products(twice) == 2 * (2 * 3 * 3));
  CHECK(bytes(twice) == 2 * ((24 + 36 + 24) + (24 + 24)));
}

}  // namespace
}  // namespace ruleengine::analysis
