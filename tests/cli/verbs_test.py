"""The verbs that only read: match, explain, coverage, --help."""

import json
import re
import unittest

from support import make, program, verbs

VERBS = re.findall(r"(?m)^    add_(\w+), +//", (
    program.ROOT / "bindings" / "cli" / "verbs.h").read_text())
BERT = program.ROOT / "examples" / "bert.onnx"


class Help(verbs.VerbsTest):
    def test_says_where_first_ends(self):
        for verb in ("match", "explain", "report", "code"):
            self.assertRegex(self.asks(verb, "--help"),
                             r"--first RULE \.\.\. +rules to run .*last")

    def test_of_each_verb_has_an_example(self):
        for verb in VERBS:
            text = self.asks(verb, "--help")
            self.assertIn("Example:\n", text, verb)
            example = text.split("Example:\n")[1].split()
            self.assertEqual(example[:2], ["ruleengine", verb])

    def test_names_every_verb(self):
        text = self.asks("--help")
        self.assertIn("draw", VERBS)
        for verb in VERBS:
            self.assertRegex(text, rf"(?m)^\s+{verb}\s+\w")

    def test_names_every_option_of_run(self):
        text = self.asks("run", "--help")
        for option in ("-o", "--set", "--target", "--opset", "--report",
                       "--verify", "--share-data", "--dry-run",
                       "--limit-rewrites", "--limit-time",
                       "--limit-callback", "--limit-load", "--limit-memory",
                       "--jobs", "-q", "-v", "--help"):
            self.assertIn(option, text)

    def test_version(self):
        self.assertRegex(self.asks("--version"),
                         r"^ruleengine \d+\.\d+\.\d+\n$")


class Match(verbs.VerbsTest):
    def test_table(self):
        text = self.asks("match", "cancel.lua", "never.lua", "m.onnx")
        self.assertRegex(text, r"(?m)^cancel\s+.*the_c.*\s+2\s+fires$")
        self.assertNotIn("never", text)

    def test_turned_down(self):
        text = self.asks("match", "picky.lua", "m.onnx")
        self.assertIn("rejected: the size is not 3 (2)", text)

    def test_rejected_by_the_rewrite(self):
        self.write("late.lua", make.rule(
            rewrite='need(nil, "no use", m.x)'))
        self.write("flat.lua", make.rule(rewrite="(op.Shape(m.x))"))
        self.write("same.lua", make.rule("op.Relu(x)", "op.Relu(m.x)"))
        text = self.asks("match", "late.lua", "flat.lua", "same.lua", "m.onnx")
        self.assertIn("rejected: no use ('a' float[2,3])", text)
        self.assertIn("rejected: wrong type of the result ('c' expected",
                      text)
        self.assertIn("rejected: the rewrite", text)
        self.assertNotIn("fires", text)
        done = json.loads(self.asks("match", "flat.lua", "m.onnx", "--json"))
        self.assertFalse(done[0]["fires"])
        self.assertEqual(done[0]["reason"], "wrong type of the result")
        self.assertIn("float[2,3], found int64[2]", done[0]["value"])
        text = self.asks("explain", "flat.lua", "m.onnx")
        self.assertIn("flat: rejected at", text)
        self.assertIn("reason:    wrong type of the result", text)

    def test_alone_in_its_group(self):
        self.write("group.lua", make.rule(
            rewrite="m[1].x", more="together = function(m) return m.x end,"))
        text = self.asks("match", "group.lua", "m.onnx")
        self.assertIn("no other match has its key of `together`", text)

    def test_nothing(self):
        self.assertIn("0 matches", self.asks("match", "never.lua", "m.onnx"))

    def test_json(self):
        found = json.loads(self.asks("match", "cancel.lua", "picky.lua",
                                     "m.onnx", "--json"))
        self.assertEqual([(f["rule"], f["fires"]) for f in found],
                         [("cancel", True), ("picky", False)])
        self.assertEqual(found[0]["model"], "m.onnx")
        self.assertEqual(len(found[0]["nodes"]), 2)
        self.assertEqual(found[1]["reason"], "the size is not 3")
        self.assertEqual(found[1]["value"], "2")

    def test_after_other_rules(self):
        rule = program.ROOT / "rules/attention.lua"
        text = self.asks("match", rule, BERT, "--first",
                         program.ROOT / "rules/canonical.lua")
        self.assertEqual(len(re.findall(
            r"(?m)^compose_scaled_dot_product_attention\b.*fires$", text)), 2)

    def test_errors(self):
        self.run_bad(2, "match", "m.onnx")
        self.run_bad(2, "match", "cancel.lua")
        self.run_bad(3, "match", "cancel.lua", "nobody.onnx")
        self.run_bad(4, "match", "nobody.lua", "m.onnx")


