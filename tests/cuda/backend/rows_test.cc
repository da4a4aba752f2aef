// Ops that keep whole models on the GPU: as on the CPU, in one launch.
#include <doctest/doctest.h>

#include <string>

#include "tests/cuda/backend/support.h"

namespace ruleengine::kernels {
namespace {

// Each run on other numbers; the last one is one launch.
void check_recorded(std::string_view text) {
  const auto counts = check_runs(*model_of(text), 4);
  CHECK(counts.calls == kOneLaunch);
}

TEST_CASE("nodes of many axes run on the CPU") {
  check_runs(*model_of(
      "(float[2,1,2,1,2,1,2,1,2] x, float[1,2,1,2,1,2,1,2,1] w, bool[2] b) =>"
      " (float[2,2,2,2,2,2,2,2,2] y, float[2,2,2,2,2,2,2,2,2] z) {"
      " y = Add(x, w) z = Where(b, x, w) }"));
}

TEST_CASE("GatherND agrees with the CPU") {
  check_recorded(
      "(float[2,3,4] x, int64[5,2] at, int32[2,2,1] each, float16[3,8] h,"
      " int64[2,1] row) => (float[5,4] y, float[2,2,4] z, float16[2,8] w,"
      " float[2,3,4] all) <int64[1,0] none = {}> {"
      " y = GatherND(x, at) i = Cast<to = 7>(each)"
      " z = GatherND<batch_dims = 1>(x, i) w = GatherND(h, row)"
      " a = GatherND(x, none) s = Shape(x) all = Reshape(a, s) }");
}

TEST_CASE("ScatterND agrees with the CPU, also where updates meet") {
  check_recorded(
      "(float[4,6] x, float[3,6] u, int64[3,1] at, bool[4,2] b, bool[5] v)"
      " => (float[4,6] y, bool[4,2] z, float[4,6] n)"
      "<int64[5,2] twice = {0,1, 3,-1, -4,1, 0,1, 2,0},"
      " int64[2,1] same = {1,-3}, float[2,6] rows ="
      " {1,2,3,4,5,6,7,8,9,10,11,12}> {"
      " y = ScatterND(x, at, u) z = ScatterND(b, twice, v)"
      " n = ScatterND(x, same, rows) }");
}

TEST_CASE("GatherElements and ScatterElements agree with the CPU") {
  check_recorded(
      "(float[3,4,5] x, int64[3,2,5] at, int32[2,4,5] less, float[3,2,5] u,"
      " float[2,4,5] v) => (float[3,2,5] y, float[2,4,5] z, float[3,4,5] s,"
      " float[3,4,5] t) {"
      " y = GatherElements<axis = 1>(x, at) z = GatherElements(x, less)"
      " s = ScatterElements<axis = -2>(x, at, u)"
      " t = ScatterElements(x, less, v) }");
}

TEST_CASE("updates that are reduced are those of the CPU") {
  check_runs(*model_of(
      "(float[4,6] x, float[2,6] u) => (float[4,6] y)"
      "<int64[2,1] at = {1,1}> {"
      " a = Neg(x) b = ScatterND<reduction = \"add\">(a, at, u) y = Neg(b) }"));
}

TEST_CASE("CumSum agrees with the CPU") {
  check_recorded(
      "(float[2,3,70] x, int64[3,5] n, float16[4] h) => (float[2,3,70] y,"
      " float[2,3,70] z, int64[3,5] m, float16[4] w)"
      "<int64 last = {-1}, int32 mid = {1}, int64 zero = {0}> {"
      " y = CumSum(x, last) z = CumSum<exclusive = 1, reverse = 1>(x, mid)"
      " m = CumSum<reverse = 1>(n, zero) w = CumSum<exclusive = 1>(h, zero)"
      " }");
}

TEST_CASE("reductions of few outputs agree with the CPU") {
  check_recorded(
      "(float[3,9000] x, float16[600,40] h, int64[70,200] n) => (float[1,1] y,"
      " float[3] m, float16[40] z, int64[200] w, int64 g)"
      "<int64[1] zero = {0}, int64[1] one = {1}> {"
      " y = ReduceSum(x) m = ReduceMean<keepdims = 0>(x, one)"
      " z = ReduceMax<keepdims = 0>(h, zero)"
      " w = ReduceMin<keepdims = 0>(n, zero)"
      " g = ReduceSum<keepdims = 0>(n) }");
}

TEST_CASE("ArgMax, ArgMin and TopK agree with the CPU") {
  check_recorded(
      "(float[3,70,2] x, int32[4,5] n) => (int64[3,1,2] a, int64[4] b,"
      " int64[3,70] l, float[3,5,2] v, int64[3,5,2] i, int32[4,2] w,"
      " int64[4,2] j)<int64[1] five = {5}, int64[1] two = {2}> {"
      " a = ArgMax<axis = 1>(x)"
      " b = ArgMin<axis = -1, keepdims = 0, select_last_index = 1>(n)"
      " l = ArgMin<axis = 2, keepdims = 0>(x)"
      " v, i = TopK<axis = 1>(x, five) w, j = TopK<largest = 0>(n, two) }");
}

TEST_CASE("the first of long lines agree with the CPU") {
  check_recorded(
      "(float[1,5000] x, float16[2,3000,2] h, int64[1,4100] n) => (int64[1] a,"
      " int64[1,1] b, float16[2,7,2] v, int64[2,7,2] i, int64[1] l)"
      "<int64[1] seven = {7}> {"
      " a = ArgMax<axis = 1, keepdims = 0>(x) b = ArgMin<axis = 1>(n)"
      " v, i = TopK<axis = 1>(h, seven) y = Floor(x)"
      " l = ArgMax<axis = 1, keepdims = 0, select_last_index = 1>(y) }");
}

TEST_CASE("softmax of few long rows agrees with the CPU") {
  check_recorded(
      "(float[2,9000] x, float16[8193] h) => (float[2,9000] y,"
      " float[2,9000] z, float16[8193] w) {"
      " y = Softmax(x) z = LogSoftmax(x) w = Softmax<axis = 0>(h) }");
}

TEST_CASE("Trilu, Range, OneHot and Pad agree with the CPU") {
  check_recorded(
      "(float[2,5,7] x, float16[4,4] h, int64[2,3] at, float[2] two)"
      " => (float[2,5,7] t, float16[4,4] u, float[2,6,3] o, int64[7] r,"
      " float[2,8,7] p, float[2,9,6] q, float[2,6,7] e, float[8] f)"
      "<int64 k = {-1}, int64 depth = {6}, int64 zero = {0}, int64 step = {1},"
      " int64[6] pads = {0,2,0,0,1,0}, int64[6] around = {0,3,-1,0,1,0},"
      " float half = {0.5}, float end = {4.4}, int64[1] last = {2}, int64[2] "
      "cuts = {-1,2},"
      " int64[1] axes = {1}> {"
      " t = Trilu(x) u = Trilu<upper = 0>(h, k)"
      " o = OneHot<axis = 1>(at, depth, two)"
      " s = Shape(x) n = Gather(s, last) w = Squeeze(n) i = Range(zero, w, "
      "step)"
      " r = Neg(i) p = Pad(x, pads) q = Pad<mode = \"reflect\">(x, around)"
      " e = Pad(x, cuts, half, axes) f = Range(half, end, half) }");
}

TEST_CASE("tests, signs and remainders agree with the CPU") {
  check_recorded(
      "(float[3,5] x, float16[3,5] h, int64[6] n, float[5] d) => (bool[3,5] a,"
      " bool[3,5] b, bool[3,5] c, bool[3,5] e, float[3,5] s, int64[6] t,"
      " float[3,5] f, float[3,5] g, int64[6] m,"
      " int64[6] o, float16[3,5] q)<int64[1] by = {-3}, int64 low = {-1},"
      " int64 high = {1}, float16 half = {0.5}> {"
      " o = Clip(n, low, high) q = Clip(h, half)"
      " l = Log(x) a = IsNaN(l) b = IsInf(l)"
      " c = IsInf<detect_negative = 0>(l) k = Log(h) e = IsNaN(k)"
      " s = Sign(x) t = Sign(n) g = Floor(x)"
      " f = Mod<fmod = 1>(x, d) m = Mod(n, by) }");
}

TEST_CASE("what is only asked for its shape stays on the GPU") {
  check_recorded(
      "(float[2,3] x, int64[2,1] a, int64[1,4] b) => (int64[2] s, float[3,2] t)"
      " { w = Neg(b) m = Max(a, w) s = Shape(m) y = Exp(x) z = Transpose(y)"
      " l = Shape(z) t = Reshape(x, l) }");
}

TEST_CASE("what follows from shapes and is read on the host is not read back") {
  check_recorded(
      "(int64[2,5] x) => (int64[5] y)<int64 zero = {0}, int64 step = {1},"
      " int64[1] last = {1}> {"
      " s = Shape(x) n = Gather(s, last) w = Squeeze(n)"
      " r = Range(zero, w, step) y = Add(r, w) }");
}

TEST_CASE("RotaryEmbedding agrees with the CPU") {
  check_recorded(
      "<ir_version: 10, opset_import: [\"\" : 23, \"com.microsoft\" : 1]> g"
      " (float[2,3,5,8] x, float[2,5,24] m, int64[2,5] at, int64[1] first,"
      " float[12,4] c, float[12,4] s, float[2,5,2] d, float[1,5,4] e)"
      " => (float[2,3,5,8] y, float[2,5,24] z, float[2,3,5,8] w,"
      " float[2,5,24] u, float[2,3,5,8] v) {"
      " y = RotaryEmbedding(x, c, s, at)"
      " z = RotaryEmbedding<num_heads = 3, interleaved = 1,"
      " rotary_embedding_dim = 4>(m, d, d)"
      " w = RotaryEmbedding(x, e, e)"
      " u = com.microsoft.RotaryEmbedding<interleaved = 1>(m, at, c, s)"
      " v = com.microsoft.RotaryEmbedding(x, first, c, s) }");
}

TEST_CASE("activations of ONNX Runtime agree with the CPU") {
  check_recorded(
      "<ir_version: 10, opset_import: [\"\" : 23, \"com.microsoft\" : 1]> g"
      " (float[3,8] x, float[8] b) => (float[3,8] y, float[3,8] z,"
      " float[3,8] u, float[3,8] v, float[3,8] w) {"
      " y = com.microsoft.FastGelu(x) z = com.microsoft.FastGelu(x, b)"
      " u = com.microsoft.BiasGelu(x, b) v = com.microsoft.Gelu(x)"
      " w = com.microsoft.QuickGelu<alpha = 1.5>(x) }");
}

TEST_CASE("an index beyond its axis ends the run") {
  for (const std::string op :
       {"y = GatherND(x, at)", "y = ScatterND(x, at, x)",
        "y = GatherElements(x, at)", "y = ScatterElements(x, at, x)"}) {
    CAPTURE(op);
    const auto model = model_of(
        "(float[2,1] w) => (float[2,1] y)<int64[2,1] at = {0,2}> {"
        " x = Neg(w) " +
        op + " }");
    const auto on_gpu = executor_of(*model, true);
    const auto inputs =
        runtime::random_inputs(*model, {}, runtime::HostMemory::create());
    REQUIRE(inputs.ok());
    const auto out = on_gpu->run(*inputs);
    REQUIRE(!out.ok());
    CHECK(out.error().text().find("beyond its axis") != std::string::npos);
    CHECK(out.error().text().find("Neg") == std::string::npos);
  }
  CHECK(misuse() == "");
}

TEST_CASE("integers are divided, but not by 0") {
  const std::string model =
      "(int64[3,4] a, int64[4] b, int32[3] c) => (int64[3,4] y, int64[3,4] z,"
      " int64[3,4] w, int32[3] v, int64[3,0] n) <int64 one = {1},"
      " int32 seven = {7}, int64[0] none = {}, int64[3,1] zeros = {0,0,0}> {"
      " s = Abs(b) by = Add(s, one) y = Div(a, by) z = Mod(a, by)"
      " w = Mod<fmod = 1>(a, by) v = Div(seven, c) n = Div(none, zeros) }";
  auto parsed = model_of(model);
  const auto on_cpu = executor_of(*parsed, false);
  const auto on_gpu = executor_of(*parsed, true);
  const auto inputs = [&](std::int32_t c) {
    const std::int64_t a[] = {3, 4}, b[] = {4}, three[] = {3};
    return Named{
        {"a", tensor_of(ir::DataType::kInt64, a,
                        std::make_shared<std::vector<std::int64_t>>(
                            std::vector<std::int64_t>{7, -7, 9, -9, 0, 5, -5,
                                                      100, 3, -3, 1, -1}))},
        {"b", tensor_of(ir::DataType::kInt64, b,
                        std::make_shared<std::vector<std::int64_t>>(
                            std::vector<std::int64_t>{1, -2, 3, 0}))},
        {"c", tensor_of(ir::DataType::kInt32, three,
                        std::make_shared<std::vector<std::int32_t>>(
                            std::vector<std::int32_t>{2, -3, c}))}};
  };
  CHECK(!runtime::compare_by_type(results_of(*on_cpu, inputs(5)),
                                  results_of(*on_gpu, inputs(5)))
             .mismatch);
  const auto failed = on_gpu->run(inputs(0));
  REQUIRE(!failed.ok());
  CHECK(failed.error().text().find("an integer is divided by zero") !=
        std::string::npos);
  CHECK(misuse() == "");
}

TEST_CASE("TensorScatter agrees with the CPU") {
  check_recorded(
      "(float[2,3,8,4] x, float[2,3,2,4] u, float16[2,6,5] h, float16[2,1,5] r,"
      " float[2,3,8,4] z) => (float[2,3,8,4] y, float16[2,6,5] w,"
      " float[2,3,8,4] v, float[2,3,8,4] all)"
      " <int64[2] at = {6,1}, int64[2] rows = {0,5}> {"
      " y = TensorScatter(x, u, at) w = TensorScatter<axis = 1>(h, r, rows)"
      " n = Neg(z) v = TensorScatter(n, u, at) all = TensorScatter(x, z) }");
}

TEST_CASE("a step over caches of a fixed size is one launch") {
  const std::string text =
      "(float16[2,1,32] q, float16[2,1,16] k, float16[2,1,16] v,"
      " float16[2,2,20,8] pk, float16[2,2,20,8] pv, int64[2] at) =>"
      " (float16[2,1,32] y, float16[2,2,20,8] ak, float16[2,2,20,8] av)"
      " <int64[4] split = {0,0,2,8}, int64[1] one = {1}> {"
      " a = Reshape(k, split) b = Transpose<perm = [0,2,1,3]>(a)"
      " c = Reshape(v, split) d = Transpose<perm = [0,2,1,3]>(c)"
      " ak = TensorScatter(pk, b, at) av = TensorScatter(pv, d, at)"
      " n = Add(at, one) s = Constant<value = int64[4] {0,0,4,8}>()"
      " e = Reshape(q, s) f = Transpose<perm = [0,2,1,3]>(e)"
      " g = Attention<is_causal = 1>(f, ak, av, , , , n)"
      " h = Transpose<perm = [0,2,1,3]>(g)"
      " m = Constant<value = int64[3] {0,0,32}>() y = Reshape(h, m) }";
  const auto model = model_of(text);
  const auto on_cpu = executor_of(*model, false);
  const auto on_gpu = executor_of(*model, true, true);
  Named inputs = inputs_of(*on_cpu, *model, 0);
  for (std::int64_t step = 0; step < 6; ++step) {
    auto places = std::make_shared<std::vector<std::int64_t>>(
        std::vector<std::int64_t>{3 + step, 14 + step});
    const std::int64_t two[] = {2};
    for (auto& [name, value] : inputs) {
      if (name == "at") value = tensor_of(ir::DataType::kInt64, two, places);
    }
    standin::driver().counts = {};
    const Named found = results_of(*on_gpu, inputs);
    if (step > 2) CHECK(standin::driver().counts.calls == kOneLaunch);
    CHECK(
        !runtime::compare_by_type(results_of(*on_cpu, inputs), found).mismatch);
  }
  CHECK(misuse() == "");
}

// What both places refuse; gives what the GPU says.
std::string refusal_of(std::string_view text, const Named& inputs) {
  CAPTURE(text);
  const auto model = model_of(text);
  CHECK(!executor_of(*model, false)->run(inputs).ok());
  const auto on_gpu = executor_of(*model, true);
  const auto out = on_gpu->run(inputs);
  REQUIRE(!out.ok());
  CHECK(misuse().empty());
  return out.error().text();
}

TEST_CASE("inputs that do not fit are refused as on the CPU") {
  const auto zeros = [](std::initializer_list<std::int64_t> dims) {
    const runtime::Dims shape(dims);
    return floats_of(
        shape,
        std::vector<float>(static_cast<std::size_t>(runtime::count_of(shape))));
  };
  const std::string norm =
      "(float[A,B,C] x, float[D,E,C] s, float[C] w) => (float[A,B,C] y) {"
      " y = com.microsoft.SkipLayerNormalization(x, s, w) }";
  CHECK(refusal_of(norm, {{"x", zeros({2, 3, 4})},
                          {"s", zeros({2, 5, 4})},
                          {"w", zeros({4})}})
            .find("broadcasts to") != std::string::npos);
  refusal_of(
      "(float[2,4] x) => (float[2,4] y) {"
      " y = LayerNormalization(x) }",
      {{"x", zeros({2, 4})}});
  const std::string cached =
      "(float[1,1,48] q, float[1,1,24] k, float[1,1,4,P] p, int32[1] n) =>"
      " (float[1,1,48] y, float[1,1,4,P] a, float[1,1,4,P] b)"
      " <int32 all = {4}> {"
      " y, a, b = com.microsoft.GroupQueryAttention<num_heads = 2,"
      " kv_num_heads = 1>(q, k, k, p, p, n, all) }";
  const std::int64_t one = 1;
  refusal_of(
      cached,
      {{"q", zeros({1, 1, 48})},
       {"k", zeros({1, 1, 24})},
       {"p", zeros({1, 1, 4, 8})},
       {"n", tensor_of(ir::DataType::kInt32, {&one, 1},
                       std::make_shared<std::vector<std::int32_t>>(1, 3))}});
}

}  // namespace
}  // namespace ruleengine::kernels
