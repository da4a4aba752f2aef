"""`ruleengine bench`: its figures, and which of two models is faster."""

import json
import unittest

from support import make, program

PRODUCTS = """g (float[300,300] x) => (float[300,300] y) {{
  {} y = Neg(a{}) }}"""


def products(count):
    """A model with a chain of so many products."""
    lines = ["a0 = Relu(x)"] + [f"a{i + 1} = MatMul(a{i}, x)"
                                for i in range(count)]
    return make.onnx_bytes(PRODUCTS.format(" ".join(lines), count))


class Bench(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("slow.onnx", products(40))
        self.write("fast.onnx", products(1))

    def bench(self, *options):
        return json.loads(self.run_ok("bench", *options, "--rounds", 6,
                                      "--json").out)

    def test_one_model(self):
        found = self.bench("slow.onnx")
        self.assertEqual(found["rounds"], 6)
        self.assertEqual(found["ops"][0]["op"], "MatMul")
        self.assertEqual({each["op"]: each["calls"] for each in found["ops"]},
                         {"MatMul": 40, "Relu": 1, "Neg": 1})
        spread = found["ms"]
        self.assertLessEqual(spread["low"], spread["median"])
        self.assertLessEqual(spread["median"], spread["high"])
        self.assertGreaterEqual(found["peak_bytes"], 300 * 300 * 4)
        self.assertEqual(found["nodes"],
                         {"cpu": {"MatMul": 40, "Neg": 1, "Relu": 1}})
        self.assertFalse(found["recorded"])

    def test_which_is_faster(self):
        # 40 products take far more than twice as long as one.
        self.assertGreater(
            self.bench("slow.onnx", "--against", "fast.onnx")["ratio"]
            ["median"], 2)
        self.assertLess(
            self.bench("fast.onnx", "--against", "slow.onnx")["ratio"]
            ["median"], 0.5)
        text = self.run_ok("bench", "slow.onnx", "--against", "fast.onnx",
                           "--rounds", 6).out
        self.assertRegex(text, r"(?m)^ratio: \d+\.\d+ \(")
        self.assertNotRegex(text, r"(?m)^ratio: 0")


if __name__ == "__main__":
    unittest.main()
