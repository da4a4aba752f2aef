// The executor with the CPU's kernels: lifetimes, subgraphs, functions and
// errors. conformance_test.py tests the results of each op.
#include "runtime/executor.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "core/io/load.h"
#include "core/text/parse.h"
#include "kernels/cpu.h"
#include "runtime/random_inputs.h"

namespace ruleengine::runtime {
namespace {

Tensor floats(Shape dims, const std::vector<float>& values) {
  auto block = std::make_shared<std::vector<float>>(values);
  return {DataType::kFloat, dims,
          std::shared_ptr<const std::byte>(
              block, reinterpret_cast<const std::byte*>(block->data()))};
}
Tensor vector(const std::vector<float>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return floats({&count, 1}, values);
}

// A model, and the executor of it.
struct Runner {
  explicit Runner(std::string_view text, ExecutorOptions options = {}) {
    auto parsed = text::parse_model(text);
    REQUIRE_MESSAGE(parsed.ok(), (parsed ? "" : parsed.error().text()));
    model = *std::move(parsed);
    options.backends = {&kernels::cpu()};
    options.threads = 2;
    auto made = Executor::create(*model, std::move(options));
    if (made) {
      executor = *std::move(made);
    } else {
      error = made.error();
    }
  }

  // The first output.
  std::vector<float> run(const Executor::Named& inputs) {
    REQUIRE(executor);
    const auto out = executor->run(inputs);
    REQUIRE_MESSAGE(out.ok(), (out ? "" : out.error().text()));
    const auto values = (*out)[0].second.tensor().values<float>();
    return {values.begin(), values.end()};
  }
  Diagnostic refused(const Executor::Named& inputs) {
    REQUIRE(executor);
    const auto out = executor->run(inputs);
    REQUIRE(!out.ok());
    return out.error();
  }

