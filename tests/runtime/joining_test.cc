// What is joined runs apart where its kernel declines it.
#include "runtime/joining.h"

#include <doctest/doctest.h>

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
  ExecutorOptions options{.threads = 1};
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
