"""ruleengine.rewrite() and its like: kinds of models, rules, reports."""

import copy
import json
import pathlib
import pickle
import unittest

import numpy as np
import onnx
import onnx_ir

from support import package, program
from support.package import ruleengine

CUBE = """
return rule {
  match = function(op, x) return op.Mul(op.Mul(x, x), x) end,
  rewrite = function(op, m) return op.Pow(m.x, 3.0) end,
  examples = {
    { "a cube", "(float[2] x) => (float[2] y) { a = Mul(x, x) y = Mul(a, x) }",
      "k = Constant <value = float {3.0}> () y = Pow(x, k)" },
  },
}
"""
WRONG = CUBE.replace("3.0", "2.0")


class KindsTest(program.ProgramTest):
    """The result is of the kind that was given, and the same for all kinds."""

    def setUp(self):
        super().setUp()
        self.proto = package.attention()
        self.path = self.write("m.onnx", self.proto.SerializeToString())
        self.expected = ruleengine.rewrite(
            self.path, output=self.folder / "expected.onnx",
            target="onnx").model.read_bytes()
        self.assertEqual(
            package.fused(onnx.ModelProto.FromString(self.expected)), 1)

    def test_paths(self):
        out = ruleengine.rewrite(self.path, target="onnx").model
        self.assertEqual(out, self.folder / "m.rewritten.onnx")
        self.assertEqual(out.read_bytes(), self.expected)
        out = ruleengine.rewrite(str(self.path), target="onnx",
                                 output=str(self.folder / "o.onnx")).model
        self.assertEqual(out, str(self.folder / "o.onnx"))
        self.assertEqual(pathlib.Path(out).read_bytes(), self.expected)

    def test_names_that_are_no_utf8(self):
        path = self.folder.joinpath("m\udcff.onnx")
        path.write_bytes(self.path.read_bytes())
        out = ruleengine.rewrite(path, target="onnx").model
        self.assertEqual(out.read_bytes(), self.expected)

    def test_bytes(self):
        data = self.path.read_bytes()
        for kind in (bytes, bytearray):
            out = ruleengine.rewrite(kind(data), target="onnx").model
            self.assertIs(type(out), kind)
            self.assertEqual(bytes(out), self.expected)
        out = ruleengine.rewrite(memoryview(data), target="onnx").model
        self.assertEqual(bytes(out), self.expected)

    def test_protos(self):
        before = copy.deepcopy(self.proto)
        out = ruleengine.rewrite(self.proto, target="onnx").model
        self.assertIsInstance(out, onnx.ModelProto)
        self.assertEqual(out, onnx.ModelProto.FromString(self.expected))
        self.assertEqual(self.proto, before)

    def test_models_of_the_engine(self):
        model = ruleengine.Model(self.path)
        out = ruleengine.rewrite(model, target="onnx").model
        self.assertIsInstance(out, ruleengine.Model)
        self.assertEqual(out.to_bytes(), self.expected)
        out.save(self.folder / "saved.onnx")
        self.assertEqual((self.folder / "saved.onnx").read_bytes(),
                         self.expected)
        # Of a result, after all that it was made of is gone.
        del model
        again = ruleengine.rewrite(out, target="onnx").model
        self.assertEqual(package.fused(again.to_proto()), 1)

    def test_other_kinds_are_refused(self):
        for model in (None, 3, self.proto.graph, [self.proto], object()):
            with self.assertRaisesRegex(ruleengine.UsageError, "another kind"):
                ruleengine.rewrite(model)

    def test_options_that_do_not_fit_the_kind(self):
        with self.assertRaisesRegex(ruleengine.UsageError, "`output`"):
            ruleengine.rewrite(self.proto, output="x.onnx")
        with self.assertRaisesRegex(ruleengine.UsageError, "`folder`"):
            ruleengine.rewrite(self.path, folder="x")
        with self.assertRaisesRegex(ruleengine.UsageError, "`dims`"):
            ruleengine.rewrite(ruleengine.Model(self.path), dims={"S": 3})

    def test_external_data(self):
        onnx.save(copy.deepcopy(self.proto), self.folder / "e.onnx", location="e.bin",
                  save_as_external_data=True, size_threshold=0)
        bare = onnx.load(self.folder / "e.onnx", load_external_data=False)
        with self.assertRaisesRegex(ruleengine.ModelError, "in memory"):
            ruleengine.rewrite(bare)
        out = ruleengine.rewrite(bare, folder=self.folder, target="onnx").model
        onnx.save(out, self.folder / "out.onnx")
        x = np.ones((1, 3, 16), np.float32)
        self.assertEqual(
            self.run_model(self.folder / "out.onnx", x).tobytes(),
            self.run_model(self.folder / "expected.onnx", x).tobytes())
        files = {"e.bin": (self.folder / "e.bin").read_bytes()}
        model = ruleengine.Model.from_bytes(bare.SerializeToString(),
                                            files=files)
        ruleengine.verify(model, self.path)

    def run_model(self, model, x):
        [out] = ruleengine.Session(model).run({"x": x}).values()
        return out

    def test_dims(self):
        out = ruleengine.rewrite(self.proto, dims={"S": 5}).model
        dim = out.graph.input[0].type.tensor_type.shape.dim[1]
        self.assertEqual(dim.dim_value, 5)


