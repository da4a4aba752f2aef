"""The verbs that look and ask: match, explain, test, report, print, --help."""

import json
import re
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

from support import make, numbers, program

VERBS = ["run", "match", "explain", "coverage", "collectives", "test",
         "report", "print", "code", "build"]
BERT = program.ROOT / "examples" / "bert.onnx"


class VerbsTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("cancel.lua", make.CANCEL)
        self.write("never.lua", make.NEVER)
        self.write("picky.lua", make.rule(more="""where = function(m)
            need(m.x:dim(0) == 3, "the size is not 3", m.x:dim(0)) end,"""))
        model = make.model(make.NEGATIONS)
        for node in model.graph.node:
            node.name = f"the_{node.output[0]}"
        self.write("m.onnx", model.SerializeToString())

    def asks(self, *arguments):
        """The output of a verb that must not write anything."""
        before = program.state(self.folder)
        done = self.run_ok(*arguments)
        self.assertEqual(program.state(self.folder), before)
        return done.out


class Help(VerbsTest):
    def test_says_where_first_ends(self):
        for verb in ("match", "explain", "report", "code"):
            self.assertRegex(self.asks(verb, "--help"),
                             r"--first TEXT \.\.\. +rules to run .*last")

    def test_of_each_verb_has_an_example(self):
        for verb in VERBS:
            text = self.asks(verb, "--help")
            self.assertIn("Example:\n", text, verb)
            example = text.split("Example:\n")[1].split()
            self.assertEqual(example[:2], ["ruleengine", verb])

    def test_names_every_verb(self):
        text = self.asks("--help")
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


class Match(VerbsTest):
    def test_table(self):
        text = self.asks("match", "cancel.lua", "never.lua", "m.onnx")
        self.assertRegex(text, r"(?m)^cancel\s+.*the_c.*\s+2\s+fires$")
        self.assertNotIn("never", text)

    def test_turned_down(self):
        text = self.asks("match", "picky.lua", "m.onnx")
        self.assertIn("rejected: the size is not 3 (2)", text)

    def test_what_the_rewrite_rejects(self):
        self.write("late.lua", make.rule(
            rewrite='need(nil, "no use", m.x)'))
        self.write("flat.lua", make.rule(rewrite="(op.Shape(m.x))"))
        self.write("same.lua", make.rule("op.Relu(x)", "op.Relu(m.x)"))
        text = self.asks("match", "late.lua", "flat.lua", "same.lua", "m.onnx")
        self.assertIn("rejected: no use ('a' float[2,3])", text)
        self.assertIn("rejected: the result has another type ('c' expected",
                      text)
        self.assertIn("rejected: the rewrite", text)
        self.assertNotIn("fires", text)
        done = json.loads(self.asks("match", "flat.lua", "m.onnx", "--json"))
        self.assertFalse(done[0]["fires"])
        self.assertEqual(done[0]["reason"], "the result has another type")
        self.assertIn("float[2,3], found int64[2]", done[0]["value"])
        text = self.asks("explain", "flat.lua", "m.onnx")
        self.assertIn("flat: turned down at", text)
        self.assertIn("reason:    the result has another type", text)

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


class Explain(VerbsTest):
    def test_where_it_fires(self):
        text = self.asks("explain", "cancel.lua", "m.onnx")
        self.assertRegex(text, r"cancel: fires at .*the_c")

    def test_what_turned_it_down(self):
        text = self.asks("explain", "picky.lua", "m.onnx")
        self.assertIn("turned down", text)
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
                     says=["no model was given", "ruleengine explain"])
        self.run_bad(2, "explain", "cancel.lua", "never.lua", "m.onnx",
                     says=["one rule and one model", "ruleengine explain"])
        self.run_bad(2, "explain", "cancel.lua", "m.onnx", "x",
                     says=["no node makes it, it is an input"])
        self.run_bad(4, "explain", "nobody.lua", "m.onnx")


class Verbose(VerbsTest):
    def test_every_rejection_with_its_node_reason_and_value(self):
        words = ["run", "picky.lua", "m.onnx", "--dry-run"]
        line = "picky at 'the_c': the size is not 3 (2)\n"
        self.assertIn(line, self.run_ok(*words, "-v").err)
        self.assertNotIn(line, self.run_ok(*words).err)


