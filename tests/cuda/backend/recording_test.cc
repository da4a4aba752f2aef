// Runs that are recorded: what they read, what they keep, and when there is
// none.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/compare.h"
#include "tests/cuda/backend/support.h"

namespace ruleengine::kernels {
namespace {

// Runs it, and says whether the driver was called for one launch.
bool is_one_launch(Executor& executor, const Named& inputs, Named* out) {
  standin::driver().counts = {};
  *out = results_of(executor, inputs);
  return standin::driver().counts.calls == kOneLaunch;
}

TEST_CASE("an index beyond its axis ends a recorded run, too") {
  const auto model = model_of(
      "(float[3,4] x, int64[2] at) => (float[2,4] y) {"
      " y = Gather(x, at) }");
  auto on_gpu = executor_of(*model, true, true);
  const auto inputs = [&](std::int64_t index) {
    const std::int64_t dims[] = {3, 4}, two = 2;
    return Named{{"x", floats_of(dims, std::vector<float>(12, 1.0f))},
                 {"at", tensor_of(ir::DataType::kInt64, {&two, 1},
                                  std::make_shared<std::vector<std::int64_t>>(
                                      2, index))}};
  };
  Named out;
  for (int i = 0; i < 3; ++i) results_of(*on_gpu, inputs(2));
  CHECK(is_one_launch(*on_gpu, inputs(1), &out));
  const auto failed = on_gpu->run(inputs(3));
  REQUIRE(!failed.ok());
  CHECK(failed.error().text().find("beyond its axis") != std::string::npos);
  CHECK(is_one_launch(*on_gpu, inputs(1), &out));
  on_gpu.reset();
  CHECK(misuse() == "");
}

TEST_CASE("a run behind a warm-up is one launch") {
  const auto model = model_of(
      "(float[N,8] x) => (float[N,8] y) { a = Exp(x) y = Softmax(a) }");
  auto on_gpu = executor_of(*model, true, true);
  const std::int64_t dims[] = {3, 8}, other[] = {3, 9};
  const auto inputs = [&](float value) {
    return Named{{"x", floats_of(dims, std::vector<float>(24, value))}};
  };
  CHECK(!on_gpu->warm_up({{"x", floats_of(other, std::vector<float>(27, 1))}})
             .ok());
  REQUIRE(on_gpu->warm_up(inputs(1)).ok());
  Named out;
  CHECK(is_one_launch(*on_gpu, inputs(2), &out));
  on_gpu.reset();
  CHECK(misuse() == "");
}

TEST_CASE("each shape keeps the memory of its recording") {
  const auto model = model_of(
      "(float[N,8] x) => (float[N,8] y) { a = Exp(x) b = Softmax(a)"
      " c = Mul(a, b) y = Sub(c, x) }");
  const auto on_cpu = executor_of(*model, false);
  auto on_gpu = executor_of(*model, true, true);
  const auto inputs = [&](std::int64_t rows, float first) {
    const std::int64_t dims[] = {rows, 8};
    std::vector<float> values(static_cast<std::size_t>(rows * 8), first);
    values[0] = 0;
    return Named{{"x", floats_of(dims, std::move(values))}};
  };
  const std::vector<std::int64_t> sizes = {2, 700, 3, 90};
  Named out;
  for (const std::int64_t rows : sizes) {
    for (int i = 0; i < 3; ++i) results_of(*on_gpu, inputs(rows, 1));
  }
  for (const std::int64_t rows : sizes) {
    const Named given = inputs(rows, 0.5f);
    CHECK(is_one_launch(*on_gpu, given, &out));
    CHECK(!runtime::compare_by_type(results_of(*on_cpu, given), out).mismatch);
  }
  on_gpu.reset();
  CHECK(misuse() == "");
  check_nothing_left();
}

// Tensors of so many rows of 8, which count on from a number each.
Named rows_from(std::int64_t rows, float first) {
  const std::int64_t dims[] = {rows, 8};
  std::vector<float> values(static_cast<std::size_t>(rows * 8));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = first + 0.01f * static_cast<float>(i % 8);
  }
  return {{"x", floats_of(dims, std::move(values))}};
}

constexpr const char* kChain =
    "(float[N,8] x) => (float[N,8] y) { a = Exp(x) b = Softmax(a)"
    " c = Mul(a, b) y = Sub(c, x) }";

TEST_CASE("a run of another shape in between keeps none from being recorded") {
  const auto model = model_of(kChain);
  const auto on_cpu = executor_of(*model, false);
  auto on_gpu = executor_of(*model, true, true);
  Named out;
  for (const std::int64_t rows : {900, 900, 3, 900}) {
    results_of(*on_gpu, rows_from(rows, 0));
  }
  const Named given = rows_from(900, 0.5f);
  CHECK(is_one_launch(*on_gpu, given, &out));
  CHECK(!runtime::compare_by_type(results_of(*on_cpu, given), out).mismatch);
  on_gpu.reset();
  CHECK(misuse() == "");
  check_nothing_left();
}

TEST_CASE("three shapes in turn are recorded, and share a block") {
  const auto model = model_of(kChain);
  const auto on_cpu = executor_of(*model, false);
  auto on_gpu = executor_of(*model, true, true);
  Named out;
  for (int i = 0; i < 6; ++i) {
    CAPTURE(i);
    for (const std::int64_t rows : {900, 2, 70}) {
      const Named given = rows_from(rows, 0.1f * static_cast<float>(i));
      CHECK(is_one_launch(*on_gpu, given, &out) == (i > 2));
      CHECK(
          !runtime::compare_by_type(results_of(*on_cpu, given), out).mismatch);
    }
  }
  constexpr std::size_t kTensor = std::size_t{900} * 8 * sizeof(float);
  CHECK(standin::driver().live_bytes() < 4 * kTensor);
  on_gpu.reset();
  CHECK(misuse() == "");
  check_nothing_left();
}

TEST_CASE("an input that is copied for several graphs changes in all of them") {
  for (const char* text :
       {"g (float[4] x) => (float[4] y) {"
        " a = my.f(x) c = Neg(x) y = Sub(a, c) }",
        "g (float[4] x, float[4] z) => (float[4] y, float[4] w) {"
        " a = my.f(x) b = my.h(x) c = Neg(x) d = Add(a, b) e = Add(d, c)"
        " w = my.f(z) y = Sub(e, z) }"}) {
    const auto counts = check_runs(
        *model_of(std::string("<ir_version: 10, opset_import: [\"\" : 23,"
                              " \"my\" : 1]> ") +
                  text +
                  " <domain: \"my\", opset_import: [\"\" : 23]>"
                  " f (p) => (q) { q = Exp(p) }"
                  " <domain: \"my\", opset_import: [\"\" : 23]>"
                  " h (p) => (q) { q = Abs(p) }"),
        6);
    CHECK(counts.calls == kOneLaunch);
  }
}

TEST_CASE("an input that is an output, too, is the one that is given") {
  const auto counts = check_runs(
      *model_of("(float[4] x, float[4] z) => (float[4] x, float[4] y) {"
                " a = Neg(x) y = Sub(a, z) }"),
      5);
  CHECK(counts.calls == kOneLaunch);
}

TEST_CASE("inputs that were at two addresses may be at one") {
  const auto model =
      model_of("(float[2] x, float[2] y) => (float[2] z) { z = Sub(x, y) }");
  auto on_gpu = executor_of(*model, true, true);
  const std::int64_t two = 2;
  const auto a = floats_of({&two, 1}, {1, 2});
  const auto b = floats_of({&two, 1}, {5, 5});
  for (int i = 0; i < 3; ++i) results_of(*on_gpu, {{"x", a}, {"y", b}});
  const auto difference = [&](const runtime::Datum& x,
                              const runtime::Datum& y) {
    Named out;
    CHECK(is_one_launch(*on_gpu, {{"x", x}, {"y", y}}, &out));
    return out[0].second.tensor().data<float>()[0];
  };
  CHECK(difference(b, b) == 0);
  CHECK(difference(b, a) == 4);
  CHECK(difference(a, a) == 0);
  CHECK(difference(a, b) == -4);
  on_gpu.reset();
  CHECK(misuse() == "");
}

TEST_CASE("a run that is traced waits for each node, and others are recorded") {
  const auto model = model_of(kChain);
  const auto on_cpu = executor_of(*model, false);
  for (const int before : {0, 4}) {
    auto on_gpu = executor_of(*model, true, true);
    for (int i = 0; i < before; ++i) results_of(*on_gpu, rows_from(5, 0));
    const Named given = rows_from(5, 1);
    int nodes = 0;
    on_gpu->trace([&](const auto&, auto, double begin, double end) {
      ++nodes;
      CHECK(begin <= end);
    });
    standin::driver().counts = {};
    Named out = results_of(*on_gpu, given);
    CHECK(nodes > 1);
    CHECK(standin::driver().counts.calls["cuStreamSynchronize"] >=
          static_cast<std::size_t>(nodes));
    CHECK(!runtime::compare_by_type(results_of(*on_cpu, given), out).mismatch);
    on_gpu->trace({});
    for (int i = 0; i < 3; ++i) results_of(*on_gpu, given);
    CHECK(is_one_launch(*on_gpu, given, &out));
    on_gpu.reset();
    CHECK(misuse() == "");
    check_nothing_left();
  }
}

TEST_CASE("inputs that were at one address are told apart") {
  const auto model =
      model_of("(float[2] x, float[2] y) => (float[2] z) { z = Sub(x, y) }");
  auto on_gpu = executor_of(*model, true, true);
  const std::int64_t two = 2;
  const auto both = floats_of({&two, 1}, {1, 2});
  for (int i = 0; i < 3; ++i) results_of(*on_gpu, {{"x", both}, {"y", both}});
  const auto other = floats_of({&two, 1}, {5, 5});
  const Named out = results_of(*on_gpu, {{"x", other}, {"y", both}});
  CHECK(out[0].second.tensor().data<float>()[0] == 4);
  CHECK(out[0].second.tensor().data<float>()[1] == 3);
  on_gpu.reset();
  CHECK(misuse() == "");
}

TEST_CASE("what the host draws is the same in a recorded run") {
  const auto model = model_of(
      "(float[N,4] x) => (float[N,4] y, float[1,4] r)"
      " <float[1,4] w = {0.5, 0.5, 0.5, 0.5}> {"
      " r = RandomNormal<shape = [1,4]>() u = RandomUniformLike(w)"
      " b = Bernoulli(w) s = RandomNormal<shape = [1,4], seed = 3.0>()"
      " c = Add(x, r) d = Mul(c, u) e = Add(d, b) y = Sub(e, s) }");
  const auto on_cpu = executor_of(*model, false);
  auto on_gpu = executor_of(*model, true, true);
  const auto inputs = [&](std::int64_t rows) {
    const std::int64_t dims[] = {rows, 4};
    return Named{
        {"x", floats_of(dims, std::vector<float>(
                                  static_cast<std::size_t>(rows * 4), 0.25f))}};
  };
  const runtime::DrawnCounts none;
  const auto check_alike = [&](std::int64_t rows,
                               const runtime::DrawnCounts* alike) {
    const auto expected = on_cpu->run(inputs(rows), nullptr, alike);
    const auto found = on_gpu->run(inputs(rows), nullptr, alike);
    REQUIRE(expected.ok());
    REQUIRE(found.ok());
    CHECK(!runtime::compare_by_type(*expected, *found).mismatch);
    CHECK(on_gpu->drawn() == on_cpu->drawn());
  };
  Named out;
  for (const std::int64_t rows : {2, 5, 2}) {
    for (int i = 0; i < 3; ++i) check_alike(rows, nullptr);
    CHECK(is_one_launch(*on_gpu, inputs(rows), &out));
    check_alike(rows, nullptr);
    check_alike(rows, &none);
  }
  // A run that draws other numbers is not the one that is recorded.
  auto other = executor_of(*model, true, true);
  for (int i = 0; i < 4; ++i) {
    REQUIRE(other->run(inputs(2), nullptr, &none).ok());
  }
  CHECK(!other->is_recorded());
  for (int i = 0; i < 2; ++i) results_of(*other, inputs(2));
  CHECK(is_one_launch(*other, inputs(2), &out));
  CHECK(
      !runtime::compare_by_type(results_of(*on_cpu, inputs(2)), out).mismatch);
  other.reset();
  on_gpu.reset();
  CHECK(misuse() == "");
}

std::size_t heuristics() {
  return standin::driver().counts.calls["cublasLtMatmulAlgoGetHeuristic"];
}

TEST_CASE("the run that is recorded plans no product anew") {
  const auto model = model_of(
      "(float[2,8] x, float[8,8] w) => (float[2,8] y) { a = Exp(x)"
      " b = MatMul(a, w) c = MatMul(b, w) d = Add(b, c) e = MatMul(d, w)"
      " y = Sub(e, a) }");
  const auto on_cpu = executor_of(*model, false);
  auto on_gpu = executor_of(*model, true, true);
  for (std::size_t i = 0; i < 3; ++i) {
    standin::driver().counts = {};
    results_of(*on_gpu, inputs_of(*on_cpu, *model, i));
    CHECK((heuristics() > 0) == (i == 0));
  }
  CHECK(on_gpu->is_recorded());
  on_gpu.reset();
  CHECK(misuse() == "");
}

TEST_CASE("of too many plans of products the last ones are kept") {
  const auto model = model_of(
      "(float[N,2] x) => (float[N,2] y) <float[2,2] w = {1,2,3,4}> {"
      " y = MatMul(x, w) }");
  auto on_gpu = executor_of(*model, true);
  const auto plans_for = [&](std::int64_t rows) {
    const std::int64_t dims[] = {rows, 2};
    standin::driver().counts = {};
    results_of(
        *on_gpu,
        {{"x", floats_of(dims, std::vector<float>(std::size_t(2 * rows)))}});
    return heuristics();
  };
  constexpr std::int64_t kMost = 1024;
  for (std::int64_t rows = 1; rows <= kMost; ++rows) {
    REQUIRE(plans_for(rows) == 1);
  }
  CHECK(plans_for(1) == 0);
  CHECK(plans_for(kMost + 1) == 1);  // drops 2
  CHECK(plans_for(1) == 0);
  CHECK(plans_for(3) == 0);
  CHECK(plans_for(2) == 1);
  on_gpu.reset();
  CHECK(misuse() == "");
  check_nothing_left();
}

}  // namespace
}  // namespace ruleengine::kernels
