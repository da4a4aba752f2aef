// Models that run on two backends, of which one has memory of its own: the same
// bits as on the CPU alone, and no copy that is not needed.
#include "kernels/test_device/device.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/io/load.h"
#include "core/text/parse.h"
#include "runtime/executor.h"
#include "runtime/random_inputs.h"
#include "tests/support/model_files.h"
#include "tests/support/tier.h"

namespace ruleengine::kernels {
namespace {

using runtime::Executor;
using runtime::ExecutorOptions;
using Named = Executor::Named;

std::unique_ptr<Executor> executor_of(const ir::Model& model,
                                      ExecutorOptions options) {
  auto made = Executor::create(model, std::move(options));
  REQUIRE_MESSAGE(made.ok(), (made ? "" : made.error().text()));
  return *std::move(made);
}

Named results_of(Executor& executor, const Named& inputs) {
  auto out = executor.run(inputs);
  REQUIRE_MESSAGE(out.ok(), (out ? "" : out.error().text()));
  return *std::move(out);
}

void check_same(const runtime::Datum& a, const runtime::Datum& b) {
  REQUIRE(a.kind() == b.kind());
  if (!a.is_tensor()) return;
  CHECK(b.tensor().place() == nullptr);
  CHECK(a.text() == b.text());
  if (a.tensor().is_string()) return;
  CHECK(std::ranges::equal(a.tensor().bytes(), b.tensor().bytes()));
}

struct Counts {
  std::size_t writes = 0, reads = 0, ran = 0;
  bool operator==(const Counts&) const = default;
};
doctest::String toString(const Counts& c) {
  const std::string text = std::to_string(c.writes) + " writes, " +
                           std::to_string(c.reads) + " reads, " +
                           std::to_string(c.ran) + " nodes";
  return text.c_str();
}

std::shared_ptr<const ir::Model> model_of(std::string_view text) {
  auto parsed = text::parse_model(text);
  REQUIRE_MESSAGE(parsed.ok(), (parsed ? "" : parsed.error().text()));
  return *std::move(parsed);
}

// Runs a model on the CPU, and on the device with the CPU beside it.
struct Both {
  explicit Both(std::shared_ptr<const ir::Model> m, bool runs_often = false)
      : model(std::move(m)) {
    alone = executor_of(
        *model, {.backends = {&cpu()}, .runs_often = runs_often, .threads = 2});
    mixed = executor_of(*model, {.backends = {&device, &cpu()},
                                 .runs_often = runs_often,
                                 .threads = 2});
  }

  void check_runs() {
    const auto inputs = runtime::inputs_to_run(*alone, *model, {},
                                               runtime::HostMemory::create());
    REQUIRE_MESSAGE(inputs.ok(), (inputs ? "" : inputs.error().text()));
    for (int i = 0; i < 4; ++i) {
      const Named expected = results_of(*alone, *inputs);
      before = {device.memory->writes, device.memory->reads, device.ran};
      const Named found = results_of(*mixed, *inputs);
      REQUIRE(found.size() == expected.size());
      for (std::size_t k = 0; k < found.size(); ++k) {
        CAPTURE(found[k].first);
        check_same(expected[k].second, found[k].second);
      }
    }
  }

  // Of the last run.
  Counts counts() const {
    return {device.memory->writes - before.writes,
            device.memory->reads - before.reads, device.ran - before.ran};
  }

