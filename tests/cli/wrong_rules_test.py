"""Rules that are wrong on purpose, each where verification is tempted to look
away: what it must find, beside a right rule for the same model."""

import re
import unittest

from support import make, program, runs

# name: (model, pattern, wrong, right). What is built is not matched again.
CASES = {
    "one index in a table of named size": (
        """g (float[V,4] t, int64[N] i) => (float[N,4] y) {
          g = Gather(t, i) y = Neg(g) }""",
        "op.Neg(op.Gather{t, i})", "op.Sub(0.0, op.Gather{m.t, op.Mul(m.i, 0)})",
        "op.Sub(0.0, op.Gather{m.t, m.i})"),
    "a negative index": (
        """g (int64[N] i) => (float[N,2] y) <float[3,2] t = {1,2,3,4,5,6}> {
          g = Gather(t, i) y = Neg(g) }""",
        "op.Neg(op.Gather{t, i})", "op.Sub(0.0, op.Gather{m.t, op.Max(m.i, 0)})",
        "op.Sub(0.0, op.Gather{m.t, m.i})"),
    "a token that is met": (
        """g (int64[B,S] i) => (bool[B,S] y) <int64 end = {50256}> {
          y = Equal(i, end) }""",
        "op.Equal(i, 50256)", "op.Less(m.i, op.Sub(m.i, 1))",
        "op.Not(op.Or(op.Less(m.i, 50256), op.Greater(m.i, 50256)))"),
    "whole numbers beyond 0 and 1": (
        """g (int64[N] x) => (float[N] y) { c = Cast <to = 1> (x)
          y = Mul(c, c) }""",
        "op.Mul(x, x)", "m.x", "op.Pow(m.x, 2.0)"),
    "a size other than 1": (
        """g (float[B,S,4] x) => (float[B,4] y) <int64[1] one = {1}> {
          y = ReduceSum <keepdims = 0> (x, one) }""",
        "op.ReduceSum{x, {1}, keepdims = 0}",
        "op.ReduceMean{m.x, {1}, keepdims = 0}",
        "op.ReduceSum{m.x, {-2}, keepdims = 0}"),
    "large numbers": (
        """g (float[N] x) => (float[N] y) <float low = {-500.0},
          float high = {500.0}> { y = Clip(x, low, high) }""",
        "op.Clip{x, any, any}", "m.x", "op.Min(op.Max(m.x, -500.0), 500.0)"),
    "the else branch": (
        """g (float[N] x, int64 n) => (float[N] y) <int64 many = {40}> {
          c = Greater(n, many)
          y = If (c) <then_branch = t () => (float[N] a) { a = Neg(x) },
                      else_branch = e () => (float[N] b) { b = Sin(x) }>
        }""",
        "op.Neg(x)", "op.Sub(0.0, op.Abs(m.x))", "op.Mul(m.x, -1.0)"),
    "NaN for most numbers": (
        "g (float[N] x) => (float[N] y) { a = Sqrt(x) y = Log(a) }",
        "op.Log(op.Sqrt(x))", "op.Log(m.x)", "op.Mul(op.Log(m.x), 0.5)"),
    "what rounding in bfloat16 hides": (
        "g (bfloat16[N,8] x) => (bfloat16[N,8] y) { a = Gelu(x) y = Neg(a) }",
        "op.Neg(op.Gelu{x})", 'op.Sub(0.0, op.Gelu{m.x, approximate = "tanh"})',
        "op.Sub(0.0, op.Gelu{m.x})"),
    "beside the lowest number": (
        """g (float[N,4] x, bool[N,4] m) => (float[N,4] y)
          <float low = {-3.4e38}> { s = Sin(x) y = Where(m, s, low) }""",
        "op.Sin(x)", "op.Cos(m.x)", "op.Cos(op.Sub(m.x, 1.5707964))"),
    "beside random numbers": (
        """g (float[N] x) => (float[N] y, float[N] z) {
          r = RandomNormalLike(x) z = Add(r, x) y = Neg(x) }""",
        "op.Neg(x)", "op.Abs(m.x)", "op.Sub(0.0, m.x)"),
    "the last of whole numbers of 64 bits": (
        """g (int64[N] x) => (int64[N] y) <int64 large = {9007199254740992}> {
          y = Add(x, large) }""",
        "op.Add(x, any 'c')", "op.Sub(m.x, op.Sub(1, m.c))",
        "op.Sub(m.x, op.Sub(0, m.c))"),
    "what becomes NaN": (
        "g (float[N,4] x) => (float[N,4] y) { y = Mul(x, x) }",
        "op.Mul(x, x)", "op.Exp(op.Mul(2.0, op.Log(m.x)))", "op.Pow(m.x, 2.0)"),
    "all that becomes NaN": (
        "g (float16[N,4] x) => (float16[N,4] y) { y = Neg(x) }",
        "op.Neg(x)", "op.Div(op.Sub(m.x, m.x), op.Sub(m.x, m.x))",
        "op.Sub(0.0, m.x)"),
    "a float of 0": (
        "g (float[2,3] x) => (float[2,3] y) { y = Sign(x) }",
        "op.Sign(x)", "op.Div(m.x, op.Abs(m.x))",
        "op.Sub(op.Cast{op.Greater(m.x, 0.0), to = 'float'},"
        " op.Cast{op.Less(m.x, 0.0), to = 'float'})"),
    "equal floats": (
        "g (float[N,3] x, float[N,3] t) => (bool[N,3] y) { y = Less(x, t) }",
        "op.Less(x, t)", "op.Not(op.Greater(m.x, m.t))",
        "op.Greater(m.t, m.x)"),
    "whole floats": (
        "g (float[N,3] x) => (float[N,3] y) { y = Ceil(x) }",
        "op.Ceil(x)", "op.Add(op.Floor(m.x), 1.0)",
        "op.Neg(op.Floor(op.Neg(m.x)))"),
    "the first of equal ones": (
        """g (float[N,5] x) => (int64[N,1] y) { y = ArgMax <axis = 1> (x) }""",
        "op.ArgMax{x, axis = 1}",
        "op.ArgMax{m.x, axis = 1, select_last_index = 1}",
        "op.ArgMin{op.Neg(m.x), axis = 1}"),
    "numbers that are none": (
        "g (float[N,3] x) => (bool[N,3] y) { y = IsNaN(x) }",
        "op.IsNaN(x)", "op.Less(m.x, m.x)", "op.Not(op.Equal(m.x, m.x))"),
    "a threshold": (
        """g (float[N,3] x) => (float[N,3] y) {
          y = ThresholdedRelu <alpha = 250.0> (x) }""",
        "op.ThresholdedRelu{x, alpha = any}", "op.Mul(m.x, 0.0)",
        "op.Where(op.Greater(m.x, 250.0), m.x, op.Mul(m.x, 0.0))"),
    "whole numbers above a byte": (
        "g (int64[N,4] x) => (int64[N,4] y) { y = Neg(x) }", "op.Neg(x)",
        "op.Sub(0, op.Cast{op.Cast{m.x, to = 'int8'}, to = 'int64'})",
        "op.Sub(0, m.x)"),
    "whole numbers above those of half as many bits": (
        """g (int64[N,4] x) => (int64[N,4] y) <int64 k = {70000}> {
          y = Div(x, k) }""",
        "op.Div(x, 70000)", "op.Mul(m.x, 0)",
        "op.Neg(op.Div(m.x, -70000))"),
    "4 bits": (
        """g (uint4[N,4] x) => (int32[N,4] y) { y = Cast <to = 6> (x) }""",
        "op.Cast{x, to = 'int32'}", "op.Min(op.Cast{m.x, to = 'int32'}, 1)",
        "op.Max(op.Cast{m.x, to = 'int32'}, 0)"),
    "the largest of 8 bits": (
        """g (float8e4m3fn[N,9] x) => (float[N,9] y) { y = Cast <to = 1> (x) }""",
        "op.Cast{x, to = 'float'}", "op.Min(op.Cast{m.x, to = 'float'}, 300.0)",
        "op.Min(op.Cast{m.x, to = 'float'}, 500.0)"),
    "what 8 bits cut off": (
        """g (float[N,9] x) => (float[N,9] y) {
          a = Cast <to = 17> (x) y = Cast <to = 1> (a) }""",
        "op.Cast{op.Cast{x, to = 'float8e4m3fn'}, to = 'float'}", "m.x",
        "op.Min(op.Max(m.x, -448.0), 448.0)"),
    "more than a few columns": (
        """g (float[B,S] x) => (int64[B,1] y) {
          a = ArgMax <axis = 1> (x) y = Neg(a) }""",
        "op.Neg(op.ArgMax{x, axis = 1})",
        "op.Sub(0, op.Min(op.ArgMax{m.x, axis = 1}, 20))",
        "op.Sub(0, op.ArgMax{m.x, axis = 1})"),
    "strings in another order": (
        """g (string[N,4] x, string[N,4] t) => (bool[N,4] y) {
          a = StringConcat(x, t) b = StringConcat(t, x) y = Equal(a, b) }""",
        "op.Equal(op.StringConcat(x, t), op.StringConcat(t, x))",
        "op.Not(op.Equal(m.x, m.x))",
        "op.Equal(op.StringConcat(m.t, m.x), op.Identity(op.StringConcat(m.x, m.t)))"),
    "words of the model": (
        """g (string[N,4] x) => (int64[N,4] y) {
          l = ai.onnx.ml.LabelEncoder <keys_strings = ["cat", "dog"],
            values_int64s = [-3, -5], default_int64 = 7> (x) y = Abs(l) }""",
        "op.Abs(x)", "op.Identity(m.x)", "op.Max(m.x, op.Neg(m.x))"),
}
# What the few inputs of `--verify=local` do not reach.
NOT_LOCAL = ("the largest of 8 bits", "what 8 bits cut off",
             "more than a few columns")
