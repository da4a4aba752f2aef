// Verdicts of examples, and the rules of RULES.md as whole files.
#include "bindings/lua/examples.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "tests/support/rule_folder.h"

namespace ruleengine::lua {
namespace {

std::vector<ExampleResult> run(const std::string& file,
                               const engine::CompareModels& compare = {}) {
  auto set = RuleSet::load({file}, {}, {});
  if (!set.ok()) FAIL(set.error().text());
  auto runs = run_examples(**set, compare);
  if (!runs.errors.empty()) FAIL(runs.errors[0].text());
  return runs.results;
}

// Relu(Relu(x)) => Relu(x), unless the node is named "keep"; with examples.
std::string rule_with(std::string_view examples) {
  return "return rule {match = function(op, x) "
         "return op.Relu(op.Relu(x)):as 'outer' end,\n"
         "options = {keep = 'keep'},\n"
         "where = function(m) "
         "need(m.outer.name ~= m.options.keep, 'it is kept', m.outer) "
         "refuse(m.outer.name == 'warn', 'as it says', m.outer) end,\n"
         "rewrite = function(op, m) return op.Relu(m.x) end,\n"
         "examples = {" +
         std::string(examples) + "}}";
}

ExampleResult one(std::string_view example,
                  const engine::CompareModels& compare = {}) {
  const RuleFolder folder;
  const auto results = run(folder.write("r.lua", rule_with(example)), compare);
  REQUIRE(results.size() == 1);
  return results[0];
}

#define TWICE "'t', '(float[2] x) => (float[2] y) { a = Relu(x) y = Relu(a) }'"
#define NAMED(name)                     \
  "'t', '(float[2] x) => (float[2] y) " \
  "{ a = Relu(x) [" name "] y = Relu(a) }'"
#define ONCE "'t', '(float[2] x) => (float[2] y) { y = Relu(x) }'"

TEST_CASE("ok") {
  CHECK(one("{" TWICE ", 'y = Relu(x)'}").verdict == Verdict::kOk);
  CHECK(one("{" NAMED("keep") ", rejected = 'it is kept'}").verdict ==
        Verdict::kOk);
  CHECK(one("{" NAMED("warn") ", warned = 'Skipping outer at warn: as it'}")
            .verdict == Verdict::kOk);
  CHECK(one("{" ONCE ", 'y = Relu(x)'}").verdict == Verdict::kOk);
  CHECK(one("{" NAMED("keep") ", 'y = Relu(x)', options = {keep = ''}}")
            .verdict == Verdict::kOk);
  const ExampleResult out = one("{" TWICE ", 'y = Relu(x)'}");
  CHECK(out.rule == "r");
  CHECK(out.title == "t");
  CHECK(out.line > 0);
  CHECK_FALSE(out.executed);
}

TEST_CASE("a lint matches, or does not") {
  const RuleFolder folder;
  const auto verdict = [&](const std::string& example) {
    const auto results = run(folder.write(
        "r.lua",
        "return rule {lint = true, match = function(op, x) "
        "return op.Relu(op.Relu(x)):as 'outer' end,\n"
        "where = function(m) "
        "need(m.outer.name ~= 'keep', 'it is kept', m.outer) "
        "refuse(m.outer.name == 'warn', 'as it says', m.outer) end,\n"
        "examples = {" +
            example + "}}"));
    REQUIRE(results.size() == 1);
    return results[0].verdict;
  };
  CHECK(verdict("{" TWICE ", matches = true}") == Verdict::kOk);
  CHECK(verdict("{" ONCE ", matches = false}") == Verdict::kOk);
  CHECK(verdict("{" ONCE ", matches = true}") == Verdict::kMissing);
  CHECK(verdict("{" TWICE ", matches = false}") == Verdict::kNoisy);
  CHECK(verdict("{" NAMED("keep") ", rejected = 'it is kept'}") ==
        Verdict::kOk);
  CHECK(verdict("{" NAMED("warn") ", warned = 'as it says'}") == Verdict::kOk);
}

TEST_CASE("missing") {
  const ExampleResult out = one("{" ONCE ", 'y = Neg(x)'}");
  CHECK(out.verdict == Verdict::kMissing);
  CHECK(out.detail == "the pattern does not match");
  const ExampleResult kept = one("{" NAMED("keep") ", 'y = Relu(x)'}");
  CHECK(kept.verdict == Verdict::kMissing);
  CHECK(kept.detail == "rejected: it is kept (Relu node 'keep')");
  const ExampleResult other =
      one("{" NAMED("keep") ", rejected = 'another reason'}");
  CHECK(other.verdict == Verdict::kMissing);
  CHECK(other.detail.find("it is kept") != std::string::npos);
  CHECK(one("{" NAMED("keep") ", warned = 'as it says'}").verdict ==
        Verdict::kMissing);
}

TEST_CASE("noisy") {
  CHECK(one("{" TWICE ", rejected = 'it is kept'}").verdict == Verdict::kNoisy);
  CHECK(one("{" TWICE ", 'a = Relu(x) y = Relu(a)'}").verdict ==
        Verdict::kNoisy);
  CHECK(one("{" NAMED("warn") ", rejected = 'as it says'}").verdict ==
        Verdict::kNoisy);
}

TEST_CASE("wrong") {
  const ExampleResult out = one("{" TWICE ", 'y = Neg(x)'}");
  CHECK(out.verdict == Verdict::kWrong);
  CHECK(out.detail.find("Neg") != std::string::npos);
}

struct Says {
  explicit Says(std::string difference, std::string unverified = "") {
    answer.difference = std::move(difference);
    answer.shown_by = "x = 1\n";
    answer.unverified = std::move(unverified);
  }
  engine::CompareModels compare() {
    return [this](const ir::Model& before, const ir::Model& after,
                  const engine::Comparing& how) -> Result<engine::Finding> {
      ++calls;
      CHECK(before.graph.live_node_count() == 2);
      CHECK(after.graph.live_node_count() == 1);
      CHECK_FALSE(how.assumes);
      within = how.within;
      return answer;
    };
  }
  engine::Finding answer;
  std::optional<rewrite::Deviation> within;
  int calls = 0;
};

TEST_CASE("execution decides when there is an executor") {
  Says same(""), differs("y differs by 1"), cannot("", "no kernel");
  const ExampleResult ok = one("{" TWICE ", 'y = Relu(x)'}", same.compare());
  CHECK(ok.verdict == Verdict::kOk);
  CHECK(ok.executed);
  const ExampleResult out =
      one("{" TWICE ", 'y = Relu(x)'}", differs.compare());
  CHECK(out.verdict == Verdict::kUnsound);
  CHECK(out.detail == "y differs by 1");
  CHECK(out.notes == "x = 1\n");
  one("{" NAMED("keep") ", rejected = 'it is kept'}", differs.compare());
  CHECK(differs.calls == 1);
  const ExampleResult open =
      one("{" TWICE ", 'y = Relu(x)'}", cannot.compare());
  CHECK(open.verdict == Verdict::kOk);
  CHECK_FALSE(open.executed);
  CHECK(open.not_executed == "no kernel");
}

TEST_CASE("an edit is executed within the tolerance that it declares") {
  Says same("");
  const auto run_edit = [&](const char* key) {
    const RuleFolder folder;
    std::string rule = rule_with("{" TWICE ", 'y = Relu(x)'}");
    constexpr std::string_view kBegin = "return rule {";
    rule.insert(kBegin.size(), fmt::format("changes_meaning = {}, ", key));
    const auto results = run(folder.write("r.lua", rule), same.compare());
    REQUIRE(results.size() == 1);
    return results[0];
  };
  CHECK(run_edit("{abs = 0.5}").executed);
  REQUIRE(same.within);
  CHECK(same.within->abs == 0.5);
  CHECK(same.within->rel == 0);
  const ExampleResult open = run_edit("true");
  CHECK(open.not_executed == "the rule changes the meaning");
  CHECK(same.calls == 1);
  run_edit("false");
  CHECK_FALSE(same.within);
}

TEST_CASE("an example that is not a graph is an error of the rule file") {
  const RuleFolder folder;
  const std::string file =
      folder.write("r.lua", rule_with("{'t', '(float x) => ', 'y = Neg(x)'}"));
  auto set = RuleSet::load({file}, {}, {});
  REQUIRE(set.ok());
  const auto runs = run_examples(**set, nullptr);
  REQUIRE(runs.errors.size() == 1);
  CHECK(runs.errors[0].kind == ErrorKind::kRule);
  CHECK(runs.errors[0].where.find(file + ":") == 0);
}

TEST_CASE(
    "examples in a table that a function returns are at the rule's line") {
  const RuleFolder folder;
  const auto results = run(folder.write(
      "r.lua",
      "local function whole(t) return t end\n"
      "return rule(whole{match = function(op, x) return op.Relu(x) end,\n"
      "rewrite = function(op, m) return op.Neg(m.x) end,\n"
      "examples = {{" ONCE ", 'y = Relu(x)'}}})"));
  REQUIRE(results.size() == 1);
  CHECK(results[0].line == 4);
}

TEST_CASE("an error in the second graph has its own line") {
  const RuleFolder folder;
  const std::string file =
      folder.write("r.lua", rule_with("{" TWICE ", 'y = Sofmax(x)'}"));
  auto set = RuleSet::load({file}, {}, {});
  REQUIRE(set.ok());
  auto runs = run_examples(**set, nullptr);
  REQUIRE(runs.errors.size() == 1);
  CHECK(runs.errors[0].where.ends_with(", `after`, line 1, column 5"));
  // The line is in the rule file, even if the first graph is in another file.
  folder.write("before.onnxtxt",
               "<ir_version: 8, opset_import: [\"\" : 21]> g (float[2] x) => "
               "(float[2] y) { a = Neg(x) y = Neg(a) }");
  folder.write("r.lua",
               rule_with("{'t', file = 'before.onnxtxt', 'y = Sofmax(x)'}"));
  set = RuleSet::load({file}, {}, {});
  REQUIRE(set.ok());
  runs = run_examples(**set, nullptr);
  REQUIRE(runs.errors.size() == 1);
  CHECK(runs.errors[0].where.ends_with(", `after`, line 1, column 5"));
}

// --- Whole rules ---

constexpr std::string_view kAttentionLib = R"lua(
local attention = {}
function attention.scaled(op, x, c)
  return either(op.Mul(x, c), op.Div(x, c):as "div", x)
end
return attention
)lua";

constexpr std::string_view kAttention = R"lua(
local attention = lib "attention"
return rule {
  doc = [[ softmax(s q k^T + mask) v   =>   ScaledDotProductAttention(q, k, v, mask, scale = s) ]],
  match = function(op, q, k, v, scale, mask)
    q:shape "B H S D"
    k:shape "B G T D"
    v:shape "B G T E"
    mask:fits "B H S T"

    local scores = op.MatMul(q, op.Transpose{k, perm = {0, 1, 3, 2}})
    scores = attention.scaled(op, scores, scale)
    scores = maybe(op.Add(scores, mask), scores)
    return op.MatMul(op.Softmax{scores, axis = -1}, v)
  end,
  where = function(m)
    local c = m.scale and need(m.scale:scalar(), "the scale is not a constant", m.scale) or 1
    m.factor = m.div and 1 / c or c
  end,
  rewrite = function(op, m)
    return op.ruleengine.ScaledDotProductAttention{m.q, m.k, m.v, m.mask,
      num_heads = m.H, head_dim = m.E, scale = m.factor}
  end,
  examples = {
    { "divided", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v) => (float[2,4,8,16] y) <float c = {4.0}> {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s  = MatMul(q, kt)
          d  = Div(s, c)
          p  = Softmax <axis = -1> (d)
          y  = MatMul(p, v)
        }]],
      "y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 0.25> (q, k, v)" },
    { "masked", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, float[2,1,1,8] m) => (float[2,4,8,16] y) {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s  = MatMul(q, kt)
          a  = Add(s, m)
          p  = Softmax <axis = -1> (a)
          y  = MatMul(p, v)
        }]],
      "y = ruleengine.ScaledDotProductAttention <num_heads = 4, head_dim = 16, scale = 1.0> (q, k, v, m)" },
    { "a run-time scale", [[
        (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v, float c) => (float[2,4,8,16] y) {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s  = MatMul(q, kt)
          d  = Mul(s, c)
          p  = Softmax <axis = -1> (d)
          y  = MatMul(p, v)
        }]], rejected = "the scale is not a constant" },
    { "symbolic heads", [[
        (float[2,N,8,16] q, float[2,N,8,16] k, float[2,N,8,16] v) => (float[2,N,8,16] y) {
          kt = Transpose <perm = [0,1,3,2]> (k)
          s  = MatMul(q, kt)
          p  = Softmax <axis = -1> (s)
          y  = MatMul(p, v)
        }]], rejected = "num_heads needs dimension N, which is not a known number" },
  },
})lua";