  TestDevice device;
  std::shared_ptr<const ir::Model> model;
  std::unique_ptr<Executor> alone, mixed;
  Counts before;
};

TEST_CASE("a chain on the device is moved there once and back once") {
  Both both(model_of(
      "(float[4,8] x) => (float[4,8] y) <float[8] w = {1,2,3,4,5,6,7,8}> {"
      " a = Add(x, w) b = Mul(a, x) y = Tanh(b) }"));
  both.check_runs();
  CHECK(both.counts() == Counts{.writes = 1, .reads = 1, .ran = 3});
  both.mixed.reset();
  CHECK(both.device.memory->blocks == 0);
}

TEST_CASE("a value that several nodes read elsewhere is moved once") {
  Both both(model_of(
      "(float[4] x) => (float[4] y, float[4] z) {"
      " a = Tanh(x) b = Sin(a) c = Cos(a) y = Add(b, c) z = Sub(a, b) }"));
  both.check_runs();
  // x, b and c go there; a, y and z come back.
  CHECK(both.counts() == Counts{.writes = 3, .reads = 3, .ran = 3});
}

TEST_CASE("shapes are computed on the host") {
  Both both(
      model_of("(float[N,8] x) => (float[M,4] y)"
               "<int64 i = {0}, int64[1] two = {2}, int64[1] four = {4}> {"
               " a = Tanh(x) s = Shape(a) n = Gather(s, i) m = Mul(n, two)"
               " t = Concat<axis = 0>(m, four) y = Reshape(a, t) }"));
  both.check_runs();
  // Gather, Mul and Concat of integers could run on the device.
  CHECK(both.counts() == Counts{.writes = 1, .reads = 1, .ran = 2});
}

TEST_CASE("integers run on the device where no shape depends on them") {
  Both both(
      model_of("(int64[4] x) => (int64[4] y) { a = Add(x, x) y = Mul(a, x) }"));
  both.check_runs();
  CHECK(both.counts() == Counts{.writes = 1, .reads = 1, .ran = 2});
}

TEST_CASE("subgraphs run on the device, and read values around them there") {
  Both both(model_of(
      "(float[3,4] x, float[4] z) => (float[4] last, float[3,4] all)"
      "<int64 n = {3}, bool go = {1}> {"
      " w = Tanh(z)"
      " last, all = Loop(n, go, z) <body = b (int64 i, bool c, float[4] s)"
      "  => (bool d, float[4] t, float[4] u) {"
      "   d = Identity(c) r = Gather(x, i) p = Mul(s, w) t = Add(p, r)"
      "   u = Relu(t) }> }"));
  both.check_runs();
  // x and w are not moved for each iteration: w, x, and three states.
  CHECK(both.counts().writes <= 2 + 2 * 3);
  CHECK(both.counts().ran == 1 + 4 * 3);
}

TEST_CASE("functions take and give what is on the device") {
  Both both(model_of(
      "<ir_version: 10, opset_import: [\"\" : 21, \"com.example\" : 1]>"
      "g (float[4] x) => (float[4] y) {"
      " a = Tanh(x) b = com.example.Twice(a) y = Neg(b) }"
      "<domain: \"com.example\", opset_import: [\"\" : 21]>"
      "Twice (p) => (q) { q = Add(p, p) }"));
  both.check_runs();
  CHECK(both.counts().writes == 1);
  CHECK(both.counts().reads == 1);
}

TEST_CASE("sequences stay on the host") {
  Both both(
      model_of("(float[2] x, float[2] z) => (float[4] y) {"
               " a = Tanh(x) b = Relu(z) s = SequenceConstruct(a, b)"
               " c = ConcatFromSequence<axis = 0>(s) y = Neg(c) }"));
  both.check_runs();
  CHECK(both.counts() == Counts{.writes = 3, .reads = 3, .ran = 3});
}

TEST_CASE("constants are moved once for all runs, or not at all") {
  std::string weights = "1";
  for (int i = 1; i < 32; ++i) weights += "," + std::to_string(i);
  const auto model = model_of(
      "(float[4,8] x) => (float[4,4] y) {"
      " w = Constant<value = float[8,4] {" +
      weights +
      "}>()"
      " c = Constant<value = float[4] {1,2,3,4}>()"
      " a = Tanh(x) b = MatMul(a, w) y = Add(b, c) }");
  // Arranged weights stay on the host.
  for (const bool runs_often : {false, true}) {
    Both both(model, runs_often);
    both.check_runs();
    CHECK(both.counts() == Counts{.writes = 1, .reads = 1, .ran = 3});
    CHECK(both.device.memory->writes == 4 + (runs_often ? 1u : 2u));
  }
}

TEST_CASE("two devices hand values to each other through the host") {
  const auto model = model_of(
      "(float[4] x) => (float[4] y) { a = Tanh(x) b = Relu(a) y = Neg(b) }");
  // The second one is asked for what the first one lacks.
  class Part final : public runtime::Backend {
   public:
    explicit Part(const TestDevice& d) : device_(d) {}
    std::string_view name() const override { return "part"; }
    bool has_kernel(std::string_view, std::string_view type) const override {
      return type == "Relu";
    }
    std::unique_ptr<runtime::BackendSession> open() const override {
      return device_.open();
    }

   private:
    const TestDevice& device_;
  };
  const TestDevice first, second;
  const Part part(first);
  const auto mixed =
      executor_of(*model, {.backends = {&part, &second, &cpu()}});
  const auto alone = executor_of(*model, {.backends = {&cpu()}});
  const auto inputs =
      runtime::random_inputs(*model, {}, runtime::HostMemory::create());
  REQUIRE(inputs.ok());
  check_same(results_of(*alone, *inputs)[0].second,
             results_of(*mixed, *inputs)[0].second);
  CHECK(first.ran == 1);
  CHECK(second.ran == 2);
  CHECK(first.memory->writes == 1);
  CHECK(second.memory->writes == 2);
}

TEST_CASE("work that nobody reads is done when a run ends") {
  Both both(
      model_of("(float[4] x) => (float[4] y) {"
               " unread = Tanh(x) y = Sin(x) }"));
  both.check_runs();
  CHECK(both.counts().ran == 1);
  CHECK(both.device.memory->is_idle());
}

TEST_CASE("a run that fails leaves nothing behind on the device") {
  const auto model = model_of(
      "(float[N] x, int64[1] s) => (float[M] y) {"
      " a = Tanh(x) b = Reshape(a, s) y = Add(b, b) }");
  const TestDevice device(1024);
  const auto executor = executor_of(*model, {.backends = {&device, &cpu()}});
  const auto tensor = [](ir::DataType type, std::int64_t count, auto fill) {
    auto values = std::make_shared<std::vector<decltype(fill)>>(
        static_cast<std::size_t>(count), fill);
    return runtime::Datum(runtime::Tensor(
        type, {&count, 1},
        std::shared_ptr<const std::byte>(
            values, reinterpret_cast<const std::byte*>(values->data()))));
  };
  const auto run = [&](std::int64_t count, std::int64_t shape) {
    return executor->run({{"x", tensor(ir::DataType::kFloat, count, 1.0f)},
                          {"s", tensor(ir::DataType::kInt64, 1, shape)}});
  };
  CHECK(run(4, 4).ok());
  CHECK(run(4, 5).error().text().find("Reshape") != std::string::npos);
  CHECK(run(4, 4).ok());
  const auto large = run(500, 500);
  REQUIRE(!large.ok());
  CHECK(large.error().kind == ErrorKind::kLimit);
  CHECK(run(4, 4).ok());
  CHECK(device.memory->blocks == 0);
}

TEST_CASE("models run mixed to the same bits") {
  const auto files = model_files(RULEENGINE_SOURCE_DIR);
  REQUIRE(!files.empty());
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!has_turn(i, 8)) continue;
    CAPTURE(files[i].string());
    auto loaded = io::load(files[i].string());
    REQUIRE_MESSAGE(loaded.ok(), (loaded ? "" : loaded.error().text()));
    Both both(*std::move(loaded), i % 2 == 0);
    both.check_runs();
    const Counts counts = both.counts();
    CHECK(counts.ran > 0);
    CHECK(counts.writes + counts.reads < 2 * counts.ran);
  }
}

