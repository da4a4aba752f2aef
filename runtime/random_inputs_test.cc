#include "runtime/random_inputs.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/text/parse.h"

namespace ruleengine::runtime {
namespace {

Executor::Named draw(std::string_view text, const InputOptions& options = {}) {
  const auto model = text::parse_model(text);
  REQUIRE_MESSAGE(model.ok(), (model ? "" : model.error().text()));
  auto inputs = random_inputs(**model, options, HostMemory::create());
  REQUIRE_MESSAGE(inputs.ok(), (inputs ? "" : inputs.error().text()));
  return *std::move(inputs);
}

constexpr std::string_view kLookUp =
    "g (int64[B,S] ids, int64[B,S] mask) => (float[B,S,4] y)"
    " <float[3,4] table = {1,2,3,4,5,6,7,8,9,10,11,12}> {"
    " e = Gather(table, ids) m = Cast <to = 1> (mask)"
    " axes = Constant <value = int64[1] {2}> () u = Unsqueeze(m, axes)"
    " y = Mul(e, u) }";

TEST_CASE("sizes of one name are the same, and given ones are kept") {
  const auto inputs = draw(kLookUp, {.dims = {{"S", 6}}});
  REQUIRE(inputs.size() == 2);
  CHECK(inputs[0].second.tensor().text() == "int64[2,6]");
  CHECK(inputs[1].second.tensor().text() == "int64[2,6]");
}

TEST_CASE("indices lie in their table, masks are 0 and 1") {
  const auto inputs = draw(kLookUp, {.dims = {{"B", 20}, {"S", 30}}});
  for (const auto v : inputs[0].second.tensor().values<std::int64_t>()) {
    REQUIRE((v >= 0 && v < 3));
  }
  const auto mask = inputs[1].second.tensor().values<std::int64_t>();
  for (std::size_t row = 0; row < 20; ++row) {
    // Ones, then zeros.
    for (std::size_t i = 1; i < 30; ++i) {
      REQUIRE(mask[row * 30 + i] <= mask[row * 30 + i - 1]);
    }
    CHECK(mask[row * 30] == 1);
  }
}

TEST_CASE("careful indices are at the start of their table") {
  const auto last = [](std::string_view text, Integers integers) {
    const auto inputs = draw(text, {.integers = integers});
    const auto all = inputs[0].second.tensor().values<std::int64_t>();
    CHECK(std::ranges::min(all) == 0);
    return std::ranges::max(all);
  };
  constexpr std::string_view kKnown =
      "g (int64[999] ids, float[30] x) => (float[999] y) {"
      " y = Gather(x, ids) }";
  CHECK(last(kKnown, Integers::kWide) == 29);
  CHECK(last(kKnown, Integers::kSmall) == 3);
  CHECK(last(kKnown, Integers::kBits) == 1);
  CHECK(last(kKnown, Integers::kOnes) == 0);
  // The size is not known before a run.
  CHECK(last("g (int64[999] ids, float[30] x) => (int64[1,999] y) {"
             " n = NonZero(x) y = Gather <axis = 1> (n, ids) }",
             Integers::kWide) == 15);
}

TEST_CASE("the seed decides") {
  constexpr std::string_view kOne =
      "g (float[8] x) => (float[8] y) { y = Relu(x) }";
  const auto a = draw(kOne), b = draw(kOne),
             c = draw(kOne, {.seed = 1, .dims = {}});
  const auto first = [](const auto& inputs) {
    return inputs[0].second.tensor().template data<float>()[0];
  };
  CHECK(first(a) == first(b));
  CHECK(first(a) != first(c));
}

TEST_CASE("expressions of names") {
  const auto inputs = draw(
      "g (float[S] x, float[\"S + 1\"] z) => (float y) {"
      " a = ReduceSum <keepdims = 0> (x) b = ReduceSum <keepdims = 0> (z)"
      " y = Add(a, b) }",
      {.dims = {{"S", 4}}});
  CHECK(inputs[0].second.tensor().dim(0) == 4);
  CHECK(inputs[1].second.tensor().dim(0) == 5);
}

TEST_CASE("a name that no input has") {
  const auto model = text::parse_model(kLookUp);
  const auto inputs =
      random_inputs(**model, {.dims = {{"T", 1}}}, HostMemory::create());
  REQUIRE_FALSE(inputs.ok());
  CHECK(inputs.error().kind == ErrorKind::kUsage);
}

}  // namespace
}  // namespace ruleengine::runtime