constexpr std::string_view kLinearLib = R"lua(
local linear = {}
function linear.any(op, x, w, b)
  return either(
    op.ruleengine.Linear(x, w, maybe(b)),
    op.Gemm{x, w, maybe(b), transB = 1},
    op.Add(op.MatMul(x, w.T), b),
    op.MatMul(x, w.T))
end
return linear
)lua";

constexpr std::string_view kProjections = R"lua(
local linear = lib "linear"
return rule {
  doc = [[ three projections of one source => MHAInProjection ]],
  match = function(op, x, wq, wk, wv, bq, bk, bv, H, D)
    local function heads(w, b)
      return op.Transpose{op.Reshape(linear.any(op, x, w, b), any), perm = {0, 2, 1, 3}}:shape "B H S D"
    end
    return op.ruleengine.ScaledDotProductAttention{heads(wq, bq), heads(wk, bk), heads(wv, bv), rest "more",
      num_heads = H, head_dim = D, attrs = any}:as "attend"
  end,
  where = function(m)
    need(m.wq.shape == m.wk.shape and m.wk.shape == m.wv.shape, "the projections differ in shape", m.wk)
    need((m.bq ~= nil) == (m.bk ~= nil) and (m.bk ~= nil) == (m.bv ~= nil), "some have a bias and some have none")
  end,
  rewrite = function(op, m)
    local w = op.Concat{m.wq, m.wk, m.wv, axis = 0}
    local b = m.bq and op.Concat{m.bq, m.bk, m.bv, axis = 0}
    local q, k, v = op.ruleengine.MHAInProjection{m.x, m.x, m.x, w, b, num_heads = m.H, head_dim = m.D, outputs = 3}
    return m.attend:with(q, k, v, m.more)
  end,
  examples = {
    { "MatMul, and a mask that is kept", [[
        (float[2,3,4] x, float[3,3] m) => (float[2,2,3,2] y)
        <float[4,4] a = {1,2,3,4, 5,6,7,8, 9,10,11,12, 13,14,15,16}, int64[4] s = {2,3,2,2}> {
          q0 = MatMul(x, a) q1 = Reshape(q0, s) q = Transpose <perm = [0,2,1,3]> (q1)
          k0 = MatMul(x, a) k1 = Reshape(k0, s) k = Transpose <perm = [0,2,1,3]> (k1)
          v0 = MatMul(x, a) v1 = Reshape(v0, s) v = Transpose <perm = [0,2,1,3]> (v1)
          y = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 2, scale = 0.5> (q, k, v, m)
        }]], [[
        (float[2,3,4] x, float[3,3] m) => (float[2,2,3,2] y)
        <float[12,4] w = {1,5,9,13, 2,6,10,14, 3,7,11,15, 4,8,12,16,
                          1,5,9,13, 2,6,10,14, 3,7,11,15, 4,8,12,16,
                          1,5,9,13, 2,6,10,14, 3,7,11,15, 4,8,12,16}> {
          q, k, v = ruleengine.MHAInProjection <num_heads = 2, head_dim = 2> (x, x, x, w)
          y = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 2, scale = 0.5> (q, k, v, m)
        }]] },
    { "one has no bias", [[
        (float[2,3,4] x, float[4,4] a, float[4] b) => (float[2,2,3,2] y) <int64[4] s = {2,3,2,2}> {
          q0 = ruleengine.Linear(x, a, b) q1 = Reshape(q0, s) q = Transpose <perm = [0,2,1,3]> (q1)
          k0 = ruleengine.Linear(x, a) k1 = Reshape(k0, s) k = Transpose <perm = [0,2,1,3]> (k1)
          v0 = ruleengine.Linear(x, a, b) v1 = Reshape(v0, s) v = Transpose <perm = [0,2,1,3]> (v1)
          y = ruleengine.ScaledDotProductAttention <num_heads = 2, head_dim = 2> (q, k, v)
        }]], rejected = "some have a bias and some have none" },
  },
})lua";