// --- nodes that kernels decline ----------------------------------------------

// The CPU without the kernels for some ops.
class Declining final : public runtime::Backend {
 public:
  std::string_view name() const override { return "declining"; }
  bool has_kernel(std::string_view domain,
                  std::string_view type) const override {
    return cpu().has_kernel(domain, type);
  }
  std::unique_ptr<runtime::BackendSession> open() const override {
    class Session final : public runtime::BackendSession {
     public:
      std::unique_ptr<const runtime::PreparedNode> prepare(
          const ops::NodeView& node, const runtime::KnownInputs& known,
          runtime::KernelRun& run) override {
        const ir::Op& op = node.op();
        const bool declines = op.domain == "tensor_cast" || op.type == "Mish" ||
                              op.type == "HardSwish" || op.type == "Sin";
        if (declines) runtime::decline("not today");
        return cpu_->prepare(node, known, run);
      }

     private:
      std::unique_ptr<runtime::BackendSession> cpu_ = cpu().open();
    };
    return std::make_unique<Session>();
  }
};

std::vector<float> run_declining(std::string_view text, std::string* error) {
  const auto model = model_of(text);
  const Declining declining;
  const auto executor = executor_of(*model, {.backends = {&declining}});
  const auto usual = executor_of(*model, {.backends = {&cpu()}});
  const auto inputs =
      runtime::random_inputs(*model, {}, runtime::HostMemory::create());
  REQUIRE(inputs.ok());
  const auto out = executor->run(*inputs);
  if (!out) {
    *error = out.error().text();
    return {};
  }
  const auto found = (*out)[0].second.tensor().values<float>();
  const runtime::Tensor expected =
      results_of(*usual, *inputs)[0].second.tensor();
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i] == doctest::Approx(expected.data<float>()[i]));
  }
  return {found.begin(), found.end()};
}