class Examples(VerbsTest):
    def test_ok(self):
        text = self.asks("test", "cancel.lua")
        self.assertRegex(text, r"(?m)^ok\s+cancel: two$")
        self.assertTrue(text.endswith("1 passed, 0 failed\n"), text)

    def check(self, verdict, examples, **more):
        self.write("bad.lua", make.rule(more=f"examples = {{ {examples} }},"
                                        + more.get("more", "")))
        before = program.state(self.folder)
        done = program.run("test", "bad.lua", cwd=self.folder)
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertEqual(program.state(self.folder), before)
        self.assertRegex(done.out, rf"(?m)^{verdict}\s+bad: t$")
        self.assertTrue(done.out.endswith("0 passed, 1 failed\n"), done.out)

    ONE = "[[ (float[2] x) => (float[2] y) { y = Neg(x) } ]]"
    TWO = "[[ (float[2] x) => (float[2] y) { a = Neg(x) b = Neg(a) "
    TWO += "y = Exp(b) } ]]"

    def test_missing(self):
        self.check("missing", f'{{ "t", {self.ONE}, "y = Abs(x)" }}')

    def test_missing_rejection(self):
        self.check("missing", f'{{ "t", {self.ONE}, rejected = "why" }}')

    def test_noisy(self):
        self.check("noisy", f'{{ "t", {self.TWO}, rejected = "why" }}')

    def test_wrong(self):
        self.check("wrong", f'{{ "t", {self.TWO}, "y = Abs(x)" }}')

    def test_rejected(self):
        self.write("picky.lua", make.rule(more=f"""where = function(m)
            need(false, "never good", m.x) end,
            examples = {{ {{ "t", {self.TWO}, rejected = "never good" }} }},
            """))
        self.assertIn("1 passed", self.asks("test", "picky.lua"))

    def test_json(self):
        (result,) = json.loads(self.asks("test", "cancel.lua", "--json"))
        self.assertEqual((result["rule"], result["title"], result["verdict"]),
                         ("cancel", "two", "ok"))

    def test_an_example_that_does_not_parse(self):
        self.write("bad.lua", make.rule(
            more='examples = { { "t", "(float x => {", "y = x" } },'))
        done = program.run("test", "bad.lua", cwd=self.folder)
        self.assertEqual(done.code, 4, done.out)
        self.assertRegex(done.err, r"bad\.lua:\d+")

    def test_a_rule_without_examples(self):
        self.write("bare.lua", make.rule("op.Relu(op.Relu(x))"))
        done = self.run_ok("test", "bare.lua", "cancel.lua")
        self.assertEqual(done.err.count("warning"), 1)
        self.assertIn("warning: rule 'bare' has no examples", done.err)

    def test_an_error_names_the_example(self):
        self.write("bad.lua", make.rule(rewrite='(error("boom"))', more=(
            f'examples = {{ {{ "the second", {self.TWO}, "y = x" }} }},')))
        done = self.run_bad(4, "test", "bad.lua", says=["boom", "bad.lua:7"])
        self.assertIn("in example 'the second'", done.err)

    def test_why_nothing_matches(self):
        self.write("bad.lua", make.rule(more=(
            "examples = {"
            '{ "exp", [[ (float[2] x) => (float[2] y)'
            ' { a = Exp(x) y = Neg(a) } ]], "y = Abs(x)" },'
            '{ "why", [[ (float[2] x) => (float[2] y)'
            ' { a = Exp(x) y = Neg(a) } ]], rejected = "why" } },')))
        done = program.run("test", "bad.lua", cwd=self.folder)
        lines = done.out.splitlines()
        self.assertIn("the pattern does not match", lines[1])
        at = "           "
        self.assertEqual(lines[2:8], [
            at + "tried at:  Neg node of output 'y'",
            at + "got:       1 of 2 nodes of the pattern",
            at + "failed at: Neg node of output 'y'",
            at + "test:      input 0 of Neg node of output 'y' (bad.lua:4)",
            at + "expected:  Neg",
            at + "found:     'a' of Exp node of output 'a' float[2]"])
        self.assertIn("with 'why', the pattern does not match", lines[9])
        self.assertEqual(lines[10:16], lines[2:8])

    def test_why_it_takes_no_part(self):
        self.write("bad.lua", make.rule(more=(
            "when = function(graph) return false end,"
            f'examples = {{ {{ "t", {self.TWO}, "y = Exp(x)" }} }},')))
        self.assertIn("it takes no part, its `when` says no",
                      program.run("test", "bad.lua", cwd=self.folder).out)
        self.write("alone.lua", make.rule(
            rewrite="ms[1].x", more='together = function(m) return "" end,'
            f'examples = {{ {{ "t", {self.TWO}, "y = Exp(x)" }} }},')
            .replace("(op, m)", "(op, ms)"))
        self.assertIn("no other match has its key of `together`",
                      program.run("test", "alone.lua", cwd=self.folder).out)

    def test_the_graph_that_came_out(self):
        self.write("bad.lua", make.rule(rewrite="op.Abs(m.x)", more=(
            f'examples = {{ {{ "t", {self.TWO}, "y = Exp(x)" }} }},')))
        done = program.run("test", "bad.lua", cwd=self.folder)
        self.assertRegex(done.out, r"""(?x)         line \ \d+: .*\n
            \s{11}\S.*=>.*\{\n
            \s{13}.*b\ =\ Abs\(x\)\n
            \s{13}.*y\ =\ Exp\(b\)\n
            \s{11}\}\n0\ passed""")
        # One that is long is cut.
        relus = " ".join(f"r{i + 1} = Relu(r{i})" for i in range(40))
        self.write("long.lua", make.rule(rewrite="op.Abs(m.x)", more=f"""
            examples = {{ {{ "t", [[ (float[2] x) => (float[2] y)
            {{ a = Neg(x) r0 = Neg(a) {relus} y = Exp(r40) }} ]],
            "y = Exp(x)" }} }},"""))
        done = program.run("test", "long.lua", cwd=self.folder)
        self.assertIn("\n           ...\n", done.out)
        self.assertLess(done.out.count("\n"), 30)

    def test_what_is_wrong_with_one_hides_no_other(self):
        self.write("broken.lua", "this is not Lua")
        self.write("boom.lua", make.rule(rewrite='(error("boom"))', more=(
            f'examples = {{ {{ "first", {self.TWO}, "y = x" }},'
            f'{{ "second", {self.ONE}, "y = Neg(x)" }} }},')))
        for paths in (["broken.lua", "boom.lua", "cancel.lua"],
                      [self.folder]):
            done = program.run("test", *paths, cwd=self.folder)
            self.assertEqual(done.code, 4, done.err)
            self.assertIn("broken.lua", done.err)
            self.assertIn("in example 'first'", done.err)
            self.assertRegex(done.out, r"(?m)^ok\s+cancel: two$")
            self.assertRegex(done.out, r"(?m)^ok\s+boom: second$")
        alone = program.run("test", "broken.lua", cwd=self.folder)
        self.assertEqual((alone.code, alone.out), (4, ""))
        self.assertEqual(alone.err.count("error:"), 1, alone.err)

    def test_all_of_ours(self):
        rules = [p for p in program.ROOT.glob("rules/**/*.lua")
                 if "lib" not in p.parts]
        text = self.asks("test", *rules)
        self.assertTrue(text.endswith(" 0 failed\n"), text[-2000:])


