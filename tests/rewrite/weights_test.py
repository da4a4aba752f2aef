"""Weights that a model stores twice."""

import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from support import program

RULE = program.ROOT / "rules" / "simplify" / "equal_weights.lua"


def weights():
    """Two equal ones, and one that differs far from both ends and the middle."""
    first = np.random.default_rng(0).standard_normal((32, 32)).astype("f")
    other = first.copy()
    other[5, 3] += 1
    return {"w": first, "v": first.copy(), "t": other}


def model(inputs=()):
    """x w v t; `inputs` are initializers that a caller may override."""
    nodes = [helper.make_node("MatMul", [a, b], [c]) for a, b, c in
             (("x", "w", "a"), ("a", "v", "b"), ("b", "t", "y"))]
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [32, 32]) for name in ("x", *inputs)]
    graph = helper.make_graph(
        nodes, "g", given, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [32, 32])],
        [numpy_helper.from_array(array, name) for name, array in weights().items()])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


class Weights(program.ProgramTest):
    def names(self):
        self.run_ok("run", RULE, "m.onnx", "-o", "out.onnx")
        return [t.name for t in onnx.load(self.folder / "out.onnx").graph.initializer]

    def test_equal_ones_are_stored_once(self):
        self.write("m.onnx", model().SerializeToString())
        self.assertEqual(self.names(), ["w", "t"])

    def test_one_that_a_caller_may_override_stays(self):
        self.write("m.onnx", model(["v"]).SerializeToString())
        self.assertEqual(self.names(), ["w", "v", "t"])

    def test_external_ones(self):
        onnx.save(model(), self.folder / "m.onnx", save_as_external_data=True, size_threshold=0)
        self.assertEqual(self.names(), ["w", "t"])

    def test_external_ones_in_the_same_place(self):
        onnx.save(model(), self.folder / "m.onnx", save_as_external_data=True, size_threshold=0)
        loaded = onnx.load(self.folder / "m.onnx", load_external_data=False)
        first, _, third = loaded.graph.initializer
        third.ClearField("external_data")
        third.external_data.extend(first.external_data)
        self.write("m.onnx", loaded.SerializeToString())
        self.assertEqual(self.names(), ["w"])


if __name__ == "__main__":
    unittest.main()
