// The library as a program that embeds it calls it.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <stop_token>
#include <thread>

#include "bindings/api/batch.h"
#include "bindings/api/bench.h"
#include "bindings/api/contents.h"
#include "bindings/api/draw.h"
#include "bindings/api/examples.h"
#include "bindings/api/exec.h"
#include "bindings/api/ops.h"
#include "bindings/api/questions.h"
#include "bindings/api/rewrite.h"
#include "bindings/api/run_files.h"
#include "tests/support/rule_folder.h"

namespace ruleengine::api {
namespace {

constexpr std::string_view kModel =
    "<ir_version: 8, opset_import: [\"\" : 17]>"
    "g (float[N,3] x) => (float[N,3] y) {"
    " a = Neg(x) b = Neg(a) y = Exp(b) }";

// A model, and a rule that replaces Neg(Neg(x)).
struct Case {
  explicit Case(const std::string& by)
      : model(folder.write("m.onnxtxt", kModel)),
        rule(folder.write(
            "cancel.lua",
            "return rule {\n"
            "  match = function(op, x) return op.Neg(op.Neg(x)) end,\n"
            "  rewrite = function(op, m) return " +
                by + " end }")) {}

  Result<std::unique_ptr<Rewriter>> rewriter() const {
    return Rewriter::create({.rules = {rule}, .verifies = true});
  }

