// What is joined runs apart where its kernel declines it.
#include "runtime/joining.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "core/ops/dialect.h"
#include "core/text/parse.h"
#include "kernels/cpu.h"
#include "runtime/compare.h"
#include "runtime/executor.h"
#include "runtime/random_inputs.h"

namespace ruleengine::runtime {
namespace {

// Has a kernel for what is joined, and declines each.
class Declining final : public Backend {
 public:
  std::string_view name() const override { return "declining"; }
  bool has_kernel(std::string_view domain,
                  std::string_view type) const override {
    return domain == ops::dialect::kOwn && type == kJoinedProduct;
  }
  std::unique_ptr<BackendSession> open() const override {
    class Session final : public BackendSession {
     public:
      std::unique_ptr<const PreparedNode> prepare(const ops::NodeView&,
                                                  const KnownInputs&,
                                                  KernelRun&) override {
        decline("it takes none");
      }
    };
    return std::make_unique<Session>();
  }
};

constexpr const char* kModel =
    "(float[2,3,8] x, float[8,5] w, float[5] b, float[2,3,5] s) =>"
    " (float[2,3,5] y, float[2,3,5] z) {"
    " p = MatMul(x, w) a = Add(s, p) y = Relu(a)"
    " q = MatMul(x, w) c = Add(q, b) d = Add(c, y) z = Neg(d) }";

Executor::Named results(const ir::Model& model, Backends backends,
                        std::size_t* nodes) {
  ExecutorOptions options{.runs_often = true, .threads = 1};
  options.backends = std::move(backends);
  const auto executor = Executor::create(model, std::move(options));
  REQUIRE_MESSAGE(executor.ok(), (executor ? "" : executor.error().text()));
  *nodes = (*executor)->model().graph.live_node_count();
  const auto inputs = random_inputs(model, {}, HostMemory::create());
  REQUIRE(inputs.ok());
  auto out = (*executor)->run(*inputs);
  REQUIRE_MESSAGE(out.ok(), (out ? "" : out.error().text()));
  return *std::move(out);
}

TEST_CASE("what is joined runs apart where it is declined") {
  auto model = text::parse_model(kModel);
  REQUIRE_MESSAGE(model.ok(), (model ? "" : model.error().text()));
  const Declining declining;
  std::size_t nodes = 0;
  const auto expected = results(**model, {&kernels::cpu()}, &nodes);
  CHECK(nodes == 7);
  const auto found = results(**model, {&declining, &kernels::cpu()}, &nodes);
  CHECK(nodes == 3);
  CHECK(!compare_by_type(expected, found).mismatch);
}

std::string numbers(int count) {
  std::string out = "{";
  for (int i = 0; i < count; ++i) {
    if (i > 0) out += ',';
    out += std::to_string(i % 7 - 3);
  }
  return out + '}';
}

TEST_CASE("a product writes its parts") {
  const auto model = text::parse_model(
      "(float[2,3,8] x, float[8] z, float[3,8] t) =>"
      " (float[2,3,32] a, float[2,3,48] b, float[40] d, float[0] f,"
      "  float[40] e, float[3,33] g, float[3,33] h)"
      " <float[8,80] w = " +
      numbers(640) + ", float[1,80] r = " + numbers(80) +
      ", float[66,8] v = " + numbers(528) + ", float[66] c = " + numbers(66) +
      ", int64[2] sizes = {32, 48}, int64[3] more = {40, 0, 40}> {"
      " p = MatMul(x, w) q = Add(r, p) a, b = Split<axis = -1>(q, sizes)"
      " m = MatMul(z, w) d, f, e = Split<axis = 0>(m, more)"
      " n = Gemm<transB = 1>(t, v, c)"
      " g, h = Split<axis = 1, num_outputs = 2>(n) }");
  REQUIRE_MESSAGE(model.ok(), (model ? "" : model.error().text()));
  std::size_t nodes = 0;
  // The backend in front says what is joined.
  const Declining declining;
  const auto expected = results(**model, {&declining, &kernels::cpu()}, &nodes);
  CHECK(nodes == 6);
  const auto found = results(**model, {&kernels::cpu()}, &nodes);
  CHECK(nodes == 3);
  CHECK(!compare_by_type(expected, found).mismatch);
}

TEST_CASE("which products write their parts") {
  const auto is_joined = [](std::string_view outputs, std::string_view nodes) {
    const auto model = text::parse_model(
        "(float[64,64] x, float[64,64] k, float[1,64] l, int64[2] m,"
        " float[64,64] default, int64[2] given) => (" +
        std::string(outputs) +
        "float[N,M] a, float[N,L] b) <float[64,64] w = " + numbers(4096) +
        ", float[64,64] default = " + numbers(4096) +
        ", float[1,64] r = " + numbers(64) +
        ", int64[2] sizes = {32, 32}, int64[2] given = {32, 32},"
        " int64[2] few = {33, 31}, int64[2] wrong = {32, 33}> { " +
        std::string(nodes) + " }");
    REQUIRE_MESSAGE(model.ok(), (model ? "" : model.error().text()));
    return join(**model, {.backends = {&kernels::cpu()}}) != nullptr;
  };
  CHECK(is_joined("", "p = MatMul(x, w) a, b = Split<axis = 1>(p, sizes)"));
  for (const auto& [outputs, nodes] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"", "p = MatMul(x, k) a, b = Split<axis = 1>(p, sizes)"},
           {"", "p = MatMul(x, default) a, b = Split<axis = 1>(p, sizes)"},
           {"", "p = MatMul(x, w) a, b = Split<axis = 0>(p, sizes)"},
           {"", "p = MatMul(x, w) a, b = Split<axis = 1>(p, m)"},
           {"", "p = MatMul(x, w) a, b = Split<axis = 1>(p, given)"},
           {"", "p = MatMul(x, w) a, b = Split<axis = 1>(p, wrong)"},
           {"", "p = MatMul(x, w) a, b = Split<axis = 1>(p, few)"},
           {"",
            "p = MatMul(x, w) q = Add(p, l)"
            " a, b = Split<axis = 1>(q, sizes)"},
           {"",
            "p = MatMul(x, w) q = Add(p, r) s = Add(q, r)"
            " a, b = Split<axis = 1>(s, sizes)"},
           {"",
            "p = MatMul(x, w) q = Relu(p)"
            " a, b = Split<axis = 1>(q, sizes)"},
           {"",
            "p = Gemm<transA = 1>(x, w)"
            " a, b = Split<axis = 1>(p, sizes)"},
           {"",
            "p = Gemm<alpha = 2.0>(x, w)"
            " a, b = Split<axis = 1>(p, sizes)"},
           {"",
            "p = Gemm<beta = 2.0>(x, w, r)"
            " a, b = Split<axis = 1>(p, sizes)"},
           {"float[N,M] c, ",
            "p = MatMul(x, w) c = Neg(p)"
            " a, b = Split<axis = 1>(p, sizes)"},
           {"float[N,M] p, ",
            "p = MatMul(x, w) a, b = Split<axis = 1>(p, sizes)"}}) {
    CAPTURE(nodes);
    CHECK(!is_joined(outputs, nodes));
  }
}

