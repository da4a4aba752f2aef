"""Weights of a session: a run reads them, and the next one again."""

import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper
from support import package


class Weights(unittest.TestCase):
    def test_a_default_is_as_it_was_in_the_next_run(self):
        # Bytes at any place of the file: some are copied, some are not.
        for pad in range(8):
            w = helper.make_tensor("w", TensorProto.FLOAT, [4],
                                   np.float32([-1, 2, -3, 4]).tobytes(),
                                   raw=True)
            floats = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4])
                      for n in ("x", "w", "y")]
            graph = helper.make_graph(
                [helper.make_node("Neg", ["w"], ["r"]),
                 helper.make_node("Add", ["r", "x"], ["y"])],
                "g" + "_" * pad, floats[:2], floats[2:], [w])
            model = helper.make_model(
                graph, ir_version=10,
                opset_imports=[helper.make_opsetid("", 21)])
            session = package.ruleengine.Session(model)
            x = np.float32([1, 1, 1, 1])
            for given, expected in ((None, [2, -1, 4, -3]),
                                    (np.float32([5, 5, 5, 5]), [-4] * 4),
                                    (None, [2, -1, 4, -3])):
                inputs = {"x": x} if given is None else {"x": x, "w": given}
                with self.subTest(pad=pad, given=given):
                    got = session.run(inputs)["y"]
                    self.assertEqual(got.tolist(), expected)
            onnx.checker.check_model(model)

    def test_a_weight_that_one_node_packs_is_there_for_others(self):
        model = onnx.parser.parse_model("""
            <ir_version: 10, opset_import: ["": 21]>
            g (float[2,64] x) => (float[2,64] y, float[64,64] z, float[2,64] u,
                                  float[64,64] v)
            { y = MatMul(x, w)  z = Neg(w)  u = MatMul(x, v) }""")
        random = np.random.default_rng(1)
        w, v = (random.standard_normal((64, 64), np.float32) for _ in "wv")
        model.graph.initializer.extend(
            [onnx.numpy_helper.from_array(w, "w"),
             onnx.numpy_helper.from_array(v, "v")])
        session = package.ruleengine.Session(model)
        x = np.eye(2, 64, dtype=np.float32)
        for _ in range(2):
            got = session.run({"x": x})
            for name, expected in {"y": w[:2], "z": -w, "u": v[:2],
                                   "v": v}.items():
                self.assertTrue(np.array_equal(got[name], expected), name)


if __name__ == "__main__":
    unittest.main()
