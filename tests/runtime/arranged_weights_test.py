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

    def test_weights_of_bfloat16(self):
        model = onnx.parser.parse_model("""
            <ir_version: 10, opset_import: ["": 21]>
            g (float[N,150] x) => (float[N,70] y, float[N,33] z, float[N,37] u)
            { b = Cast<to = 16>(x)
              p = MatMul(b, w)  y = Cast<to = 1>(p)
              q = Gemm<transB = 1>(b, v)  s, t = Split<axis = 1>(q, sizes)
              z = Cast<to = 1>(s)  u = Cast<to = 1>(t) }""")
        random = np.random.default_rng(1)

        def cut(x):
            return (x.view(np.uint32) >> 16 << 16).view(np.float32)

        x, w, v = (cut(random.standard_normal(shape, np.float32))
                   for shape in ((40, 150), (150, 70), (70, 150)))
        model.graph.initializer.append(onnx.numpy_helper.from_array(
            np.int64([33, 37]), "sizes"))
        for name, value in (("w", w), ("v", v)):
            bits = (value.view(np.uint32) >> 16).astype(np.uint16)
            model.graph.initializer.append(helper.make_tensor(
                name, TensorProto.BFLOAT16, value.shape, bits.tobytes(),
                raw=True))
        session = package.ruleengine.Session(model)
        for rows in (1, 40):
            got = session.run({"x": x[:rows]})
            both = x[:rows] @ v.T
            for name, expected in {"y": x[:rows] @ w, "z": both[:, :33],
                                   "u": both[:, 33:]}.items():
                np.testing.assert_allclose(got[name], expected, rtol=2 ** -8,
                                           atol=1e-5)


if __name__ == "__main__":
    unittest.main()