  lua::RuleFolder folder;
  std::string model, rule;
};

std::string text(const Status& status) {
  return status ? "" : status.error().text();
}

TEST_CASE("texts of rules have names that can be asked for, each once") {
  GivenTexts texts("");
  CHECK(texts.add("pack/r.lua", "one").ok());
  for (const char* name :
       {"pack/r.lua", "", "/r.lua", "../r.lua", "a//r.lua", "./r.lua"}) {
    CAPTURE(name);
    const Status done = texts.add(name, "two");
    REQUIRE(!done.ok());
    CHECK(done.error().kind == ErrorKind::kUsage);
  }
  CHECK(texts.read("pack/r.lua")->value() == "one");
  CHECK(!texts.read("other.lua")->has_value());
  int asked = 0;
  texts.then_ask([&](const std::string& path) {
    ++asked;
    return std::optional("asked for " + path);
  });
  CHECK(texts.read("pack/r.lua")->value() == "one");
  CHECK(texts.read("other.lua")->value() == "asked for other.lua");
  texts.end();
  CHECK(!texts.read("other.lua")->has_value());
  CHECK(asked == 1);
}

TEST_CASE("a rewriter does job after job, each proven") {
  const Case c("m.x");
  const auto rewriter = c.rewriter();
  REQUIRE_MESSAGE(rewriter.ok(), (rewriter ? "" : rewriter.error().text()));
  for (const char* name : {"one.onnx", "two.onnxtxt"}) {
    const std::string output = c.folder.path(name);
    Rewritten out;
    const Status done =
        (*rewriter)->rewrite({.model = c.model, .output = output}, out);
    REQUIRE_MESSAGE(done.ok(), text(done));
    CHECK(out.report.run.rewrites.edits == 1);
    REQUIRE(out.report.verified.has_value());
    CHECK(out.report.verified->inputs > 1);
    CHECK_FALSE(std::filesystem::exists(output));
    CHECK(out.result.commit().ok());
    CHECK(std::filesystem::exists(output));
  }
}

TEST_CASE("without an output nothing is written") {
  const Case c("m.x");
  const auto rewriter = c.rewriter();
  REQUIRE(rewriter.ok());
  Rewritten out;
  CHECK((*rewriter)->rewrite({.model = c.model}, out).ok());
  CHECK(out.report.output.empty());
}

TEST_CASE("a wrong rewrite is an error that names it") {
  const Case c("op.Abs(m.x)");
  const auto rewriter = c.rewriter();
  REQUIRE(rewriter.ok());
  Rewritten out;
  const Status done = (*rewriter)->rewrite({.model = c.model}, out);
  REQUIRE_FALSE(done.ok());
  CHECK(done.error().kind == ErrorKind::kVerify);
  CHECK(done.error().where.find("rule 'cancel' at node") != std::string::npos);
  CHECK(done.error().where.ends_with("rewrite 1 of 1"));
}

TEST_CASE("a job ends where the caller does not accept the model") {
  const Case c("m.x");
  const auto rewriter = c.rewriter();
  REQUIRE(rewriter.ok());
  Rewritten out;
  const auto refuse = [](const ir::Model& model) -> Status {
    return Diagnostic{.kind = ErrorKind::kUsage, .where = model.path};
  };
  const Status done =
      (*rewriter)->rewrite({.model = c.model, .accepts = refuse}, out);
  REQUIRE_FALSE(done.ok());
  CHECK(done.error().where == c.model);
}

TEST_CASE("a batch goes on where a model fails") {
  const Case given("m.x");
  BatchOptions batch{.how = {.rules = {given.rule}}, .jobs = 2};
  batch.files = {.models = {given.model, given.folder.write("b.onnxtxt", "no"),
                            given.folder.write("c.onnxtxt", kModel)},
                 .output = given.folder.path("out/")};
  std::atomic<int> done = 0;
  batch.done = [&](Outcome&) { ++done; };
  const auto out = rewrite_all(batch);
  REQUIRE(out.ok());
  CHECK(done == 3);
  REQUIRE(out->size() == 3);
  CHECK(!(*out)[1].status.ok());
  CHECK((*out)[1].report.model == batch.files.models[1]);
  for (const std::size_t i : {0, 2}) {
    CHECK(text((*out)[i].status) == "");
    CHECK(std::filesystem::exists((*out)[i].report.output));
  }
  CHECK((*out)[1].report.output.empty());
  batch.waits = true;
  batch.how.rules = {given.folder.path("none.lua")};
  CHECK(!rewrite_all(batch).ok());
}

TEST_CASE("exec, bench and draw return data") {
  const Case c("m.x");
  const ExecutionOptions how{.dims = {{"N", 2}}, .threads = 1};
  const auto ran = exec({c.model}, {.how = how, .draws = true, .traces = true});
  REQUIRE_MESSAGE(ran.ok(), (ran ? "" : ran.error().text()));
  REQUIRE(ran->size() == 1);
  CHECK(ran->front().outputs[0].second.text() == "float[2,3]");
  const auto range = range_of(ran->front().outputs[0].second);
  REQUIRE(range.has_value());
  double sum = 0;
  for (const float each :
       ran->front().outputs[0].second.tensor().values<float>()) {
    sum += each;
  }
  CHECK(range->mean == doctest::Approx(sum / 6));
  CHECK(range->low < range->high);
  CHECK(ran->front().trace.find("\"Neg\"") != std::string::npos);

  const auto measured =
      bench(std::vector{c.model, c.model}, {.how = how, .rounds = 6});
  REQUIRE(measured.ok());
  CHECK(measured->models[1].seconds.size() == 6);
  CHECK(measured->models[0].ops.size() == 2);
  CHECK(measured->ratio.has_value());
  CHECK(measured->trace.empty());

  const auto model = load_model(c.model, {});
  const auto rules = load_rules({c.rule}, {});
  REQUIRE((model.ok() && rules.ok()));
  const auto drawn =
      draw(**model, rules->get(), {.form = Form::kDot, .name = "m"});
  REQUIRE(drawn.ok());
  CHECK(drawn->matches == 1);
  CHECK(drawn->text.starts_with("digraph"));
}

TEST_CASE("the CPU takes over where a GPU fails, and says so once") {
  std::vector<std::string> heard;
  ExecutionOptions how{.device = "auto", .warn = [&](const auto& each) {
                         heard.push_back(each);
                       }};
  const Diagnostic gone{.kind = ErrorKind::kLimit,
                        .what = "the GPU failed",
                        .found = "CODE",
                        .remedy = Remedy::kDevice};
  int calls = 0;
  const auto fails_once = [&]() -> Status {
    ++calls;
    return how.device == "cpu" ? Status() : gone;
  };
  CHECK(on_device(how, fails_once).ok());
  CHECK(calls == 2);
  CHECK(heard == std::vector<std::string>{
                     "the CPU runs the model: the GPU failed (CODE)"});
  CHECK(on_device(how, fails_once).ok());
  CHECK(calls == 3);
  CHECK(heard.size() == 1);
  how.device = "cuda";
  CHECK_FALSE(on_device(how, fails_once).ok());
  how.device = "auto";
  const auto other = [] { return Status(Diagnostic{.what = "the model"}); };
  CHECK_FALSE(on_device(how, other).ok());
  CHECK(how.device == "auto");
}

TEST_CASE("a deadline that has passed ends every call") {
  const Case c("m.x");
  const Limits over{.deadline = Deadline(0)};
  const auto is_limit = [](const auto& result) {
    return !result.ok() && result.error().kind == ErrorKind::kLimit;
  };
  CHECK(is_limit(load_model(c.model, {.limits = over})));
  CHECK(is_limit(load_rules({c.rule}, {.limits = over})));
  const ExecutionOptions how{.limits = over};
  CHECK(is_limit(exec({c.model}, {.how = how, .draws = true})));
  CHECK(is_limit(bench(std::vector{c.model}, {.how = how})));
  CHECK(is_limit(Rewriter::create({.rules = {c.rule}, .limits = over})));
}

TEST_CASE("what a model contains") {
  const Case c("m.x");
  const auto model = load_model(c.model, {});
  REQUIRE(model.ok());
  const auto found = contents(**model, {});
  REQUIRE(found.ok());
  REQUIRE(found->nodes.size() == 3);
  CHECK(found->nodes[2].op == "Exp");
  CHECK(type_text(*found, found->nodes[0].outputs[0]) == "float[N,3]");
  CHECK(found->ops.at("Neg") == 2);
  CHECK(to_json("m", *found)["inputs"].text(-1, true) ==
        R"([{"name":"x","dtype":"float","shape":["N",3]}])");
}

TEST_CASE("weights that nothing reads are left out") {
  const lua::RuleFolder folder;
  const std::string path = folder.write(
      "w.onnxtxt",
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] "
      "y)"
      " <float[2] w = {1, 2}, float[3] unread = {1, 2, 3}> { y = Add(x, w) }");
  const auto model = load_model(path, {});
  REQUIRE(model.ok());
  const auto found = contents(**model, {});
  REQUIRE(found.ok());
  REQUIRE(found->weights.size() == 1);
  CHECK(found->weights[0].name == "w");
  CHECK(found->weights[0].bytes == 8);
}

TEST_CASE("what rules would do, and what they did") {
  const Case c("m.x");
  const auto rules = load_rules({c.rule}, {});
  const auto model = load_model(c.model, {});
  REQUIRE((rules.ok() && model.ok()));
  const engine::RunOptions how;
  const auto matches = api::match(**model, **rules, how);
  REQUIRE(matches.ok());
  CHECK(matches->found.size() == 1);
  const auto explained = api::explain(**model, **rules, "y", how);
  REQUIRE(explained.ok());
  CHECK(explained->front().misses.size() == 1);
  CHECK(api::explain(**model, **rules, "z", how).error().kind ==
        ErrorKind::kUsage);
  CHECK(api::coverage(**model, **rules, how)->found() == 0);
  CHECK(api::collectives(**model, **rules, how)->before.empty());
}

TEST_CASE("a model as text, as Lua, and a model again") {
  const Case c("m.x");
  const auto model = load_model(c.model, {});
  REQUIRE(model.ok());
  CHECK(print(**model, true, {})->find("Exp") != std::string::npos);
  const auto lua = code(**model, (*model)->graph.value_count(), {});
  REQUIRE(lua.ok());
  const std::string file = c.folder.write("m.lua", *lua);
  const std::string output = c.folder.path("again.onnxtxt");
  auto built = build(file, **model, output, {});
  REQUIRE_MESSAGE(built.ok(), (built ? "" : built.error().text()));
  REQUIRE(built->commit().ok());
  CHECK(load_model(output, {}).value()->graph.live_node_count() == 3);
}

TEST_CASE("examples are run, and a bad file stops no other") {
  const Case c("m.x");
  const std::string bad = c.folder.write("bad.lua", "return rule {");
  const Tested tested = test({c.rule, bad}, {});
  CHECK(tested.errors_of_files.size() == 1);
  CHECK(tested.warnings.size() == 1);  // no examples
  CHECK(tested.results.empty());
  CHECK(to_json(tested).size() == 0);
}

TEST_CASE("where results go") {
  const lua::RuleFolder folder;
  const auto make = [&](const char* name) { return folder.write(name, "x"); };
  const RunFiles two{.models = {make("a/m.onnx"), make("b/m.onnx")},
                     .output = folder.path("out")};
  const auto results = prepare_files(two, {});
  REQUIRE(results.ok());
  CHECK((*results)[1] == folder.path("out/b/m.rewritten.onnx"));
  CHECK(std::filesystem::is_directory(folder.path("out/b")));

  const auto kind_of = [](const RunFiles& files) {
    return prepare_files(files, {}).error().kind;
  };
  const RunFiles eats{.models = {two.models[0], make("a/m.rewritten.onnx")}};
  CHECK(kind_of(eats) == ErrorKind::kUsage);  // a model still to be read
  RunFiles one{.models = {two.models[0]}, .output = two.models[0]};
  CHECK(kind_of(one) == ErrorKind::kUsage);  // would replace the model
  one.output = folder.path("m.lua");
  CHECK(kind_of(one) == ErrorKind::kUsage);
  one.output = "";
  CHECK(prepare_files(one, {}).value()[0] == folder.path("a/m.rewritten.onnx"));
  one.beside = {{"the report", two.models[0]}};
  CHECK(kind_of(one) == ErrorKind::kUsage);
  one.beside = {{"the report", folder.path("none/r.json")}};
  CHECK(kind_of(one) == ErrorKind::kWrite);
}

// Requests a stop soon after the call began. Whether the call ended with that.
template <typename F>
bool is_cancelled(F call) {
  std::stop_source source;
  const std::jthread stop([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    source.request_stop();
  });
  const Limits limits{.deadline = Deadline().or_when(source.get_token()),
                      .callback_seconds = 1000};
  const Status status = call(limits);
  return !status && status.error().kind == ErrorKind::kCancelled;
}

TEST_CASE("another thread cancels a call") {
  SUBCASE("rule code") {
    const Case c("(function() while true do end end)()");
    CHECK(is_cancelled([&](const Limits& limits) -> Status {
      auto rewriter = Rewriter::create({.rules = {c.rule}, .limits = limits});
      if (!rewriter) return rewriter.error();
      Rewritten out;
      return (*rewriter)->rewrite({.model = c.model}, out);
    }));
  }
  SUBCASE("kernels") {
    const lua::RuleFolder folder;
    const std::string model = folder.write(
        "loop.onnxtxt",
        "<ir_version: 8, opset_import: [\"\" : 17]>"
        "g (float x) => (float y)"
        " <int64 many = {1000000000000}, bool yes = {1}> {"
        " y = Loop (many, yes, x) <body = b (int64 i, bool c, float a)"
        " => (bool d, float e) { d = Identity(c) e = Neg(a) }> }");
    CHECK(is_cancelled([&](const Limits& limits) -> Status {
      const auto done =
          exec({model}, {.how = {.limits = limits}, .draws = true});
      return done ? Status() : Status(done.error());
    }));
  }
}

}  // namespace
}  // namespace ruleengine::api
