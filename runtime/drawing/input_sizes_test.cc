#include "runtime/drawing/input_sizes.h"

#include <doctest/doctest.h>

#include "core/text/parse.h"
#include "runtime/drawing/input_source.h"

namespace ruleengine::runtime {
namespace {

std::map<std::string, std::int64_t> solved(
    std::string_view text, std::size_t round = 0,
    const std::map<std::string, std::int64_t>& given = {}) {
  const auto model = text::parse_model(text);
  REQUIRE_MESSAGE(model.ok(), (model ? "" : model.error().text()));
  InputSource source(**model, given);
  return source.sizes().named(source.sizes().solve(round));
}

constexpr std::string_view kCached =
    "g (float[B,T] x, float[B,P] p, float[C,S] s) => (float[B,T] y) {"
    " c = Concat <axis = 1> (p, s) y = Add(x, c) }";

TEST_CASE("sums and equal names") {
  for (const std::size_t round : {0u, 1u, 2u}) {
    auto sizes = solved(kCached, round);
    CHECK(sizes["T"] == sizes["P"] + sizes["S"]);
    CHECK(sizes["B"] == sizes["C"]);
    CHECK(sizes["P"] != sizes["S"]);
  }
  CHECK(solved(kCached)["P"] != solved(kCached, 1)["P"]);
  auto sizes = solved(kCached, 0, {{"T", 9}, {"P", 4}});
  CHECK(sizes["S"] == 5);
}

TEST_CASE("what is divided, and products") {
  auto sizes = solved(
      "g (float[B,S] x) => (float[?,12] y)"
      " <int64[2] to = {-1, 12}> { y = Reshape(x, to) }");
  CHECK(sizes["B"] * sizes["S"] % 12 == 0);
  sizes = solved(
      "g (float[B,S] x) => (float[7,11] y)"
      " <int64[2] to = {7, 11}> { y = Reshape(x, to) }");
  CHECK(sizes["B"] * sizes["S"] == 77);
}

TEST_CASE("sums of products") {
  auto sizes = solved(
      "g (float[N] x, float[M,K] w) => (float[2] y)"
      " <int64[1] flat = {-1}, int64[1] two = {2}> {"
      " v = Reshape(w, flat) c = Concat <axis = 0> (x, v)"
      " y = Reshape(c, two) }");
  CHECK(sizes["N"] + sizes["M"] * sizes["K"] == 2);
}

TEST_CASE("a broadcast to a constant size") {
  const auto sizes = solved(
      "g (float[B,S] x) => (float[B,6] y)"
      " <float[6] c = {1,2,3,4,5,6}> { y = Add(x, c) }");
  CHECK(sizes.at("S") == 6);
}

}  // namespace
}  // namespace ruleengine::runtime
