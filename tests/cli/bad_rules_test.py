"""Invalid rules: one diagnostic that names file and line, the right exit code,
no output, no crash; by the program and by its sanitized build."""

import dataclasses
import unittest

import onnx

from support import graphs, make, program

rule = make.rule
TWICE = "op.Neg(op.Neg(x))"


@dataclasses.dataclass
class Bad:
    text: str | bytes
    says: list
    code: int = 4
    # The nodes of the model; by default two Neg between x and y.
    body: str = "a = Relu(x) b = Neg(a) c = Neg(b) y = Exp(c)"


LOADING = {
    # Files that are no rule files.
    "empty": Bad("", []),
    "words": Bad("this is not Lua", ["bad.lua:1"]),
    "cut": Bad("return rule {\n  doc = ", ["bad.lua:2"]),
    "no_return": Bad("local x = 1\n", []),
    "a_number": Bad("return 7\n", []),
    "bytecode": Bad(b"\x1bLJ\x02\x00\x00\x00\x00", ["bytecode"]),
    "noise": Bad(bytes(range(256)) * 8, ["bad.lua"]),
    "thrown": Bad('\nerror("boom")\n', ["bad.lua:2", "boom"]),
    "thrown_in_match": Bad(rule('error("boom")'), ["bad.lua:4", "boom"]),
    "thrown_table": Bad("error({})\n", ["bad.lua"]),
    "thrown_nil": Bad("error(nil)\n", ["bad.lua"]),
    "too_deep": Bad("return " + "(" * 5000 + "1" + ")" * 5000, ["bad.lua:1"]),
    "recursion": Bad("local function f() return 1 + f() end\nf()",
                     ["bad.lua"]),
    # Keys.
    "unknown_key": Bad(rule(more="wehre = function(m) end,"),
                       ["wehre", "where"]),
    "no_match": Bad('return rule { doc = "a", rewrite = function() end }',
                    ["match"]),
    "no_rewrite": Bad('return rule { doc = "a", match = function(op, x) '
                      "return op.Neg(x) end }", ["rewrite"]),
    "match_is_text": Bad('return rule { doc = "a", match = "Neg", rewrite = '
                         "function(op, m) return m.x end }", ["match"]),
    "unknown_phase": Bad(rule(more='phase = "atention",'),
                         ["atention", "attention"]),
    "example_without_end": Bad(rule(more='examples = { { "a" } },'), ["bad"]),
    # Ops, words, attributes.
    "unknown_op": Bad(rule("op.Trnspose(op.Neg(x))"),
                      ["bad.lua:4", "Trnspose", "mean 'Transpose'?"]),
    "unknown_op_in_dialect": Bad(
        rule("op.ruleengine.ScaledDotProductAtention(x, x, x)"),
        ["bad.lua:4", "ScaledDotProductAttention"]),
    "unknown_word": Bad(rule("mayeb(op.Neg(x), x)"),
                        ["bad.lua:4", "mayeb", "maybe"]),
    "op_without_op": Bad(rule("Neg(Neg(x))"), ["bad.lua:4", "mean 'op.Neg'?"]),
    "undeclared_variable": Bad(rule("op.Neg(op.Neg(input))"),
                               ["bad.lua:4", "'input'",
                                "function(op, ..., input)"]),
    "unknown_fact": Bad(rule("op.Neg(x:shap(\"A\"))"),
                        ["bad.lua:4", "shap", "shape"]),
    "unknown_attribute": Bad(rule("op.Softmax{x, axs = 1}"),
                             ["bad.lua:4", "axs", "axis"]),
    "attribute_of_another_type": Bad(rule('op.Softmax{x, axis = "last"}'),
                                     ["bad.lua:4", "axis"]),
    "too_many_inputs": Bad(rule("op.Neg(x, x)"), ["bad.lua:4", "Neg"]),
    "too_few_inputs": Bad(rule("op.Add(x)"), ["bad.lua:4", "Add"]),
    "too_many_outputs": Bad(rule("op.Neg{x, outputs = 2}"),
                            ["bad.lua:4", "Neg"]),
    "input_as_an_attribute": Bad(rule("op.Squeeze{x, axes = {1}}"),
                                 ["bad.lua:4", "'axes' is input 2"]),
    "attribute_as_an_input": Bad(rule("op.Softmax(x, 1)"),
                                 ["bad.lua:4", "axis = ..."]),
    "a_dot_for_the_colon": Bad(rule('op.Neg(x.shape "A")'),
                               ["bad.lua:4", "write a colon"]),
    # Variables and tags.
    "never_bound": Bad(rule(TWICE, "m.z", names="x, z"), ["z"]),
    "never_bound_in_where": Bad(
        rule(names="x, z", more="where = function(m) need(m.z, 'no') end,"),
        ["z"]),
    "bound_twice": Bad(rule('op.Add(op.Neg(x):as "a", op.Abs(x):as "a")'),
                       ["bad.lua:4", "a"]),
    "keyword_tag": Bad(rule('op.Neg(x):as "end"'), ["bad.lua:4", "end"]),
    "arithmetic": Bad(rule("op.Neg(x) + 1"), ["bad.lua:4"]),
    "comparison": Bad(rule("op.Neg(x) < op.Neg(x)"), ["bad.lua:4"]),
    "equality_with_a_number": Bad(
        rule("x == 1 and op.Neg(x) or op.Neg(op.Neg(x))"),
        ["bad.lua:4", "'x' is compared with 1", "op.Mul(x, 1)"]),
    "length": Bad(rule("op.Neg(x, #x)"), ["bad.lua:4"]),
    "nothing_returned": Bad(rule("nil"), ["bad.lua"]),
    "a_variable_returned": Bad(rule("x"), ["bad.lua"]),
    "can_never_match": Bad(rule('op.Neg(op.Softmax{x, axis = -1}:type "float"'
                                ':type "int64")'), ["bad.lua"]),
    # The sandbox.
    "global_written": Bad("counter = 1\n" + rule(), ["bad.lua:1", "counter"]),
    "global_read": Bad(rule(more="where = function(m) need(counter) end,"),
                       ["counter"]),
    "upvalue": Bad("local n = 0\n" + rule(
        more="where = function(m) n = n + 1 end,"), ["n"]),
    "unknown_lib": Bad('local l = lib "nobody"\n' + rule(),
                       ["bad.lua:1", "nobody"]),
    "pack_of_nobody": Bad('return pack { "nobody" }', ["nobody"]),
    **{f"no_{word.split('.')[0].split('(')[0]}": Bad(
        f"local x = {word}\n" + rule(), ["bad.lua:1"])
       for word in ("io.open", "os.time", "ffi.C", "debug.sethook",
                    "package.path", 'require("io")', 'dofile("x")',
                    'loadfile("x")', "string.dump(print)",
                    'load("\\27LJ")()', "jit.off()", "collectgarbage()")},
}