  std::unique_ptr<ir::Model> model;
  std::unique_ptr<Executor> executor;
  Diagnostic error;
};

using Row = std::vector<float>;

TEST_CASE("only the memory of a dying input is overwritten") {
  Runner r(
      "(float[2] x) => (float[2] z) {"
      " a = Add(x, x) b = Add(a, a) c = Mul(a, b) d = Add(c, a)"
      " z = Sub(d, b) }");
  const Tensor x = vector({1, 3});
  CHECK(r.run({{"x", x}}) == Row{6, 66});
  CHECK(r.run({{"x", x}}) == Row{6, 66});
  CHECK(x.data<float>()[1] == 3);
}

TEST_CASE("a view keeps the bytes alive") {
  Runner r(
      "(float[2] x) => (float[2] z) <int64[2] s = {1,2}, int64[1] t = {-1}> {"
      " a = Add(x, x) b = Reshape(a, s) c = Add(a, a) d = Reshape(b, t)"
      " z = Add(c, d) }");
  CHECK(r.run({{"x", vector({1, 2})}}) == Row{6, 12});
}

TEST_CASE("an output that is another output, an input or a constant") {
  Runner r(
      "(float[1] x) => (float[1] a, float[1] a2, float[1] x, float[1] c)"
      " <float[1] c = {7}> { a = Add(x, c)  a2 = Identity(a) }");
  const auto out = r.executor->run({{"x", vector({1})}});
  REQUIRE(out.ok());
  const float expected[] = {8, 8, 1, 7};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK((*out)[i].second.tensor().data<float>()[0] == expected[i]);
  }
}

template <typename T>
Tensor scalar(DataType type, T value) {
  auto block = std::make_shared<T>(value);
  return {type,
          {},
          std::shared_ptr<const std::byte>(
              block, reinterpret_cast<const std::byte*>(block.get()))};
}
Tensor flag(bool value) { return scalar(DataType::kBool, value); }

TEST_CASE("values live until the innermost subgraph that reads them ran") {
  // Two levels deep; `b` would reuse the memory of `a` if `a` were dead.
  Runner deep(
      "(float[1] x, bool c) => (float[1] z) { a = Add(x, x)"
      " z = If (c) <then_branch = t () => (float[1] p) {"
      "   b = Neg(x)"
      "   d = If (c) <then_branch = t2 () => (float[1] q) { q = Sub(a, b) },"
      "               else_branch = e2 () => (float[1] r) { r = Neg(b) }>"
      "   f = Neg(d) p = Add(f, a) },"
      " else_branch = e () => (float[1] s) { s = Neg(x) }> }");
  CHECK(deep.run({{"x", vector({2})}, {"c", flag(true)}}) == Row{-2});
  // The inner subgraph reads it last; or none reads it, and one returns it.
  Runner last(
      "(float[1] x, bool c) => (float[1] z) { a = Add(x, x) b = Mul(a, x)"
      " g = Sub(b, x)"
      " z = If (c) <then_branch = t () => (float[1] p) {"
      "   p = If (c) <then_branch = t2 () => (float[1] q) {"
      "                 k = Neg(x) l = Neg(k) q = Mul(a, l) },"
      "               else_branch = e2 () => (float[1] r) { r = Neg(b) }> },"
      " else_branch = e () => (float[1] g) {}> }");
  CHECK(last.run({{"x", vector({3})}, {"c", flag(true)}}) == Row{18});
  CHECK(last.run({{"x", vector({3})}, {"c", flag(false)}}) == Row{15});
  // In each iteration of a loop.
  Runner loop(
      "(float[1] x, bool c, int64 n) => (float[1] z) { a = Add(x, x)"
      " z = Loop (n, c, x) <body = l (int64 i, bool go, float[1] v)"
      "     => (bool on, float[1] w) {"
      "   on = Identity(go) u = Neg(v)"
      "   w = If (go) <then_branch = t () => (float[1] p) { p = Sub(a, u) },"
      "                else_branch = e () => (float[1] a) {}> }> }");
  const Tensor rounds = scalar(DataType::kInt64, std::int64_t{3});
  CHECK(loop.run({{"x", vector({1})}, {"c", flag(true)}, {"n", rounds}}) ==
        Row{7});
}

TEST_CASE("subgraphs read values from outside in each run") {
  Runner r(
      "(float[1] x, bool c) => (float[1] z) { a = Add(x, x)"
      " b = If (c) <then_branch = t () => (float[1] p) { p = Add(a, x) },"
      " else_branch = e () => (float[1] q) { q = Sub(x, a) }>"
      " z = Mul(b, a) }");
  CHECK(r.run({{"x", vector({2})}, {"c", flag(true)}}) == Row{24});
  CHECK(r.run({{"x", vector({2})}, {"c", flag(false)}}) == Row{-8});
}

// "{0.1,0.2,...}", of so many numbers.
std::string numbers_text(std::int64_t count) {
  std::string out;
  for (std::int64_t i = 0; i < count; ++i) {
    out += (i == 0 ? "{" : ",") + std::to_string(double(i * 7 % 19 - 9) / 16);
  }
  return out + "}";
}

TEST_CASE("gates by weights that are arranged are those by weights as given") {
  struct Case {
    std::string node;
    std::int64_t gates;
  };
  const Case cases[] = {
      {"RNN <hidden_size = 3, direction = \"bidirectional\"", 1},
      {"GRU <hidden_size = 3, direction = \"bidirectional\"", 3},
      {"GRU <hidden_size = 3, direction = \"bidirectional\", "
       "linear_before_reset = 1",
       3},
      {"LSTM <hidden_size = 3, direction = \"bidirectional\"", 4},
  };
  for (const auto& [node, gates] : cases) {
    for (const auto& [type, code] :
         {std::pair("float", "1"), {"float16", "10"}, {"double", "11"}}) {
      CAPTURE(node);
      CAPTURE(type);
      const auto weights = [&](const std::string& name, std::int64_t columns) {
        return type + ("[2," + std::to_string(3 * gates)) + "," +
               std::to_string(columns) + "] " + name + " = " +
               numbers_text(6 * gates * columns);
      };
      const std::string text =
          "(float[4,1,2] x) => (float[4,2,1,3] y) <" + weights("w", 2) + ", " +
          weights("r", 3) + "> { a = Cast <to = " + code +
          "> (x)  b = " + node + "> (a, w, r)  y = Cast <to = 1> (b) }";
      Runner plain(text), arranged(text, {.runs_often = true});
      const Tensor x =
          floats(Dims{4, 1, 2}, {1, -2, 0.5, 3, -1, 2, 0.25, -0.5});
      const Row expected = plain.run({{"x", x}});
      for (int turn = 0; turn < 2; ++turn) {
        const Row found = arranged.run({{"x", x}});
        for (std::size_t i = 0; i < expected.size(); ++i) {
          CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-3));
        }
      }
    }
  }
}

