#include "bindings/lua/rule_file.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/rule_folder.h"

namespace ruleengine::lua {
namespace {

TEST_CASE("a rule file becomes plain data") {
  const RuleFolder folder;
  folder.write("attention/near.onnxtxt", "graph of a file");
  const std::string file = folder.write("attention/my_rule.lua",
                                        R"(--- What it does.
return rule {
  doc = [[ x + y => x ]],
  phase = "linear",
  after = {"first", "canonical/second"},
  meta = {author = "me", number = 3, flag = true},
  options = {loose = false, factor = 0.5, kind = "a", divisor = {"number"}},

  match = function(op, x, y, n)
    return op.Add(op.Softmax{x, axis = n}, y):as "sum"
  end,
  where = function(m)
    m.limit, m.other = m.options.factor, m.n
    need(m.limit)
  end,
  together = function(m) return m.x end,
  rewrite = function(op, ms) return ms[1].x, ms:all "limit" end,
  when = function(graph, options) return options.loose end,
  examples = {
    {"one", "before", "after"},
    {"two", "before", rejected = "why", options = {loose = true}},
    { "three",
      "before", "after", warned = "text" },
    {"four", file = "near.onnxtxt", "after"},
  },
}
)");
  const Loaded set = load({file});
  REQUIRE_MESSAGE(set.ok(), (set ? "" : set.error().text()));
  REQUIRE(set.value()->rules().size() == 1);
  const LoadedRule& rule = *set.value()->rules()[0];
  CHECK(rule.name == "my_rule");
  CHECK(rule.qualified == "attention/my_rule");
  CHECK(rule.file == file);
  CHECK(rule.doc == " x + y => x ");
  CHECK(rule.phase == rewrite::Phase::kLinear);
  CHECK(rule.after == std::vector<std::string>{"first", "canonical/second"});
  CHECK(rule.meta == std::vector<std::pair<std::string, std::string>>{
                         {"author", "me"}, {"flag", "true"}, {"number", "3"}});
  CHECK(rule.line == 2);
  CHECK(rule.parameters == std::vector<std::string>{"x", "y", "n"});
  CHECK(rule.options.at("loose") == OptionValue(false));
  CHECK(rule.options.at("factor") == OptionValue(0.5));
  CHECK(rule.options.at("kind") == OptionValue(std::string("a")));
  CHECK(rule.unset_options == std::vector<std::string>{"divisor"});
  CHECK((rule.where != 0 && rule.rewrite != 0 && rule.together != 0 &&
         rule.when != 0 && rule.pass == 0));
  REQUIRE(rule.examples.size() == 4);
  CHECK(rule.examples[0].after == "after");
  CHECK(rule.examples[0].line == 20);
  CHECK(rule.examples[1].rejected == "why");
  CHECK(rule.examples[1].options.at("loose") == OptionValue(true));
  CHECK(rule.examples[2].line == 22);
  CHECK(rule.examples[2].warned == "text");
  CHECK(rule.examples[3].before == "graph of a file");
  CHECK(rule.examples[3].after == "after");
  CHECK(rule.examples[3].file.ends_with("near.onnxtxt"));
}

TEST_CASE("the folder sets the phase unless the rule does") {
  const RuleFolder folder;
  using rewrite::Phase;
  const std::pair<const char*, Phase> kFolders[] = {
      {"canonical", Phase::kCanonical},        {"attention", Phase::kAttention},
      {"quantization", Phase::kQuantization},  {"linear", Phase::kLinear},
      {"sequence_parallel", Phase::kParallel}, {"targets/ort", Phase::kTarget},
      {"elsewhere", Phase::kConversion}};
  for (const auto& [name, phase] : kFolders) {
    const Loaded set =
        load({folder.write(std::string(name) + "/r.lua", rule_text())});
    REQUIRE(set.ok());
    CHECK(set.value()->rules()[0]->phase == phase);
  }
  const Loaded set =
      load({folder.write("attention/s.lua", rule_text("phase = 'target'"))});
  REQUIRE(set.ok());
  CHECK(set.value()->rules()[0]->phase == Phase::kTarget);
}

// --- errors -----------------------------------------------------------------

// Each is a whole file, or more keys of a valid rule (from line 4 on).
constexpr Refused kFiles[] = {
    {"return rule {match = function(op, x) return op.Relu(x) end}", 1,
     "add `lint = true`"},
    {"return rule {lint = true, match = function(op, x) return op.Relu(x) end,"
     "\nexamples = {{'t', 'b', 'a'}}}",
     2, "matches = true"},
    {"return rule {lint = true, match = function(op, x) return op.Relu(x) end,"
     "\nexamples = {{'t', 'b', 'a', matches = true}}}",
     2, "expects a rewrite or an assumption"},
    {"", 1, "has no rule"},
    {"return 3", 1, "has no rule"},
    {"\nrule {}", 2, "does not return its rule"},
    {"return rule {}, rule {}", 1, "a second rule or pack"},
    {"return rule(3)", 1, "takes a table"},
    {"return rule {\n\nmatc = 1}", 3, "did you mean 'match'?"},
    {"return rule {function() end}", 1, "has a list element"},
    {"return rule {}", 1, "no `match`"},
    {"return rule {match = function(op, x) return op.Relu(x) end}", 1,
     "no `rewrite`"},
    {"return rule {match = function(x) return op.Relu(x) end, "
     "rewrite = function(op, m) end}",
     1, "op is the first parameter"},
    {"return rule {match = function(op, x, s) return op.Relu(x) end, "
     "rewrite = function(op, m) return m.s end}",
     1, "a node gets a name by :as \"s\""},
    {"return rule {match = 3}", 1, "a function of this file"},
    {"return rule {match = error}", 1, "a function of this file"},
    {"return rule {match = function() end, rewrite = function() end}", 1,
     "no parameter"},
    {"return rule {\npass = function() end,\nwhere = function() end}", 3,
     "without `match`"},
    {"x = 1", 1, "assigned as a global"},
    {"\nlocal a = b", 2, "unknown word 'b'"},
    {"\n\nlocal a = ", 3, "unexpected symbol"},
    {"return lib 'nothing_like_it'", 1, "no lib '"},
    {"return lib '../x'", 1, "not a valid name of a lib"},
    {"return rule {match = function(op, x) return op.Relu(x) end, "
     "rewrite = function(op, m) end, options = {a = 1}, examples = {\n"
     "{'t', 'b', 'a', options = {b = 1}}}}",
     2, "no option 'b'"},
};
constexpr Refused kKeys[] = {
    {"doc = 3", 4, "`doc` of a rule"},
    {"phase = 'atention'", 4, "did you mean 'attention'?"},
    {"phase = 3", 4, "a text"},
    {"after = {3}", 4, "names of rules"},
    {"after = 3", 4, "names of rules"},
    {"\nmeta = 3", 5, "{key = value}"},
    {"meta = {a = {}}", 4, "texts, numbers or booleans"},
    {"meta = {['ruleengine.rule'] = 'x'}", 4, "reserved for the program"},
    {"name = 'a.b'", 4, "is not a valid name of a rule"},
    {"name = ''", 4, "is not a valid name of a rule"},
    {"changes_meaning = 1", 4, "true, false"},
    {"options = 3", 4, "not a table"},
    {"options = {a = {}}", 4, "option 'a'"},
    {"options = {a = {'numbr'}}", 4, "{\"number\"}"},
    {"options = {['end'] = 1}", 4, "option 'end'"},
    {"pass = function() end", 4, "write two rules"},
    // Reads of callbacks.
    {"where = function(m) need(m.z) end", 4, "nothing has the name 'z'"},
    {"where = function(m)\nneed(m.summ) end", 5, "did you mean 'sum'?"},
    {"where = function(match) need(match.z) end", 4,
     "nothing has the name 'z'"},
    {"where = function(m) need(m['z']) end", 4, "nothing has the name 'z'"},
    {"where = function(m) m.x = 1 end", 4, "`match` declares it"},
    {"where = function(m) m.a, m.x = 1, 2 end", 4, "`match` declares it"},
    {"where = function(m) need(m.options.a) end", 4, "no option 'a'"},
    {"options = {loose = true}, where = function(m) need(m.options.lose) end",
     4, "did you mean 'loose'?"},
    {"together = function(m) return m.z end", 4, "nothing has the name 'z'"},
    {"where = function(m) if m.x == 1 then return end end", 4,
     "m.x is compared with 1, which a value never equals"},
    {"where = function(m) need(m.x.shape == {2, 3}, 'no') end", 4,
     "m.x:shape \"2 3\" tests the dimensions"},
    {"where = function(m) need('a' ~= m.x, 'no') end", 4, "m.x:scalar()"},
    {"where = function(m) need(m.x.dtype == 'float32', 'no') end", 4,
     "did you mean 'float'?"},
    {"where = function(m) need(m.x.rank == 2, 'no') end", 4,
     "write m.x:rank(...)"},
    {"where = function(m) need(m.sum == true, 'no') end", 4,
     "m.sum is nil where its branch was not taken"},
    // Nodes that callbacks build.
    {"rewrite = function(op, m)\nreturn op.Addd(m.x) end", 5,
     "did you mean 'Add'?"},
    {"rewrite = function(o, m) return o.ruleengine.Linar{m.x} end", 4,
     "did you mean 'Linear'?"},
    {"rewrite = function(op, m) return op.Addd(m.x) end", 4, "no op 'Addd'"},
    {"rewrite = function(op, m) return op.ruleengine.Linar(m.x) end", 4,
     "no op 'ruleengine::Linar'"},
    {"rewrite = function(op, m) return op['ai.onnx'].Concat{{m.x},\naxes = 1} "
     "end",
     5, "Concat has no attribute 'axes'"},
    // Examples.
    {"examples = 3", 4, "not a list"},
    {"examples = {a = 3}", 4, "a list of tables"},
    {"examples = {\n'x'}", 5, "an example is not a table"},
    {"examples = {{}}", 4, "has no title"},
    {"examples = {{'t'}}", 4, "has no graph"},
    {"examples = {{'t', 'b'}}", 4, "has no outcome"},
    {"examples = {{'t', 'b', 'a'},\n{'t', 'b', 'a', 'c'}}", 5,
     "too many texts"},
    {"examples = {{'t', 'b', 'a', rejected = 'r'}}", 4, "one of them"},
    {"examples = {{'t', 'b', rejected = 3}}", 4, "is not a text"},
    {"lint = true", 3, "a lint has `rewrite`"},
    {"lint = 1", 4, "true or false"},
    {"examples = {{'t', 'b', matches = true}}", 4, "not a lint"},
    {"examples = {{'t', 'b', matches = 1}}", 4, "true or false"},
    {"examples = {{'t', 'b', rejectd = 'r'}}", 4, "did you mean 'rejected'?"},
    {"examples = {{'t', 'a', file = '../up.onnxtxt'}}", 4, "in the folder"},
    {"examples = {{'t', 'a', file = '/etc/passwd'}}", 4, "in the folder"},
    {"examples = {{'t', 'a', file = 'none.onnxtxt'}}", 4, "in the folder"},
    {"examples = {{'t', 'a', file = 'link.onnxtxt'}}", 4, "in the folder"},
    {"examples = {{'t', 'a', file = '.'}}", 4, "in the folder"},
};

TEST_CASE("errors in a rule file are reported with file and line") {
  const RuleFolder folder;
  for (const Refused& refused : kFiles) {
    CAPTURE(std::string(refused.text));
    check_refused(folder.write("r.lua", refused.text), refused);
  }
  folder.write("outside.onnxtxt", "secret");
  folder.write("in/other.lua", "");
  std::filesystem::create_symlink(folder.path("outside.onnxtxt"),
                                  folder.path("in/link.onnxtxt"));
  for (const Refused& refused : kKeys) {
    CAPTURE(std::string(refused.text));
    check_refused(folder.write("in/r.lua", rule_text(refused.text)), refused);
  }
}

TEST_CASE("a lib is a file of its folder, not a link") {
  const RuleFolder folder;
  folder.write("elsewhere/secret.lua", "return {}");
  folder.write("in/lib/real.lua", "return {}");
  folder.write("linked/r.lua", "");
  std::filesystem::create_symlink("../../elsewhere/secret.lua",
                                  folder.path("in/lib/secret.lua"));
  std::filesystem::create_directory_symlink("../elsewhere",
                                            folder.path("linked/lib"));
  const auto rule = [&](const std::string& name, const std::string& lib) {
    return folder.write(name, "lib '" + lib + "'\n" + rule_text());
  };
  CHECK(load({rule("in/r.lua", "real")}).ok());
  for (const char* name : {"in/r.lua", "linked/r.lua"}) {
    check_refused(rule(name, "secret"), {"", 1, "behind a symbolic link"});
  }
}

TEST_CASE("a variable that no branch binds may not be read") {
  const RuleFolder folder;
  const std::string file = folder.write(
      "r.lua",
      "return rule {match = function(op, x, unused) return op.Relu(x) end,\n"
      "rewrite = function(op, m) return m.unused end}");
  check_refused(file, {"", 2, "no branch of `match` binds it"});
  const std::string list = folder.write(
      "l.lua",
      "return rule {match = function(op, x) return op.Relu(x) end,\n"
      "together = function(m) return m.x end,\n"
      "rewrite = function(op, ms) return ms:all 'y' end}");
  check_refused(list, {"", 3, "nothing has the name 'y'"});
  const std::string element = folder.write(
      "e.lua",
      "return rule {match = function(op, x) return op.Relu(x) end,\n"
      "together = function(m) return m.x end,\n"
      "rewrite = function(op, ms)\nreturn ms[#ms].y end}");
  check_refused(element, {"", 4, "nothing has the name 'y'"});
}

TEST_CASE("text that looks like a read is not a read") {
  const RuleFolder folder;
  const Loaded set = load({folder.write(
      "r.lua", rule_text("where = function(m)\n"
                         "  local function other(m) return m.anything end\n"
                         "  local t = {m = {z = 1}}\n"
                         "  need(t.m.z) -- m.z\n"
                         "  local s = 'm.z' .. [[ m.z ]]\n"
                         "  need(other({anything = s}))\n"
                         "  if m.x then m.late = 1 end\n"
                         "  need(m.late == 1)\n"
                         "end"))});
  CHECK_MESSAGE(set.ok(), (set ? "" : set.error().text()));
}

}  // namespace
}  // namespace ruleengine::lua
