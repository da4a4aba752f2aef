// Each call of the driver and of the libraries fails in turn: one error,
// nothing left behind, and what comes after it works.
#include <doctest/doctest.h>

#include <string>

#include "runtime/compare.h"
#include "tests/cuda/backend/support.h"

namespace ruleengine::kernels {
namespace {

constexpr const char* kAttention =
    "(float16[2,8,16] x, float16[2,2,3,8] past, bool[8,11] m) =>"
    " (float16[2,8,16] y, float16[2,2,11,8] k) {"
    " y, k = Attention<q_num_heads = 2, kv_num_heads = 2>"
    "(x, x, x, m, past, past) }";
constexpr const char* kModel =
    "(float[2,8] x, int64[3] at) => (float[3,8] y, float[2,2] z)"
    "<float[8] w = {1,2,3,4,5,6,7,8}> {"
    " a = LayerNormalization(x, w) b = Softmax(a) c = Gather(b, at)"
    " d = Transpose(a) z = MatMul(a, d) e = Gelu(c) y = Add(e, w) }";

// Makes an executor, runs it four times (the last ones are recorded) and drops
// it; whether all of that worked. Where it does not, it says why.
bool run_all(const ir::Model& model, const Named& inputs, const Named& expected,
             std::string* error) {
  runtime::ExecutorOptions options{
      .backends = {gpu(), &cpu()}, .runs_often = true, .threads = 1};
  const auto made = Executor::create(model, std::move(options));
  if (!made) {
    *error = made.error().text();
    return false;
  }
  for (int i = 0; i < 4; ++i) {
    const auto out = (*made)->run(inputs);
    if (!out) {
      *error = out.error().text();
      return false;
    }
    CHECK(!runtime::compare_by_type(expected, *out).mismatch);
  }
  return true;
}

struct Case {
  std::string what;
  int failure;  // CUresult
  bool stays;
};

void check_faults(const char* text) {
  const auto model = model_of(text);
  const auto on_cpu = executor_of(*model, false);
  const Named inputs = inputs_of(*on_cpu, *model, 0);
  const Named expected = results_of(*on_cpu, inputs);
  gpu();  // what is looked for once is there
  standin::Driver& driver = standin::driver();
  for (const auto& [what, failure, stays] :
       {Case{"out of memory", 2, false},
        Case{"an error in the middle", 719, false},
        Case{"the device is gone", 46, true}}) {
    CAPTURE(what);
    std::size_t failed = 0;
    for (std::size_t n = 1;; ++n) {
      CAPTURE(n);
      driver.counts = {};
      driver.failure = failure;
      driver.stays_failed = stays;
      driver.fails_at = n;
      std::string error;
      const bool worked = run_all(*model, inputs, expected, &error);
      const bool was_reached = driver.counts.all >= n;
      driver.fails_at = 0;
      driver.stays_failed = false;
      CAPTURE(driver.failed);
      CHECK(worked == error.empty());
      if (!worked) {
        ++failed;
        CHECK(error.starts_with("error: "));
        CHECK(error.find("error: ", 7) == std::string::npos);
      }
      if (!stays) check_nothing_left();
      if (stays) driver.forget();
      const std::string misused = misuse();
      if (!stays) CHECK(misused == "");
      if (!was_reached) break;
      REQUIRE(n < 2000);
    }
    CHECK(failed > 20);
    std::string error;
    CHECK_MESSAGE(run_all(*model, inputs, expected, &error), error);
    CHECK(misuse() == "");
  }
  check_nothing_left();
}

TEST_CASE("a call that fails ends the run and leaves nothing behind") {
  check_faults(kModel);
}
TEST_CASE("a call of cuDNN that fails does too") { check_faults(kAttention); }

TEST_CASE("kernels that the driver or the GPU cannot run are told of") {
  const auto model = model_of(kModel);
  const auto on_cpu = executor_of(*model, false);
  const Named inputs = inputs_of(*on_cpu, *model, 0);
  gpu();
  standin::Driver& driver = standin::driver();
  driver.fails_in = "cuModuleLoadData";
  for (const auto& [failure, text] :
       {std::pair{222, "the driver of CUDA is too old for the kernels"},
        std::pair{209, "the kernels have no code for this GPU"}}) {
    driver.failure = failure;
    std::string error;
    CHECK(!run_all(*model, inputs, {}, &error));
    CHECK_MESSAGE(error.find(text) != std::string::npos, error);
    CHECK(error.find("CUDA_ERROR_") != std::string::npos);
  }
  driver.fails_in.clear();
  CHECK(misuse() == "");
  check_nothing_left();
}

TEST_CASE("memory that runs of other shapes left is given back") {
  const auto model = model_of(
      "(float[N] x) => (float[N] y) { a = Exp(x) b = Neg(a) y = Abs(b) }");
  auto on_gpu = executor_of(*model, true);
  constexpr std::int64_t kStep = 2000, kMost = 40 * kStep;
  for (std::int64_t size = kStep; size <= kMost; size += kStep) {
    results_of(*on_gpu,
               {{"x", tensor_of(ir::DataType::kFloat, {&size, 1},
                                std::make_shared<std::vector<float>>(
                                    static_cast<std::size_t>(size), 0.5f))}});
  }
  CHECK(standin::driver().live_bytes() < 3 * kMost * sizeof(float));
  on_gpu.reset();
  CHECK(misuse() == "");
  check_nothing_left();
}

TEST_CASE(
    "a model that is larger than the card says so, and then another runs") {
  const auto model = model_of(
      "(float[64] x) => (float[64,64,64,64] y) <int64[4] to = {64,64,64,64}> {"
      " a = Expand(x, to) y = Neg(a) }");
  standin::Driver& driver = standin::driver();
  const std::size_t before = std::exchange(driver.memory_bytes, 16 << 20);
  const auto on_gpu = executor_of(*model, true);
  const auto inputs =
      runtime::random_inputs(*model, {}, runtime::HostMemory::create());
  REQUIRE(inputs.ok());
  const auto out = on_gpu->run(*inputs);
  driver.memory_bytes = before;
  REQUIRE(!out.ok());
  CHECK(out.error().kind == ErrorKind::kLimit);
  CHECK(out.error().text().find("too little memory") != std::string::npos);
  CHECK(on_gpu->run(*inputs).ok());
  CHECK(misuse() == "");
}

}  // namespace
}  // namespace ruleengine::kernels
