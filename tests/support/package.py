"""The Python package under test, and models for it."""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from support import program

FOLDER = pathlib.Path(program.PROGRAM).parent / "python"
sys.path.insert(0, str(FOLDER))

import ruleengine  # noqa: E402  pylint: disable=wrong-import-position

__all__ = ["FOLDER", "ruleengine"]

# Two negations, of which the rules leave none.
TEXT = """<ir_version: 8, opset_import: ["" : 17]>
m (float[2,N] x) => (float[2,N] y) { a = Neg(x)  b = Neg(a)  y = Abs(b) }"""


def small():
    """The model of TEXT."""
    return onnx.parser.parse_model(TEXT)


def attention(size=16, blocks=1, seed=0, dtype=np.float32):
    """Layers of one head over x [1, S, size], with weights of that size."""
    draw = np.random.default_rng(seed)
    nodes, weights, last = [], [], "x"

    def weight(name, value):
        weights.append(numpy_helper.from_array(value.astype(dtype), name))
        return name

    for i in range(blocks):
        for part in "qkv":
            name = weight(f"w{i}{part}",
                          draw.standard_normal((size, size)) / size ** 0.5)
            nodes.append(helper.make_node("MatMul", [last, name],
                                          [f"{part}{i}"]))
        scale = weight(f"scale{i}", np.array(size ** -0.5))
        nodes += [
            helper.make_node("Transpose", [f"k{i}"], [f"t{i}"], perm=[0, 2, 1]),
            helper.make_node("MatMul", [f"q{i}", f"t{i}"], [f"s{i}"]),
            helper.make_node("Mul", [f"s{i}", scale], [f"m{i}"]),
            helper.make_node("Softmax", [f"m{i}"], [f"p{i}"], axis=-1),
            helper.make_node("MatMul", [f"p{i}", f"v{i}"], [f"o{i}"])]
        last = f"o{i}"
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", kind, [1, "S", size])],
        [helper.make_tensor_value_info(last, kind, [1, "S", size])], weights)
    return helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17)])


def fused(model):
    """How many attention nodes a ModelProto has."""
    return sum("Attention" in node.op_type for node in model.graph.node)


def unary(op, kind, shape, **attributes):
    """A model y = op(x)."""
    out = attributes.pop("out", kind)
    graph = helper.make_graph(
        [helper.make_node(op, ["x"], ["y"], **attributes)], "g",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info("y", out, None)])
    return helper.make_model(graph, ir_version=11, opset_imports=[
        helper.make_opsetid("", 23)])


def slow():
    """A model that runs for minutes."""
    return onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
m (float[1] x) => (float[1] y) {
  n = Constant<value = int64 {1000000000000}>()
  go = Constant<value = bool {1}>()
  y = Loop(n, go, x) <body = b (int64 i, bool c, float[1] a)
    => (bool d, float[1] e) { d = Identity(c)  e = Add(a, a) }>
}""")


__all__ += ["TensorProto", "TEXT", "attention", "fused", "slow", "small",
            "unary"]

# A rule that makes a power of x * x * x, and one that makes another.
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
CUBED = """<ir_version: 8, opset_import: ["" : 17]>
m (float[2] x) => (float[2] y) { a = Mul(x, x)  y = Mul(a, x) }"""

__all__ += ["CUBE", "CUBED", "WRONG"]
