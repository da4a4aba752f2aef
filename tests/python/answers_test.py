"""What calls tell: reports, answers, errors."""

import json
import pathlib
import pickle
import tempfile
import unittest

import onnx

from support import package, program
from support.package import CUBE, CUBED, WRONG, ruleengine


class ReportTest(unittest.TestCase):
    def test_what_was_done(self):
        result = ruleengine.rewrite(package.attention(), target="onnx",
                                    verify=True)
        report = result.report
        rule = report.rule("compose_batched_attention")
        self.assertEqual((rule.matches, rule.rewrites), (1, 1))
        self.assertIsNone(report.rule("no_rule"))
        self.assertEqual(report.target, "onnx")
        self.assertEqual(report.nodes_after, len(result.model.graph.node))
        self.assertGreater(report.verified.inputs, 2)
        self.assertEqual(json.loads(json.dumps(report.to_dict()))["target"],
                         "onnx")
        self.assertIn("became", repr(result))
        self.assertEqual(result.warnings, report.warnings)
        self.assertEqual(pickle.loads(pickle.dumps(report)), report)

    def test_the_command_line_says_the_same(self):
        model = package.attention()
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            path = folder / "m.onnx"
            path.write_bytes(model.SerializeToString())
            program.run("run", path, "--target", "onnx", "--report",
                        folder / "r.json")
            theirs = json.loads((folder / "r.json").read_text())
            mine = ruleengine.rewrite(path, target="onnx").report.to_dict()
        theirs.pop("cost")
        for each in (mine, theirs):
            self.assertGreater(each["seconds"].pop("load"), 0)
            self.assertGreater(each["seconds"].pop("save"), 0)
            for key in ("seconds", "peak_bytes"):
                each.pop(key)
            for rule in each["rules"]:
                rule.pop("seconds")
        for one, other in zip(mine["rules"], theirs["rules"]):
            self.assertEqual(pathlib.Path(one.pop("file")).name,
                             pathlib.Path(other.pop("file")).name)
        self.assertEqual(mine, theirs)

    def test_as_text(self):
        result = ruleengine.rewrite(package.attention(), target="ort")
        text = str(result.report)
        self.assertRegex(text, r"rule +matches +rewrites +rejected +time\n"
                               r"(.*\n)*compose_batched_attention +1 ")
        self.assertIn('`target="standard"` is read by whatever', text)
        self.assertNotIn("--", text)

    def test_why_not(self):
        result = ruleengine.rewrite(package.small())
        why = result.why_not("compose_scaled_dot_product_attention")
        self.assertFalse(why.matches)
        self.assertTrue(why.misses)
        self.assertIn("expected", str(why))
        with self.assertRaises(ruleengine.UsageError):
            result.why_not("no_rule")

    def test_why_not_asks_as_the_run_did(self):
        rule = CUBE.replace("  rewrite =", """
  where = function(m) assume("x is small", m.x) end,
  rewrite =""").replace('y = Pow(x, k)"', 'y = Pow(x, k)", assumed = "x is"')
        model = onnx.parser.parse_model(CUBED)
        for exact in (False, True):
            [match] = ruleengine.rewrite(model, rule, exact=exact).why_not(
                "text").matches
            self.assertEqual(match.fires, not exact)

    def test_assumptions(self):
        self.assertEqual(ruleengine.rewrite(package.small()).assumptions, ())

    def test_questions(self):
        model = package.attention()
        found = ruleengine.coverage(model)
        self.assertEqual((found.found, found.fused, found.left), (1, 1, ()))
        matches = ruleengine.match(model, "attention")
        self.assertTrue(any(each.fires for each in matches))
        [why] = ruleengine.explain(
            model, "attention", rule="compose_batched_attention")
        self.assertTrue(why.matches)
        sent = ruleengine.RuleSet().collectives(model)
        self.assertEqual(sent["before"], {})

    def test_examples(self):
        tested = ruleengine.test("attention")
        self.assertFalse(tested.failed)
        self.assertGreater(len(tested.examples), 20)
        self.assertEqual([each.verdict for each in
                          ruleengine.test(CUBE, mutants=3).examples], ["ok"])
        [wrong] = ruleengine.test(WRONG).failed
        self.assertIn("tolerance", wrong.detail)
        with self.assertRaises(ruleengine.RuleError) as caught:
            ruleengine.test([CUBE, "return\n"])
        self.assertEqual(len(caught.exception.report["examples"]), 1)

    def test_a_wrong_rule_is_found(self):
        model = onnx.parser.parse_model(CUBED)
        with self.assertRaises(ruleengine.VerifyError) as caught:
            ruleengine.rewrite(model, WRONG, verify=True)
        self.assertEqual(caught.exception.report["rules"][0]["rewrites"], 1)
        self.assertEqual(caught.exception.report["error"]["what"],
                         caught.exception.what)
        result = ruleengine.rewrite(model, WRONG, verify="local")
        self.assertEqual([n.op_type for n in result.model.graph.node],
                         ["Mul", "Mul"])


class ErrorTest(unittest.TestCase):
    def test_the_parts_of_an_error(self):
        with self.assertRaises(ruleengine.ModelError) as caught:
            ruleengine.rewrite("/nowhere/m.onnx")
        error = caught.exception
        self.assertIsInstance(error, ruleengine.Error)
        self.assertEqual(error.where, "/nowhere/m.onnx")
        self.assertIn("No such file", error.what)
        self.assertIn(error.where, str(error))
        self.assertEqual(error.report["error"]["what"], error.what)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), again.what, str(again)),
                         (type(error), error.what, str(error)))

    def test_all_kinds_are_errors_of_the_package(self):
        for name in ("UsageError", "ModelError", "RuleError", "LimitError",
                     "VerifyError", "WriteError", "CancelledError",
                     "InternalError"):
            kind = getattr(ruleengine, name)
            self.assertTrue(issubclass(kind, ruleengine.Error))
            self.assertEqual(kind.__module__, "ruleengine")

    def test_bad_models(self):
        for data in (b"", b"\0", b"\xff" * 100, b"junk" * 50,
                     package.attention().SerializeToString()[:-7]):
            with self.assertRaises(ruleengine.ModelError):
                ruleengine.rewrite(data)

    def test_no_place_to_write(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            path = folder / "m.onnx"
            path.write_bytes(package.small().SerializeToString())
            with self.assertRaises(ruleengine.WriteError):
                ruleengine.rewrite(path, output=folder / "none" / "o.onnx")
            with self.assertRaises(ruleengine.UsageError):
                ruleengine.rewrite(path, output=path)
            self.assertEqual([p.name for p in folder.iterdir()], ["m.onnx"])


if __name__ == "__main__":
    unittest.main()
