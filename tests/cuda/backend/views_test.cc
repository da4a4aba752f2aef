// Nodes that move elements for an attention move none, and what a block of a
// transformer asks of the GPU.
#include <doctest/doctest.h>

#include <string>

#include "tests/cuda/backend/support.h"

namespace ruleengine::kernels {
namespace {

// The kernels of one run, without products, of a model that gives what the CPU
// gives and is one launch.
std::size_t kernels_of(std::string_view text) {
  CAPTURE(text);
  const auto model = model_of(text);
  const std::size_t out = check_runs(*model, 2).kernels;
  CHECK(check_runs(*model, 4).calls == kOneLaunch);
  return out;
}

TEST_CASE("the last axes are swapped in tiles unless one is narrow") {
  const auto kernels_for = [](const std::string& rows,
                              const std::string& columns) {
    return check_runs(*model_of("(float16[3," + rows + "," + columns +
                                "] x) => (float16[3," + columns + "," + rows +
                                "] y) { y = Transpose<perm = [0,2,1]>(x) }"))
        .named;
  };
  using Counted = std::map<std::string, std::size_t>;
  for (const char* narrow : {"2", "15"}) {
    CHECK(kernels_for("40", narrow) == Counted{{"copy_2", 1}});
    CHECK(kernels_for(narrow, "40") == Counted{{"copy_2", 1}});
  }
  CHECK(kernels_for("16", "40") == Counted{{"transpose_2", 1}});
  CHECK(kernels_for("40", "16") == Counted{{"transpose_2", 1}});
}

constexpr const char* kSizes =
    "<int64[4] split = {0,0,2,8}, int64[3] join = {0,0,16},"
    " int64[5] five = {0,0,3,2,8}, int64 none = {0}, int64 one = {1},"
    " int64 two = {-1}, int64[1] axis = {0}, int64[3] thirds = {16,16,16}>";

// The text of a model with these sizes.
std::string sized(std::string_view head, std::string_view body) {
  std::string out(head);
  out += kSizes;
  out += body;
  return out;
}

TEST_CASE("transposes around an attention are its strides") {
  CHECK(kernels_of(sized("(float[2,5,16] q, float[2,7,16] k,"
                         " float[2,7,16] v) => (float[2,5,16] y) ",
                         "{ a = Reshape(q, split) b = Reshape(k, split)"
                         " c = Reshape(v, split)"
                         " d = Transpose<perm = [0,2,1,3]>(a)"
                         " e = Transpose<perm = [0,2,1,3]>(b)"
                         " f = Transpose<perm = [0,2,1,3]>(c)"
                         " g = Attention(d, e, f)"
                         " h = Transpose<perm = [0,2,1,3]>(g)"
                         " y = Reshape(h, join) }")) == 1);
}

TEST_CASE("so are those around attentions of the engine's own") {
  for (const std::string_view op :
       {"ruleengine.ScaledDotProductAttention",
        "aten.scaled_dot_product_attention",
        "ruleengine.AttentionForward<sm_scale = 0.5>"}) {
    CHECK(kernels_of("<ir_version: 10, opset_import: [\"\" : 23,"
                     " \"ruleengine\" : 1, \"aten\" : 1]> g "
                     "(float[2,5,2,8] q, float[2,7,2,8] k, float[2,7,2,8] v)"
                     " => (float[2,5,2,8] y) {"
                     " d = Transpose<perm = [0,2,1,3]>(q)"
                     " e = Transpose<perm = [0,2,1,3]>(k)"
                     " f = Transpose<perm = [0,2,1,3]>(v)"
                     " g = " +
                     std::string(op) +
                     "(d, e, f)"
                     " y = Transpose<perm = [0,2,1,3]>(g) }") == 1);
  }
}

TEST_CASE("parts of packed queries, keys and values are strides") {
  const auto whole = [](std::string body) {
    body +=
        " g = Attention<is_causal = 1>(d, e, f)"
        " h = Transpose<perm = [0,2,1,3]>(g) y = Reshape(h, join) }";
    return sized("(float16[2,5,48] x) => (float16[2,5,16] y) ", body);
  };
  const std::size_t alone = kernels_of(
      "(float16[2,2,5,8] q) => (float16[2,2,5,8] y) {"
      " y = Attention<is_causal = 1>(q, q, q) }");
  CHECK(kernels_of(whole("{ q, k, v = Split<axis = -1>(x, thirds)"
                         " a = Reshape(q, split) b = Reshape(k, split)"
                         " c = Reshape(v, split)"
                         " d = Transpose<perm = [0,2,1,3]>(a)"
                         " e = Transpose<perm = [0,2,1,3]>(b)"
                         " f = Transpose<perm = [0,2,1,3]>(c)")) == alone);
  CHECK(kernels_of(whole("{ p = Reshape(x, five)"
                         " t = Transpose<perm = [2,0,3,1,4]>(p)"
                         " d = Gather<axis = 0>(t, none) e = Gather(t, one)"
                         " f = Gather(t, two)")) == alone);
  CHECK(kernels_of(whole("{ p = Reshape(x, five)"
                         " t = Transpose<perm = [2,0,3,1,4]>(p)"
                         " a, b, c = Split<axis = 0, num_outputs = 3>(t)"
                         " d = Squeeze(a, axis) e = Squeeze(b, axis)"
                         " f = Squeeze(c, axis)")) == alone);
  // As inputs of 3 axes.
  CHECK(kernels_of(sized("(float16[2,5,48] x) => (float16[2,5,16] y) ",
                         "{ q, k, v = Split<axis = -1>(x, thirds) y ="
                         " Attention<is_causal = 1, q_num_heads = 2,"
                         " kv_num_heads = 2>(q, k, v) }")) == alone);
}

TEST_CASE("packed parts of any length are strides of a plan for a bucket") {
  const auto model = model_of(sized(
      "(bfloat16[B,N,48] x) => (bfloat16[B,N,16] y) ",
      "{ q, k, v = Split<axis = -1>(x, thirds)"
      " a = Reshape(q, split) b = Reshape(k, split) c = Reshape(v, split)"
      " d = Transpose<perm = [0,2,1,3]>(a) e = Transpose<perm = [0,2,1,3]>(b)"
      " f = Transpose<perm = [0,2,1,3]>(c) g = Attention<is_causal = 1>(d, e, "
      "f)"
      " h = Transpose<perm = [0,2,1,3]>(g) y = Reshape(h, join) }"));
  const auto counts = check_runs(*model, 2);
  CHECK(counts.calls.at("cudnnBackendExecute") == 1);
  const auto alone =
      check_runs(*model_of("(bfloat16[B,N,16] q) => (bfloat16[B,N,16] y) {"
                           " y = Attention<is_causal = 1, q_num_heads = 2,"
                           " kv_num_heads = 2>(q, q, q) }"),
                 2);
  CHECK(counts.kernels == alone.kernels);
}

TEST_CASE("what cannot be read by strides is copied, once") {
  // Rows whose elements are not beside each other.
  CHECK(kernels_of("(float[2,2,8,5] x, float[2,2,5,8] k) =>"
                   " (float[2,2,5,8] y) { d = Transpose<perm = [0,1,3,2]>(x)"
                   " y = Attention(d, k, k) }") == 2);
  // Another reader.
  CHECK(kernels_of("(float[2,5,2,8] x) => (float[2,2,5,8] y,"
                   " float[2,2,5,8] z) { d = Transpose<perm = [0,2,1,3]>(x)"
                   " y = Attention(d, d, d) z = Neg(d) }") == 3);
  // An output of the model, which is a view of an input's copy.
  CHECK(kernels_of("(float[2,5,2,8] x) => (float[2,2,5,8] y,"
                   " float[2,2,5,8] k) { d = Transpose<perm = [0,2,1,3]>(x)"
                   " y, k = Attention(d, d, d) }") == 2);
  // A chain of moves is one copy.
  CHECK(kernels_of("(float[3,4,6] x) => (float[2,9] y) <int64[1] n = {1},"
                   " int64[1] m = {4}, int64[1] t = {3}, int64[2] s = {2,9},"
                   " int64[1] axis = {0}>"
                   " { a = Transpose<perm = [1,2,0]>(x)"
                   " b = Slice(a, n, t, axis) c = Slice(b, n, m, n)"
                   " d = Transpose<perm = [0,2,1]>(c) y = Reshape(d, s) }") ==
        1);
}

TEST_CASE("views that end on the host are what they are") {
  // Asinh runs on the host.
  const auto model = model_of(
      "(float[2,5,2,8] x) => (float[2,2,5,8] y, float[2,2,5,8] z) {"
      " t = Transpose<perm = [0,2,1,3]>(x) d = Neg(x)"
      " e = Transpose<perm = [0,2,1,3]>(d)"
      " y, k = Attention(e, e, e) z = Asinh(k) }");
  check_runs(*model, 4);
}

}  // namespace
}  // namespace ruleengine::kernels
