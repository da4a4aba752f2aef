"""`run --verify`: verification by execution, and the wrong rewrite."""

import json
import unittest

import numpy as np

from support import make, program, runs

# Three products that a rule turns into sums: only 2 * 2 equals 2 + 2.
MODEL = """g (float[N,4] x) => (float[N,4] y)
  <float two = {2.0}, float three = {3.0}> {
    r = Relu(x)
    a = Mul(two, two)
    b = Mul(r, three)
    y = Add(a, b)
  }"""
WRONG = make.rule("op.Mul(x, any 'c')", "op.Add(m.x, m.c)")


class Verify(runs.RunTest):
    def setUp(self):
        super().setUp()
        self.write("m.onnx", make.onnx_bytes(MODEL))
        self.write("wrong.lua", WRONG)

    def test_right(self):
        self.write("right.lua", make.rule("op.Relu(x)", "op.Max(m.x, 0.0)"))
        self.run_ok("run", "right.lua", "m.onnx", "-o", "out.onnx", "--verify",
                    "--report", "r.json")
        verified = json.loads((self.folder / "r.json").read_text())["verified"]
        self.assertGreater(verified["inputs"], 2)
        self.assertEqual(verified["max_abs"], 0)

    def test_not_asked_for(self):
        self.run_ok("run", "wrong.lua", "m.onnx", "-o", "out.onnx", "--report",
                    "r.json")
        report = json.loads((self.folder / "r.json").read_text())
        self.assertIsNone(report["verified"])

    def test_wrong(self):
        before = program.state(self.folder)
        done = self.run_bad(6, "run", "wrong.lua", "m.onnx", "-o", "out.onnx",
                            "--verify", says="computes something else")
        # The first rewrite is right by chance.
        self.assertRegex(done.err, r"wrong.lua: rule 'wrong' at node 'b', "
                         "rewrite 2 of 2")
        self.assertIn("output 'y'", done.err)
        self.assertEqual(program.state(self.folder), before)

    def test_the_one_of_three(self):
        right = {"first": ("op.Relu(op.Relu(x))", "op.Relu(m.x)"),
                 "second": ("op.Neg(op.Neg(x))", "m.x"),
                 "third": ("op.Abs(op.Abs(x))", "op.Abs(m.x)")}
        self.write("m.onnx", make.onnx_bytes(
            """g (float[N,4] x, float[N,4] z, float[N,4] w)
               => (float[N,4] u, float[N,4] v, float[N,4] y) {
              a = Relu(x) u = Relu(a)
              b = Neg(z) v = Neg(b)
              c = Abs(w) y = Abs(c) }"""))
        for wrong, output in ("first", "u"), ("second", "v"), ("third", "y"):
            for name, (match, rewrite) in right.items():
                self.write(name + ".lua", make.rule(
                    match, "op.Sin(m.x)" if name == wrong else rewrite))
            with self.subTest(wrong):
                self.run_bad(6, "run", *(name + ".lua" for name in right),
                             "m.onnx", "-o", "out.onnx", "--verify",
                             says=f"rule '{wrong}' at node '{output}', rewrite")

    def test_on_given_inputs(self):
        # 1.5 * 3 = 1.5 + 3
        np.savez(self.folder / "in.npz", x=np.full((2, 4), 1.5, np.float32))
        self.run_ok("run", "wrong.lua", "m.onnx", "-o", "out.onnx", "--verify",
                    "--inputs", "in.npz")

    def test_dims(self):
        self.run_bad(2, "run", "wrong.lua", "m.onnx", "--verify", "--dims",
                     "M=3", says="the model has no dimension 'M'")
        self.run_bad(2, "run", "wrong.lua", "m.onnx", "--verify", "--dims",
                     "N", says="NAME=SIZE")
        self.run_bad(6, "run", "wrong.lua", "m.onnx", "--verify", "--dims",
                     "N=3", says="float[3,4]")

    def test_ops_without_a_kernel(self):
        self.write("m.onnx", make.onnx_bytes(
            """g (float[4] x) => (float[4] y) {
              a = acme.Secret(x) b = Neg(a) y = Neg(b) }""",
            '<ir_version: 8, opset_import: ["": 17, "acme": 1]>'))
        self.write("neg.lua", make.rule("op.Neg(op.Neg(x))", "m.x"))
        done = self.run_ok("run", "neg.lua", "m.onnx", "-o", "out.onnx",
                           "--verify")
        self.assertIn("was not verified", done.err)
        self.assertIn("acme::Secret", done.err)


class Execute(runs.RunTest):
    def test_random(self):
        self.write("m.onnx", make.onnx_bytes(MODEL))
        done = self.run_ok("exec", "m.onnx", "--random", "--dims", "N=7")
        self.assertIn("float[7,4]", done.out)
        again = self.run_ok("exec", "m.onnx", "--random", "--dims", "N=7")
        self.assertEqual(done.out, again.out)
        other = self.run_ok("exec", "m.onnx", "--random", "--dims", "N=7",
                            "--seed", "1")
        self.assertNotEqual(done.out, other.out)

    def test_random_or_given(self):
        self.write("m.onnx", make.onnx_bytes(MODEL))
        self.run_bad(2, "exec", "m.onnx", "--random", "--inputs", "x.npz",
                     says="exclude each other")


if __name__ == "__main__":
    unittest.main()