TEST_CASE("products of bytes by weights that are arranged are those as given") {
  for (const std::string type : {"uint8", "int8"}) {
    std::string numbers;
    for (int i = 0; i < 24; ++i) {
      const int each = i * 37 % 100 + (type == "int8" ? -50 : 0);
      numbers += (i == 0 ? "{" : ",") + std::to_string(each);
    }
    numbers += "}";
    for (const std::string node :
         {"[4,6] w = N, T[6] z = {1,2,3,4,5,6}> { a = Cast <to = 2> (x) "
          "  b = MatMulInteger (a, w, u, z)",
          "[2,3,2,2] w = N, T[2] z = {3,5}> { a = Cast <to = 2> (x) "
          "  s = Constant <value_ints = [1,6,3,2]> () c = Reshape (a, s)"
          "  b = ConvInteger <group = 2, pads = [1,0,0,1]> (c, w, u, z)"}) {
      std::string text = "(float[9,4] x) => (float[1] y) <uint8 u = {7}, T" +
                         node + " y = Cast <to = 1> (b) }";
      text = std::regex_replace(text, std::regex("\\bT\\b"), type);
      text = std::regex_replace(text, std::regex("\\bN\\b"), numbers);
      CAPTURE(text);
      Runner plain(text), arranged(text, {.runs_often = true});
      std::vector<float> all(36);
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = float(i * 71 % 256);
      const Tensor x = floats(Dims{9, 4}, all);
      const Row expected = plain.run({{"x", x}});
      CHECK(expected != Row(expected.size(), 0));
      for (int turn = 0; turn < 2; ++turn) {
        CHECK(arranged.run({{"x", x}}) == expected);
      }
    }
  }
}

TEST_CASE("a Constant node is no reader of what it is given") {
  Runner alone(
      "(float[2] x) => (float[2] y) {"
      " y = Constant<value = float[2] {3, 4}>(x) }");
  CHECK(alone.run({{"x", vector({1, 2})}}) == Row{3, 4});
  Runner last(
      "(float[2] x) => (float[2] y) {"
      " a = Neg(x) c = Constant<value = float[2] {3, 4}>(x)"
      " b = Relu(x) d = Add(a, c) y = Add(b, d) }");
  CHECK(last.run({{"x", vector({1, 2})}}) == Row{3, 4});
}

TEST_CASE("a step with constant inputs runs once where runs repeat") {
  const char* kText =
      "(float[N,2] x, bool c, float[2] given) => (float[N,2] y, float[2,2] t)"
      " <int8[2,2] q = {1, 2, 3, -4}, float s = {0.5}, int64[2] most = {1024,"
      "  1024}, int64[1] three = {3}, float two = {2}, float[2] given = {7, 8}>"
      "{ w = DequantizeLinear(q, s)  t = Transpose<perm = [1, 0]>(w)"
      "  p = MatMul(x, t)"
      // Not: the result may be another one, is large, or none.
      "  n = Neg(given)  a = Add(p, n)"
      "  e = Expand(two, most)  m = ReduceMax<keepdims = 0>(e)"
      "  y = If(c) <then_branch = yes () => (float[N,2] z) { u = Exp(s)  v = "
      "Mul(u, m)"
      "               z = Mul(a, v) },"
      "             else_branch = no () => (float[N,2] r) { f = Reshape(t, "
      "three)"
      "               h = ReduceMax<keepdims = 0>(f)  r = Mul(a, h) }> }";
  for (const bool often : {false, true}) {
    CAPTURE(often);
    std::set<std::string> ran;
    const Trace trace = [&](const ir::Graph& graph, ir::NodeId node, double,
                            double) { ran.insert(graph.op(node).text()); };
    Runner runner(kText, {.runs_often = often, .trace = trace});
    REQUIRE_MESSAGE(runner.executor, runner.error.text());
    const std::int64_t dims[] = {1, 2};
    const Tensor x = floats(dims, {1, 2});
    const float by = 2 * std::exp(0.5F);
    for (int i = 0; i < 3; ++i) {
      ran.clear();
      CHECK(runner.run({{"x", x}, {"c", flag(true)}}) ==
            std::vector<float>{by * (2.5F - 7), by * (-2.5F - 8)});
      const std::set<std::string> others = {
          "Add", "Expand", "If", "MatMul", "Mul", "Neg", "ReduceMax"};
      std::set<std::string> all = others;
      if (!often) all.insert({"DequantizeLinear", "Exp", "Transpose"});
      CHECK(ran == all);
      CHECK(runner.run(
                {{"x", x}, {"c", flag(true)}, {"given", vector({0, 0})}}) ==
            std::vector<float>{by * 2.5F, by * -2.5F});
      CHECK(runner.refused({{"x", x}, {"c", flag(false)}})
                .where.find("Reshape") != std::string::npos);
    }
  }
}

