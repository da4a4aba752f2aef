// Ops of attention as plans of cuDNN, and by the kernel of ours, on the
// stand-ins.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "core/ir/narrow_float.h"
#include "kernels/cuda/attention_engine.h"
#include "tests/cuda/backend/support.h"

namespace ruleengine::kernels {
namespace {

runtime::Datum halves_of(const runtime::Dims& dims, std::mt19937& random) {
  auto values = std::make_shared<std::vector<std::uint16_t>>();
  for (std::int64_t i = runtime::count_of(dims); i-- > 0;) {
    const double value = std::uniform_real_distribution<double>(-2, 2)(random);
    values->push_back(
        static_cast<std::uint16_t>(ir::narrow(ir::DataType::kBfloat16, value)));
  }
  return tensor_of(ir::DataType::kBfloat16, dims, std::move(values));
}

// So many plans; what has none has a kernel of ours. The first run also tries
// the plans.
void check_plans(std::string_view text, std::size_t plans) {
  CAPTURE(text);
  const auto counts = check_runs(*model_of(text), 2);
  const auto found = counts.calls.find("cudnnBackendExecute");
  CHECK((found == counts.calls.end() ? 0 : found->second) == plans);
}

// No node is on the CPU, and none is a plan.
void check_ours(std::string_view text) {
  check_plans(text, 0);
  CHECK(check_runs(*model_of(text), 4).calls == kOneLaunch);
}

TEST_CASE("Attention runs as plans of cuDNN") {
  check_plans(
      "(float16[2,4,5,16] q, float16[2,2,7,16] k, float16[2,2,7,8] v) =>"
      " (float16[2,4,5,8] y, float16[2,4,5,8] z) {"
      " y = Attention(q, k, v)"
      " z = Attention<is_causal = 1, scale = 0.3, softcap = 2.0>(q, k, v) }",
      2);
}

TEST_CASE("Attention with merged heads steps over them") {
  check_plans(
      "(bfloat16[2,5,64] q, bfloat16[2,7,32] k, bfloat16[2,7,16] v) =>"
      " (bfloat16[2,5,32] y, bfloat16[2,2,7,16] pk, bfloat16[2,2,7,8] pv) {"
      " y, pk, pv = Attention<q_num_heads = 4, kv_num_heads = 2>(q, k, v) }",
      1);
}

TEST_CASE("Attention adds masks of numbers and of booleans") {
  check_plans(
      "(float16[2,4,5,16] q, float16[2,4,7,16] k, float16[2,4,7,16] v,"
      " float16[2,1,5,7] m, bool[5,7] b, float16[5,4] short, bool[4,1,1] h) =>"
      " (float16[2,4,5,16] y, float16[2,4,5,16] z, float16[2,4,5,16] s,"
      " float16[2,4,5,16] w) {"
      " y = Attention(q, k, v, m) z = Attention<is_causal = 1>(q, k, v, b)"
      " s = Attention(q, k, v, short) w = Attention(q, k, v, h) }",
      4);
}

TEST_CASE("Attention goes on behind a past") {
  check_plans(
      "(float16[2,4,3,16] q, float16[2,2,3,16] k, float16[2,2,3,16] v,"
      " float16[2,2,6,16] pk, float16[2,2,6,16] pv, float16[3,9] m,"
      " float16[2,1,64] one, float16[2,1,32] l) =>"
      " (float16[2,4,3,16] y, float16[2,2,9,16] ak, float16[2,2,9,16] av,"
      " float16[2,4,3,16] z, float16[2,1,64] w, float16[2,2,7,16] bk) {"
      " y, ak, av = Attention<is_causal = 1>(q, k, v, , pk, pv)"
      " z = Attention<is_causal = 1>(q, k, v, m, pk, pv)"
      " w, bk = Attention<is_causal = 1, q_num_heads = 4, kv_num_heads = 2>"
      "(one, l, l, , pk, pv) }",
      3);
}

TEST_CASE("a past that grows keeps its plan") {
  const auto step = [](const std::string& past, const std::string& all) {
    return check_runs(*model_of(
        "(float16[2,4,1,16] q, float16[2,2,1,16] k, float16[2,2,1,16] v,"
        " float16[2,2," +
        past + ",16] pk, float16[2,2," + past +
        ",16] pv) => (float16[2,4,1,16] y, float16[2,2," + all +
        ",16] ak, float16[2,2," + all +
        ",16] av) {"
        " y, ak, av = Attention<is_causal = 1>(q, k, v, , pk, pv) }"));
  };
  step("40", "41");
  auto counts = step("41", "42");
  CHECK(counts.calls["cudnnBackendExecute"] == 1);
  // Of what tells the plan the addresses.
  CHECK(counts.calls["cudnnBackendFinalize"] == 1);
}

TEST_CASE("Attention is recorded") {
  const auto counts = check_runs(
      *model_of(
          "(float16[2,5,32] q, float16[2,5,32] k, bool[5,5] m) =>"
          " (float16[2,5,32] y, float16[2,5,32] z) <int64[2] n = {3, 5}> {"
          " y = Attention<q_num_heads = 2, kv_num_heads = 2>(q, k, k, m)"
          " z = Attention<q_num_heads = 2, kv_num_heads = 2>"
          "(q, k, k, , , , n) }"),
      4);
  CHECK(counts.calls.at("cuGraphLaunch") == 1);
  CHECK(!counts.calls.contains("cudnnBackendExecute"));
}

TEST_CASE("a batch of none has no lengths") {
  for (const char* type : {"float", "float16"}) {
    CAPTURE(type);
    const std::string heads = std::string(type) + "[0,4,3,16] ";
    check_runs(*model_of("(" + heads + "q, int64[0] n) => (" + heads +
                         "y) { y = Attention(q, q, q, , , , n) }"),
               4);
  }
}

TEST_CASE("Attention knows lengths and windows") {
  check_plans(
      "(float16[2,4,3,16] q, float16[2,2,9,16] k, float16[2,2,9,16] v,"
      " float16[2,4,1,16] one) => (float16[2,4,3,16] y, float16[2,4,3,16] z,"
      " float16[2,4,3,16] w, float16[2,4,1,16] u, float16[2,4,3,16] t)"
      " <int64[2] n = {5, 9}, int64[2] few = {2, 0}> {"
      " y = Attention<is_causal = 1>(q, k, v, , , , n)"
      " z = Attention(q, k, v, , , , n)"
      " w = Attention<is_causal = 1>(q, k, v, , , , few)"
      " u = Attention<is_causal = 1>(one, k, v, , , , n)"
      " t = Attention<left_window_size = 1, is_causal = 1>(q, k, v) }",
      5);
}

TEST_CASE("the engine's own ops run as plans of cuDNN") {
  check_plans(
      "(float16[2,4,5,16] q, float16[2,2,7,16] k, float16[2,2,7,8] v,"
      " float16[1,4,7,16] k4, bool[2,1,5,7] b, float16[2,1,5,7] m) =>"
      " (float16[2,4,5,8] y, float16[2,4,5,8] z, float16[2,4,5,16] w) {"
      " y = ruleengine.ScaledDotProductAttention<num_heads = 4,"
      " is_causal = 1>(q, k, v, b)"
      " z = ruleengine.ScaledDotProductAttention<num_heads = 4,"
      " softcap = 1.5>(q, k, v)"
      " w = ruleengine.AttentionForward<sm_scale = 0.2>(q, k4, k4, m) }",
      3);
}

TEST_CASE("MultiHeadAttention becomes Attention") {
  check_plans(
      "(float16[2,5,32] q, float16[2,7,32] k, float16[2,7,32] v) =>"
      " (float16[2,5,32] y) {"
      " y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k, v) }",
      1);
}

TEST_CASE("SwinAttention is one launch, rolled or not") {
  for (const std::string type : {"float", "float16"}) {
    for (const std::string shift : {"1,1", "0,0"}) {
      const std::string text =
          "(" + type + "[1,4,4,32] x, " + type + "[96,32] w, " + type +
          "[9,2] table) => (" + type + "[1,4,4,32] y)" +
          " <int64[16] index = {4,3,1,0,5,4,2,1,7,6,4,3,8,7,5,4}> {" +
          " windows, spatial = ruleengine.SwinWindowPartition" +
          "<window_size = [2,2], shift_size = [" + shift + "]>(x)" +
          " q, k, v = ruleengine.MHAInProjection<num_heads = 2,"
          " head_dim = 16>(windows, windows, windows, w)"
          " a = ruleengine.SwinAttention<window_size = [2,2],"
          " num_heads = 2, head_dim = 16>(q, k, v, table, index, spatial)"
          " y = ruleengine.SwinWindowReverse<window_size = [2,2]>"
          "(a, spatial) }";
      CAPTURE(text);
      const auto counts = check_runs(*model_of(text), 4);
      CHECK(counts.calls == kOneLaunch);
    }
  }
}

TEST_CASE("a plan that gives wrong results is not used") {
  const std::string text =
      "(bfloat16[1,2,4,24] q, bfloat16[1,2,6,24] k) =>"
      " (bfloat16[1,2,4,24] y) { y = Attention(q, k, k) }";
  standin::driver().forgotten_keys = 1;
  check_ours(text);
  standin::driver().forgotten_keys = 0;
  // It is not asked again.
  check_ours(text);
}

TEST_CASE("a plan that lets what is behind a sequence into it is not used") {
  // Of a bucket, where such rows are of other tensors.
  standin::driver().reads_behind = true;
  check_ours(
      "(bfloat16[1,N,72] q) => (bfloat16[1,N,72] y) {"
      " y = Attention<q_num_heads = 3, kv_num_heads = 3>(q, q, q) }");
  standin::driver().reads_behind = false;
}

TEST_CASE("what hides everything makes no plan trusted") {
  const auto model = model_of(
      "(bfloat16[1,2,4,16] q, bfloat16[1,2,6,16] k, int64[1] n) =>"
      " (bfloat16[1,2,4,16] y) { y = Attention(q, k, k, , , , n) }");
  const auto on_cpu = executor_of(*model, false);
  const auto on_gpu = executor_of(*model, true, true);
  std::mt19937 random(7);
  const auto q = halves_of({1, 2, 4, 16}, random);
  const auto k = halves_of({1, 2, 6, 16}, random);
  standin::driver().forgotten_keys = 1;
  for (const std::int64_t length : {0, 5}) {
    const Named inputs = {
        {"q", q},
        {"k", k},
        {"n",
         tensor_of(ir::DataType::kInt64, {{1}},
                   std::make_shared<std::vector<std::int64_t>>(1, length))}};
    const auto compared = runtime::compare_by_type(results_of(*on_cpu, inputs),
                                                   results_of(*on_gpu, inputs));
    CHECK(!compared.mismatch);
  }
  standin::driver().forgotten_keys = 0;
  CHECK(misuse() == "");
}

TEST_CASE("a plan that fails once is used again") {
  const auto model = model_of(
      "(bfloat16[1,2,3,32] q) => (bfloat16[1,2,3,32] y) {"
      " y = Attention(q, q, q) }");
  const auto on_gpu = executor_of(*model, true);
  std::mt19937 random(8);
  const Named inputs = {{"q", halves_of({1, 2, 3, 32}, random)}};
  standin::driver().fails_in = "cudnnBackendExecute";
  const Named untried = results_of(*on_gpu, inputs);
  standin::driver().fails_in = "";
  const Named first = results_of(*on_gpu, inputs);
  standin::driver().fails_in = "cudnnBackendExecute";
  const Named ours = results_of(*on_gpu, inputs);
  standin::driver().fails_in = "";
  standin::driver().counts = {};
  results_of(*on_gpu, inputs);
  CHECK(standin::driver().counts.calls["cudnnBackendExecute"] == 1);
  CHECK(!runtime::compare_by_type(first, untried).mismatch);
  CHECK(!runtime::compare_by_type(first, ours).mismatch);
  CHECK(misuse() == "");
}

TEST_CASE("few plans serve all lengths") {
  const auto model = model_of(
      "(bfloat16[B,N,48] q, bfloat16[B,M,24] k) => (bfloat16[B,N,48] y) {"
      " y = Attention<q_num_heads = 2, kv_num_heads = 1, is_causal = 1>"
      "(q, k, k) }");
  const auto on_cpu = executor_of(*model, false);
  const auto on_gpu = executor_of(*model, true, true);
  const auto before = cuda::plan_counts().builds;
  std::mt19937 random(5);
  for (int i = 0; i < 100; ++i) {
    // Short ones too.
    const auto length = static_cast<std::int64_t>(
        std::exp2(std::uniform_real_distribution<double>(0, 7)(random)));
    const Named inputs = {{"q", halves_of({2, length, 48}, random)},
                          {"k", halves_of({2, length, 24}, random)}};
    CAPTURE(length);
    const auto compared = runtime::compare_by_type(results_of(*on_cpu, inputs),
                                                   results_of(*on_gpu, inputs));
    REQUIRE(!compared.mismatch);
  }
  CHECK(cuda::plan_counts().builds > before + 2);  // 1, 64 and 128
  CHECK(cuda::plan_counts().builds <= before + 8);
  CHECK(misuse() == "");
}

TEST_CASE("no run behind a warm-up waits for a plan") {
  const auto model = model_of(
      "(bfloat16[B,N,64] x) => (bfloat16[B,N,64] y) {"
      " y = Attention<q_num_heads = 4, kv_num_heads = 4, is_causal = 1>"
      "(x, x, x) }");
  const auto on_gpu = executor_of(*model, true, true);
  std::mt19937 random(6);
  const auto inputs = [&](std::int64_t length) {
    return Named{{"x", halves_of({1, length, 64}, random)}};
  };
  standin::driver().plan_milliseconds = 100;
  REQUIRE(on_gpu->warm_up(inputs(40)).ok());
  const auto before = cuda::plan_counts().builds;
  for (const std::int64_t length : {2, 70, 150}) {
    results_of(*on_gpu, inputs(length));
  }
  CHECK(cuda::plan_counts().builds == before);
  standin::driver().plan_milliseconds = 0;
  CHECK(misuse() == "");
}

TEST_CASE("a negative cap is none") {
  check_runs(
      *model_of("(float[1,2,5,16] q, float16[1,2,5,16] h) =>"
                " (float[1,2,5,16] y, float16[1,2,5,16] z) {"
                " y = Attention<softcap = -2.0>(q, q, q)"
                " z = Attention<softcap = -2.0>(h, h, h) }"));
}

TEST_CASE("float32 runs by the kernel of ours") {
  check_ours(
      "(float[2,4,5,16] q, float[2,2,7,16] k, float[2,2,7,8] v,"
      " float[2,1,5,7] m, bool[5,7] b, float[5,4] short) =>"
      " (float[2,4,5,8] y, float[2,4,5,8] z, float[2,4,5,8] s,"
      " float[2,4,5,8] w) {"
      " y = Attention<is_causal = 1, softcap = 2.0>(q, k, v)"
      " z = Attention<is_causal = 1, scale = 0.3>(q, k, v, b)"
      " s = Attention(q, k, v, short) w = Attention(q, k, v, m) }");
}

TEST_CASE("heads of any size run by the kernel of ours") {
  check_ours(
      "(float16[2,5,36] q, float16[2,7,36] k, bfloat16[1,2,3,1] h) =>"
      " (float16[2,5,36] y, bfloat16[1,2,3,1] z) {"
      " y = Attention<q_num_heads = 3, kv_num_heads = 3>(q, k, k)"
      " z = Attention(h, h, h) }");
}

TEST_CASE("what cuDNN refuses runs by the kernel of ours") {
  check_ours(
      "(float16[2,4,9,16] q, float16[2,2,3,16] k, float16[2,2,3,16] v,"
      " float16[2,4,3,16] few, float16[2,1,3,3] m, float16[2,2,5,16] p, "
      "bool[3,8] b) =>"
      " (float16[2,4,9,16] y, float16[2,4,9,16] z, float16[2,4,3,16] w,"
      " float16[2,4,3,16] u) <int64[2] n = {2, 3}> {"
      " y = Attention<left_window_size = 1>(q, k, v)"
      " z = Attention<left_window_size = 1, is_causal = 1>(q, k, v)"
      " w = Attention<is_causal = 1>(few, k, v, m, , , n)"
      " u = Attention<left_window_size = 2>(few, k, v, b, p, p) }");
}

TEST_CASE("a mask that hides a row gives zeros, and a NaN stays one") {
  const auto model = model_of(
      "(float16[1,2,3,8] q, float16[1,2,4,8] v, bool[3,4] b) =>"
      " (float16[1,2,3,8] y, float16[1,2,3,8] z) {"
      " y = Attention(q, v, v, b)"
      " z = ruleengine.ScaledDotProductAttention(q, v, v, b) }");
  const auto on_cpu = executor_of(*model, false);
  const auto on_gpu = executor_of(*model, true);
  Named inputs = inputs_of(*on_cpu, *model, 3);
  for (auto& [name, value] : inputs) {
    if (name == "b") {
      const bool sees[] = {true,  true,  true, true,  false, false,
                           false, false, true, false, true,  false};
      std::ranges::copy(sees, value.tensor().mutable_data<bool>());
    }
    // Of a value that each query sees but the one that sees nothing.
    if (name == "v") value.tensor().mutable_data<std::uint16_t>()[3] = 0x7E00;
  }
  const Named expected = results_of(*on_cpu, inputs);
  const Named found = results_of(*on_gpu, inputs);
  const auto compared = runtime::compare_by_type(expected, found);
  CHECK_MESSAGE(!compared.mismatch,
                (compared.mismatch ? compared.mismatch->text : ""));
}

TEST_CASE("a length below 0 is an error that names the node") {
  const auto model = model_of(
      "(float[2,1,3,8] q, int64[2] n) => (float[2,1,3,8] y) {"
      " y = Attention(q, q, q, , , , n) }");
  const auto on_gpu = executor_of(*model, true);
  Named inputs = inputs_of(*on_gpu, *model, 0);
  for (auto& [name, value] : inputs) {
    if (name == "n") value.tensor().mutable_data<std::int64_t>()[1] = -1;
  }
  const auto out = on_gpu->run(inputs);
  REQUIRE(!out.ok());
  CHECK(out.error().text().find("a length of keys is less than 0") !=
        std::string::npos);
  CHECK(out.error().text().find("Attention") != std::string::npos);
}

}  // namespace
}  // namespace ruleengine::kernels