RUNNING = {
    "thrown_in_where": Bad(rule(more='where = function(m) error("boom") end,'),
                           ["bad.lua:9", "boom"]),
    "thrown_in_rewrite": Bad(rule(rewrite='(error("boom"))'),
                             ["bad.lua:7", "boom"]),
    "thrown_in_a_tail_call": Bad(rule(rewrite='error("boom")'),
                                 ["bad.lua:7", "boom"]),
    "a_dot_for_the_colon": Bad(
        rule(more='where = function(m) need(m.x.const(), "no") end,'),
        ["bad.lua:9", "write a colon"]),
    "op_without_op": Bad(rule(rewrite="Neg(m.x)"),
                         ["bad.lua:7", "mean 'op.Neg'?"]),
    "a_node_as_a_result": Bad(
        rule('op.Neg(op.Neg(x):as "inner")', "m.inner"),
        ["bad.lua", "a node", "outputs[1]"]),
    "a_variable_without_m": Bad(rule(rewrite="x"),
                                ["bad.lua:7", "'x'", "mean 'm.x'?"]),
    "a_tag_without_m": Bad(
        rule('op.Neg(op.Neg(x):as "inner")',
             more="where = function(m) need(inner, 'no') end,"),
        ["bad.lua:9", "mean 'm.inner'?"]),
    "where_returns_false": Bad(
        rule(more="where = function(m) return #m.x.shape == 2 end,"),
        ["bad.lua:9", "returns a value", "need("]),
    "two_results_for_one": Bad(rule(rewrite="m.x, m.x"), ["bad.lua", "2"]),
    "one_result_for_two": Bad(
        rule("op.Neg(x), op.Exp(x)", "m.x"), ["bad.lua"],
        body="a = Neg(x) b = Exp(x) y = Add(a, b)"),
    "no_result": Bad(rule(rewrite=""), ["bad.lua"]),
    "text_as_a_result": Bad(rule(rewrite='"x"'), ["bad.lua"]),
    "a_table_as_a_result": Bad(rule(rewrite="{}"), ["bad.lua"]),
    "undeclared": Bad(rule(more="where = function(m) need(m.nobody) end,"),
                      ["nobody"]),
    "assigned_over": Bad(rule(more="where = function(m) m.x = 1 end,"),
                         ["bad.lua:9", "x"]),
    "unknown_op_built": Bad(rule(rewrite="(op.Trnspose(m.x))"),
                            ["bad.lua:7", "mean 'Transpose'?"]),
    "unknown_attribute_built": Bad(rule(rewrite="(op.Softmax{m.x, axs = 1})"),
                                   ["bad.lua:7", "axs", "axis"]),
    "required_input_absent": Bad(
        rule("either(op.Neg(op.Neg(x)), op.Abs(z))", "(op.Exp(m.z))",
             names="x, z"), ["bad.lua:7"]),
    "recursion": Bad(rule(more="where = function(m) local function f() "
                          "return 1 + f() end f() end,"), ["bad.lua"]),
    "pointer_as_text": Bad(rule(rewrite="(op.Cast{m.x, to = m})"),
                           ["bad.lua:7"]),
}