class Report(VerbsTest):
    def test_the_graph_as_a_table(self):
        lines = self.asks("report", "m.onnx").splitlines()
        self.assertEqual(lines[:3], ["inputs: x float[2,3]",
                                     "outputs: y float[2,3]", ""])
        lines = lines[3:]
        self.assertEqual(lines[0].split(), ["op", "name", "inputs", "outputs",
                                            "attributes", "shapes"])
        self.assertEqual([line.split()[0] for line in lines[1:5]],
                         ["Relu", "Neg", "Neg", "Exp"])
        self.assertRegex(lines[1], r"the_a\s+x\s+a\s+float\[2,3\]")

    def test_counts(self):
        text = self.asks("report", "m.onnx").split("\n\n")[2]
        self.assertRegex(text, r"(?m)^Neg\s+2$")
        self.assertRegex(text, r"(?m)^Exp\s+1$")

    def layers(self):
        """S2.15: the model that the guide to replacing patterns reports."""
        self.write("layers.onnxtxt", '''<ir_version: 8, opset_import: ["" : 17]>
            g (float[3,4] x) => (float[3,5] clamp)
            <float[3,4] param, float[4,5] w, float[5] unused> {
              add = Add(x, param)
              [linear] h = MatMul(add, w)
              [clamp] clamp = Clip(h, , )
            }'''.replace("param,", "param = {" + ",".join("1" * 12) + "},")
            .replace("w,", "w = {" + ",".join("2" * 20) + "},")
            .replace("unused>", "unused = {1,2,3,4,5}>"))

    def test_used_weights(self):
        self.layers()
        table = self.asks("report", "layers.onnxtxt").split("\n\n")[2]
        self.assertEqual(
            [line.split() for line in table.splitlines()],
            [["weight", "dtype", "shape", "bytes", "readers"],
             ["param", "float", "[3,4]", "48", "add"],
             ["w", "float", "[4,5]", "80", "linear"],
             ["2", "weights,", "128", "bytes"]])

    def test_json(self):
        self.layers()
        report = json.loads(self.asks("report", "layers.onnxtxt", "--json"))
        self.assertEqual(list(report), ["model", "inputs", "outputs", "nodes",
                                        "weights", "ops"])
        self.assertEqual(report["inputs"], [
            {"name": "x", "dtype": "float", "shape": [3, 4]}])
        self.assertEqual(report["nodes"][1], {
            "op": "MatMul", "name": "linear", "inputs": ["add", "w"],
            "outputs": [{"name": "h", "dtype": "float", "shape": [3, 5]}],
            "attributes": {}})
        self.assertEqual(report["weights"][1], {
            "name": "w", "dtype": "float", "shape": [4, 5], "bytes": 80,
            "readers": ["linear"]})
        self.assertEqual(report["ops"], {"Add": 1, "Clip": 1, "MatMul": 1})
        several = json.loads(self.asks("report", "layers.onnxtxt", "m.onnx",
                                       "--json"))
        self.assertEqual([each["model"] for each in several],
                         ["layers.onnxtxt", "m.onnx"])

    def test_json_of_attributes_and_unknown_sizes(self):
        self.write("a.onnxtxt", '''<ir_version: 8, opset_import: ["" : 17, "a": 1]>
            g (float[N,4] x) => (float[4,N] t, z) {
              t = Transpose <perm = [1, 0]> (x)
              y = a.Odd <f = 0.1, s = "text", i = 3, v = float[1] {2.0}> (x)
              z = LeakyRelu <alpha = 1e-05> (y)
            }''')
        report = json.loads(self.asks("report", "a.onnxtxt", "--json"))
        self.assertEqual(report["outputs"][0], {
            "name": "t", "dtype": "float", "shape": [4, "N"]})
        transpose, odd, leaky = report["nodes"]
        self.assertEqual(transpose["attributes"], {"perm": [1, 0]})
        self.assertEqual(odd["attributes"], {
            "f": 0.1, "s": "text", "i": 3, "v": "v = float[1] {2}"})
        self.assertEqual(odd["outputs"], [
            {"name": "y", "dtype": None, "shape": None}])
        self.assertEqual(leaky["attributes"], {"alpha": 1e-05})

    def test_first_rules_then_the_report(self):
        """S2.21: normalize, remove dropout, replace, report."""
        text = self.asks("report", "m.onnx", "--first", "cancel.lua")
        self.assertRegex(text, r"(?m)^Relu\s+1$")
        self.assertNotRegex(text, r"(?m)^Neg\s")

    def test_attributes_and_inferred_shapes(self):
        self.write("t.onnx", make.onnx_bytes(
            "t (float[N,3] x) => (float[3,N] y) "
            "{ a = Transpose<perm = [1,0]>(x) y = Exp(a) }"))
        text = self.asks("report", "t.onnx")
        self.assertRegex(text, r"perm = \[1, ?0\]")
        self.assertRegex(text, r"(?m)^Transpose.*float\[3, ?N\]$")

    def test_errors(self):
        self.run_bad(2, "report", "cancel.lua")
        self.run_bad(3, "report", "nobody.onnx")


