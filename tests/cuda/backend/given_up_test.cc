// Recordings that are given up, and what is left of them.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/cuda/backend/support.h"

namespace ruleengine::kernels {
namespace {

constexpr const char* kTwoNodes =
    "(float[N,8] x) => (float[N,8] y) { a = Exp(x) y = Softmax(a) }";

Named ones(std::int64_t rows) {
  return {{"x", tensor_of(ir::DataType::kFloat, {{rows, 8}},
                          std::make_shared<std::vector<float>>(
                              static_cast<std::size_t>(rows * 8), 1.0f))}};
}

// From its third run on a shape is recorded.
void run_shape(Executor& executor, std::int64_t rows, int runs) {
  for (int i = 0; i < runs; ++i) results_of(executor, ones(rows));
}

TEST_CASE("what a recording displaces goes when nothing is recorded any more") {
  constexpr std::int64_t kKept = 8;
  const auto model = model_of(kTwoNodes);
  standin::Driver& driver = standin::driver();
  bool has_failed_inside = false;
  for (std::size_t n = 1;; ++n) {
    CAPTURE(n);
    auto on_gpu = executor_of(*model, true, true);
    for (std::int64_t rows = 1; rows <= kKept; ++rows) {
      run_shape(*on_gpu, rows, 3);
    }
    run_shape(*on_gpu, kKept + 1, 2);
    driver.counts = {};
    driver.fails_at = n;
    (void)on_gpu->run(ones(kKept + 1));
    const bool was_reached = std::exchange(driver.fails_at, 0) == 0;
    has_failed_inside |= driver.failed == "cuLaunchKernel";
    on_gpu.reset();
    CHECK(misuse() == "");
    check_nothing_left();
    if (!was_reached) break;
    REQUIRE(n < 100);
  }
  CHECK(has_failed_inside);
}

TEST_CASE("a run that could not be recorded says why, and keeps no memory") {
  const auto model = model_of(kTwoNodes);
  auto on_gpu = executor_of(*model, true, true);
  constexpr std::int64_t kRows = 5000;
  standin::Driver& driver = standin::driver();
  driver.failure = 999;
  driver.fails_in = "cuStreamEndCapture";
  run_shape(*on_gpu, kRows, 4);
  driver.fails_in.clear();
  CHECK(!on_gpu->is_recorded());
  CHECK(on_gpu->why_not_recorded().find("to record work") != std::string::npos);
  run_shape(*on_gpu, 1, 4);
  CHECK(on_gpu->is_recorded());
  CHECK(on_gpu->why_not_recorded() == "");
  CHECK(driver.live_bytes() < kRows * 8 * sizeof(float));
  on_gpu.reset();
  CHECK(misuse() == "");
  check_nothing_left();
}

TEST_CASE("a run that is ended while it is recorded is recorded later") {
  const auto model = model_of(kTwoNodes);
  int asked = 0, ends_at = 0;
  runtime::ExecutorOptions options{
      .backends = {gpu(), &cpu()}, .runs_often = true, .threads = 1};
  options.is_cancelled = [&] { return ++asked == ends_at; };
  auto made = Executor::create(*model, std::move(options));
  REQUIRE(made.ok());
  Executor& on_gpu = **made;
  run_shape(on_gpu, 3, 2);
  asked = 0;
  ends_at = 2;
  const auto out = on_gpu.run(ones(3));
  REQUIRE(!out.ok());
  CHECK(out.error().text().find("the run was ended") != std::string::npos);
  CHECK(!on_gpu.is_recorded());
  ends_at = 0;
  run_shape(on_gpu, 3, 1);
  CHECK(on_gpu.is_recorded());
  made = Diagnostic{};
  CHECK(misuse() == "");
  check_nothing_left();
}

TEST_CASE("of many nodes with flags the one that failed is named") {
  constexpr int kNodes = 1030;
  std::string text =
      "(float[1] x0, int64[1] at, int64[1] last) => (float[1] y) {";
  for (int i = 0; i < kNodes; ++i) {
    text += " x" + std::to_string(i + 1) + " = Gather(x" + std::to_string(i) +
            ", at)";
  }
  text += " y = Gather(x" + std::to_string(kNodes) + ", last) }";
  const auto model = model_of(text);
  auto on_gpu = executor_of(*model, true);
  const auto index = [](std::int64_t value) {
    return tensor_of(ir::DataType::kInt64, {{1}},
                     std::make_shared<std::vector<std::int64_t>>(1, value));
  };
  const auto x = tensor_of(ir::DataType::kFloat, {{1}},
                           std::make_shared<std::vector<float>>(1, 1.0f));
  for (const bool is_beyond : {true, false}) {
    const auto out = on_gpu->run(
        {{"x0", x}, {"at", index(0)}, {"last", index(is_beyond ? 1 : 0)}});
    CHECK(out.ok() != is_beyond);
    if (out) continue;
    CHECK(out.error().where.find("'y'") != std::string::npos);
  }
  on_gpu.reset();
  CHECK(misuse() == "");
  check_nothing_left();
}

}  // namespace
}  // namespace ruleengine::kernels