SPIN = "while true do end"
EAT = 'local t = {} for i = 1, 1e9 do t[i] = "s" .. i end'
DOUBLE = 'local s = "x" for i = 1, 60 do s = s .. s end'


def where(code):
    return rule(more=f"where = function(m) {code} end,")


ENDLESS = {
    "loop_at_load": Bad(SPIN, ["bad.lua"]),
    "loop_in_match": Bad(rule(f"(function() {SPIN} end)()"), ["bad.lua"]),
    "loop_in_where": Bad(where(SPIN), ["bad.lua"]),
    "loop_in_rewrite": Bad(rule(rewrite=f"(function() {SPIN} end)()"),
                           ["bad.lua"]),
    "loop_in_pcall": Bad(
        where(f"while true do pcall(function() {SPIN} end) end"),
        ["bad.lua"]),
    "loop_in_coroutine": Bad(
        where(f"local c = coroutine.wrap(function() {SPIN} end) c()"),
        ["bad.lua"]),
    "loop_in_sort": Bad(
        where("local t = {} for i = 1, 200 do t[i] = i end while true do "
              "table.sort(t, function(a, b) return a > b end) end"),
        ["bad.lua"]),
    "loop_in_gsub": Bad(
        where('while true do ("x"):rep(100):gsub(".", function() end) end'),
        ["bad.lua"]),
    "pattern_that_backtracks": Bad(
        where('local s = ("a"):rep(100000) s:find(("a*"):rep(30) .. "b")'),
        ["bad.lua"]),
    "memory_at_load": Bad(EAT, ["bad.lua"]),
    "memory_in_where": Bad(where(EAT), ["bad.lua"]),
    "memory_doubled": Bad(where(DOUBLE), ["bad.lua"]),
    "memory_in_pcall": Bad(
        where(f"while true do pcall(function() {EAT} end) end"),
        ["bad.lua"]),
    "memory_repeated": Bad(where('local s = ("x"):rep(2 ^ 31)'),
                           ["bad.lua"]),
}
for bad in ENDLESS.values():
    bad.code = 5

FEEDING = {
    "itself": Bad(
        rule("op.Relu(x)", "op.Relu(op.Identity(m.x))"), ["bad"], 5),
    "growing": Bad(rule("op.Neg(x)", "op.Neg(op.Neg(op.Neg(m.x)))"),
                   ["bad"], 5),
}


