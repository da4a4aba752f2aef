// What the blocks of transformers ask of the GPU.
#include <doctest/doctest.h>

#include <string>

#include "tests/cuda/backend/support.h"

namespace ruleengine::kernels {
namespace {

struct Asked {
  std::size_t kernels = 0, products = 0;
};

Asked asked_by(const std::string& text) {
  const auto model = model_of(text);
  const auto counts = check_runs(*model, 2);
  CHECK(check_runs(*model, 4).calls == kOneLaunch);
  MESSAGE(counts.kernels, " kernels, ", counts.calls.at("cublasLtMatmul"),
          " products");
  return {counts.kernels, counts.calls.at("cublasLtMatmul")};
}

const std::string kShapes =
    "<int64[4] split = {0,0,2,8}, int64[3] join = {0,0,16},"
    " int64[5] five = {0,0,3,2,8}, int64 none = {0}, int64 one = {1},"
    " int64 two = {2}, int64[3] thirds = {16,16,16},"
    " int64[4] single = {0,0,1,8}>";

// Three projections, and their heads before the rows.
const std::string kHeads =
    " q0 = MatMul(n, wq) q1 = Add(q0, b) q2 = Reshape(q1, split)"
    " q = Transpose<perm = [0,2,1,3]>(q2)"
    " k0 = MatMul(n, wk) k1 = Add(k0, b) k2 = Reshape(k1, split)"
    " k = Transpose<perm = [0,2,1,3]>(k2)"
    " v0 = MatMul(n, wv) v1 = Add(v0, b) v2 = Reshape(v1, split)"
    " v = Transpose<perm = [0,2,1,3]>(v2)";
const std::string kJoined =
    " t = Transpose<perm = [0,2,1,3]>(a) r = Reshape(t, join)"
    " o0 = MatMul(r, wo)";
const std::string kBiased = kJoined + " o1 = Add(o0, b) h = Add(x, o1)";
const std::string kInputs =
    "(float[2,5,16] x, float[16] g, float[16] b, float[16,16] wq,"
    " float[16,16] wk, float[16,16] wv, float[16,16] wo, float[16,48] wp,"
    " float[48] bp, float[16,32] w1, float[32] b1, float[32,16] w2)"
    " => (float[2,5,16] y) ";
const std::string kWide = " f0 = MatMul(m, w1) f1 = Add(f0, b1)";
const std::string kNarrow = " f3 = MatMul(f2, w2) f4 = Add(f3, b)";

TEST_CASE("a block of BERT") {
  const auto asked =
      asked_by(kInputs + kShapes + "{ n = Identity(x)" + kHeads +
               " a = Attention(q, k, v)" + kBiased +
               " m = LayerNormalization(h, g, b)" + kWide + " f2 = Gelu(f1)" +
               kNarrow + " f5 = Add(f4, m) y = LayerNormalization(f5, g, b) }");
  // Attention, Gelu and two norms.
  CHECK(asked.kernels == 4);
  CHECK(asked.products == 6);
}

TEST_CASE("a block of ViT") {
  const auto asked = asked_by(
      kInputs + kShapes +
      "{ n = LayerNormalization(x, g, b) p0 = MatMul(n, wp) p1 = Add(p0, bp)"
      " p2 = Reshape(p1, five) p3 = Transpose<perm = [2,0,3,1,4]>(p2)"
      " q = Gather(p3, none) k = Gather(p3, one) v = Gather(p3, two)"
      " a = Attention(q, k, v)" +
      kBiased + " m = LayerNormalization(h, g, b)" + kWide + " f2 = Gelu(f1)" +
      kNarrow + " y = Add(f4, h) }");
  CHECK(asked.kernels == 4);
  CHECK(asked.products == 4);
}

TEST_CASE("a block of GPT-2") {
  const auto asked = asked_by(
      kInputs + kShapes +
      "{ n = LayerNormalization(x, g, b) p0 = MatMul(n, wp) p1 = Add(p0, bp)"
      " q1, k1, v1 = Split<axis = 2>(p1, thirds)"
      " q2 = Reshape(q1, split) q = Transpose<perm = [0,2,1,3]>(q2)"
      " k2 = Reshape(k1, split) k = Transpose<perm = [0,2,1,3]>(k2)"
      " v2 = Reshape(v1, split) v = Transpose<perm = [0,2,1,3]>(v2)"
      " a = Attention<is_causal = 1>(q, k, v)" +
      kBiased + " m = LayerNormalization(h, g, b)" + kWide +
      " f2 = Gelu<approximate = \"tanh\">(f1)" + kNarrow + " y = Add(h, f4) }");
  CHECK(asked.kernels == 4);
  CHECK(asked.products == 4);
}

TEST_CASE("a block of Llama") {
  const auto asked = asked_by(
      "(float[2,5,16] x, float[16] g, float[16,16] wq, float[16,8] wk,"
      " float[16,8] wv, float[16,16] wo, float[16,32] w1, float[16,32] w3,"
      " float[32,16] w2, float[2,5,4] c, float[2,5,4] s) => (float[2,5,16] y)"
      " " +
      kShapes +
      "{ n = RMSNormalization(x, g) q1 = MatMul(n, wq) k1 = MatMul(n, wk)"
      " v1 = MatMul(n, wv) q2 = Reshape(q1, split) k2 = Reshape(k1, single)"
      " v2 = Reshape(v1, single) q3 = Transpose<perm = [0,2,1,3]>(q2)"
      " k3 = Transpose<perm = [0,2,1,3]>(k2)"
      " v = Transpose<perm = [0,2,1,3]>(v2)"
      " q = RotaryEmbedding(q3, c, s) k = RotaryEmbedding(k3, c, s)"
      " a = Attention<is_causal = 1>(q, k, v)" +
      kJoined +
      " h = Add(x, o0) m = RMSNormalization(h, g) e = MatMul(m, w1)"
      " u = MatMul(m, w3) z = Sigmoid(e) i = Mul(e, z) f = Mul(i, u)"
      " d = MatMul(f, w2) y = Add(h, d) }");
  // Two norms, two rotations, attention and the gate.
  CHECK(asked.kernels == 6);
  CHECK(asked.products == 7);
}

}  // namespace
}  // namespace ruleengine::kernels