TEST_CASE("functions of the model, also with attributes") {
  Runner r(
      "<ir_version: 10, opset_import: [\"\": 18, \"com.example\": 1]>"
      "g (float[2] x) => (float[2] z) {"
      "  y = com.example.F <alpha = 0.5> (x)"
      "  z = com.example.F <alpha = 2.0> (y) }"
      "<domain: \"com.example\", opset_import: [\"\": 18]>"
      "F <alpha> (a) => (b) { b = LeakyRelu <alpha: float = @alpha> (a) }");
  CHECK(r.run({{"x", vector({-3, 3})}}) == Row{-3, 3});
}

TEST_CASE("the error names all ops without a kernel") {
  const Runner r(
      "(float[2] x) => (float[2] z) {"
      " a = com.example.F(x) b = com.example.F(a) z = org.other.G(b) }");
  CHECK(!r.executor);
  CHECK(r.error.what == "no kernel for com.example.F (2 nodes), org.other.G");
}

TEST_CASE("the error names an input that does not fit") {
  Runner r(
      "(float[N,2] first, float[N] second) => (float[N,2] z) {"
      " z = Add(first, first) }");
  const std::int64_t two[] = {2, 2}, one[] = {2, 1};
  const Tensor good = floats(two, {1, 2, 3, 4});
  CHECK(r.refused({{"first", good}}).what == "input 'second' is missing");
  const Diagnostic name = r.refused({{"frist", good}});
  CHECK(name.what == "the model has no input 'frist'");
  CHECK(name.hint == "did you mean 'first'?");
  CHECK(r.refused({{"first", good}, {"first", good}}).what ==
        "input 'first' is given twice");
  CHECK(r.refused({{"first", vector({1})}, {"second", vector({1})}}).what ==
        "wrong rank of input 'first'");
  CHECK(r.refused({{"first", floats(one, {1, 2})}, {"second", vector({1})}})
            .found == "float[2,1]");
  CHECK(r.refused({{"first", good}, {"second", vector({1, 2, 3})}}).expected ==
        "float[N] with N = 2");
  CHECK(r.refused(
             {{"first", good.as(DataType::kInt32)}, {"second", vector({1, 2})}})
            .what == "wrong type of input 'first'");
}

TEST_CASE("a failure names the node") {
  Runner r(
      "(float[N] x, float[M] y) => (float[K] z) { a = Neg(x)"
      " [sum] z = Add(a, y) }");
  const Diagnostic error =
      r.refused({{"x", vector({1, 2})}, {"y", vector({1, 2, 3})}});
  CHECK(error.what == "shapes do not broadcast to each other");
  CHECK(error.where.find("sum") != std::string::npos);
  CHECK(error.found == "2 and 3");
  CHECK(r.run({{"x", vector({1, 2})}, {"y", vector({1})}}) == Row{0, -1});
}

