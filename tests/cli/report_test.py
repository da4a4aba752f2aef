"""`ruleengine report` and `print`, and models in text."""

import json
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

from support import make, numbers, program, verbs

BERT = program.ROOT / "examples" / "bert.onnx"


class Report(verbs.VerbsTest):
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

    def test_without_its_data(self):
        model = make.model("""g (float[4] x) => (float[4] y)
            <float[4] w = {1,2,3,4}> { y = Mul(x, w) }""")
        tensor = model.graph.initializer[0]
        tensor.CopyFrom(numpy_helper.from_array(
            numpy_helper.to_array(tensor), "w"))
        onnx.save(model, self.folder / "data.onnx", save_as_external_data=True,
                  location="w.bin", size_threshold=0)
        (self.folder / "w.bin").unlink()
        for words in (["report", "data.onnx"], ["print", "data.onnx"],
                      ["report", "data.onnx", "--json"],
                      ["draw", "data.onnx", "-o", "g.dot"]):
            with self.subTest(words):
                done = self.run_ok(*words)
                self.assertIn("external data is missing", done.err)
                self.assertIn("'w.bin'", done.err)
        self.run_bad(3, "run", "data.onnx", says="external data is missing")

    def layers(self):
        """S2.15: the model in the guide to replacing patterns."""
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


class Print(verbs.VerbsTest):
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


class TextModels(verbs.VerbsTest):
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


if __name__ == "__main__":
    unittest.main()