class Print(VerbsTest):
    def test_text_that_onnx_reads(self):
        model = make.model(self.asks("print", "m.onnx"))
        self.assertEqual([n.op_type for n in model.graph.node],
                         ["Relu", "Neg", "Neg", "Exp"])

    def test_small_constants_stand_there(self):
        model = make.model(make.NEGATIONS)
        model.graph.initializer.append(
            numpy_helper.from_array(np.float32([1.5, -2]), "w"))
        self.write("w.onnx", model.SerializeToString())
        again = make.model(self.asks("print", "w.onnx"))
        np.testing.assert_array_equal(
            numpy_helper.to_array(again.graph.initializer[0]), [1.5, -2])

    def test_weights_in_full(self):
        text = self.asks("print", BERT, "--weights")
        self.assertGreater(len(text), len(self.asks("print", BERT)))
        self.write("bert.onnxtxt", text)
        self.run_ok("run", "never.lua", "bert.onnxtxt", "-o", "again.onnx")
        with np.load(program.DATA / "models/bert.ts17_eager.npz") as saved:
            feeds = {name: saved[name] for name in saved.files}
        self.assertEqual(numbers.disagreements(
            BERT, self.folder / "again.onnx", onnx.load(BERT), feeds), [])


class TextModels(VerbsTest):
    def test_a_slip_of_the_pen_is_warned_of_once(self):
        self.write("m.onnxtxt", """<ir_version: 8, opset_import: ["": 17]>
            g (float[2] x) => (float[2] y) {
              a = Sigmiod(x)
              b = Sigmiod(a)
              c = Relu(b, x)
              d = Softmax <axes = 1> (c)
              y = com.example.Anything(d, d)
            }""")
        for verb in ("print", "report"):
            done = self.run_ok(verb, "m.onnxtxt")
            warnings = [line for line in done.err.splitlines()
                        if line.startswith("warning: m.onnxtxt:")]
            self.assertEqual(len(warnings), 3, done.err)
            for line, says in zip(warnings, (
                    "'Sigmiod', expected an op of the domain; did you mean "
                    "'Sigmoid'?",
                    "Relu does not take that many inputs, found 2, expected 1",
                    "Softmax has no such attribute, found 'axes'; did you "
                    "mean 'axis'?")):
                self.assertIn(says, line)
        self.assertIn("Sigmiod", done.out)


