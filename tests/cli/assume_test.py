"""Assumptions: `assume` in rules, their output, and `--exact`."""

import json
import unittest

from support import make, runs

# Neg(Neg(x)) => x, with an assumption.
BOLD = make.rule(
    match='op.Neg(op.Neg(x)):as "outer"',
    more="""where = function(m) assume("x is small", m.x) end,
  examples = {
    { "two", [[
        (float[2] x) => (float[2] y) { a = Neg(x) b = Neg(a) y = Exp(b) }]],
      "y = Exp(x)", assumed = "is small" },
  },""")

# The same twice, in a row.
FOUR = """
four (float[2,3] x) => (float[2,3] y, float[2,3] z) {
  a = Neg(x)
  y = Neg(a)
  b = Exp(x)
  c = Neg(b)
  z = Neg(c)
}
"""

LEFT_OUT = "it rests on an assumption: x is small"


class Assume(runs.RunTest):
    def setUp(self):
        super().setUp()
        self.write("bold.lua", BOLD)
        self.write("four.onnx", make.onnx_bytes(FOUR))

    def report(self, *words):
        self.run_ok("run", "bold.lua", "four.onnx", "--report", "r.json",
                    "-o", "out.onnx", *words)
        return json.loads((self.folder / "r.json").read_text())

    def test_run_counts_rewrites_by_assumption(self):
        err = self.run_ok("run", "bold.lua", "m.onnx").err
        self.assertIn("1 rewrite of bold rests on the assumption: x is small\n"
                      "`--exact` leaves these out\n", err)
        err = self.run_ok("run", "bold.lua", "four.onnx").err
        self.assertIn("2 rewrites of bold rest on the assumption: x is small\n",
                      err)
        err = self.run_ok("run", "bold.lua", "m.onnx", "-v").err
        self.assertIn("bold at 'c': assumed: x is small ('a' float[2,3])\n",
                      err)
        for quiet in (self.run_ok("run", "bold.lua", "m.onnx", "-q"),
                      self.run_ok("run", "cancel.lua", "m.onnx")):
            self.assertNotIn("assum", quiet.err)

    def test_report(self):
        self.assertEqual(self.report()["assumptions"], [
            {"rule": "bold", "node": "y", "text": "x is small"},
            {"rule": "bold", "node": "z", "text": "x is small"}])
        self.run_ok("run", "cancel.lua", "m.onnx", "--report", "r.json")
        report = json.loads((self.folder / "r.json").read_text())
        self.assertEqual(report["assumptions"], [])

    def test_exact_leaves_out(self):
        report = self.report("--exact")
        self.assertEqual(report["assumptions"], [])
        (rule,) = report["rules"]
        self.assertEqual((rule["matches"], rule["rewrites"]), (2, 0))
        self.assertEqual(rule["rejected"], [
            {"node": "y", "reason": LEFT_OUT, "value": "'x' float[2,3]"},
            {"node": "z", "reason": LEFT_OUT, "value": "'b' float[2,3]"}])
        self.assertEqual((self.folder / "out.onnx").read_bytes(),
                         (self.folder / "four.onnx").read_bytes())
        err = self.run_ok("run", "bold.lua", "m.onnx", "--exact").err
        self.assertNotIn("rests", err)

    def test_exact_keeps_rewrites_without_assumptions(self):
        self.run_ok("run", "cancel.lua", "m.onnx", "--exact", "-o", "o.onnx")
        self.assertEqual(self.ops("o.onnx"), ["Relu", "Exp"])

    def test_match(self):
        out = self.run_ok("match", "bold.lua", "m.onnx").out
        self.assertIn("fires, assumed: x is small\n", out)
        (found,) = json.loads(
            self.run_ok("match", "bold.lua", "m.onnx", "--json").out)
        self.assertEqual(found["assumptions"], [
            {"text": "x is small", "value": "'a' float[2,3]"}])
        out = self.run_ok("match", "bold.lua", "m.onnx", "--exact").out
        self.assertIn("rejected: " + LEFT_OUT, out)
        (found,) = json.loads(self.run_ok(
            "match", "bold.lua", "m.onnx", "--exact", "--json").out)
        self.assertFalse(found["fires"])
        self.assertNotIn("assumptions", found)

    def test_explain(self):
        out = self.run_ok("explain", "bold.lua", "m.onnx").out
        self.assertIn("  assumed:   x is small ('a' float[2,3])\n", out)
        out = self.run_ok("explain", "bold.lua", "m.onnx", "--exact").out
        self.assertIn("rejected at", out)
        self.assertIn(LEFT_OUT, out)

    def test_exact_applies_to_first_rules(self):
        for words, count in (([], 2), (["--exact"], 4)):
            out = self.run_ok("report", "m.onnx", "--json", *words, "--first",
                              "bold.lua").out
            self.assertEqual(len(json.loads(out)["nodes"]), count)

    def test_examples_state_assumptions(self):
        self.run_ok("test", "bold.lua")
        for old, new, says in (
                (', assumed = "is small"', "",
                 "it assumes 'x is small', which `assumed` does not mention"),
                ("is small\" }", "is large\" }",
                 "no rewrite assumes 'is large'"),
                ('assume("x is small", m.x)', "",
                 "no rewrite assumes 'is small'")):
            with self.subTest(says):
                self.assertIn(old, BOLD)
                self.write("wrong.lua", BOLD.replace(old, new))
                done = self.run_no("test", "wrong.lua")
                self.assertIn(says, done.out)
        self.write("wrong.lua", BOLD.replace('"y = Exp(x)"', "rejected = 'no'"))
        self.run_bad(4, "test", "wrong.lua",
                     says="an example has `assumed` and no nodes after")

    def run_no(self, *words):
        done = runs.program.run(*words, cwd=self.folder)
        self.assertEqual(done.code, 1, done.err)
        return done


if __name__ == "__main__":
    unittest.main()
