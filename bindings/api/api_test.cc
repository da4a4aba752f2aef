// The library as a program that embeds it calls it.
#include <doctest/doctest.h>

#include <filesystem>

#include "bindings/api/bench.h"
#include "bindings/api/draw.h"
#include "bindings/api/exec.h"
#include "bindings/api/rewrite.h"
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

TEST_CASE("exec, bench and draw return data") {
  const Case c("m.x");
  const ExecutionOptions how{.dims = {{"N", 2}}, .threads = 1};
  const auto ran = exec({c.model}, {.how = how, .draws = true, .traces = true});
  REQUIRE_MESSAGE(ran.ok(), (ran ? "" : ran.error().text()));
  REQUIRE(ran->size() == 1);
  CHECK(ran->front().outputs[0].second.text() == "float[2,3]");
  CHECK(ran->front().trace.find("\"Neg\"") != std::string::npos);

  const auto measured = bench({c.model, c.model}, {.how = how, .rounds = 6});
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
  CHECK(is_limit(bench({c.model}, {.how = how})));
  CHECK(is_limit(Rewriter::create({.rules = {c.rule}, .limits = over})));
}

}  // namespace
}  // namespace ruleengine::api
