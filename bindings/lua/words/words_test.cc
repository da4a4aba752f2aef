// Patterns that `match` describes, as text; and errors in `match`.
#include "bindings/lua/words/words.h"

#include <doctest/doctest.h>

#include <string>

#include "bindings/lua/rule_file.h"
#include "tests/support/pattern_text.h"
#include "tests/support/rule_folder.h"

namespace ruleengine::lua {
namespace {

// A rule whose `match` has this body, from line 2 on.
std::string rule_of(std::string_view parameters, std::string_view body) {
  std::string text = "return rule {match = function(op";
  if (!parameters.empty()) (text += ", ") += parameters;
  ((text += ")\n") += body) += "\nend, rewrite = function(op, m) end}";
  return text;
}

Loaded load_text(const RuleFolder& folder, const std::string& text) {
  return load({folder.write("r.lua", text)});
}

struct Said {
  const char* parameters;
  const char* body;
  const char* text;
};

constexpr Said kSaid[] = {
    {"x, y", "return op.Add(x, y)",
     "t0 = x\nt1 = y\nt2 = n0 Add(t0, t1)\nreturn t2\n"},
    // The table form, and holes as absent inputs.
    {"x, hi", "return op.Clip{x, nil, hi}",
     "t0 = x\nt1 = absent\nt2 = hi\nt3 = n0 Clip(t0, t1, t2)\nreturn t3\n"},
    {"x, hi", "return op.Clip(x, nil, hi)",
     "t0 = x\nt1 = absent\nt2 = hi\nt3 = n0 Clip(t0, t1, t2)\nreturn t3\n"},
    // Attributes of every kind, and numbers as constants.
    {"x, p", "return op.Transpose{op.Softmax{x, axis = -1}, perm = p}",
     "t0 = x\nt1 = n0 Softmax(t0) axis=-1\nt2 = n1 Transpose(t1) perm=p\n"
     "return t2\n"},
    {"x", "return op.LayerNormalization{x, any, epsilon = 1e-5, axis = any}",
     "t0 = x\nt1 = any\nt2 = n0 LayerNormalization(t0, t1) axis=any "
     "epsilon=1e-05\nreturn t2\n"},
    {"x", "return op.Mul(op.Pow(x, 2), {1, 2.5})",
     "t0 = x\nt1 = 2\nt2 = n0 Pow(t0, t1)\nt3 = [1, 2.5]\n"
     "t4 = n1 Mul(t2, t3)\nreturn t4\n"},
    // Classes of ops, whose attributes are not restricted.
    {"x, y", "return op.elementwise_unary(op.elementwise_binary(x, y)):as 'f'",
     "t0 = x\nt1 = y\nt2 = n0 elementwise_binary(t0, t1) attrs=any\n"
     "t3 = n1 elementwise_unary(t2) attrs=any as f\nreturn t3\n"},
    // Element types by name, if the schema says that the number is a type.
    {"x", "return op.Cast{x, to = 'float16'}",
     "t0 = x\nt1 = n0 Cast(t0) to=10\nreturn t1\n"},
    {"x", "return op.EyeLike{x, dtype = 'float32', k = 1}",
     "t0 = x\nt1 = n0 EyeLike(t0) dtype=1 k=1\nreturn t1\n"},
    {"x", "return op.mine.Cast{x, to = 'float16'}",
     "t0 = x\nt1 = n0 mine::Cast(t0) to=\"float16\"\nreturn t1\n"},
    {"x", "return op.Cast{x, to = any \"kind\"}",
     "t0 = x\nt1 = n0 Cast(t0) to=kind\nreturn t1\n"},
    // Domains.
    {"x", "return op[\"com.microsoft\"].Gelu(op.com.microsoft.Gelu(x))",
     "t0 = x\nt1 = n0 com.microsoft::Gelu(t0)\n"
     "t2 = n1 com.microsoft::Gelu(t1)\nreturn t2\n"},
    {"x", "return op.mine.Op{x, names = {'a', 'b'}, none = {}}",
     "t0 = x\nt1 = n0 mine::Op(t0) names=[a, b] none=[]\nreturn t1\n"},
    // Open nodes, outputs, permutations.
    {"x",
     "local a, b = op.Split{x, any, axis = 1, outputs = 2}\n"
     "return op.Add(a, b), op.Sub(a, b)",
     "t0 = x\nt1 = any\nt2 = output 0 of n0 Split(t0, t1) axis=1\n"
     "t3 = output 1 of n0 Split(t0, t1) axis=1\nt4 = n1 Add(t2, t3)\nt5 = n2 "
     "Sub(t2, t3)\nreturn t4, t5\n"},
    {"x, y", "return op.Mul{x, y, perms = {{1, 2}}}",
     "t0 = x\nt1 = y\nt2 = n0 Mul(t0, t1) perm [0, 1]\nreturn t2\n"},
    {"x", "return op.mine.Op{x, inputs = any, outputs = any, attrs = any}",
     "t0 = x\nt1 = n0 mine::Op(t0, ...) attrs=any outputs=any\n"
     "return t1\n"},
    // Choices.
    {"x, c", "return op.Relu(either(op.Mul(x, c), op.Div(x, c):as \"div\", x))",
     "t0 = x\nt1 = c\nt2 = n0 Mul(t0, t1)\nt3 = n1 Div(t0, t1) as div\n"
     "t4 = either t2 | t3 | t0\nt5 = n2 Relu(t4)\nreturn t5\n"},
    {"x, hi", "return op.Clip{x, any, maybe(hi)}",
     "t0 = hi\nt1 = absent\nt2 = either t0 | t1\nt3 = x\nt4 = any\n"
     "t5 = n0 Clip(t3, t4, t2)\nreturn t5\n"},
    {"x",
     "return op.Relu(either(function() x:rank(4) return op.Abs(x) end, x))",
     "t0 = x\nt1 = n0 Abs(t0)\nt2 = either t1 where t0 rank 4 | t0\nt3 = n1 "
     "Relu(t2)\n"
     "return t3\n"},
    {"x",
     "return op.Relu(many(function(s) return op.Abs(s):as \"step\" end, x))",
     "t0 = x\nt1 = hole 0\nt2 = n0 Abs(t1) as step\nt3 = many t2 from t0\n"
     "t4 = n1 Relu(t3)\nreturn t4\n"},
    {"x",
     "return op.Relu(context(many(function(s) return op.Abs(s) end, x):as "
     "\"steps\"))",
     "t0 = x\nt1 = hole 0\nt2 = n0 Abs(t1)\nt3 = many t2 from t0 as steps\n"
     "t4 = context t3\nt5 = n1 Relu(t4)\nreturn t5\n"},
    {"x", "return op.Concat{x, rest \"more\", axis = 0}",
     "t0 = x\nt1 = rest more\nt2 = n0 Concat(t0, t1) axis=0\nreturn t2\n"},
    {"x", "return op.Relu(context(op.Abs(x)))",
     "t0 = x\nt1 = n0 Abs(t0)\nt2 = context t1\nt3 = n1 Relu(t2)\n"
     "return t3\n"},
    {"x", "never(op.Abs(x))\nreturn op.Relu(x)",
     "t0 = x\nt1 = n0 Abs(t0)\nt2 = never t1\nt3 = n1 Relu(t0)\n"
     "condition t2\nreturn t3\n"},
    {"x, w", "return op.MatMul(x, w.T)",
     "t0 = w\nt1 = transpose t0\nt2 = x\nt3 = n0 MatMul(t2, t1)\nreturn t3\n"},
    // Facts.
    {"x, w",
     "x:shape \"... S 8 _\" x:rank(3) x:dim(-1, \"S\"):dim(0, 2)\n"
     "x:type(\"float16\", \"float32\") w:const \"K N\" w:const() w:fits \"K "
     "N\"\n"
     "return op.MatMul(x, w):shape \"\"",
     "t0 = x\nt1 = w\nt2 = n0 MatMul(t0, t1)\nt0 shape ... S 8 _\nt0 rank 3\n"
     "t0 dim -1 S\nt0 dim 0 2\nt0 type float16 float\nt1 const K N\nt1 const\n"
     "t1 fits K N\nt2 shape\nreturn t2\n"},
};

TEST_CASE("match describes patterns") {
  const RuleFolder folder;
  for (const Said& said : kSaid) {
    CAPTURE(std::string(said.body));
    auto set = load_text(folder, rule_of(said.parameters, said.body));
    CHECK_MESSAGE(set.ok(), (set ? "" : set.error().text()));
    if (!set) continue;
    CHECK(pattern::text_of(*(*set)->rules()[0]->pattern) ==
          std::string(said.text));
  }
}

struct RefusedMatch {
  const char* parameters;
  const char* body;
  int line;
  const char* text;  // somewhere in the diagnostic
};

constexpr RefusedMatch kRefused[] = {
    // Unknown names.
    {"x", "return op.Relux(x)", 2, "did you mean 'Relu'"},
    {"x", "\nreturn op.Softmax{x, axes = 1}", 3, "did you mean 'axis'?"},
    {"x", "return op.reductions(x)", 2, "did you mean 'reduction'?"},
    {"x", "return op.view{x, axis = 1}", 2, "Reshape, which has none"},
    {"x", "return op.Squeeze{x, axes = {1}}", 2,
     "'axes' is input 2 of Squeeze"},
    {"x", "return op.Relu{x, axis = 1}", 2, "it has no attributes"},
    {"x", "return op.Softmax(x, 1)", 2, "op.Softmax{..., axis = ...}"},
    {"x", "return op.Relu(x):az \"r\"", 2, "did you mean 'as'?"},
    {"x", "x:shap \"B\" return op.Relu(x)", 2, "did you mean 'shape'?"},
    {"x, m", "return op.Relu(m.x)", 2, "get the values as parameters"},
    {"x", "return eithr(op.Relu(x), op.Abs(x))", 2, "did you mean 'either'?"},
    {"x", "x:type \"fp32\" return op.Relu(x)", 2, "did you mean 'float'?"},
    {"x", "x:type \"number\" return op.Relu(x)", 2, "known: float, uint8"},
    {"x", "x:type \"flaot\" return op.Relu(x)", 2, "did you mean 'float'?"},
    {"x", "return op.Relu(y)", 2, "unknown word 'y'"},
    // Arithmetic and comparisons.
    {"x, y", "return op.Relu(x + y)", 2, "arithmetic, comparison or length"},
    {"x, y", "local z = x * 2 return op.Relu(x)", 2, "op.Add(a, b)"},
    {"x, y", "if x == y then end return op.Relu(x)", 2, "arithmetic"},
    {"x, y", "if x < y then end return op.Relu(x)", 2, "arithmetic"},
    {"x", "local n = -x return op.Relu(x)", 2, "arithmetic"},
    {"x", "local n = #x return op.Relu(x)", 2, "arithmetic"},
    {"x", "local n = x .. 'a' return op.Relu(x)", 2, "arithmetic"},
    {"x", "local n = op.Add + 1 return op.Relu(x)", 2, "of an op"},
    {"x", "x.y = 1 return op.Relu(x)", 2, "no fields to assign"},
    {"x", "return op.Relu(x[1])", 2, "cannot be indexed"},
    {"x", "return op.Relu(x(1))", 2, "called as if"},
    {"x", "op.y = 1 return op.Relu(x)", 2, "cannot be changed"},
    // Inputs and attributes of the wrong kind.
    {"x", "return op.Relu(op.Abs)", 2, "an op that is not called"},
    {"x", "return op.Relu('x')", 2, "the string 'x'"},
    {"x", "return op.Relu(true)", 2, "a boolean"},
    {"x", "return op.Add(x, {1, 'a'})", 2, "a list of numbers"},
    {"x", "return op.Softmax{x, axis = true}", 2,
     "ONNX has no booleans; write 1 or 0"},
    {"x", "return op.Softmax{x, axis = op.Relu(x)}", 2,
     "cannot have this value"},
    {"x", "return op.Softmax{x, axis = 'a'}", 2, ""},
    {"x", "return op.Transpose{x, perm = {1, 'a'}}", 2,
     "cannot have this value"},
    {"x", "return op.Cast{x, to = 'flaot'}", 2, "did you mean 'float'?"},
    {"x", "return op.Cast{x, to = 'fp16'}", 2, "did you mean 'float16'?"},
    {"x", "return op.Cast{x, saturate = 'float'}", 2, "must be an integer"},
    {"x", "return op.Relu(x, x)", 2, ""},
    {"x", "return op.Split{x, any, outputs = 0}", 2, "wrong number of outputs"},
    {"x", "return op.Split{x, any, outputs = 2.5}", 2,
     "wrong number of outputs"},
    {"x", "return op.Split{x, any, outputs = 'a'}", 2, "outputs = any"},
    {"x", "return op.Relu{x, inputs = 1}", 2, "inputs = any"},
    {"x", "return op.Relu{x, attrs = 1}", 2, "attrs = any"},
    {"x, y", "return op.Add{x, y, perms = {{1, 1}}}", 2, "`perms`"},
    {"x, y", "return op.Add{x, y, perms = {{1}}}", 2, "`perms`"},
    {"x",
     "local t = {} for i = 1, 251 do t[i] = x end return op.Max(unpack(t))", 2,
     "Max with too many inputs"},
    {"x", "return op.Relu{[0] = x}", 2, "an invalid index"},
    {"x", "return op.Relu{[1e9] = x}", 2, "an invalid index"},
    {"x", "return op.Relu{[x] = 1}", 2, "an invalid index"},
    // Facts.
    {"x", "x:shape(3) return op.Relu(x)", 2, "such as \"B S D\""},
    {"x", "x:shape() return op.Relu(x)", 2, "such as \"B S D\""},
    {"x", "x:shape 'B ... D' return op.Relu(x)", 2, "'...' is not a dimension"},
    {"x", "x:shape 'B,S' return op.Relu(x)", 2, "is not a dimension"},
    {"x", "x:shape 'end' return op.Relu(x)", 2, "is not a dimension"},
    {"x", "x:rank(-1) return op.Relu(x)", 2, "a rank below 0"},
    {"x", "x:rank(1.5) return op.Relu(x)", 2, "`:rank`"},
    {"x", "x:dim(-1) return op.Relu(x)", 2, "an axis and a letter"},
    {"x", "x:type() return op.Relu(x)", 2, "names of element types"},
    {"x", "any:shape 'B' return op.Relu(x)", 2, "has no fields"},
    // Tags.
    {"x", "return op.Relu(x):as 'end'", 2, "a keyword of Lua"},
    {"x", "return op.Relu(x):as 'a b'", 2, "follow `m.`"},
    {"x", "return op.Relu(x):as 'options'", 2, "follow `m.`"},
    {"x", "return op.Relu(x):as(3)", 2, "takes a name"},
    {"x", "x:as 'a' return op.Relu(x)", 2, "this is neither"},
    {"x", "return op.Relu(any 'while')", 2, "a keyword of Lua"},
    {"options", "return op.Relu(options)", 1, "cannot be a parameter"},
    // Choices.
    {"x", "return either(op.Relu(x))", 2, "at least two"},
    {"x", "return either{op.Relu(x), op.Abs(x)}", 2, "either(unpack(list))"},
    {"x", "return either(op.Relu(x), nil)", 2, "an alternative is nil"},
    {"x", "return either(op.Relu(x), function() end)", 2, "one pattern"},
    {"x", "return either(op.Relu(x), function() return x, x end)", 2,
     "2 values"},
    {"x", "return op.Relu(maybe())", 2, "maybe(x) is x or absent"},
    {"x", "return op.Relu(many(op.Abs(x), x))", 2, "many(function"},
    {"x", "return op.Relu(x:as \"steps\")", 2,
     "names a node or the steps of `many`"},
    {"x",
     "return op.Relu(many(function(s) return op.Abs(s):as \"a\" end, "
     "x):as \"a\")",
     2, "'a' cannot name the steps of `many`"},
    {"x", "return op.Relu(many(function(s) end, x))", 2, "one pattern"},
    {"x", "return op.Relu(many(function(s) return s end, x))", 2,
     "leads nowhere"},
    {"x", "return op.Relu(context())", 2, "takes one pattern"},
    {"x",
     "local kept\nlocal c = many(function(s) kept = s return op.Abs(s) "
     "end, x)\nreturn op.Add(kept, c)",
     0, "outside of it"},
    // Errors that finish() finds.
    {"x", "op.Abs(x)\nreturn op.Relu(x)", 2, "is not part of the pattern"},
    {"x", "return x", 0, "bare variable"},
    {"x", "return many(function(s) return op.Abs(s) end, x)", 2,
     "`many` may take no step"},
    {"x", "", 0, "`match` returns nothing"},
    {"x", "return nil", 0, ""},
    {"x", "x:shape 'B S'\nx:rank(3)\nreturn op.Relu(x)", 0, ""},
    {"x", "return op.Concat{rest 'a', x, axis = 0}", 0, "not the last input"},
    {"x", "return op.Softmax{op.Relu(x), axis = x}", 2, "two different things"},
    {"x", "return op.Relu(op.Abs(x):as 'x')", 2, "cannot name a node"},
    {"x", "return op.Add(op.Abs(x):as 'a', op.Relu(x):as 'a')", 0, "'a'"},
    {"x", "return op.Relu(error('stop'))", 2, "stop"},
    {"x", "coroutine.yield() return op.Relu(x)", 2, "yield"},
};

TEST_CASE("errors in match have file and line") {
  const RuleFolder folder;
  for (const RefusedMatch& refused : kRefused) {
    CAPTURE(std::string(refused.body));
    auto set = load_text(folder, rule_of(refused.parameters, refused.body));
    CHECK(!set.ok());
    if (set) continue;
    const std::string text = set.error().text();
    CHECK(set.error().kind == ErrorKind::kRule);
    CHECK_MESSAGE(text.find(refused.text) != std::string::npos, text);
    const std::string place = folder.path("r.lua") + ":";
    CHECK_MESSAGE(set.error().where.starts_with(place), text);
    if (refused.line > 0) {
      CHECK_MESSAGE(set.error().where == place + std::to_string(refused.line),
                    text);
    }
  }
}

TEST_CASE("a handle is only valid in its own match") {
  const RuleFolder folder;
  folder.write("lib/stash.lua",
               "local kept return function(x) "
               "local old = kept kept = x return old end");
  const auto first = load_text(
      folder,
      "local swap = lib 'stash' return rule {match = function(op, x) "
      "swap(x) return op.Relu(x) end, rewrite = function(op, m) end}");
  CHECK(first.ok());
  // A lib runs again for each rule, so it holds no handle of another one.
  const auto second =
      load_text(folder,
                "local swap = lib 'stash' return rule {match = function(op, x) "
                "assert(swap(x) == nil) return op.Relu(x) end,\n"
                "rewrite = function(op, m) end}");
  CHECK(second.ok());
}

TEST_CASE("the line of a node is that of the rule, even for a lib's call") {
  const RuleFolder folder;
  folder.write("lib/far.lua",
               "\n\n\n\n\n\nreturn function(op, x)\n"
               "  local y = op.Relu(x)\n  return y\nend");
  auto set =
      load_text(folder,
                "local far = lib 'far'\nreturn rule {match = function(op, x)"
                "\n  local y = far(op, x)\n  return op.Abs(y) end,\n"
                "rewrite = function(op, m) end}");
  REQUIRE(set.ok());
  const auto& nodes = (*set)->rules()[0]->pattern->nodes();
  CHECK(nodes[0].line == 3);
  CHECK(nodes[1].line == 4);
}

TEST_CASE("a node that a lib builds later has the line that described it") {
  const RuleFolder folder;
  folder.write("lib/later.lua",
               "local later = {}\n\n\n"
               "function later.note(name)\n"
               "  local place = here()\n"
               "  return {name = name, place = place}\nend\n"
               "function later.build(note, op, x)\n"
               "  local y = blame(note.place, function() return "
               "op[note.name](x) end)\n  return y\nend\n"
               "return later");
  const auto text = [](const char* name) {
    return std::string(
               "local later = lib 'later'\n\nlocal note = "
               "later.note '") +
           name +
           "'\nlocal other = later.note 'Abs'\n"
           "return rule {match = function(op, x)\n"
           "  return later.build(other, op, later.build(note, op, x)) end,\n"
           "  rewrite = function(op, m) end}";
  };
  auto set = load_text(folder, text("Relu"));
  REQUIRE_MESSAGE(set.ok(), (set.ok() ? "" : set.error().text()));
  const auto& nodes = (*set)->rules()[0]->pattern->nodes();
  CHECK(nodes[0].line == 3);
  CHECK(nodes[1].line == 4);
  set = load_text(folder, text("Rleu"));
  REQUIRE(!set.ok());
  CHECK(set.error().where.ends_with(".lua:3"));
  CHECK(set.error().hint == "did you mean 'Relu'?");
}

TEST_CASE("blame passes errors on and adds none") {
  const RuleFolder folder;
  const auto said = [&](const std::string& body) {
    auto set = load_text(folder, "return rule {match = function(op, x)\n" +
                                     body + " end,\nrewrite = function() end}");
    REQUIRE(!set.ok());
    return set.error().text();
  };
  CHECK(said("local function f() blame('a:1', f) return 1 end f()") != "");
  CHECK(said("while true do blame('a:1', function() end) end").find("longer") !=
        std::string::npos);
  CHECK(said("blame('a:1', function() error 'mine' end)").find("mine") !=
        std::string::npos);
  CHECK(said("blame(1, 2)") != "");
}

TEST_CASE("errors of a lib have parts, and the place that it gives") {
  const RuleFolder folder;
  folder.write("lib/strict.lua",
               "local strict = {}\n"
               "function strict.small(n)\n"
               "  if n > 3 then mistake{place = here(), what = 'too large', "
               "expected = 'at most 3', found = n, hint = 'h'} end\n"
               "  return n\nend\n"
               "function strict.run(f) return (blame(nil, f)) end\n"
               "return strict");
  const auto said = [&](const std::string& text) {
    auto set = load_text(folder, "local strict = lib 'strict'\n" + text);
    REQUIRE(!set.ok());
    const std::string& where = set.error().where;
    return set.error().what + "|" + set.error().expected + "|" +
           set.error().found + "|" + set.error().hint + "|" +
           where.substr(where.rfind(':'));
  };
  CHECK(said("\nlocal n = strict.small(4)") == "too large|at most 3|4|h|:3");
  // A returned call leaves no line; the line of its function is used instead.
  CHECK(said("\nstrict.run(function()\n\n  return strict.small(4)\nend)") ==
        "too large|at most 3|4|h|:3");
  CHECK(said("\nstrict.run(function()\n\n  local n = strict.small(4)\nend)") ==
        "too large|at most 3|4|h|:5");
  CHECK(said("\nmistake{what = 'mine'}") == "mine||||:3");
}

TEST_CASE("names of Lua") {
  for (const char* good : {"a", "_x1", "Q", "goto_"}) CHECK(is_lua_name(good));
  for (const char* bad : {"", "1a", "a b", "a-b", "end", "goto", "é"}) {
    CHECK(!is_lua_name(bad));
  }
}

}  // namespace
}  // namespace ruleengine::lua