class LargeProtoTest(unittest.TestCase):
    """Weights of a ModelProto are lent where it is too large for a message."""

    def setUp(self):
        from ruleengine import _proto
        self.module = _proto
        self.kept = _proto._LARGEST_MESSAGE
        _proto._LARGEST_MESSAGE = 1000
        self.addCleanup(setattr, _proto, "_LARGEST_MESSAGE", self.kept)

    def test_the_result_is_the_same(self):
        proto = package.attention(size=32, blocks=2)
        before = copy.deepcopy(proto)
        lent = ruleengine.rewrite(proto, target="ort").model
        self.module._LARGEST_MESSAGE = self.kept
        self.assertEqual(lent, ruleengine.rewrite(proto, target="ort").model)
        self.assertEqual(proto, before)
        self.assertFalse(any(t.external_data for t in lent.graph.initializer))


class IrTest(program.ProgramTest):
    """onnx_ir models: weights stay what they were."""

    def setUp(self):
        super().setUp()
        self.proto = package.attention(size=32)
        onnx.save(copy.deepcopy(self.proto), self.folder / "e.onnx", location="e.bin",
                  save_as_external_data=True, size_threshold=1024)

    def result(self, model, **options):
        out = ruleengine.rewrite(model, "attention", target="onnx",
                                 **options).model
        self.assertIsInstance(out, onnx_ir.Model)
        self.assertIsNot(out, model)
        return out

    def check(self, model, out):
        """The two agree."""
        path = self.folder / "out.onnx"
        onnx_ir.save(out, path)
        self.assertEqual(package.fused(onnx.load(path)), 1)
        ruleengine.verify(self.proto, path)
        del model

    def test_weights_of_a_file_stay_views_of_it(self):
        model = onnx_ir.load(self.folder / "e.onnx")
        out = self.result(model)
        views = [value.const_value for value in out.graph.initializers.values()
                 if isinstance(value.const_value, onnx_ir.ExternalTensor)]
        self.assertEqual(len(views), 3)
        self.assertEqual({each.path for each in views},
                         {str(self.folder / "e.bin")})
        self.check(model, out)

    def test_weights_in_memory_are_the_same_objects(self):
        model = onnx_ir.from_proto(self.proto)
        for value in model.graph.initializers.values():
            value.const_value = onnx_ir.tensor(value.const_value.numpy(),
                                               name=value.name)
        kept = {id(value.const_value)
                for value in model.graph.initializers.values()}
        out = self.result(model)
        same = [value for value in out.graph.initializers.values()
                if id(value.const_value) in kept]
        self.assertEqual(len(same), 3)
        self.check(model, out)

    def test_weights_of_protos_and_lazy_ones(self):
        model = onnx_ir.from_proto(self.proto)
        self.check(model, self.result(model))
        value = model.graph.initializers["w0q"]
        kept = value.const_value
        value.const_value = onnx_ir.LazyTensor(
            lambda: kept, dtype=kept.dtype, shape=kept.shape, name="w0q")
        self.check(model, self.result(model))

    def test_new_weights(self):
        """Those that rules make, beside those that stay."""
        for model in (onnx_ir.load(self.folder / "e.onnx"),
                      onnx_ir.from_proto(self.proto)):
            out = ruleengine.rewrite(model, target="onnx").model
            [w] = [value.const_value for value in
                   out.graph.initializers.values()
                   if value.const_value.nbytes > 1024]
            self.assertEqual(tuple(w.shape), (32, 96))
            self.assertIsInstance(w, onnx_ir.Tensor)
            self.check(model, out)

    def test_the_model_stays_as_it_is(self):
        model = onnx_ir.load(self.folder / "e.onnx")
        model.meta["mine"] = 3
        before = onnx_ir.to_proto(model).SerializeToString(deterministic=True)
        out = self.result(model)
        self.assertEqual(out.meta["mine"], 3)
        self.assertEqual(
            onnx_ir.to_proto(model).SerializeToString(deterministic=True),
            before)

    def test_a_file_that_is_gone(self):
        model = onnx_ir.load(self.folder / "e.onnx")
        (self.folder / "e.bin").unlink()
        with self.assertRaises(ruleengine.ModelError) as caught:
            ruleengine.rewrite(model)
        self.assertIn("e.bin", caught.exception.where)

    def test_a_lazy_weight_that_fails(self):
        def fail():
            raise OSError("gone")
        model = onnx_ir.from_proto(self.proto)
        value = model.graph.initializers["w0q"]
        value.const_value = onnx_ir.LazyTensor(
            fail, dtype=value.const_value.dtype, shape=value.const_value.shape,
            name="w0q")
        with self.assertRaises(ruleengine.ModelError) as caught:
            ruleengine.rewrite(model)
        self.assertIn("w0q", str(caught.exception))

    def test_packed_weights(self):
        proto = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 21]>
