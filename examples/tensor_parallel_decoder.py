#!/usr/bin/env python3
"""Writes a tensor-parallel decoder as ONNX, one model for each rank:

    tensor_parallel_decoder.py OUT_FOLDER --ranks 4 [--layers 2] [--quantize]

A Llama-shaped model as a serving compiler sees it before it optimizes: the
vocabulary, the heads and the columns of the first linears are divided among the
ranks, the rows of the second ones too, and all_reduce adds what those give. All
models are slices of one, whatever the number of ranks. With --quantize each
linear has a quantizer of its own in front, and weights of int8.

    ruleengine run rules/*.lua OUT_FOLDER/rank*.onnx -o out \\
        --set sequence_parallel.enable=true

makes one linear of queries, keys and values and one of gate and up, one quantizer
of all that read a norm, and norms that work on a rank's share of the tokens.
Needs the Python packages onnx and numpy.
"""

import argparse
import dataclasses
import math
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "tensor_cast"


@dataclasses.dataclass
class Shape:
    layers: int = 2
    tokens: int = 48
    hidden: int = 96
    heads: int = 24  # of 4 each
    inner: int = 192
    vocabulary: int = 120
    quantize: bool = False

    def ranks(self):
        """Among how many ranks all of it divides."""
        sizes = self.heads, self.hidden, self.inner, self.vocabulary
        most = math.gcd(*sizes)
        return [n for n in range(1, most + 1) if most % n == 0]


class Decoder:
    """The program of one rank. Linears are [in, out]; data is [1,T,H]."""

    def __init__(self, shape, rank, ranks):
        self.shape, self.rank, self.ranks = shape, rank, ranks
        self.random = np.random.default_rng(7)  # the same on all ranks
        self.nodes, self.weights = [], []
        x = self.embedding()
        residual, x = x, self.op("rms_norm", x, self.gain(), domain=DOMAIN)
        for _ in range(shape.layers):
            total = self.attention(x)
            x, residual = self.op("add_rms_norm2", total, residual, self.gain(),
                                  domain=DOMAIN, outputs=2)
            total = self.feed_forward(x)
            x, residual = self.op("add_rms_norm2", total, residual, self.gain(),
                                  domain=DOMAIN, outputs=2)
        self.output = x

    def op(self, kind, *inputs, domain="", outputs=1, **attributes):
        name = f"{kind}_{len(self.nodes)}"
        names = [f"{name}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name,
                                           domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def gain(self):
        noise = self.random.standard_normal(self.shape.hidden)
        return self.constant((1 + 0.1 * noise).astype(np.float32))

    def own(self, matrix, axis):
        """This rank's slice."""
        return np.split(matrix, self.ranks, axis)[self.rank]

    def reduced(self, x):
        return self.op("all_reduce", x, domain=DOMAIN, rank=self.rank,
                       rank_group=list(range(self.ranks)))

    def embedding(self):
        """Rows of the rank's part of the vocabulary, zeros for other tokens."""
        shape = self.shape
        table = self.random.standard_normal((shape.vocabulary, shape.hidden))
        part = shape.vocabulary // self.ranks
        ids = self.op("Sub", "ids", self.constant(np.int64(self.rank * part)))
        inside = self.op(
            "And", self.op("GreaterOrEqual", ids, self.constant(np.int64(0))),
            self.op("Less", ids, self.constant(np.int64(part))))
        row = self.op("Where", inside, ids, self.constant(np.int64(0)))
        rows = self.op("Gather", self.constant(
            self.own(table.astype(np.float32), 0)), row)
        shown = self.op("Unsqueeze", inside, self.constant(np.array([-1])))
        return self.reduced(self.op("Where", shown, rows,
                                    self.constant(np.float32(0))))

    def matrix(self, rows, columns):
        return (self.random.standard_normal((rows, columns))
                / rows ** 0.5).astype(np.float32)

    def linear(self, x, matrix):
        if not self.shape.quantize:
            return self.op("MatMul", x, self.constant(matrix))
        top = np.abs(matrix).max(0)
        scale = np.where(top == 0, 1, top / 127).astype(np.float32)
        q, q_scale = self.op("dynamic_quantize_symmetric", x, domain=DOMAIN,
                             outputs=2)
        return self.op("static_quant_linear", q,
                       self.constant(np.rint(matrix / scale).astype(np.int8)),
                       self.constant(scale), "", q_scale, domain=DOMAIN)

    def columns(self, x, width):
        """A linear whose columns are divided."""
        return self.linear(x, self.own(self.matrix(self.shape.hidden, width), 1))

    def rows(self, x, width):
        """One whose rows are: what all ranks give adds up."""
        return self.reduced(self.linear(
            x, self.own(self.matrix(width, self.shape.hidden), 0)))

    def attention(self, x):
        shape = self.shape
        depth = shape.hidden // shape.heads
        split = self.constant(np.array([0, 0, shape.heads // self.ranks, depth]))
        q, k, v = (self.op("Reshape", self.columns(x, shape.hidden), split)
                   for _ in range(3))
        q, v = (self.op("Transpose", y, perm=[0, 2, 1, 3]) for y in (q, v))
        k = self.op("Transpose", k, perm=[0, 2, 3, 1])
        scores = self.op("Mul", self.op("MatMul", q, k),
                         self.constant(np.float32(depth ** -0.5)))
        behind = np.triu(np.full((shape.tokens,) * 2, -np.inf, np.float32), 1)
        scores = self.op("Add", scores, self.constant(behind))
        y = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        y = self.op("Transpose", y, perm=[0, 2, 1, 3])
        merge = self.constant(np.array([0, 0, shape.hidden // self.ranks]))
        return self.rows(self.op("Reshape", y, merge), shape.hidden)

    def feed_forward(self, x):
        gate = self.columns(x, self.shape.inner)
        up = self.columns(x, self.shape.inner)
        gate = self.op("Mul", gate, self.op("Sigmoid", gate))
        return self.rows(self.op("Mul", gate, up), self.shape.inner)

    def model(self):
        shape = self.shape
        graph = helper.make_graph(
            self.nodes, f"rank{self.rank}",
            [helper.make_tensor_value_info("ids", TensorProto.INT64,
                                           [1, shape.tokens])],
            [helper.make_tensor_value_info(
                self.output, TensorProto.FLOAT,
                [1, shape.tokens, shape.hidden])], self.weights)
        return helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)])


def build(ranks, shape=Shape()):
    """One model for each rank."""
    return [Decoder(shape, rank, ranks).model() for rank in range(ranks)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--quantize", action="store_true")
    options = parser.parse_args()
    shape = Shape(layers=options.layers, quantize=options.quantize)
    if options.ranks not in shape.ranks():
        parser.error(f"--ranks {options.ranks}: heads, columns and "
                     "vocabulary divide among "
                     f"{', '.join(map(str, shape.ranks()))} ranks")
    options.folder.mkdir(parents=True, exist_ok=True)
    for rank, model in enumerate(build(options.ranks, shape)):
        onnx.save(model, options.folder / f"rank{rank}.onnx")


if __name__ == "__main__":
    main()
