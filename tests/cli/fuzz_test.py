"""`ruleengine test --fuzz N`: rules on mutants of their examples."""

import json
import re
import unittest
import xml.etree.ElementTree as ElementTree

from support import make, program, verbs

# Right for the example alone: a sum over an axis of one element, whatever its
# size.
WRONG = """return rule {
  match = function(op, x, axes) return op.ReduceSum{x, axes, keepdims = 0} end,
  where = function(m) need(m.x:rank() == 2, "the rank is not 2", m.x) end,
  rewrite = function(op, m) return op.ReduceMax{m.x, m.axes, keepdims = 0} end,
  examples = {
    { "a row", [[
        (float[3,1] x) => (float[3] y) <int64[1] axes = {1}> {
          y = ReduceSum <keepdims = 0> (x, axes)
        }]],
      "y = ReduceMax <keepdims = 0> (x, axes)" },
    { "a vector", [[
        (float[3] x) => (float y) <int64[1] axes = {0}> {
          y = ReduceSum <keepdims = 0> (x, axes)
        }]],
      rejected = "the rank is not 2" },
  },
}
"""
FAILS = make.rule("op.Neg(op.Neg(x))", "m.x", more="""
    where = function(m) local size = m.x.shape[2] + 1 end,
    examples = { { "t", "(float[2,3] x) => (float[2,3] y) { a = Neg(x) b = Neg(a) y = Exp(b) }",
      "y = Exp(x)" } },""")
# It feeds itself where the exponent is not 2.
ENDLESS = make.rule("op.Pow(x, any 'c')", """(function()
      if m.c:scalar() == 2 then return op.Mul(m.x, m.x) end
      return op.Pow(op.Pow(m.x, m.c), 1.0)
    end)()""", more="""
    examples = { { "t", "(float[2] x) => (float[2] y) <float c = {2.0}> { y = Pow(x, c) }",
      "y = Mul(x, x)" } },""")
SHIPPED = [str(path) for path in sorted((program.ROOT / "rules").glob("*/**/*.lua"))
           if "lib" not in path.parts]


