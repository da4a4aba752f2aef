"""Results that old runtimes can read: without overloads and metadata."""

import json
import unittest

import numpy as np
import onnx

from support import make, onnx_runtime, program

MODEL = program.ROOT / "examples" / "bert.onnx"
INPUTS = program.DATA / "models" / "bert.ts17_eager.npz"
TARGETS = ("standard", "portable", "onnx", "ort", "openvino", "tensorrt")


def outputs(model):
    session = onnx_runtime.session(model)
    names = {each.name for each in session.get_inputs()}
    with np.load(INPUTS) as arrays:
        feed = {name: arrays[name] for name in arrays if name in names}
    return session.run(None, feed)


class Reading(program.ProgramTest):
    def result(self, target, *more):
        done = self.run_ok("run", *program.packs(), MODEL, "-o", "out.onnx",
                           "--target", target, *more)
        return onnx.load(self.folder / "out.onnx"), done.err

    def test_keep_ir_version(self):
        """Functions need version 8: before, their bodies stand in the graph."""
        expected = outputs(onnx.load(MODEL))
        for version in (7, 8):
            source = onnx.load(MODEL)
            source.ir_version = version
            onnx.save(source, self.folder / "m.onnx")
            for target in TARGETS:
                with self.subTest(target=target, version=version):
                    self.run_ok("run", *program.packs(), "m.onnx", "-o", "out.onnx", "--target", target,
                                "--keep-ir-version")
                    model = onnx.load(self.folder / "out.onnx")
                    self.assertEqual(model.ir_version, version)
                    self.assertEqual(bool(model.functions), version == 8 and target in ("portable", "tensorrt"))
                    self.assertFalse(any(n.metadata_props or n.overload for n in model.graph.node))
                    self.assertFalse(any(f.overload for f in model.functions))
                    for a, b in zip(expected, outputs(model), strict=True):
                        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)

    # Readers invent names such as "Softmax_1" for nodes without one.
    def test_names(self):
        graph = """g (float[2,4,4] x) => (float[2,4,4] z) {
          q = MatMul(x, x)
          t = Transpose <perm = [0,2,1]> (q)
          s = MatMul(q, t)
          p = Softmax <axis = -1> (s)
          z = MatMul(p, x)
        }"""
        model = onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 13]>' + graph)
        for named in False, True:
            for i, node in enumerate(model.graph.node):
                node.name = f"n{i}" if named else ""
            onnx.save(model, self.folder / "m.onnx")
            self.run_ok("run", *program.packs(), "m.onnx", "-o", "out.onnx",
                        "--target", "standard")
            out = onnx.load(self.folder / "out.onnx")
            self.assertEqual({bool(n.name) for n in out.graph.node}, {named})

    # A plugin is found by the type of a node, and gets its attributes.
    def test_tensorrt(self):
        model, said = self.result("tensorrt")
        self.assertFalse(any(f.overload for f in model.functions))
        calls = [n for n in model.graph.node
                 if n.op_type == "ScaledDotProductAttention"]
        self.assertEqual(len(calls), 2)
        self.assertIn("num_heads", [a.name for a in calls[0].attribute])
        self.assertIn("read by ONNX Runtime, TensorRT 10 and", said)

    def test_who_reads_it(self):
        for target, says in (
                ("standard", "whatever reads the model reads the result"),
                ("portable", "it needs functions with overloads; `--target"),
                ("onnx", "runtimes that know it, since it needs opset 23"),
                ("ort", "ONNX Runtime and `ruleengine exec`, since it needs "
                        "ops of com.microsoft")):
            self.assertIn(says, self.result(target)[1])

    def test_a_newer_ir_version(self):
        # The new node has metadata.
        self.write("cancel.lua", make.CANCEL.replace(
            "return m.x", "return op.Identity(m.x)"))
        self.write("m.onnx", make.onnx_bytes(make.NEGATIONS))
        for more, says in (((), "that know IR version 10; --keep-ir-version"),
                           (("--keep-ir-version",), "whatever reads the")):
            done = self.run_ok("run", "cancel.lua", "m.onnx", "-o",
                               "out.onnx", *more)
            self.assertIn(says, done.err)

    def test_needs_of_the_original_do_not_count(self):
        for target in ("portable", "ort", "onnx"):
            with self.subTest(target=target):
                self.result(target)
                self.run_ok("run", *program.packs(), "out.onnx", "-o",
                            "again.onnx", "--target", target, "--report",
                            "report.json")
                report = json.loads((self.folder / "report.json").read_text())
                self.assertEqual(report["needs"], {
                    "functions": False, "overloads": False, "domains": [],
                    "opset": 0})


if __name__ == "__main__":
    unittest.main()
