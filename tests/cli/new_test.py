"""`new`: rules to start from, and rules from nodes of a model."""

import re
import unittest

from support import program

BERT = program.ROOT / "examples" / "bert.onnx"
LAYER = "/model/encoder/layer.0"
GATE = """<ir_version: 8, opset_import: ["" : 17]>
gate (float[N,16] x, float[N,16] z) => (float[N,16] y) {
  a = Add(x, z)
  s = Sigmoid(a)
  m = Mul(a, s)
  t = Sigmoid(x)
  n = Mul(m, t)
  y = Relu(n)
}
"""


class NewTest(program.ProgramTest):
    def rule(self, name):
        return (self.folder / f"{name}.lua").read_text()

    def draft(self, model, *nodes, matches=1, executed=True, options=()):
        """The text of a rule, which is shown to fire, and does."""
        said = self.run_ok("new", "made", "--from", model, *nodes,
                           *options).out
        plural = "" if matches == 1 else "es"
        self.assertIn(f"{model}: {matches} match{plural}, one at these nodes\n",
                      said)
        self.assertEqual(executed, "not executed" not in said, said)
        self.assertIn("1 passed, 0 failed", self.run_ok("test",
                                                        "made.lua").out)
        self.run_ok("run", "made.lua", model, "-o", "out.onnx", "-q",
                    "--verify=lenient", "--require-match")
        self.assertIn("com.example", self.run_ok("report", "out.onnx").out)
        text = self.rule("made")
        (self.folder / "made.lua").unlink()
        return text

    def test_a_rule_to_start_from(self):
        self.assertEqual(self.run_ok("new", "mine").out, "mine.lua: written\n")
        self.assertIn("3 passed, 0 failed", self.run_ok("test", "mine.lua").out)
        self.run_ok("test", "mine.lua", "--fuzz", "200")
        self.run_ok("new", "./other.lua")
        self.assertEqual(self.rule("mine"), self.rule("other"))

    def test_wrong_calls(self):
        self.write("m.onnxtxt", GATE)
        self.write("there.lua", "mine")
        for arguments, says in (
                (("there",), "there already"), (("4th",), "no name of a rule"),
                (("a b",), "no name of a rule"), ((), "one name"),
                (("_",), "no name of a rule"), (("_1",), "no name of a rule"),
                (("a", "--exact"), "--from"),
                (("a", "b"), "one name"),
                (("a", "--from", "m.onnxtxt"), "no nodes"),
                (("a", "--from", "m.onnxtxt", "q"), "no such node"),
                (("a", "--from", "m.onnxtxt", "x"), "an input of the model"),
                (("a", "--from", "m.onnxtxt", "s", "n"),
                 "Mul node of output 'm'"),
                (("a", "--from", "m.onnxtxt", "s", "t"), "two pieces")):
            self.run_bad(2, "new", *arguments, says=(says,))
        self.run_bad(3, "new", "a", "--from", "none.onnx", "x")
        self.run_bad(7, "new", "none/a")
        self.assertEqual(self.rule("there"), "mine")
        self.assertFalse((self.folder / "a.lua").exists())

    def test_sizes_are_named(self):
        self.write("m.onnxtxt", GATE)
        text = self.draft("m.onnxtxt", "s", "m")
        self.assertIn("return op.Mul(x, op.Sigmoid(x))", text)
        self.assertIn('x:shape "B S"', text)
        self.assertNotIn("16", text)
        # Sizes that are equal by chance have two letters.
        self.write("m.onnxtxt", """<ir_version: 8, opset_import: ["" : 17]>
            g (float[4,4] x) => (float[4,4] y) <float[4,4] w = {%s}> {
              p = MatMul(x, w)  y = Relu(p) }""" % ",".join("1" * 16))
        text = self.draft("m.onnxtxt", "p")
        x, w = re.findall(r':shape "(\w \w)"', text)
        self.assertEqual(x[-1], w[0])
        self.assertEqual(len(set(x + w) - {" "}), 3)

    def test_sizes_that_must_be_numbers(self):
        self.write("m.onnxtxt", """<ir_version: 8, opset_import: ["" : 17]>
            g (float[2,12] x, float[1] b) => (float[2,3,4] y)
            <int64[3] shape = {0, 3, 4}> {
              s = Add(x, b)  r = Reshape(s, shape)  y = Neg(r) }""")
        text = self.draft("m.onnxtxt", "r")
        self.assertIn('x:shape "B _"', text)
        self.assertIn("(float[B,12] x)", text)
        self.assertIn("Made(m.x, m.shape)", text)
        # 1 is broadcast: another size would fit by chance alone.
        self.assertIn('y:shape "_"', self.draft("m.onnxtxt", "s"))

    def test_several_results(self):
        self.write("m.onnxtxt", """<ir_version: 8, opset_import: ["" : 18]>
            g (float[2,12] x) => (float[2,6] y, float[2,6] z, float[2,12] t) {
              t = Relu(x)
              y, b = Split <axis = 1, num_outputs = 2> (t)
              z = Neg(b) }""")
        text = self.draft("m.onnxtxt", "t", "y")
        self.assertIn("outputs = 3}", text)
        self.assertIn("relu, split, split2 = com.example.Made(x)", text)

    def test_what_old_opsets_say(self):
        """The pattern is that of the newest opset, the example the model's."""
        self.write("m.onnxtxt", """<ir_version: 8, opset_import: ["" : 12]>
            g (float[2,N] x) => (float[2] y) {
              r = ReduceSum <axes = [-1], keepdims = 0> (x)  y = Sqrt(r) }""")
        text = self.draft("m.onnxtxt", "r", "y")
        self.assertIn("op.ReduceSum{x, {-1}, keepdims = 0}", text)
        self.assertIn('<opset_import: ["": 12]>', text)

    def test_attributes_and_absent_inputs(self):
        self.write("m.onnxtxt", """<ir_version: 8, opset_import: ["" : 17,
            "my.ops": 1]> g (float[N] x) => (float16[N] y) <float h = {2}> {
              c = Clip(x, , h)
              q = my.ops.Thing <f = 2.0, i = 2, l = [1.0], s = "a]]b"> (c)
              y = Cast <to = 10> (q) }""")
        text = self.draft("m.onnxtxt", "c", "q", "y", executed=False)
        self.assertIn("op.Clip(x, nil, 2)", text)
        self.assertIn('op["my.ops"].Thing{', text)
        self.assertIn("f = float(2)", text)
        self.assertIn("l = float({1})", text)
        self.assertIn('to = "float16"', text)

    def test_names_that_mean_something_else(self):
        """Names of attributes and ops may be words of Lua and of rules."""
        self.write("m.onnxtxt", """<ir_version: 8, opset_import: ["" : 17,
            "my-ops": 1]> g (float[N] x) => (float[N] y) {
              q = "my-ops".end <end = 1, "a]] b" = 2> (x)  y = Neg(q) }""")
        text = self.draft("m.onnxtxt", "q", executed=False)
        self.assertIn('op["my-ops"]["end"]{x, ["end"] = 1, ["a]] b"] = 2}',
                      text)
        self.write("m.onnxtxt", """<ir_version: 8, opset_import: ["" : 17,
            "my": 1]> g (float[N] x) => (float[N] y) {
              y = my.Thing <outputs = 1> (x) }""")
        self.run_bad(2, "new", "r", "--from", "m.onnxtxt", "y",
                     says=("'outputs'",))

    def test_what_a_number_cannot_say(self):
        """The constant is then an input of the op: numbers have no rank, and
        their type must follow from something."""
        head = '<ir_version: 8, opset_import: ["" : 21]>\n'
        for graph, made in (
                ("g (float[N,4] x) => (float[N] y) <int64 c = {1}> "
                 "{ y = Gather <axis = 1> (x, c) }", "Made(m.x, m.c)"),
                ("g (bool[N] x) => (float[N] y) <float a = {1}, float b = {0}>"
                 " { y = Where(x, a, b) }", "Made(m.x, m.a, m.b)"),
                ("g (float[N] x) => (float[N] y) <float z = {0}> "
                 "{ y = Div(x, z) }", "Made(m.x, m.z)")):
            self.write("m.onnxtxt", head + graph)
            text = self.draft("m.onnxtxt", "y", executed="Div" not in graph)
            self.assertIn(made, text)
        # Sizes that were an attribute are numbers: nothing else has them.
        self.write("m.onnxtxt", """<ir_version: 8, opset_import: ["" : 11]>
            g (float[N,6] x) => (float[N,2] y, float[N,4] z) {
              y, z = Split <axis = 1, split = [2, 4]> (x) }""")
        self.assertIn("op.Split{x, {2, 4}, axis = 1, outputs = 2}",
                      self.draft("m.onnxtxt", "y"))

    def test_parts_of_a_split(self):
        self.write("m.onnxtxt", """<ir_version: 8, opset_import: ["" : 18]>
            g (float[N,6] x) => (float[N,2] y) {
              a, b, c = Split <axis = 1, num_outputs = 3> (x)
              y = Add(a, b) }""")
        self.draft("m.onnxtxt", "a", "y", options=())

    def test_models_that_import_no_standard_ops(self):
        self.write("m.onnxtxt", """<ir_version: 8,
            opset_import: ["ai.onnx.ml": 1]>
            g (float[2,4] x, int64[2] i) => (float[2,2] y) {
              y = ai.onnx.ml.ArrayFeatureExtractor(x, i) }""")
        self.run_ok("new", "r", "--from", "m.onnxtxt", "y")
        self.run_ok("run", "r.lua", "m.onnxtxt", "-o", "out.onnx",
                    "--target", "portable")
        self.run_ok("print", "out.onnx")

    def test_sequences_between_the_nodes(self):
        self.write("m.onnxtxt", """<ir_version: 8, opset_import: ["" : 17]>
            g (float[N] x) => (float[N] y) <int64 i = {0}> {
              s = SequenceConstruct(x, x)  y = SequenceAt(s, i) }""")
        self.draft("m.onnxtxt", "s", "y")
        self.run_bad(2, "new", "r", "--from", "m.onnxtxt", "s",
                     says=("no tensor",))

    def test_calls_of_functions(self):
        self.write("m.onnxtxt", """<ir_version: 8, opset_import: ["" : 17,
            "my": 1]> g (float[N] x) => (float[N] y) { y = my.F(x) }
            <domain: "my", opset_import: ["" : 17]> F (x) => (y) {
              y = Exp(x) }""")
        self.run_bad(2, "new", "r", "--from", "m.onnxtxt", "y",
                     says=("a function of the model", "--first"))

    def test_nodes_without_a_pattern(self):
        self.write("m.onnxtxt", """<ir_version: 8, opset_import: ["" : 17]>
            g (float[N] x, bool c) => (float[N] y) {
              k = Constant <value = float {1}> ()
              i = If <then_branch = t () => (float[N] a) { a = Add(x, k) },
                      else_branch = e () => (float[N] b) { b = Neg(x) }> (c)
              d = Abs(x)
              y = Add(i, d) }""")
        for node, says in (("i", "then_branch"), ("a", "node of a body"),
                           ("k", "constants alone")):
            self.run_bad(2, "new", "r", "--from", "m.onnxtxt", node,
                         says=(says,))

    def test_of_a_real_model(self):
        act = f"{LAYER}/intermediate/intermediate_act_fn"
        nodes = [f"{act}/{name}" for name in "Div Erf Add Mul Mul_1".split()]
        text = self.draft(BERT, *nodes, matches=2)
        self.assertIn("op.Mul(op.Mul(x, op.Add(op.Erf(op.Div(x, 1.4142135)), "
                      "1)), 0.5)", text)
        out = f"{LAYER}/output"
        text = self.draft(BERT, f"{out}/dense/MatMul", f"{out}/dense/Add",
                          f"{out}/Add", f"{out}/LayerNorm/LayerNormalization",
                          matches=4)
        self.assertIn('w:shape "D H"', text)
        self.assertIn("epsilon = 1e-12", text)
        self.assertEqual(text, self.draft(
            BERT, f"{out}/dense/Add", f"{out}/Add", f"{out}/dense/MatMul",
            f"{out}/LayerNorm/LayerNormalization", matches=4))

    def test_a_sibling_that_matches_first(self):
        self.write("m.onnxtxt", """<ir_version: 8, opset_import: ["" : 17]>
            g (float[N] x) => (float[N] y, float[N] z) {
              a = Abs(x)  b = Neg(a)  c = Neg(a)
              y = Exp(b)  z = Sqrt(c) }""")
        done = program.run("new", "r", "--from", "m.onnxtxt", "a", "c",
                           cwd=self.folder)
        self.assertEqual((done.code, "none at these nodes" in done.out),
                         (1, True), done)

    def test_after_other_rules(self):
        """The nodes are those that rules which run before leave."""
        self.write("m.onnxtxt", GATE.replace("a = Add(x, z)",
                                             "o = Neg(x) p = Neg(o) "
                                             "a = Add(p, z)"))
        text = self.draft(
            "m.onnxtxt", "a", "s", "m",
            options=("--first", program.ROOT / "rules" / "simplify.lua"))
        self.assertIn("local add = op.Add(x, y)", text)


if __name__ == "__main__":
    unittest.main()