m (float[4] x) => (float[64,64] y) {
  s = Constant<value = float {0.5}>()
  d = DequantizeLinear(w, s)
  a = Neg(d)
  y = Neg(a)
}""")
        values = (np.arange(64 * 64) % 16 - 8).reshape(64, 64)
        w = onnx.helper.make_tensor("w", onnx.TensorProto.INT4, [64, 64],
                                    values.reshape(-1).tolist())
        proto.graph.initializer.append(w)
        model = onnx_ir.from_proto(proto)
        value = model.graph.initializers["w"]
        value.const_value = onnx_ir.tensor(value.const_value.numpy(),
                                           dtype=onnx_ir.DataType.INT4,
                                           name="w")
        out = ruleengine.rewrite(model, target="standard").model
        onnx_ir.save(out, self.folder / "q.onnx")
        ruleengine.verify(proto, self.folder / "q.onnx")


class RulesTest(program.ProgramTest):
    CUBED = """<ir_version: 8, opset_import: ["" : 17]>
m (float[2] x) => (float[2] y) { a = Mul(x, x)  y = Mul(a, x) }"""

    def setUp(self):
        super().setUp()
        self.model = onnx.parser.parse_model(self.CUBED)

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

    def test_wrong_options(self):
        for options, text in (({"enable": 1}, "belongs to a rule"),
                              ({"cube.x": []}, "no such type"),
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

    def test_wrong_arguments(self):
        for options in ({"target": "mars"}, {"verify": "perhaps"},
                        {"opset": 99999}, {"seconds": -1}, {"seconds": 0},
                        {"progress": 3}):
            with self.assertRaises(ruleengine.UsageError):
                ruleengine.rewrite(self.model, **options)


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
        mine = ruleengine.rewrite(model, target="onnx").report.to_dict()
        with ProgramFolder() as folder:
            (folder / "m.onnx").write_bytes(model.SerializeToString())
            program.run("run", "m.onnx", "--target", "onnx", "--report",
                        "r.json", cwd=folder)
            theirs = json.loads((folder / "r.json").read_text())
        theirs.pop("cost")
        for each in (mine, theirs):
            for key in ("seconds", "model", "output", "peak_bytes"):
                each.pop(key)
            for rule in each["rules"]:
                rule.pop("seconds")
        for one, other in zip(mine["rules"], theirs["rules"]):
            self.assertEqual(pathlib.Path(one.pop("file")).name,
                             pathlib.Path(other.pop("file")).name)
        self.assertEqual(mine, theirs)

    def test_why_not(self):
        result = ruleengine.rewrite(package.small())
        why = result.why_not("compose_scaled_dot_product_attention")
        self.assertFalse(why.matches)
        self.assertTrue(why.misses)
        self.assertIn("expected", str(why))
        with self.assertRaises(ruleengine.UsageError):
            result.why_not("no_rule")

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
        model = onnx.parser.parse_model(RulesTest.CUBED)
        with self.assertRaises(ruleengine.VerifyError) as caught:
            ruleengine.rewrite(model, WRONG, verify=True)
        self.assertEqual(caught.exception.report["rules"][0]["rewrites"], 1)
        self.assertEqual(caught.exception.report["error"]["what"],
                         caught.exception.what)
        result = ruleengine.rewrite(model, WRONG, verify="local")
        self.assertEqual([n.op_type for n in result.model.graph.node],
                         ["Mul", "Mul"])


class ProgramFolder:
    """A folder that goes when the block ends."""

    def __enter__(self):
        import tempfile
        self._its = tempfile.TemporaryDirectory()
        return pathlib.Path(self._its.name)

    def __exit__(self, *_):
        self._its.cleanup()


class ErrorTest(unittest.TestCase):
    def test_the_parts_of_an_error(self):
        with self.assertRaises(ruleengine.ModelError) as caught:
            ruleengine.rewrite("/nowhere/m.onnx")
        error = caught.exception
        self.assertIsInstance(error, ruleengine.Error)
        self.assertEqual(error.where, "/nowhere/m.onnx")
        self.assertIn("No such file", error.what)
        self.assertIn(error.where, str(error))
        self.assertIsNone(error.report)
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
        with ProgramFolder() as folder:
            path = folder / "m.onnx"
            path.write_bytes(package.small().SerializeToString())
            with self.assertRaises(ruleengine.WriteError):
                ruleengine.rewrite(path, output=folder / "none" / "o.onnx")
            with self.assertRaises(ruleengine.UsageError):
                ruleengine.rewrite(path, output=path)
            self.assertEqual([p.name for p in folder.iterdir()], ["m.onnx"])


if __name__ == "__main__":
    unittest.main()
