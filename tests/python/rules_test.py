"""Rules and options that rewrite() and RuleSet take."""

import os
import pathlib
import pickle
import time
import types
import unittest

import numpy as np
import onnx

from support import package, program
from support.package import CUBE, CUBED, ruleengine


class RulesTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.model = onnx.parser.parse_model(CUBED)

    def ops(self, *arguments, **options):
        out = ruleengine.rewrite(self.model, *arguments, **options).model
        return [node.op_type for node in out.graph.node]

    def test_texts_files_folders_and_packs(self):
        path = self.write("rules/cube.lua", CUBE)
        for rules in (CUBE, [CUBE], path, str(path), [path, "canonical"],
                      self.folder / "rules",
                      ruleengine.RuleSet(files={"cube.lua": CUBE})):
            self.assertEqual(self.ops(rules), ["Pow"])
        self.assertEqual(self.ops(["canonical"]), ["Mul", "Mul"])
        self.assertEqual(self.ops("attention"), ["Mul", "Mul"])

    def test_a_set_serves_many_models(self):
        rules = ruleengine.RuleSet(["attention", "simplify"])
        self.assertIn("compose_scaled_dot_product_attention", rules.names)
        first = rules.rewrite(package.attention(), target="onnx").model
        rules.rewrite(package.small(), target="ort")
        self.assertEqual(rules.rewrite(package.attention(),
                                       target="onnx").model, first)

    def test_options(self):
        rule = "chain"
        for options in ({"sequence_parallel.enable": True},
                        {"sequence_parallel": {"enable": True}}):
            rules = ruleengine.RuleSet(options=options)
            found = rules.explain(self.model, rule)
            self.assertEqual(found[0].absent, "")
        found = ruleengine.explain(self.model, rule=rule)
        self.assertIn("enable", found[0].absent)

    def test_rules_that_are_read_once(self):
        path = self.write("cube.lua", CUBE)
        self.assertEqual(self.ops(each for each in [path]), ["Pow"])
        self.assertEqual(len(ruleengine.RuleSet(
            pack for pack in ["quantization"]).names), 1)
        self.assertEqual(self.ops(["quantization"]), ["Mul", "Mul"])
        for rules, files in (([], None), (None, {}), (iter(()), None)):
            with self.assertRaises(ruleengine.UsageError):
                ruleengine.RuleSet(rules, files=files)

    def test_a_file_keeps_its_name(self):
        other = CUBE.replace("3.0", "4.0")
        rules = ruleengine.RuleSet(["memory:/text.lua", CUBE],
                                   files={"text.lua": other})
        self.assertEqual(rules.names, ["text", "text1"])

    def test_a_folder_like_a_pack(self):
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        (self.folder / "attention").mkdir()
        self.assertEqual(ruleengine.coverage(package.attention()).fused, 1)
        self.write("attention/cube.lua", CUBE)
        self.assertEqual(self.ops(pathlib.Path("attention")), ["Pow"])

    def test_limits_of_rules(self):
        endless = CUBE.replace("  rewrite =", """
  where = function() while true do end end,
  rewrite =""")
        rules = ruleengine.RuleSet(endless, callback_seconds=0.05)
        with self.assertRaises(ruleengine.LimitError) as caught:
            rules.rewrite(self.model)
        self.assertIn("`callback_seconds` of the RuleSet",
                      caught.exception.hint)
        with self.assertRaises(ruleengine.LimitError) as caught:
            ruleengine.RuleSet("while true do end\n", load_seconds=0.05)
        self.assertIn("`load_seconds`", caught.exception.hint)
        self.assertIn("longer than 0.05 s", str(caught.exception))
        with self.assertRaises(ruleengine.LimitError) as caught:
            ruleengine.RuleSet('local s = ("x"):rep(1e7)\n' + CUBE,
                               memory=1 << 20)
        self.assertIn("1 MiB", caught.exception.expected)

    def test_a_set_is_pickled_by_its_arguments(self):
        rules = pickle.loads(pickle.dumps(ruleengine.RuleSet(CUBE)))
        self.assertEqual(self.ops(rules), ["Pow"])

    def test_wrong_options(self):
        for options, text in (({"enable": 1}, "belongs to a rule"),
                              ({"cube.x": []}, "wrong type"),
                              ({"no_rule.x": 1}, "no_rule")):
            with self.assertRaisesRegex(ruleengine.Error, text):
                ruleengine.rewrite(self.model, options=options)

    def test_wrong_rules(self):
        with self.assertRaises(ruleengine.UsageError) as caught:
            ruleengine.rewrite(self.model, "no_pack")
        self.assertIn("attention", caught.exception.expected)
        with self.assertRaises(ruleengine.RuleError):
            ruleengine.rewrite(self.model, self.folder / "none.lua")
        with self.assertRaises(ruleengine.RuleError) as caught:
            ruleengine.rewrite(self.model, CUBE + "\nx = = 3\n")
        self.assertIn("text.lua", caught.exception.where)
        for rules in (3, [3], [None]):
            with self.assertRaises(ruleengine.UsageError):
                ruleengine.rewrite(self.model, rules)

    def test_arguments_of_the_wrong_type(self):
        model = package.attention()
        for dims in ({"S": 2.5}, {3: 4}, {"S": None}, {"S": 10 ** 30},
                     {"S": "\ud800"}, {"S": -1}, [1]):
            with self.assertRaises(ruleengine.UsageError):
                ruleengine.rewrite(model, dims=dims)
        ruleengine.rewrite(model, dims=types.MappingProxyType({"S": 4}))
        ruleengine.rewrite(model, dims={"S": np.int64(4)}, exact=np.True_)
        for options in ({"opset": "17"}, {"opset": 10 ** 30}, {"tensors": -1},
                        {"verify": []}, {"target": None}, {"options": "x"},
                        {"options": {3: 1}}, {"seconds": "5"},
                        {"folder": 3}, {"rules": b"x"}):
            with self.subTest(options):
                with self.assertRaises(ruleengine.UsageError):
                    ruleengine.rewrite(model, **options)
        for make in (lambda: ruleengine.RuleSet(files={"a.lua": b""}),
                     lambda: ruleengine.RuleSet(memory=1e9),
                     lambda: ruleengine.test(CUBE, mutants=-1),
                     lambda: ruleengine.Session(model, rules="canonical"),
                     lambda: ruleengine.Session(model, threads=2 ** 40),
                     lambda: ruleengine.Session(model, seed=-1),
                     lambda: ruleengine.verify(model, model, tolerance=1e-3),
                     lambda: ruleengine.verify(model, model, dims={"S": -2}),
                     lambda: ruleengine.Session(model).run({1: 2}),
                     lambda: ruleengine.Session(model).run([1]),
                     lambda: ruleengine.Model("\ud800"),
                     lambda: ruleengine.Model("a\0b"),
                     lambda: ruleengine.Model.from_bytes("text"),
                     lambda: ruleengine.rewrite(model, progress=0)):
            with self.assertRaises(ruleengine.UsageError):
                make()

    def test_the_whole_call_has_the_seconds(self):
        class Slow:
            def __init__(self, path):
                self.path = path

            def __fspath__(self):
                time.sleep(0.3)
                return str(self.path)
        path = self.write("m.onnx", package.attention().SerializeToString())
        with self.assertRaises(ruleengine.LimitError):
            ruleengine.explain(Slow(path), seconds=0.1)

    def test_wrong_arguments(self):
        for options in ({"target": "mars"}, {"verify": "perhaps"},
                        {"opset": 99999}, {"seconds": -1}, {"seconds": 0},
                        {"progress": 3}):
            with self.assertRaises(ruleengine.UsageError):
                ruleengine.rewrite(self.model, **options)


if __name__ == "__main__":
    unittest.main()