TEST_CASE("what a file only declares joins nothing") {
  for (const auto& [shape, count] :
       std::initializer_list<std::pair<std::string_view, int>>{
           {"", 0}, {"[A,4]", 1}, {"[A,B,4]", 0}}) {
    const auto model = text::parse_model(
        "(float" + std::string(shape) +
        " x) => (float a, float b) <float[4,64] w = " + numbers(256) +
        ", float[N,64] p> { p = MatMul(x, w)"
        " a, b = Split<axis = 1, num_outputs = 2>(p) }");
    REQUIRE_MESSAGE(model.ok(), (model ? "" : model.error().text()));
    const auto joined = join(**model, {.backends = {&kernels::cpu()}});
    CAPTURE(shape);
    CHECK((joined != nullptr) == (count == 1));
  }
}

TEST_CASE("a model is joined for a backend that asks for it") {
  const auto model = text::parse_model(kModel);
  REQUIRE(model.ok());
  const Declining declining;
  CHECK(join(**model, {.backends = {&kernels::cpu()}}) == nullptr);
  const auto joined = join(**model, {.backends = {&declining}});
  REQUIRE(joined != nullptr);
  CHECK(joined->functions.size() == 2);
  CHECK((*model)->graph.live_node_count() == 7);
}

}  // namespace
}  // namespace ruleengine::runtime