TEST_CASE("limits and cancellation end a run, not the next one") {
  const char* text =
      "(float[N] x, int64[1] s) => (float[M] z) { z = Expand(x, s) }";
  auto block = std::make_shared<std::int64_t>(std::int64_t{1} << 40);
  const std::int64_t one = 1;
  const Tensor size(
      DataType::kInt64, {&one, 1},
      std::shared_ptr<const std::byte>(
          block, reinterpret_cast<const std::byte*>(block.get())));
  Runner limited(text, {.memory = HostMemory::create(1 << 20)});
  CHECK(limited.refused({{"x", vector({1})}, {"s", size}}).kind ==
        ErrorKind::kLimit);
  *block = 3;
  CHECK(limited.run({{"x", vector({1})}, {"s", size}}) == Row{1, 1, 1});
  bool stop = true;
  Runner cancelled(text, {.is_cancelled = [&] { return stop; }});
  CHECK(cancelled.refused({{"x", vector({1})}, {"s", size}}).what ==
        "the run was ended");
  stop = false;
  CHECK(cancelled.run({{"x", vector({1})}, {"s", size}}).size() == 3);
}

TEST_CASE("peak memory is that of the live values") {
  std::string text = "(float[1024] x) => (float[1024] z) { v0 = Neg(x)";
  for (int i = 0; i < 20; ++i) {
    text += " v" + std::to_string(i + 1) + " = Concat <axis = 0> (v" +
            std::to_string(i) + ") ";
  }
  Runner r(text + " z = Neg(v20) }");
  r.run({{"x", vector(Row(1024))}});
  CHECK(r.executor->peak_bytes() <= 2 * 4096);
  CHECK(r.executor->held_bytes() <= 2 * 4096 + 256);
}

// What runs from the third one on take: the results are those of the first.
void check_arena(const std::filesystem::path& file, int threads) {
  const auto model = io::load(file.string());
  REQUIRE_MESSAGE(model.ok(), (model ? "" : model.error().text()));
  auto made = Executor::create(
      **model,
      {.backends = {&kernels::cpu()}, .runs_often = true, .threads = threads});
  REQUIRE(made.ok());
  Executor& executor = **made;
  const auto inputs =
      inputs_to_run(executor, **model, {}, HostMemory::create());
  REQUIRE_MESSAGE(inputs.ok(), (inputs ? "" : inputs.error().text()));
  const auto first = executor.run(*inputs);
  REQUIRE(first.ok());
  const std::size_t live = executor.peak_bytes();
  std::size_t kept = 0;  // outputs have blocks of their own
  for (const auto& [output, value] : *first) {
    kept += value.tensor().byte_size() + 64;
  }
  for (int i = 0; i < 3; ++i) {
    const auto again = executor.run(*inputs);
    REQUIRE(again.ok());
    for (std::size_t k = 0; k < first->size(); ++k) {
      CHECK(std::ranges::equal((*first)[k].second.tensor().bytes(),
                               (*again)[k].second.tensor().bytes()));
    }
  }
  // What several threads ask for is beside the arena. The first outputs are
  // still there, too.
  if (threads == 1) {
    CHECK(executor.peak_bytes() <= live + live / 20 + 2 * kept);
  }
}

TEST_CASE("an arena leaves the memory to runs of other shapes") {
  Runner r(
      "(float[N] x) => (float[N] z) { a = Tanh(x) b = Add(a, x) "
      "c = Mul(a, b) z = Sub(c, x) }",
      {.runs_often = true, .memory = HostMemory::create(30000)});
  const Executor::Named small{{"x", vector(Row(1000))}};
  const Executor::Named large{{"x", vector(Row(2000))}};
  for (int i = 0; i < 4; ++i) r.run(small);
  CHECK(r.run(large).size() == 2000);
  CHECK(r.run(small).size() == 1000);
}

TEST_CASE("the arena of an export is hardly larger than its live values") {
  const std::filesystem::path folder =
      std::filesystem::path(RULEENGINE_SOURCE_DIR) / "tests" / "data" /
      "models";
  for (const std::string name :
       {"bert.d18_sdpa", "gpt2_kv.ts17_sdpa", "phi3.old17_eager",
        "neg_resnet18.ts17_native", "whisper_encoder.old17_eager"}) {
    CAPTURE(name);
    check_arena(folder / (name + ".onnx"), 1);
    check_arena(folder / (name + ".onnx"), 2);
  }
}

}  // namespace
}  // namespace ruleengine::runtime
