"""Models of the shapes of BERT-base, GPT-2 and ViT-B as exporters write them,
and attention alone. Weights are random; layers and words may be fewer."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class Network:
    HIDDEN, HEADS = 768, 12

    def __init__(self):
        self.random = np.random.default_rng(0)
        self.nodes, self.weights, self.constants = [], [], {}

    def op(self, kind, *inputs, **attributes):
        output = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(
            kind, list(inputs), [output], f"n{len(self.nodes)}", **attributes))
        return output

    def weight(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def constant(self, value, kind=np.float32):
        key = repr((value, kind))
        if key not in self.constants:
            self.constants[key] = self.weight(np.asarray(value, kind))
        return self.constants[key]

    def shape(self, *sizes):
        return self.constant(list(sizes), np.int64)

    def random_weight(self, *dims):
        return self.weight(self.random.standard_normal(dims, np.float32)
                           * np.float32(0.02))

    def linear(self, x, inner, outer):
        y = self.op("MatMul", x, self.random_weight(inner, outer))
        return self.op("Add", self.random_weight(outer), y)

    def norm(self, x):
        return self.op("LayerNormalization", x,
                       self.weight(np.ones(self.HIDDEN, np.float32)),
                       self.random_weight(self.HIDDEN), epsilon=1e-12)

    def gelu(self, x):
        y = self.op("Erf", self.op("Div", x, self.constant(2 ** 0.5)))
        y = self.op("Mul", x, self.op("Add", y, self.constant(1)))
        return self.op("Mul", y, self.constant(0.5))

    def feed_forward(self, x):
        return self.linear(self.gelu(self.linear(x, self.HIDDEN,
                                                 4 * self.HIDDEN)),
                           4 * self.HIDDEN, self.HIDDEN)

    def heads(self, x, perm):
        x = self.op("Reshape", x, self.shape(
            0, 0, self.HEADS, self.HIDDEN // self.HEADS))
        return self.op("Transpose", x, perm=perm)

    def attention(self, q, k, v, mask):
        q, k, v = (self.heads(x, perm) for x, perm in (
            (q, [0, 2, 1, 3]), (k, [0, 2, 3, 1]), (v, [0, 2, 1, 3])))
        scores = self.op("Div", self.op("MatMul", q, k), self.constant(8))
        if mask:
            scores = self.op("Add", scores, mask)
        y = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        y = self.op("Transpose", y, perm=[0, 2, 1, 3])
        return self.op("Reshape", y, self.shape(0, 0, self.HIDDEN))

    def self_attention(self, x, mask=None):
        q, k, v = (self.linear(x, self.HIDDEN, self.HIDDEN) for _ in range(3))
        return self.linear(self.attention(q, k, v, mask), self.HIDDEN,
                           self.HIDDEN)

    def words(self, count, ids):
        return self.op("Gather", self.random_weight(count, self.HIDDEN), ids)

    def save(self, path, inputs, output, dims):
        graph = helper.make_graph(
            self.nodes, path.stem,
            [helper.make_tensor_value_info(*each) for each in inputs],
            [helper.make_tensor_value_info(output, FLOAT, dims)], self.weights)
        onnx.save(helper.make_model(
            graph, ir_version=9,
            opset_imports=[helper.make_opsetid("", 17)]), path)


def bert(path, layers, words=1000, length=512):
    n = Network()
    x = n.op("Add", n.words(words, "ids"), n.op("Slice", n.random_weight(
        1, length, n.HIDDEN), n.shape(0), n.op("Slice", n.op("Shape", "ids"),
                                               n.shape(1), n.shape(2)),
        n.shape(1)))
    mask = n.op("Unsqueeze", n.op("Cast", "mask", to=FLOAT), n.shape(1, 2))
    mask = n.op("Mul", n.op("Sub", n.constant(1), mask), n.constant(-1e4))
    x = n.norm(x)
    for _ in range(layers):
        x = n.norm(n.op("Add", n.self_attention(x, mask), x))
        x = n.norm(n.op("Add", n.feed_forward(x), x))
    n.save(path, [("ids", INT64, ["B", "S"]), ("mask", INT64, ["B", "S"])], x,
           ["B", "S", n.HIDDEN])


class Gpt(Network):
    """All products are MatMul, as in a convolution of length 1; GELU is the
    approximation by tanh, in elementary ops."""

    def linear(self, x, inner, outer):
        y = self.op("Gemm", self.op("Reshape", x, self.shape(-1, inner)),
                    self.random_weight(inner, outer),
                    self.random_weight(outer))
        return self.op("Reshape", y, self.shape(-1, self.length, outer))

    def gelu(self, x):
        cube = self.op("Mul", self.op("Pow", x, self.constant(3)),
                       self.constant(0.044715))
        y = self.op("Tanh", self.op("Mul", self.op("Add", x, cube),
                                    self.constant((2 / np.pi) ** 0.5)))
        y = self.op("Add", y, self.constant(1))
        return self.op("Mul", self.op("Mul", x, self.constant(0.5)), y)

    def self_attention(self, x, mask=None):
        qkv = self.linear(x, self.HIDDEN, 3 * self.HIDDEN)
        first = len(self.nodes)
        parts = [f"part{first}_{i}" for i in range(3)]
        self.nodes.append(helper.make_node("Split", [qkv], parts,
                                           f"n{first}", axis=2))
        return self.linear(self.attention(*parts, mask), self.HIDDEN,
                           self.HIDDEN)


def gpt(path, layers, length, words=1000):
    n = Gpt()
    n.length = length
    x = n.op("Add", n.words(words, "ids"), n.random_weight(length, n.HIDDEN))
    hidden = np.triu(np.full((length, length), np.finfo(np.float32).min,
                             np.float32), 1)
    mask = n.weight(hidden[None, None])
    for _ in range(layers):
        x = n.op("Add", n.self_attention(n.norm(x), mask), x)
        x = n.op("Add", x, n.feed_forward(n.norm(x)))
    x = n.op("MatMul", n.norm(x), n.random_weight(n.HIDDEN, words))
    n.save(path, [("ids", INT64, ["B", length])], x, ["B", length, words])


def vit(path, layers, patches=14):
    n = Network()
    x = n.op("Conv", "image", n.random_weight(n.HIDDEN, 3, 16, 16),
             n.random_weight(n.HIDDEN), kernel_shape=[16, 16],
             strides=[16, 16])
    x = n.op("Transpose", n.op("Reshape", x, n.shape(0, n.HIDDEN, -1)),
             perm=[0, 2, 1])
    x = n.op("Concat", n.random_weight(1, 1, n.HIDDEN), x, axis=1)
    x = n.op("Add", x, n.random_weight(1, patches ** 2 + 1, n.HIDDEN))
    for _ in range(layers):
        x = n.op("Add", n.self_attention(n.norm(x)), x)
        x = n.op("Add", n.feed_forward(n.norm(x)), x)
    x = n.op("Gather", n.norm(x), n.constant(0, np.int64), axis=1)
    n.save(path, [("image", FLOAT, [1, 3, 16 * patches, 16 * patches])],
           n.linear(x, n.HIDDEN, 1000), [1, 1000])


def attention(path, kind, length, heads=12, width=64):
    """One node: `Attention` of the standard or com.microsoft's
    MultiHeadAttention."""
    dims = [1, length, heads * width]
    ours = kind == "Attention"
    names = ["q_num_heads", "kv_num_heads"] if ours else ["num_heads"]
    node = helper.make_node(kind, ["q", "k", "v"], ["y"],
                            domain="" if ours else "com.microsoft",
                            **{name: heads for name in names})
    graph = helper.make_graph(
        [node], kind, [helper.make_tensor_value_info(name, FLOAT, dims)
                       for name in "qkv"],
        [helper.make_tensor_value_info("y", FLOAT, dims)])
    onnx.save(helper.make_model(
        graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", 23),
            helper.make_opsetid("com.microsoft", 1)]), path)