class Coverage(VerbsTest):
    def test_all_of_it(self):
        done = self.run_ok("coverage", BERT, "--min", "100")
        self.assertRegex(done.out, r"bert\.onnx +2 +2\n")

    def test_what_is_left_has_a_reason(self):
        rules = program.ROOT / "rules"
        done = program.run("coverage", rules / "canonical.lua",
                           rules / "attention" / "fuse_masked_attention.lua",
                           BERT, "--min", "1", "--json")
        self.assertEqual(done.code, 1, done.err)
        found, = json.loads(done.out)
        self.assertEqual((found["found"], found["fused"]), (2, 0))
        for left in found["left"]:
            self.assertEqual(left["rule"], "fuse_masked_attention")
            self.assertTrue(left["reason"])

    def test_probabilities_that_are_needed(self):
        for more, steps, reason in (
                ("float[2,4,8,6] p", "", "an output of the model"),
                ("float[2,4,8,6] z", "z = Neg(p)", "by Neg node")):
            with self.subTest(reason):
                self.write("m.onnxtxt", f"""
                    <ir_version: 8, opset_import: ["" : 17]>
                    g (float[2,4,8,16] q, float[2,4,6,16] k,
                       float[2,4,6,16] v) => (float[2,4,8,16] y, {more}) {{
                      kt = Transpose <perm = [0,1,3,2]> (k)
                      s = MatMul(q, kt) p = Softmax <axis = -1> (s)
                      y = MatMul(p, v) {steps} }}""")
                done = self.run_ok("coverage", "m.onnxtxt")
                self.assertRegex(done.out, r"m\.onnxtxt +1 +0\n")
                self.assertIn("needed elsewhere", done.out)
                self.assertIn(reason, done.out)

    def test_no_attention(self):
        self.write("m.onnxtxt", """<ir_version: 8, opset_import: ["" : 17]>
            g (float[4,4] x) => (float[4,4] y) {
              s = Softmax <axis = -1> (x)
              y = MatMul(s, x)
            }""")
        done = self.run_ok("coverage", "m.onnxtxt", "--min", "100")
        self.assertRegex(done.out, r"m\.onnxtxt +0 +0\n")


if __name__ == "__main__":
    unittest.main()
