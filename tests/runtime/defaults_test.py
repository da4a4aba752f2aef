"""Initializers that are inputs too: a run reads them, and the next one again."""

import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper
from support import package


class Defaults(unittest.TestCase):
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


if __name__ == "__main__":
    unittest.main()