class BadRulesTest(program.ProgramTest):
    LIMITS = ["--limit-callback", "0.5", "--limit-load", "0.5",
              "--limit-memory", "64"]

    def model(self, body):
        self.write("m.onnx", make.onnx_bytes(
            f"m (float[2,3] x) => (float[2,3] y) {{ {body} }}"))

    def check(self, bad):
        self.model(bad.body)
        self.write("bad.lua", bad.text)
        limits = self.LIMITS if bad in ENDLESS.values() else []
        for which in program.programs():
            slow = program.SLOWNESS if which == program.ASAN else 1
            done = self.run_bad(
                bad.code, "run", "bad.lua", "m.onnx", "-o", "out.onnx",
                *limits, program=which, timeout=10 * slow, says=bad.says)
            self.assertNotIn("bug of ruleengine", done.err)

    def test_at_load_the_model_is_not_needed(self):
        """Errors of a rule are reported before the model is read."""
        self.write("bad.lua", LOADING["unknown_op"].text)
        self.run_bad(4, "run", "bad.lua", "nobody.onnx", says="bad.lua")

    def test_two_rules_that_undo_each_other(self):
        self.model("y = Neg(x)")
        self.write("there.lua", rule("op.Neg(x)", "op.Mul(m.x, -1)"))
        self.write("back.lua", rule("op.Mul(x, -1)", "op.Neg(m.x)"))
        for which in program.programs():
            self.run_bad(5, "run", "there.lua", "back.lua", "m.onnx", "-o",
                         "out.onnx", program=which, says=["there", "back"])

    def test_one_that_is_preempted(self):
        """A warning, printed by the verbs that test rules."""
        self.model(self.BODY)
        self.write("one.lua", rule("op.Neg(x)"))
        self.write("two.lua", rule(TWICE))
        for words in (["run", "one.lua", "two.lua", "m.onnx"],
                      ["match", "two.lua", "one.lua", "m.onnx"],
                      ["test", "one.lua", "two.lua"]):
            done = self.run_ok(*words)
            self.assertRegex(done.err, r"warning: rule '\S+/two' is "
                             r"preempted: '\S+/one' .*two\.lua:1, one\.lua:1")
        done = self.run_ok("run", "two.lua", "m.onnx")
        self.assertNotIn("preempted", done.err)

    BODY = "a = Relu(x) b = Neg(a) c = Neg(b) y = Exp(c)"

    def rejected(self, text):
        """The match is dropped with a reason, another rule continues."""
        self.model(self.BODY)
        self.write("bad.lua", text)
        self.write("cancel.lua", make.CANCEL)
        for which in program.programs():
            self.run_ok("run", "bad.lua", "cancel.lua", "m.onnx", "-o",
                        "out.onnx", "--report", "r.json", program=which)
            ops = [graphs.op(node) for node in onnx.load(
                self.folder / "out.onnx").graph.node]
            self.assertEqual(ops, ["Relu", "Exp"])
            report = (self.folder / "r.json").read_text()
            self.assertIn('"reason"', report)

    def test_another_shape_is_rejected(self):
        self.rejected(rule(
            "op.Relu(x)", "op.Concat{m.x, m.x, axis = 0}"))

    def test_another_rank_is_rejected(self):
        self.rejected(rule(
            "op.Relu(x)", "op.Unsqueeze(m.x, {0})"))

    def test_another_type_is_rejected(self):
        self.rejected(rule(
            "op.Relu(x)", 'op.Cast{m.x, to = "float16"}'))

    def test_a_cycle_is_rejected(self):
        # The replacement of `a` would read a value that is computed from `a`.
        self.rejected(rule(
            'op.Relu(x):as "relu"',
            "op.Add(m.relu.outputs[1].users[1].outputs[1], m.x)"))

    def test_a_result_that_reads_itself_stays_valid(self):
        self.model(self.BODY)
        self.write("wrap.lua", rule('op.Relu(x):as "relu"',
                                    "op.Neg(m.relu.outputs[1])"))
        done = program.run("run", "wrap.lua", "m.onnx", "-o", "out.onnx",
                           cwd=self.folder)
        self.assertIn(done.code, (0, 4, 5), done.err)
        if done.code == 0:
            onnx.checker.check_model(onnx.load(self.folder / "out.onnx"))


def add_tests(table, kind):
    for name, bad in table.items():
        setattr(BadRulesTest, f"test_{kind}_{name}",
                lambda self, bad=bad: self.check(bad))


add_tests(LOADING, "loading")
add_tests(RUNNING, "running")
add_tests(ENDLESS, "endless")
add_tests(FEEDING, "feeding")

if __name__ == "__main__":
    unittest.main()
