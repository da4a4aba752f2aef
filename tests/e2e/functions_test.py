"""Attention inside model-local functions: the composed result loads and computes
the same as the original, for any combination of variants."""

import unittest

import numpy as np
import onnx
from onnx.parser import parse_model

from support import make, numbers, program

HEAD = '<ir_version: 8, opset_import: ["" : 18, "my" : 1]>\n'
BODY = """
<domain: "my", opset_import: ["" : 18]>
{name} (x) => (y) {{
  s = Constant <value = int64[4] {{2,3,4,2}}> ()
  c = Constant <value = {dtype} {{0.5}}> ()
  xc = Mul(x, c)
  h = Reshape(xc, s)
  q = Transpose <perm = [0,2,1,3]> (h)
  k = Transpose <perm = [0,1,3,2]> (q)
  z = MatMul(q, k)
  {scaled}
  p = Softmax <axis = -1> (t)
  y = MatMul(p, q)
}}"""
PLAIN, HALVED = "t = Identity(z)", "t = Mul(z, c)"


def function(name, scaled, dtype="float"):
    return BODY.format(name=name, scaled=scaled, dtype=dtype)


class Functions(program.ProgramTest):
    def check(self, calls, *functions, dtype="float"):
        model = parse_model(
            HEAD + f"g ({dtype}[2,3,8] x) => ({dtype}[2,4,3,2] y) {{ {calls} }}"
            + "".join(functions))
        source = self.write("m.onnx", model.SerializeToString())
        feeds = {"x": np.random.default_rng(1).normal(size=(2, 3, 8)).astype(
            np.float32 if dtype == "float" else np.float64)}
        for target in ("portable", "onnx", "ort"):
            with self.subTest(target):
                self.run_ok("run", *program.packs(), source, "-o", "out.onnx",
                            "--target", target)
                out = onnx.load(self.folder / "out.onnx")
                softmaxes = [n for f in out.functions if f.domain == "my"
                             for n in f.node if n.op_type == "Softmax"]
                self.assertEqual(softmaxes, [])
                self.assertEqual(numbers.disagreements(
                    source, self.folder / "out.onnx", model, feeds), [])

    def test_one_variant(self):
        self.check("y = my.f(x)", function("f", PLAIN))

    def test_two_variants(self):
        self.check("a = my.f(x)  b = my.h(x)  y = Add(a, b)",
                   function("f", PLAIN), function("h", HALVED))

    def test_types_that_the_targets_lack(self):
        self.check("a = my.f(x)  b = my.h(x)  y = Add(a, b)",
                   function("f", PLAIN, "double"),
                   function("h", HALVED, "double"), dtype="double")


class Recursion(program.ProgramTest):
    """A rule that calls a function does not rewrite that function, nor the
    functions that it calls."""

    def check(self, body, *functions):
        self.write("swish.lua", make.rule("op.Mul(x, op.Sigmoid(x))",
                                          "op.my.Swish(m.x)"))
        self.write("m.onnx", parse_model(
            HEAD + f"g (float[2,3] x) => (float[2,3] y) {{ {body} }}" +
            "".join(f'\n<domain: "my", opset_import: ["" : 18, "my" : 1]>'
                    f" {each}" for each in functions)).SerializeToString())
        done = self.run_ok("run", "swish.lua", "m.onnx", "-o", "out.onnx",
                           "-v", "--verify")
        self.assertIn("swish at 'y': the function would call itself "
                      "(my::Swish)", done.err)
        return [node.op_type
                for node in onnx.load(self.folder / "out.onnx").graph.node]

    def test_itself(self):
        self.assertEqual(self.check(
            "a = Neg(x) s = Sigmoid(a) y = Mul(s, a)",
            "Swish (x) => (y) { s = Sigmoid(x) y = Mul(x, s) }"),
            ["Neg", "Swish"])

    def test_through_others(self):
        self.check("y = my.Swish(x)",
                   "Swish (x) => (y) { y = my.Twice(x) }",
                   "Twice (x) => (y) { y = my.Inner(x) }",
                   "Inner (x) => (y) { s = Sigmoid(x) y = Mul(x, s) }")


if __name__ == "__main__":
    unittest.main()