HEADER = '<ir_version: 10, opset_import: ["": 21]>'


class WrongRules(runs.RunTest):
    def verify(self, match, rewrite, how="--verify"):
        names = ", ".join(dict.fromkeys(re.findall(r"\b[xti]\b", match)))
        self.write("rule.lua", make.rule(match, rewrite, names))
        return program.run("run", "rule.lua", "m.onnx", how, "--dry-run",
                           cwd=self.folder)

    def test_all(self):
        for name, (model, match, wrong, right) in CASES.items():
            with self.subTest(name):
                self.write("m.onnx", make.onnx_bytes(model, HEADER))
                done = self.verify(match, wrong)
                self.assertEqual(done.code, 6, done.err)
                self.assertIn("computes something else", done.err)
                done = self.verify(match, right)
                self.assertEqual(done.code, 0, done.err)
                self.assertIn("verified on", done.err)

    def test_where_they_rewrite(self):
        for name, (model, match, wrong, right) in CASES.items():
            with self.subTest(name):
                self.write("m.onnx", make.onnx_bytes(model, HEADER))
                done = self.verify(match, wrong, "--verify=local")
                self.assertEqual(done.code, 0, done.err)
                if name not in NOT_LOCAL:
                    self.assertIn("undone, since it computes something else",
                                  done.err)
                done = self.verify(match, right, "--verify=local")
                self.assertEqual(done.code, 0, done.err)
                self.assertIn("verified 1 rewrite, ", done.err)
                self.assertNotIn("undone", done.err)


if __name__ == "__main__":
    unittest.main()