constexpr std::string_view kMerge = R"lua(
return rule {
  doc = [[ x w1, x w2, ...   =>   Split(x [w1 w2 ...])   for any number of products that share x ]],
  match    = function(op, x, w) w:const "K N"; return op.MatMul(x, w) end,
  together = function(m) return m.x, m.w.dtype end,
  rewrite  = function(op, ms)
    local w = op.Concat{ms:all "w", axis = 1}
    return op.Split{op.MatMul(ms[1].x, w), ms:all "N", axis = -1, outputs = #ms}
  end,
  examples = {
    { "two", [[
        (float[5,2] x) => (float[5,1] a, float[5,2] b) <float[2,1] v = {1,2}, float[2,2] w = {3,4,5,6}> {
          a = MatMul(x, v)
          b = MatMul(x, w)
        }]], [[
        (float[5,2] x) => (float[5,1] a, float[5,2] b) <float[2,3] w = {1,3,4, 2,5,6}, int64[2] s = {1,2}> {
          p = MatMul(x, w)
          a, b = Split <axis = -1> (p, s)
        }]] },
    { "one depends on the other", [[
        (float[2,2] x) => (float[2,2] b) <float[2,2] v = {1,2,3,4}> {
          a = MatMul(x, v)
          b = MatMul(a, v)
        }]], "a = MatMul(x, v) b = MatMul(a, v)" },
  },
})lua";