class Explain(verbs.VerbsTest):
    def test_where_it_fires(self):
        text = self.asks("explain", "cancel.lua", "m.onnx")
        self.assertRegex(text, r"cancel: fires at .*the_c")

    def test_what_turned_it_down(self):
        text = self.asks("explain", "picky.lua", "m.onnx")
        self.assertIn("rejected at", text)
        self.assertIn("the size is not 3", text)

    def test_the_nearest_miss(self):
        self.write("near.lua", make.rule("op.Neg(op.Neg(op.Abs(x)))"))
        text = self.asks("explain", "near.lua", "m.onnx")
        self.assertIn("does not match", text)
        self.assertRegex(text, r"tried at: .*the_c")
        self.assertIn("near.lua:4", text)
        self.assertRegex(text, r"expected: .*Abs")
        self.assertRegex(text, r"found: .*Relu")

    def test_at_a_node(self):
        text = self.asks("explain", "cancel.lua", "m.onnx", "the_b")
        self.assertRegex(text, r"expected: .*Neg")
        self.assertRegex(text, r"found: .*Relu")
        same = self.asks("explain", "cancel.lua", "m.onnx", "b")
        self.assertEqual(text, same)

    def test_closedness(self):
        self.write("two.onnx", make.onnx_bytes("""
            two (float[2,3] x) => (float[2,3] y, float[2,3] a)
              { a = Neg(x) y = Neg(a) }"""))
        text = self.asks("explain", "cancel.lua", "two.onnx")
        self.assertIn("does not match", text)
        self.assertRegex(text, r"(?i)read|output")

    def test_every_node_fits_and_a_test_fails(self):
        self.write("typed.lua", make.rule(
            'op.Neg(op.Neg(x:type "int64"))'))
        text = self.asks("explain", "typed.lua", "m.onnx")
        self.assertIn("got:       every node of the pattern, and failed a "
                      "test on them", text)

    def test_no_root_at_all(self):
        text = self.asks("explain", "never.lua", "m.onnx")
        self.assertEqual(text, "never: does not match\n"
                         "  got:       0 of 2 nodes of the pattern\n"
                         "  test:      op of any node (never.lua:3)\n"
                         "  expected:  Tanh\n  found:     none\n")

    def test_the_node_of_the_right_op_is_the_nearest(self):
        self.write("last.lua", make.rule('op.Elu{x, alpha = 0.5}'))
        self.write("elu.onnx", make.onnx_bytes(
            "g (float[2] x) => (float[2] y) { a = Neg(x) y = Elu(a) }"))
        text = self.asks("explain", "last.lua", "elu.onnx")
        self.assertIn("test:      attribute alpha of Elu node of output 'y'",
                      text)

    def test_errors(self):
        self.run_bad(2, "explain", "cancel.lua", "m.onnx", "nobody",
                     says="nobody")
        self.run_bad(2, "explain", "cancel.lua")
        self.run_bad(2, "explain", "cancel.lua", "never.lua",
                     says=["no model given", "ruleengine explain"])
        self.run_bad(2, "explain", "cancel.lua", "never.lua", "m.onnx",
                     says=["one rule and one model", "ruleengine explain"])
        self.run_bad(2, "explain", "cancel.lua", "m.onnx", "x",
                     says=["this is an input of the model, which no node produces"])
        self.run_bad(4, "explain", "nobody.lua", "m.onnx")


class Verbose(verbs.VerbsTest):
    def test_every_rejection_with_its_node_reason_and_value(self):
        words = ["run", "picky.lua", "m.onnx", "--dry-run"]
        line = "picky at 'the_c': the size is not 3 (2)\n"
        self.assertIn(line, self.run_ok(*words, "-v").err)
        self.assertNotIn(line, self.run_ok(*words).err)


if __name__ == "__main__":
    unittest.main()
