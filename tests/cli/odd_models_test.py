"""Models that the standard forbids and ONNX Runtime runs: they are read as in
ONNX Runtime, with a warning; results load again and compute the same."""

import json
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

from support import make, onnx_runtime, program

X = np.float32([[0.5, 2, -1], [3, -2, 0]])


def imports(model, *pairs):
    del model.opset_import[:]
    for domain, version in pairs:
        model.opset_import.add(domain=domain, version=version)


def weights(*arrays):
    def change(model):
        model.graph.node[0].op_type = "Add"
        model.graph.node[0].input.append("w")
        model.graph.initializer.extend(numpy_helper.from_array(np.float32(a), "w") for a in arrays)
    return change


def microsoft(model):
    model.graph.node[0].op_type, model.graph.node[0].domain = "QuickGelu", "com.microsoft"


def other_domain(model):
    model.graph.node[0].op_type, model.graph.node[0].domain = "Normalizer", "ai.onnx.ml"


def raw_and_numbers(model):
    weights(np.ones((2, 3)))(model)
    model.graph.initializer[0].float_data.extend([7] * 6)


def nameless(model):
    model.graph.initializer.append(numpy_helper.from_array(np.float32([1, 2]), ""))


def unread(model):
    model.graph.initializer.append(numpy_helper.from_array(np.float32([1, 2]), "nobody"))
    model.graph.initializer[0].dims[0] = 3


def output_twice(model):
    model.graph.output.append(model.graph.output[0])


def set_ir(model):
    model.ir_version = 0


ODD = {
    "is imported twice": [
        lambda m: imports(m, ("", 17), ("", 17)), lambda m: imports(m, ("", 17), ("ai.onnx", 17)),
        lambda m: imports(m, ("", 13), ("", 17)), lambda m: imports(m, ("", 17), ("ai.onnx", 13))],
    "no valid version": [lambda m: imports(m, ("", 0), ("", 7)), lambda m: imports(m, ("", 17), ("nobody", 0))],
    "is not imported": [
        microsoft, other_domain, lambda m: imports(m, ("com.microsoft", 1)),
        lambda m: (microsoft(m), imports(m, ("ai.onnx.ml", 3)))],
    "two outputs have the same name": [output_twice],
    "defined twice": [weights(np.ones(3), np.full(3, 5))],
    "no name": [nameless],
    "that nothing reads": [unread],
    "stores its data twice": [raw_and_numbers],
    "no known ir_version": [set_ir],
}


class OddModelsTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("cancel.lua", make.CANCEL)
        self.write("never.lua", make.NEVER)

    def outputs(self, path):
        return onnx_runtime.session(onnx.load(path)).run(None, {"x": X})

    def check(self, change, warning):
        model = make.model(make.NEGATIONS)
        change(model)
        source = self.write("m.onnx", model.SerializeToString())
        want = self.outputs(source)
        self.run_ok("run", "never.lua", "m.onnx", "-o", "same.onnx")
        self.assertEqual((self.folder / "same.onnx").read_bytes(), source.read_bytes())
        for target in ("portable", "onnx", "ort"):
            done = self.run_ok("run", "cancel.lua", "m.onnx", "-o", "out.onnx", "--target", target,
                               "--report", "report.json")
            self.assertIn("warning: m.onnx", done.err)
            self.assertIn(warning, done.err)
            said = json.loads((self.folder / "report.json").read_text())["warnings"]
            self.assertTrue(any(warning in each["message"] for each in said), said)
            np.testing.assert_equal(self.outputs(self.folder / "out.onnx"), want)
            # The imports are unchanged.
            self.assertEqual(list(onnx.load(self.folder / "out.onnx").opset_import), list(model.opset_import))
        self.run_ok("run", *program.packs(), "m.onnx", "-o", "packs.onnx", "--target", "ort")
        np.testing.assert_allclose(self.outputs(self.folder / "packs.onnx"), want, rtol=1e-5)
        code = self.run_ok("code", "m.onnx").out
        self.write("code.lua", code)
        self.run_ok("build", "code.lua", "m.onnx", "-o", "again.onnx")
        np.testing.assert_equal(self.outputs(self.folder / "again.onnx"), want)

    def test_read_as_onnx_runtime_reads_it(self):
        for warning, changes in ODD.items():
            for i, change in enumerate(changes):
                with self.subTest(warning=warning, change=i):
                    self.check(change, warning)

    def test_a_domain_twice_is_raised(self):
        model = make.model(make.NEGATIONS)
        imports(model, ("", 0), ("", 12), ("ai.onnx", 13))
        source = self.write("m.onnx", model.SerializeToString())
        self.run_ok("run", "never.lua", "m.onnx", "--opset", "17", "-o", "out.onnx")
        raised = onnx.load(self.folder / "out.onnx")
        self.assertEqual([(o.domain, o.version) for o in raised.opset_import], [("", 17)])
        np.testing.assert_equal(self.outputs(self.folder / "out.onnx"), self.outputs(source))

    def test_models_that_onnx_runtime_refuses(self):
        for pairs in ((("", 7), ("", 0)), (("", 0),), (("", 17), ("com.microsoft", 0))):
            model = make.model(make.NEGATIONS)
            microsoft(model)
            imports(model, *pairs)
            source = self.write("m.onnx", model.SerializeToString())
            with self.assertRaises(Exception):
                self.outputs(source)
            self.run_bad(3, "run", "cancel.lua", "m.onnx", "-o", "out.onnx", says="no valid version")


if __name__ == "__main__":
    unittest.main()
