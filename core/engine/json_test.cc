#include "core/engine/json.h"

#include <doctest/doctest.h>

#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/text/parse.h"

namespace ruleengine::engine {
namespace {

nlohmann::ordered_json read(const Json& json) {
  return nlohmann::ordered_json::parse(json_text(json));
}

std::unique_ptr<ir::Model> model() {
  auto parsed = text::parse_model(
      "<ir_version: 8, opset_import: [\"\" : 21]>\n"
      "g (float[2] x) => (float[2] z) { y = Neg(x) z = Relu(y) }",
      "test");
  REQUIRE(parsed.ok());
  return std::move(*parsed);
}

TEST_CASE("the report of a run has the documented keys, in their order") {
  FileReport report;
  report.model = "in.onnx";
  report.output = "out.onnx";
  report.run.target = "portable";
  report.run.ops_before = {{"Neg", 2}, {"Relu", 1}};
  report.run.ops_after = {{"Neg", 1}};
  const auto json = read(to_json(report));
  std::string keys;
  for (const auto& [key, value] : json.items()) keys += key + " ";
  CHECK(keys ==
        "tool version model output target nodes_before nodes_after ops_before "
        "ops_after rules warnings assumptions seconds peak_bytes verified "
        "needs ");
  CHECK(json["nodes_before"] == 3);
  CHECK(json["nodes_after"] == 1);
  CHECK(json["ops_before"].dump() == R"({"Neg":2,"Relu":1})");
  CHECK(json["verified"].is_null());
  CHECK(json["peak_bytes"] > 0);
}

TEST_CASE("on what a result was verified") {
  FileReport report;
  report.verified = {.inputs = 9, .max_abs = 0.5, .max_rel = 0.25};
  CHECK(text_of(*report.verified) == "verified on 9 inputs");
  report.verified->sizes = {{"B", {1, 3}}, {"S", {1, 7, 0}}};
  CHECK(text_of(*report.verified) ==
        "verified on 9 inputs: B = 1, 3; S = 1, 7, 0");
  CHECK(read(to_json(report))["verified"].dump() ==
        R"({"inputs":9,"max_abs":0.5,"max_rel":0.25,)"
        R"("sizes":{"B":[1,3],"S":[1,7,0]}})");
  CHECK(text_of(Verified{.inputs = 1}) == "verified on 1 input");
}

TEST_CASE("rules, rejections, warnings and assumptions") {
  FileReport report;
  rewrite::RuleReport rule;
  rule.name = "fold";
  rule.file = "fold.lua";
  rule.matches = 2;
  rule.rewrites = 1;
  rule.rejected.push_back({.node = "n", .reason = "too large", .value = "9"});
  report.run.rewrites.rules.push_back(rule);
  report.run.rewrites.warnings.push_back({"fold", "n", "first"});
  report.run.rewrites.allowed.push_back({"fold", "m", "second"});
  report.run.rewrites.assumptions.push_back({"fold", "n", {"x > 0", "3"}});
  const auto json = read(to_json(report));
  CHECK(json["rules"].dump() ==
        R"([{"name":"fold","file":"fold.lua","phase":"canonical","matches":2,)"
        R"("rewrites":1,"rejected":[{"node":"n","reason":"too large",)"
        R"("value":"9"}],"seconds":0.0}])");
  CHECK(json["warnings"].dump() ==
        R"([{"rule":"fold","node":"n","message":"first"},)"
        R"({"rule":"fold","node":"m","message":"second"}])");
  CHECK(json["assumptions"].dump() ==
        R"([{"rule":"fold","node":"n","text":"x > 0"}])");
}

TEST_CASE("the gain of a rewrite, if it was measured") {
  FileReport report;
  CHECK_FALSE(read(to_json(report)).contains("cost"));
  report.run.cost = {.before = {.bytes = 64, .products = 8},
                     .after = {.bytes = 32, .products = 8, .unknown = 1},
                     .sizes = {{"N", 2}}};
  CHECK(read(to_json(report))["cost"].dump() ==
        R"({"before":{"bytes":64.0,"products":8.0,"unknown":0},)"
        R"("after":{"bytes":32.0,"products":8.0,"unknown":1},)"
        R"("sizes":{"N":2}})");
}

TEST_CASE("only a lint lists the nodes that it found") {
  FileReport report;
  report.run.rewrites.rules.resize(2);
  report.run.rewrites.rules[1].lint = true;
  report.run.rewrites.rules[1].found = {"n"};
  const auto json = read(to_json(report));
  CHECK_FALSE(json["rules"][0].contains("found"));
  CHECK(json["rules"][1]["found"].dump() == R"(["n"])");
}

TEST_CASE("a failed run has an error") {
  FileReport report;
  report.error = Diagnostic{
      .kind = ErrorKind::kLimit, .what = "out of memory", .hint = "a\nb"};
  const auto json = read(to_json(report));
  CHECK(json["error"].dump() ==
        R"({"what":"out of memory","where":"","expected":"",)"
        R"("found":"","hint":"a\\x0ab"})");
}

TEST_CASE("a match fires, or has a reason") {
  const auto m = model();
  rewrite::Found found;
  found.rule = "fold";
  found.graph = &m->graph;
  found.root = ir::NodeId(1u);
  found.nodes = {ir::NodeId(0u), ir::NodeId(1u)};
  auto json = read(to_json("m.onnx", found));
  CHECK(json["model"] == "m.onnx");
  CHECK(json["fires"] == true);
  CHECK(json["node"] == m->graph.describe(found.root));
  CHECK(json["nodes"].size() == 2);
  CHECK_FALSE(json.contains("reason"));
  CHECK_FALSE(json.contains("assumptions"));
  found.rejection = rewrite::Rejection{.reason = "too large", .value = "9"};
  found.assumptions.push_back({"x > 0", "3"});
  json = read(to_json("m.onnx", found));
  CHECK(json["fires"] == false);
  CHECK(json["reason"] == "too large");
  CHECK(json["value"] == "9");
  CHECK(json["assumptions"].dump() == R"([{"text":"x > 0","value":"3"}])");
}

TEST_CASE("coverage and collectives") {
  Coverage coverage;
  coverage.fused = 2;
  coverage.left.push_back({"n", "fold", "too large"});
  CHECK(to_json("m.onnx", coverage).text(-1, true) ==
        R"({"model":"m.onnx","found":3,"fused":2,)"
        R"("left":[{"node":"n","rule":"fold","reason":"too large"}]})");
  Collectives collectives;
  collectives.before["AllReduce"] = {.nodes = 2, .unknown = 1, .bytes = 64};
  collectives.stays.push_back({"fold", {.node = "n", .reason = "why"}});
  CHECK(to_json("m.onnx", collectives).text(-1, true) ==
        R"({"model":"m.onnx",)"
        R"("before":{"AllReduce":{"nodes":2,"bytes":64.0,"unknown":1}},)"
        R"("after":{},"rejected":[{"rule":"fold","node":"n","reason":"why",)"
        R"("value":""}]})");
}

TEST_CASE("names are exact, and the text is ASCII") {
  CHECK(exact("caf\xc3\xa9") == "caf\xc3\xa9");
  CHECK(exact("a\xff") == "a\\xff");
  CHECK(json_text({{"a", "\xc3\xa9"}}) == "{\n  \"a\": \"\\u00e9\"\n}\n");
  CHECK(json_text({{"a", "\xff"}}) == "{\n  \"a\": \"\\ufffd\"\n}\n");
}

}  // namespace
}  // namespace ruleengine::engine
