// Models on the backend of CUDA, with a stand-in for the driver: as on the CPU,
// and without a call of the driver too many.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "core/io/load.h"
#include "tests/cuda/backend/support.h"
#include "tests/support/model_files.h"
#include "tests/support/tier.h"

namespace ruleengine::kernels {
namespace {

TEST_CASE("a chain runs on the GPU, with a copy there and one back") {
  const auto counts = check_runs(
      *model_of(
          "(float[4,8] x) => (float[4,8] y) <float[8] w = {1,2,3,4,5,6,7,8}> {"
          " a = Add(x, w) b = Mul(a, x) y = Tanh(b) }"),
      4);
  CHECK(counts.kernels == 3);
  CHECK(counts.calls == kOneLaunch);
}

TEST_CASE("a GPU that is far behind is waited for") {
  std::string text = "(float[3] x) => (float[3] y) { v0 = Neg(x)";
  for (int i = 0; i < 130; ++i) {
    text += " v" + std::to_string(i + 1) + " = Cos(v" + std::to_string(i) + ")";
  }
  const auto counts = check_runs(*model_of(text + " y = Neg(v130) }"));
  CHECK(counts.calls.at("cuStreamSynchronize") == 3);
}

TEST_CASE("elementwise ops agree with those of the CPU") {
  check_runs(*model_of(
      "(float[2,3,5] x, float[3,1] s, int64[5] n) => "
      "(float[2,3,5] y, float[2,3,5] z, bool[2,3,5] b, int64[5] m) {"
      " a = Exp(x) c = Sigmoid(a) d = Sub(c, s) e = Gelu(d) f = Erf(e)"
      " b = Less(f, x) y = Where(b, f, d) m = Mul(n, n)"
      " h = Cast<to = 10>(x) i = Add(h, h) z = Cast<to = 1>(i) }"));
}

TEST_CASE("tensors of many axes agree with the CPU") {
  check_runs(*model_of(
      "(float[2,1,2,3,1,2,1,2,1,2] x, float[1,1,2,3,1,2,1,2,1,2] w,"
      " bool[2,1,2,1,1,2,1,2,1,2] c) => (float[2,1,2,3,1,2,1,2,1,2] y,"
      " float[2,1,2,1,2,1,2,1,3,2] z) { a = Mul(x, w) y = Where(c, a, x)"
      " z = Transpose<perm = [9,8,7,6,5,4,2,1,3,0]>(a) }"));
}

TEST_CASE("ops that move elements agree with those of the CPU") {
  check_runs(*model_of(
      "(float[2,3,4] x, int64[2,2] at) => "
      "(float[4,3,2] y, float[2,5,4] z, float[2,2,3,4] g, float[3,2,4] t,"
      " float[4,3,8] r, float[2,6,2] s)"
      "<int64[1] one = {1}, int64[1] minus = {-1}, int64[1] two = {2},"
      " int64[1] last = {-9}, int64[3] twice = {2,1,2}, int64[3] to = {2,3,4},"
      " int64[2] parts = {1,2}, int64[3] shape = {2,6,2}> {"
      " y = Transpose<perm = [2,1,0]>(x)"
      " a, b = Split<axis = 1>(x, parts) z = Concat<axis = 1>(b, a, b)"
      " g = Gather<axis = 0>(x, at) t = Transpose<perm = [1,0,2]>(x)"
      " c = Slice(x, minus, last, two, minus) d = Expand(c, to)"
      " e = Tile(d, twice) f = Slice(e, one, two, one) h = Add(e, e)"
      " r = Slice(h, one, last, one, minus) s = Reshape(x, shape) }"));
}

TEST_CASE("rows agree with those of the CPU") {
  check_runs(*model_of(
      "(float[3,4,130] x, float[3,4,130] k, float[130] w) => (float[3,4,130] y,"
      " float[3,4,130] r, float[3,4,130] s, float[4] m, float[3,1,130] n,"
      " float[3,4] u, float[3,4,130] o)"
      "<int64[2] ends = {0,2}, int64[1] mid = {1},"
      " int64[1] last = {2}> {"
      " k2 = Add(w, w) b = Sin(w)"
      " y = LayerNormalization<axis = -1>(x, k2, b)"
      " r = RMSNormalization<axis = -1>(k, w) s = Softmax<axis = 1>(x)"
      " m = ReduceMean<keepdims = 0>(x, ends) n = ReduceMax(x, mid)"
      " u = ReduceSum<keepdims = 0>(x, last) o = LogSoftmax(k) }"));
}

TEST_CASE("norms of sums agree with those of the CPU") {
  check_runs(*model_of(
      "<ir_version: 10, opset_import: [\"\" : 23, \"com.microsoft\" : 1,"
      " \"tensor_cast\" : 1]> g (float[2,3,48] x, float[2,3,48] k,"
      " float[48] w, float[48] b) => (float[2,3,48] a, float[2,3,48] c,"
      " float[2,3,48] d, float[2,3,48] e, float[2,3,48] f, float[2,3,48] h,"
      " float[2,3,48] i) {"
      " a = tensor_cast.add_rms_norm(x, k, w)"
      " c, d = tensor_cast.add_rms_norm2(x, k, w)"
      " e, , , f = com.microsoft.SkipLayerNormalization(x, k, w, b, b)"
      " h, , , i = com.microsoft.SkipSimplifiedLayerNormalization(x, k, w, b)"
      " }"));
}

TEST_CASE("products agree with those of the CPU") {
  check_runs(*model_of(
      "(float[2,3,4] x, float[4,5] w, float[2,4,3] z, float[3,1,4] v,"
      " float[5] b, float[3,5] t, float[3,4] j) =>"
      " (float[2,3,5] y, float[2,3,3] p, float[3,2,3,3] q, float[3,5] g,"
      " float[3,5] h, float[5,3] l, float[4] d, float[3,5] i)"
      "<int64[4] four = {3,1,1,4}, int64[1] last = {4}, int64[1] start = {2},"
      " int64[1] end = {3}, int64[1] axis = {0}> {"
      " y = MatMul(x, w) p = MatMul(x, z) e = Reshape(v, four)"
      " f = Mul(x, e) q = MatMul(f, z) g = Gemm(j, w, b)"
      " h = Gemm<alpha = 0.5, beta = 2.0>(j, w, t)"
      " l = Gemm<transA = 1, transB = 1>(w, j)"
      " a = Slice(j, start, end, axis) r = Reshape(a, last) s = Transpose(j)"
      " c = MatMul(j, s) k = Softmax(c) m = MatMul(k, j)"
      " u = MatMul(r, s) o = MatMul(u, j) d = Add(o, r)"
      " i = Gemm<beta = 0.25>(m, w, b) }"));
}

TEST_CASE("tf32 rounds the factors of float products where it is asked for") {
  // 1 + 2^-10 is of tf32, 1 + 2^-11 is half way to it, and 1 + 3 * 2^-11 to the
  // one behind.
  const auto model = model_of(
      "(float[3,1] x, float16[1,1] h) => (float[3,1] y, float16[1,1] g)"
      " <float[1,1] w = {1}> { y = MatMul(x, w) g = MatMul(h, h) }");
  const auto floats = std::make_shared<std::vector<float>>(
      std::vector{1.0009765625f, 1.00048828125f, 1.00146484375f});
  const auto halves = std::make_shared<std::vector<std::uint16_t>>(1, 0x3c01);
  const Named inputs{
      {"x", tensor_of(ir::DataType::kFloat, {{3, 1}}, floats)},
      {"h", tensor_of(ir::DataType::kFloat16, {{1, 1}}, halves)}};
  for (const bool tf32 : {false, true}) {
    const auto executor = executor_of(*model, true, false, {.tf32 = tf32});
    const Named found = results_of(*executor, inputs);
    const auto values = found[0].second.tensor().values<float>();
    CHECK(values[0] == (*floats)[0]);
    CHECK(values[1] == (tf32 ? 1.0f : (*floats)[1]));
    CHECK(values[2] == (tf32 ? 1.001953125f : (*floats)[2]));
    CHECK(found[1].second.tensor().values<std::uint16_t>()[0] == 0x3c02);
  }
}

TEST_CASE("an index beyond its axis ends the run, which tells of it") {
  const auto model = model_of(
      "(float[3,4] x, int64[2] at) => (float[2,4] y) { a = Neg(x)"
      " y = Gather(a, at) }");
  const auto on_gpu = executor_of(*model, true);
  const auto inputs =
      runtime::random_inputs(*model, {}, runtime::HostMemory::create());
  REQUIRE(inputs.ok());
  Named given = *inputs;
  const std::int64_t count = 2;
  for (const std::int64_t index : {7, 2}) {
    auto at = std::make_shared<std::vector<std::int64_t>>(2, index);
    for (auto& [name, value] : given) {
      if (name != "at") continue;
      value = runtime::Datum(runtime::Tensor(
          ir::DataType::kInt64, {&count, 1},
          std::shared_ptr<const std::byte>(
              at, reinterpret_cast<const std::byte*>(at->data()))));
    }
    const auto out = on_gpu->run(given);
    CHECK(out.ok() == (index == 2));
    if (!out) CHECK(out.error().text().find("Gather") != std::string::npos);
  }
  CHECK(misuse() == "");
}

TEST_CASE(
    "what the host reads of the GPU is there, also where it never changes") {
  // Asinh runs on the host.
  const auto counts = check_runs(
      *model_of(
          "(float[3] x) => (float[3] y, float[3] z) <float[3] w = {1,2,3}>"
          " { a = Log(w) c = Asinh(a) z = Add(x, c)"
          " y = Mul(a, x) }"),
      4);
  CHECK(counts.calls != kOneLaunch);
}

TEST_CASE("empty tensors keep their types in a recorded run") {
  const auto counts = check_runs(
      *model_of("(float[0,3] e, float[2] x) => (int64[2] s, float[2] y,"
                " float[0,3] f, int64[0] n) <int64[0] none = {}> {"
                " s = Shape(e) y = Neg(x) f = Neg(e) n = Identity(none) }"),
      4);
  CHECK(counts.calls == kOneLaunch);
}

// Ops that models may still wait for.
bool may_wait(const std::string& why) {
  constexpr const char* kOps[] = {
      "Conv ",   "InstanceNormalization ", "Resize ",  "MaxPool ",
      "Einsum ", "GlobalAveragePool ",     "ReduceL2 "};
  return std::ranges::any_of(
      kOps, [&](const char* op) { return why.starts_with(op); });
}

TEST_CASE("whole models agree with the CPU") {
  const auto files = model_files(RULEENGINE_SOURCE_DIR);
  REQUIRE(!files.empty());
  int recorded = 0, all = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!has_turn(i, 8)) continue;
    CAPTURE(files[i].string());
    const auto model = io::load(files[i].string());
    REQUIRE_MESSAGE(model.ok(), (model ? "" : model.error().text()));
    const auto counts = check_runs(**model, 4);
    ++all;
    if (counts.calls == kOneLaunch) {
      ++recorded;
    } else {
      const std::string why =
          executor_of(**model, true, true)->why_not_recorded();
      CHECK_MESSAGE(may_wait(why), why);
    }
  }
  MESSAGE(recorded, " of ", all, " models are one launch");
}

}  // namespace
}  // namespace ruleengine::kernels
