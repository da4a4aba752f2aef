"""A decoder as exporters write it: norms by the root of the mean square, rotary
embeddings of halves, key heads that are repeated for the query heads that share
them, a causal mask that is added, and SiLU. With a cache, keys and values of
earlier tokens are inputs, and all of them outputs."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LOWEST = np.finfo(np.float32).min


class Decoder:
    def __init__(self, layers, hidden, heads, groups, cache=False):
        self.hidden, self.heads, self.groups = hidden, heads, groups
        self.width = hidden // heads
        self.cache = cache
        self.past, self.present = [], []
        self.random = np.random.default_rng(0)
        self.nodes, self.weights, self.constants = [], [], {}
        self.angles()
        self.mask = self.causal_mask()
        value = "x"
        for _ in range(layers):
            value = self.feed_forward(self.attention(value))
        self.output = value

    def op(self, kind, *inputs, **attributes):
        output = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(
            kind, list(inputs), [output], f"n{len(self.nodes)}", **attributes))
        return output

    def weight(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def constant(self, value, kind=np.int64):
        key = repr((value, kind))
        if key not in self.constants:
            self.constants[key] = self.weight(np.asarray(value, kind))
        return self.constants[key]

    def linear(self, x, inner, outer):
        return self.op("MatMul", x, self.weight(self.random.standard_normal(
            (inner, outer), np.float32) / np.float32(inner ** 0.5)))

    def size(self, x, axis):
        return self.op("Gather", self.op("Shape", x), self.constant(axis))

    def places(self):
        """The positions of all tokens and of the new ones."""
        first, end = self.constant(0), self.size("x", 1)
        if self.cache:
            first = self.size("past0", 2)
            end = self.op("Add", first, end)
        step = self.constant(1)
        return (self.op("Range", self.constant(0), end, step),
                self.op("Range", first, end, step))

    def angles(self):
        places = self.op("Cast", self.op("Unsqueeze", self.places()[1],
                                         self.constant([0, 2])),
                         to=TensorProto.FLOAT)
        inverse = 1e4 ** (-np.arange(0, self.width, 2) / self.width)
        angles = self.op("Mul", places, self.weight(
            inverse.astype(np.float32)))
        twice = self.op("Concat", angles, angles, axis=-1)
        self.cos, self.sin = (
            self.op("Unsqueeze", self.op(kind, twice), self.constant([1]))
            for kind in ("Cos", "Sin"))

    def causal_mask(self):
        column, row = (self.op("Unsqueeze", places, self.constant([axis]))
                       for axis, places in enumerate(self.places()))
        return self.op("Where", self.op("LessOrEqual", column, row),
                       self.constant(0, np.float32),
                       self.constant(LOWEST, np.float32))

    def norm(self, x):
        square = self.op("Pow", x, self.constant(2, np.float32))
        mean = self.op("ReduceMean", square, self.constant([-1]))
        root = self.op("Sqrt", self.op("Add", mean,
                                       self.constant(1e-6, np.float32)))
        x = self.op("Mul", x, self.op("Reciprocal", root))
        return self.op("Mul", self.weight(np.ones(self.hidden, np.float32)), x)

    def turned(self, x):
        half, far = self.width // 2, np.iinfo(np.int64).max
        a, b = (self.op("Slice", x, *(self.constant([n]) for n in
                                      (start, end, 3, 1)))
                for start, end in ((0, half), (half, far)))
        quarter = self.op("Concat", self.op("Neg", b), a, axis=-1)
        return self.op("Add", self.op("Mul", x, self.cos),
                       self.op("Mul", quarter, self.sin))

    def split(self, x, heads):
        x = self.op("Reshape", self.linear(x, self.hidden, heads * self.width),
                    self.constant([0, 0, heads, self.width]))
        return self.op("Transpose", x, perm=[0, 2, 1, 3])

    def repeated(self, x):
        x = self.op("Expand", self.op("Unsqueeze", x, self.constant([2])),
                    self.constant([1, 1, self.heads // self.groups, 1, 1]))
        return self.op("Reshape", x,
                       self.constant([0, self.heads, -1, self.width]))

    def cached(self, x):
        if self.cache:
            self.past.append(f"past{len(self.past)}")
            x = self.op("Concat", self.past[-1], x, axis=2)
            self.present.append(x)
        return x

    def attention(self, x):
        y = self.norm(x)
        q = self.turned(self.split(y, self.heads))
        k = self.repeated(self.cached(self.turned(self.split(y, self.groups))))
        v = self.repeated(self.cached(self.split(y, self.groups)))
        scores = self.op("MatMul", q, self.op("Transpose", k,
                                              perm=[0, 1, 3, 2]))
        scores = self.op("Mul", scores, self.constant(self.width ** -0.5,
                                                      np.float32))
        p = self.op("Softmax", self.op("Add", scores, self.mask), axis=-1)
        y = self.op("Transpose", self.op("MatMul", p, v), perm=[0, 2, 1, 3])
        y = self.op("Reshape", y, self.constant([0, 0, self.hidden]))
        return self.op("Add", x, self.linear(y, self.hidden, self.hidden))

    def feed_forward(self, x):
        y, inner = self.norm(x), 3 * self.hidden
        gate, up = (self.linear(y, self.hidden, inner) for _ in range(2))
        y = self.op("Mul", self.op("Mul", gate, self.op("Sigmoid", gate)), up)
        return self.op("Add", x, self.linear(y, inner, self.hidden))

    def model(self):
        ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT,
                                               ["B", "S", self.hidden])] +
                [helper.make_tensor_value_info(each, TensorProto.FLOAT,
                                               ["B", self.groups, length,
                                                self.width])
                 for each in cache]
                for name, cache, length in (("x", self.past, "P"),
                                            (self.output, self.present,
                                             "P+S"))]
        graph = helper.make_graph(self.nodes, "decoder", *ends, self.weights)
        return helper.make_model(graph, ir_version=9,
                                 opset_imports=[helper.make_opsetid("", 18)])


def make(path, layers, hidden, heads, groups, cache=False):
    onnx.save(Decoder(layers, hidden, heads, groups, cache).model(), path)