void all_ok(std::string_view rule_text) {
  const RuleFolder folder;
  folder.write("lib/attention.lua", kAttentionLib);
  folder.write("lib/linear.lua", kLinearLib);
  for (const ExampleResult& r : run(folder.write("pack/r.lua", rule_text))) {
    CAPTURE(r.title);
    CAPTURE(r.detail);
    CHECK(verdict_name(r.verdict) == "ok");
  }
}

TEST_CASE("attention from its textbook form") { all_ok(kAttention); }
TEST_CASE("projections of one source") { all_ok(kProjections); }
TEST_CASE("products of one source") { all_ok(kMerge); }

TEST_CASE("examples ignore the options of packs") {
  const RuleFolder folder;
  folder.write("r/off.lua",
               "return rule {options = {enable = true},\n"
               "when = function(_, options) return options.enable end,\n"
               "match = function(op, x) return op.Relu(op.Relu(x)) end,\n"
               "rewrite = function(op, m) return op.Relu(m.x) end,\n"
               "examples = {{'one', [[(float[2] x) => (float[2] y) "
               "{ a = Relu(x) y = Relu(a) }]], 'y = Relu(x)'}}}");
  const auto results = run(folder.write(
      "r.lua", "return pack {options = {enable = false}, 'r/off'}"));
  REQUIRE(results.size() == 1);
  CHECK(results[0].verdict == Verdict::kOk);
}

}  // namespace
}  // namespace ruleengine::lua
