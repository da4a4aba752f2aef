"""`body` of a rule file: what an op of the user's own means. Written as a
function for runtimes, executed by `test`, `--verify` and `exec`."""

import numpy
import onnx
import onnxruntime
from support import make
from support.bodies import FUNCTION, SWISH, TEXT, WRONG, BodyTest, swish


def functions(model):
    return sorted((f.domain, f.name, f.overload) for f in model.functions)


class Body(BodyTest):
    def rewritten(self, *words, rule="swish.lua", model="swish.onnx"):
        self.run_ok("run", rule, model, "-o", "out.onnx", *words)
        return onnx.load(self.folder / "out.onnx")

    def check_in_onnx_runtime(self, model="swish.onnx", **more):
        """The result equals the model there."""
        draw = numpy.random.default_rng(0)
        inputs = {"x": draw.standard_normal((2, 3), dtype=numpy.float32),
                  "z": draw.standard_normal((5, 3), dtype=numpy.float32),
                  **more}
        found = [onnxruntime.InferenceSession(self.folder / name).run(None, inputs)
                 for name in (model, "out.onnx")]
        for a, b in zip(*found):
            numpy.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)

    def test_portable_writes_a_function(self):
        self.write("swish.lua", swish())
        for target in "portable", "tensorrt":
            with self.subTest(target):
                result = self.rewritten("--target", target, "--verify")
                self.assertEqual(functions(result),
                                 [("com.example", "Swish", "")])
                onnx.checker.check_model(result)
                self.check_in_onnx_runtime()

    def test_a_function_is_called_for_each_signature(self):
        self.write("swish.lua", swish(FUNCTION))
        result = self.rewritten("--target", "portable", "--verify")
        self.assertEqual([f[:2] for f in functions(result)],
                         [("com.example", "Swish")] * 2)
        onnx.checker.check_model(result)
        self.check_in_onnx_runtime()
        result = self.rewritten("--target", "tensorrt", "--verify")
        self.assertEqual(functions(result), [("com.example", "Swish_1", ""),
                                             ("com.example", "Swish_2", "")])
        self.check_in_onnx_runtime()

    def test_equal_calls_share_a_function(self):
        self.write("swish.lua", swish(FUNCTION))
        self.write("two.onnx", make.onnx_bytes("""
            two (float[2,3] x) => (float[2,3] y) <float k = {2.0}> {
              a = Mul(x, k) b = Sigmoid(a) c = Mul(x, b) r = Relu(c)
              d = Mul(r, k) e = Sigmoid(d) y = Mul(r, e) }"""))
        result = self.rewritten("--target", "portable", model="two.onnx")
        self.assertEqual(len(result.functions), 1)
        self.assertEqual(self.ops("out.onnx").count("com.example::Swish"), 2)

    def test_other_targets_leave_the_op(self):
        for body in TEXT, FUNCTION:
            self.write("swish.lua", swish(body))
            for target in "auto", "onnx", "ort", "standard":
                with self.subTest(target):
                    result = self.rewritten("--target", target, "--verify")
                    self.assertFalse(result.functions)
                    self.assertEqual(self.ops("out.onnx"),
                                     ["com.example::Swish"] * 2)

    def test_a_second_run_changes_nothing(self):
        for body in TEXT, FUNCTION:
            self.write("swish.lua", swish(body))
            first = self.rewritten("--target", "portable")
            bytes_of = (self.folder / "out.onnx").read_bytes()
            self.write("out1.onnx", bytes_of)
            again = self.rewritten("--target", "portable")
            self.assertEqual(bytes_of, (self.folder / "out.onnx").read_bytes())
            self.assertEqual(first, again)
            self.rewritten("--target", "portable", model="out1.onnx")
            self.assertEqual(bytes_of, (self.folder / "out.onnx").read_bytes())

    def test_functions_in_a_later_run(self):
        for body in TEXT, FUNCTION:
            self.write("swish.lua", swish(body))
            self.rewritten("--target", "auto")
            (self.folder / "out.onnx").rename(self.folder / "bare.onnx")
            result = self.rewritten("--target", "portable", "--verify",
                                    model="bare.onnx")
            self.assertEqual(len(result.functions), 1 if body == TEXT else 2)
            self.check_in_onnx_runtime()

    def test_nodes_of_functions_and_branches(self):
        self.write("inner.onnx", make.onnx_bytes("""
            m (float[2,3] x, float[N,3] z, bool c) => (float[2,3] y, float[N,3] w) {
              a = loc.F <k = 2.0> (x) y = loc.F <k = 3.0> (a)
              w = If (c) <then_branch = t () => (float[N,3] p) {
                            n = Neg(z) q = Neg(n) p = Sin(q) },
                          else_branch = e () => (float[N,3] o) { o = Cos(z) }> }
            <domain: "loc", opset_import: ["": 17]> F <k> (u) => (v) {
              a = Neg(u) b = Neg(a) v = Elu <alpha: float = @k> (b) }""",
            '<ir_version: 8, opset_import: ["": 17, "loc": 1]>\n'))
        for body in ("[[ (x) => (y) { y = Identity(x) } ]]",
                     "function(op, x, attrs) return op.Neg(op.Neg(x)) end"):
            self.write("same.lua", make.rule(
                rewrite="op.example.Same(m.x)",
                more=f'body = {{ ["example.Same"] = {body} }},'))
            for target in "portable", "tensorrt", "auto":
                with self.subTest((body, target)):
                    result = self.rewritten("--target", target, "--verify",
                                            rule="same.lua", model="inner.onnx")
                    if target != "auto":
                        onnx.checker.check_model(result)
                        self.check_in_onnx_runtime("inner.onnx", c=numpy.array(True))

    def test_a_function_of_the_model_is_used(self):
        self.write("swish.lua", swish())
        own = SWISH + """
<domain: "com.example", opset_import: ["": 17]>
Swish <beta: float = 1.0> (u) => (v) {
  b = Constant <value_float: float = @beta> ()
  k = Mul(b, u)
  t = Sigmoid(k)
  v = Mul(t, u)
}"""
        self.write("own.onnx", make.onnx_bytes(
            own, '<ir_version: 8, opset_import: ["": 17, "com.example": 1]>\n'))
        result = self.rewritten("--target", "portable", "--verify",
                                model="own.onnx")
        self.assertEqual([f.input[0] for f in result.functions], ["u"])
        self.check_in_onnx_runtime("own.onnx")

    def test_exec_runs_the_result(self):
        self.write("swish.lua", swish())
        self.rewritten("--target", "portable")
        self.run_ok("exec", "out.onnx", "--random")

    def test_exec_takes_bodies_of_rule_files(self):
        for body in TEXT, FUNCTION:
            self.write("swish.lua", swish(body))
            self.rewritten()
            with self.subTest(body):
                done = self.tool("exec", "out.onnx", "--random", code=3)
                self.assertIn("no kernel for com.example.Swish", done.err)
                found = [self.run_ok("exec", *words, "--random").out
                         for words in (["swish.onnx"], ["out.onnx", "swish.lua"])]
                self.assertEqual(*found)

    def test_examples_are_executed(self):
        for body in TEXT, FUNCTION:
            self.write("swish.lua", swish(body))
            self.assertEqual(self.run_ok("test", "swish.lua").out,
                             "ok       swish: one\n1 passed, 0 failed\n")
        self.write("swish.lua", swish(None))
        self.assertIn("no kernel for com.example.Swish",
                      self.run_ok("test", "swish.lua").out)

    def test_a_wrong_body_is_found(self):
        for name, body in WRONG.items():
            self.write("swish.lua", swish(body))
            with self.subTest(name):
                done = self.tool("test", "swish.lua", code=1)
                self.assertIn("unsound  swish: one", done.out)
                for target in "portable", "auto":
                    done = self.tool("run", "swish.lua", "swish.onnx",
                                         "--verify", "-o", "bad.onnx",
                                         "--target", target, code=6)
                    self.assertIn("swish.lua: rule 'swish' at node", done.err)
                    self.assertFalse((self.folder / "bad.onnx").exists())

    def test_older_opsets(self):
        """A body is read at its own opset and written at that of the model."""
        mean = """[[ (x) => (y) { a = Constant <value = int64[1] {1}> ()
          y = ReduceMean <keepdims = 1> (x, a) } ]]"""
        rule = make.rule(
            match="op.ReduceMean{x, {1}, keepdims = 1}",
            rewrite="op.example.Mean(m.x)",
            more='body = { ["example.Mean"] = BODY },')
        for body in mean, """function(op, x, attrs)
                return op.ReduceMean{x, {1}, keepdims = 1} end""":
            self.write("mean.lua", rule.replace("BODY", body))
            for opset, given in (13, "<axes = [1]> (x)"), (20, "(x, one)"):
                text = f"""m (float[2,3] x, float[N,3] z) => (float[2,1] y)
                  <int64[1] one = {{1}}> {{ y = ReduceMean {given} }}"""
                self.write("mean.onnx", make.onnx_bytes(
                    text, f'<ir_version: 8, opset_import: ["": {opset}]>\n'))
                with self.subTest((opset, body)):
                    result = self.rewritten(
                        "--target", "portable", "--verify", rule="mean.lua",
                        model="mean.onnx")
                    self.assertEqual(result.functions[0].opset_import[0].version,
                                     opset)
                    self.check_in_onnx_runtime("mean.onnx")

    def test_bodies_within_bodies(self):
        inner = '["com.example.Gate"] = [[ (x) => (y) { y = Sigmoid(x) } ]]'
        for outer in (
                """[[ <beta> (x) => (y) {
                  b = Constant <value_float: float = @beta> ()
                  s = Mul(b, x) g = com.example.Gate(s) y = Mul(x, g) } ]]""",
                """function(op, x, attrs) return op.Mul(x,
                  op["com.example"].Gate(op.Mul(x, attrs.beta))) end"""):
            self.write("swish.lua", swish(outer + ", " + inner))
            with self.subTest(outer):
                self.run_ok("test", "swish.lua")
                self.rewritten("--target", "portable", "--verify")
                self.check_in_onnx_runtime()

    def test_ops_of_the_engine_within_bodies(self):
        self.write("dense.onnx", make.onnx_bytes("""
            n (float[2,3] x, float[4,3] u, float[4] b) => (float[2,4] y) {
              t = Transpose <perm = [1,0]> (u) p = MatMul(x, t)
              y = Add(p, b) }"""))
        draw = numpy.random.default_rng(0)
        inputs = {name: draw.standard_normal(shape, dtype=numpy.float32)
                  for name, shape in (("x", (2, 3)), ("u", (4, 3)), ("b", (4,)))}
        for body in (
                "[[ (x, u, b) => (y) { y = ruleengine.Linear(x, u, b) } ]]",
                "function(op, x, u, b, attrs)"
                " return op.ruleengine.Linear(x, u, b) end"):
            self.write("dense.lua", make.rule(
                match="op.Add(op.MatMul(x, op.Transpose{u, perm = {1, 0}}), b)",
                names="x, u, b", rewrite="op.example.Dense(m.x, m.u, m.b)",
                more=f'body = {{ ["example.Dense"] = {body} }},'))
            with self.subTest(body):
                result = self.rewritten("--target", "portable", "--verify",
                                        rule="dense.lua", model="dense.onnx")
                self.assertEqual(len(result.functions), 2)
                a, b = (onnxruntime.InferenceSession(self.folder / name).run(
                    None, inputs)[0] for name in ("dense.onnx", "out.onnx"))
                numpy.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