TEST_CASE(
    "a declined node runs by its meaning, by more than one where need be") {
  std::string error;
  // Its function calls HardSwish's, which is declined in turn.
  CHECK(run_declining("<ir_version: 10, opset_import: [\"\" : 22]> g "
                      "(float[8] x) => (float[8] y) { y = HardSwish(x) }",
                      &error)
            .size() == 8);
  CHECK(run_declining(
            "<ir_version: 10, opset_import: [\"\" : 22, \"tensor_cast\" : 1]> "
            "g (float[2,8] x) => (float[2,8] y) {"
            " a = Mish(x) y = tensor_cast.rms_norm(a) }",
            &error)
            .size() == 16);
  CHECK(error == "");
}

TEST_CASE("a declined node runs the function that the file has for it") {
  const auto model = model_of(
      "<ir_version: 10, opset_import: [\"\" : 22, \"tensor_cast\" : 1]> "
      "g (float[4] x) => (float[4] y) { y = tensor_cast.rms_norm(x) } "
      "<domain: \"tensor_cast\", opset_import: [\"\" : 22]> "
      "rms_norm (a) => (b) { b = Neg(a) }");
  const Declining declining;
  const auto executor = executor_of(*model, {.backends = {&declining}});
  const auto inputs =
      runtime::random_inputs(*model, {}, runtime::HostMemory::create());
  REQUIRE(inputs.ok());
  const Named out = results_of(*executor, *inputs);
  CHECK(out[0].second.tensor().data<float>()[0] ==
        -(*inputs)[0].second.tensor().data<float>()[0]);
}

TEST_CASE("a declined node in a function knows the types of its inputs") {
  std::string error;
  CHECK(
      run_declining("<ir_version: 10, opset_import: [\"\" : 22, \"f\" : 1, "
                    "\"tensor_cast\" : 1]> g (float[2,8] x) => (float[2,8] y) {"
                    " y = f.G(x) } <domain: \"f\", opset_import: [\"\" : 22, "
                    "\"tensor_cast\" : 1]> G (a) => (b) {"
                    " b = tensor_cast.rms_norm(a) }",
                    &error)
          .size() == 16);
  CHECK(error == "");
}

TEST_CASE("a declined node without a meaning says why nothing runs it") {
  std::string error;
  run_declining("(float[2] x) => (float[2] y) { y = Sin(x) }", &error);
  CHECK(error.find("declining: not today") != std::string::npos);
}

}  // namespace
}  // namespace ruleengine::kernels
