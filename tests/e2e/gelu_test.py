"""GELU in every spelling becomes one op of each target, and computes the same in
ONNX Runtime."""

import collections
import itertools
import math
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

from support import attention_forms, graphs, numbers, program

CUBIC, ROOT = 0.044715, math.sqrt(2 / math.pi)
OPS = {"onnx": "Gelu", "ort": "com.microsoft::{}Gelu"}


class Writer(attention_forms.Writer):
    def __init__(self):
        super().__init__({"batch": "fixed"})

    def of(self, op, *operands):
        return self.op(op, *(x if isinstance(x, str) else
                             self.constant(x, np.float32) for x in operands))

    def product(self, *factors):
        made = factors[0]
        for factor in factors[1:]:
            made = self.of("Mul", made, factor)
        return made


def tanh(inner):
    return lambda w, x: w.of("Tanh", inner(w, x))


# What is added to 1.
BENDS = {
    "erf of a quotient": lambda w, x: w.of("Erf", w.of("Div", x, math.sqrt(2))),
    "erf of a product": lambda w, x: w.of("Erf", w.product(x, math.sqrt(0.5))),
    "a power": tanh(lambda w, x: w.product(w.of(
        "Add", x, w.product(w.of("Pow", x, 3.0), CUBIC)), ROOT)),
    "products from the left": tanh(lambda w, x: w.product(w.of(
        "Add", x, w.product(CUBIC, x, x, x)), ROOT)),
    "products from the right": tanh(lambda w, x: w.product(ROOT, w.of(
        "Add", x, w.of("Mul", CUBIC, w.of("Mul", x, w.of("Mul", x, x)))))),
    "Megatron": tanh(lambda w, x: w.product(ROOT, x, w.of(
        "Add", 1.0, w.product(CUBIC, x, x)))),
    "a square": tanh(lambda w, x: w.product(w.of("Mul", x, w.of(
        "Add", w.product(w.of("Pow", x, 2.0), CUBIC), 1.0)), ROOT)),
    "multiplied in": tanh(lambda w, x: w.of(
        "Add", w.product(x, ROOT), w.product(x, x, x, ROOT * CUBIC))),
    "x multiplied out": tanh(lambda w, x: w.of("Mul", x, w.of(
        "Add", w.product(x, x, ROOT * CUBIC), ROOT))),
}
# x, and what is added to 1.
GATED = {
    "half of x": lambda w, x, f: w.of(
        "Mul", w.of("Mul", x, 0.5), w.of("Add", f, 1.0)),
    "x by two": lambda w, x, f: w.of(
        "Mul", w.of("Div", x, 2.0), w.of("Add", 1.0, f)),
    "half of all": lambda w, x, f: w.of(
        "Mul", 0.5, w.of("Mul", x, w.of("Add", f, 1.0))),
    "half of the gate": lambda w, x, f: w.of(
        "Mul", x, w.of("Div", w.of("Add", f, 1.0), 2.0)),
    "halves in the gate": lambda w, x, f: w.of(
        "Mul", x, w.of("Add", w.of("Mul", f, 0.5), 0.5)),
    "half of x, and of a product": lambda w, x, f: w.of(
        "Add", w.of("Mul", x, 0.5), w.of("Mul", x, w.of("Mul", f, 0.5))),
    "half of a sum": lambda w, x, f: w.of(
        "Mul", w.of("Add", w.of("Mul", x, f), x), 0.5),
}


def build(bend, gated):
    w = Writer()
    x = w.input("x", 3, 8)
    y = GATED[gated](w, x, BENDS[bend](w, x))
    graph = helper.make_graph(w.nodes, "gelu", w.inputs, [
        helper.make_tensor_value_info(y, TensorProto.FLOAT, (3, 8))], w.weights)
    return helper.make_model(graph, ir_version=9, opset_imports=[
        helper.make_opsetid("", 20)])


class Gelu(program.ProgramTest):
    def check_all(self, target):
        sources = {}
        for i, (bend, gated) in enumerate(itertools.product(BENDS, GATED)):
            sources[f"g{i}"] = bend, gated, self.write(
                f"g{i}.onnx", build(bend, gated).SerializeToString())
        self.run_ok("run", program.ROOT / "rules" / "targets" / target,
                    *[s[2] for s in sources.values()], "-o", "out", "-q",
                    "--jobs", "2", "--target", "portable")
        feeds = {"x": np.linspace(-4, 4, 24, dtype=np.float32).reshape(3, 8)}
        for name, (bend, gated, source) in sources.items():
            with self.subTest(bend=bend, gated=gated):
                result = self.folder / "out" / f"{name}.rewritten.onnx"
                ops = collections.Counter(
                    graphs.op(n) for n in onnx.load(result).graph.node)
                fast = "" if bend.startswith("erf") else "Fast"
                self.assertEqual(ops, {OPS[target].format(fast): 1})
                before, after = (numbers.session(p).run(None, feeds)[0]
                                 for p in (source, result))
                self.assertIsNone(numbers.difference(before, after, 1e-5))

    def test_onnx(self):
        self.check_all("onnx")

    def test_ort(self):
        self.check_all("ort")


if __name__ == "__main__":
    unittest.main()