class Fuzz(verbs.VerbsTest):
    def fuzz(self, text, *more, n=200):
        self.write("bad.lua", text)
        return program.run("test", "bad.lua", "--fuzz", str(n), *more,
                           cwd=self.folder)

    def test_a_right_rule(self):
        text = self.asks("test", "cancel.lua", "--fuzz", "100")
        found = re.search(r"(?m)^fuzzed   cancel: (\d+) mutants, fired on (\d+), "
                          r"executed (\d+)$", text)
        self.assertTrue(found, text)
        mutants, fired, executed = map(int, found.groups())
        self.assertGreater(mutants, 60)
        self.assertGreater(fired, 20)
        self.assertEqual(fired, executed)
        self.assertTrue(text.endswith("1 passed, 0 failed\n"), text)
        self.assertEqual(self.asks("test", "cancel.lua", "-q", "--fuzz", "9"),
                         "1 passed, 0 failed\n")

    def test_a_wrong_rule(self):
        done = self.fuzz(WRONG)
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertRegex(done.out, r"(?m)^unsound  bad: a row, mutant \d+$")
        self.assertRegex(done.out, r"became .*\(tolerance")
        self.assertRegex(done.out, r"(?m)^ +x = float\[.*\] \{")
        self.assertRegex(done.out, r"(?m)^ +changed: [a-z ,]+$")
        self.assertRegex(done.out, r"(?m)^fuzzed   bad: \d+ mutants, fired on ")
        self.assertRegex(done.out, r"2 passed, [12] failed\n$")

    def test_what_is_shown_fails_as_an_example(self):
        done = self.fuzz(WRONG)
        shown = re.search(r"(?ms)^ +\{ \"mutant .*?rejected = \"why\" \},$", done.out)
        self.assertTrue(shown, done.out)
        self.write("bad.lua", WRONG.replace("examples = {", "examples = {\n" + shown.group(), 1))
        done = program.run("test", "bad.lua", cwd=self.folder)
        self.assertEqual(done.code, 1, done.err)
        self.assertRegex(done.out, r"(?m)^noisy    bad: mutant \d+ of a row$")

    def test_it_is_shrunk(self):
        (example, _) = json.loads(self.fuzz(WRONG, "--json").out)
        self.assertEqual(len(example["fuzz"]["changes"]), 1, example)

    def test_it_is_deterministic(self):
        first = self.fuzz(WRONG).out
        self.assertEqual(self.fuzz(WRONG).out, first)
        self.assertEqual(self.fuzz(WRONG, "--seed", "0").out, first)
        self.assertNotEqual(self.fuzz(WRONG, "--seed", "5").out, first)

    def test_fewer_mutants_are_the_first_ones(self):
        number = json.loads(self.fuzz(WRONG, "--json").out)[0]["fuzz"]["number"]
        fuzz = json.loads(self.fuzz(WRONG, "--json", n=number).out)[0]["fuzz"]
        self.assertEqual(fuzz["verdict"], "unsound")
        self.assertLessEqual(fuzz["number"], number)

    def test_a_callback_that_fails(self):
        done = self.fuzz(FAILS)
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertRegex(done.out, r"(?m)^error    bad: t, mutant \d+$")
        self.assertIn("bad.lua:", done.out)

    def test_a_rule_that_does_not_end(self):
        done = self.fuzz(ENDLESS, n=50)
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertRegex(done.out, r"(?m)^error    bad: t, mutant \d+$")

    def test_a_rule_that_never_fires(self):
        self.write("never.lua", make.rule("op.Tanh(op.Atan(x))", more="""
            examples = { { "t", "(float[2] x) => (float[2] y) { y = Neg(x) }",
              "y = Neg(x)" } },"""))
        self.assertRegex(self.asks("test", "never.lua", "--fuzz", "20"),
                         r"(?m)^fuzzed   never: \d+ mutants, never fired$")

    def test_json(self):
        (result,) = json.loads(self.asks("test", "cancel.lua", "--json",
                                         "--fuzz", "20"))
        self.assertEqual(result["fuzz"]["verdict"], "ok")
        self.assertEqual(result["fuzz"]["fired"], result["fuzz"]["executed"])
        (result,) = json.loads(self.asks("test", "cancel.lua", "--json"))
        self.assertNotIn("fuzz", result)

    def test_junit(self):
        self.fuzz(WRONG, "--junit", "r.xml")
        root = ElementTree.parse(self.folder / "r.xml").getroot()
        cases = {case.get("name"): case for case in root.iter("testcase")}
        failure = cases["mutants of a row"].find("failure")
        self.assertEqual(failure.get("type"), "unsound")
        self.assertIn("ReduceSum", failure.text)
        self.assertIsNone(cases["a row"].find("failure"))

    def test_a_limit_is_not_the_rule_s_fault(self):
        done = self.fuzz(make.CANCEL, "--limit-time", "0.3", n=100_000)
        self.assertEqual(done.code, 5, done.out + done.err)
        self.assertNotIn("unsound", done.out)

    def test_usage(self):
        for number in ("0", "-1", "x", "1.5", "100001"):
            self.run_bad(2, "test", "cancel.lua", "--fuzz", number, says="--fuzz")
        self.run_bad(2, "test", "cancel.lua", "--fuzz", says="--fuzz")


class Shipped(program.ProgramTest):
    def test_all(self):
        done = program.run("test", *SHIPPED, "--fuzz", "10", "--json",
                           cwd=self.folder, timeout=300)
        results = [each for each in json.loads(done.out) if "title" in each]
        fuzzed = [each["fuzz"] for each in results if "fuzz" in each]
        self.assertGreater(len(fuzzed), 0.9 * len(results))
        for what, least in (("mutants", 5), ("fired", 1), ("executed", 1)):
            self.assertGreater(sum(each[what] for each in fuzzed),
                               least * len(fuzzed), what)
        wrong = {(each["rule"], each["title"]): each["fuzz"]["detail"]
                 for each in results
                 if each.get("fuzz", {}).get("verdict", "ok") != "ok"}
        self.assertEqual(wrong, {})
        self.assertEqual(done.code, 0, done.err)


if __name__ == "__main__":
    unittest.main()
