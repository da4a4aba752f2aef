"""Quantized models, and the number of their ops that ONNX Runtime computes on
integers after its own optimizations."""

import collections
import itertools
import pathlib
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, shape_inference

from support import graphs, make

# Ops on integers or on integer weights.
ON_INTEGERS = {"ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul",
               *(f"com.microsoft::{name}" for name in (
                   "DynamicQuantizeLSTM", "DynamicQuantizeMatMul",
                   "FusedMatMulInteger", "GatherBlockQuantized",
                   "MatMulIntegerToFloat", "MatMulNBits", "NhwcMaxPool",
                   "QAttention", "QEmbedLayerNormalization", "QGemm",
                   "QLinearAdd", "QLinearAveragePool", "QLinearConcat",
                   "QLinearConv", "QLinearGlobalAveragePool",
                   "QLinearLeakyRelu", "QLinearMul", "QLinearReduceMean",
                   "QLinearSigmoid", "QLinearSoftmax", "QLinearWhere"))}

# With its scales, and with the quantization of its first factor, it is an op of
# its own.
PRODUCTS = {"com.microsoft::MatMulIntegerToFloat", "com.microsoft::DynamicQuantizeMatMul"}


def optimized(model):
    """The model that ONNX Runtime executes; None if it refuses the model."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "optimized.onnx")
        options = onnxruntime.SessionOptions()
        options.optimized_model_filepath = path
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        try:
            onnxruntime.InferenceSession(model.SerializeToString(), options,
                                         providers=["CPUExecutionProvider"])
        except Exception:  # pylint: disable=broad-except
            return None
        return onnx.load(path)


def on_integers(model):
    """{op: count} of ops that ONNX Runtime computes on integers; None if it
    refuses the model."""
    made = optimized(model)
    if made is None:
        return None
    ops = collections.Counter(graphs.op(node) for block in graphs.blocks(made.graph)
                              for node in block.node)
    for op in PRODUCTS & ops.keys():
        ops["MatMulInteger"] += ops.pop(op)
    return {op: count for op, count in sorted(ops.items()) if op in ON_INTEGERS}


def with_weights(text, shapes):
    """The model of a text, with random constants."""
    model, random = make.model(text), np.random.default_rng(0)
    model.graph.initializer.extend(
        numpy_helper.from_array(random.normal(scale=0.2, size=shape)
                                .astype(np.float32), name)
        for name, shape in shapes.items())
    return model


def encoder(opset):
    """One layer of a transformer, two heads of eight."""
    turns = {"q": "0,2,1,3", "k": "0,2,3,1", "v": "0,2,1,3"}
    heads = "".join(
        f"{p}0 = MatMul(x, w{p}) {p}1 = Add(b{p}, {p}0) {p}2 = Reshape({p}1, cut)"
        f" {p}3 = Transpose <perm = [{turn}]> ({p}2) "
        for p, turn in turns.items())
    norm = "LayerNormalization({}, {}, {})" if opset >= 17 else "Mul({}, {})"
    text = f"""<ir_version: {10 if opset > 20 else 8}, opset_import: ["": {opset}]>
        g (float[2,4,16] x, float[2,1,1,4] m) => (float[2,4,16] y)
        <int64[4] cut = {{0,0,2,8}}, int64[3] join = {{0,0,16}},
         float r = {{2.828427}}, float half = {{0.5}}, float one = {{1.0}},
         float root = {{1.414214}}> {{
          {heads}
          s = MatMul(q3, k3) s1 = Div(s, r) s2 = Add(s1, m)
          p = Softmax <axis = -1> (s2) c = MatMul(p, v3)
          c1 = Transpose <perm = [0,2,1,3]> (c) c2 = Reshape(c1, join)
          o = MatMul(c2, wo) o1 = Add(bo, o) a = Add(o1, x)
          n = {norm.format("a", "g1", "h1")}
          f = MatMul(n, w1) f1 = Add(b1, f)
          e0 = Div(f1, root) e1 = Erf(e0) e2 = Add(e1, one) e3 = Mul(f1, e2)
          e4 = Mul(e3, half) f2 = MatMul(e4, w2) f3 = Add(b2, f2)
          t = Add(f3, n) y = {norm.format("t", "g2", "h2")} }}"""
    shapes = {name: (16,) for name in ("b2", "g1", "h1", "g2", "h2")}
    for p in "qkvo":
        shapes |= {f"w{p}": (16, 16), f"b{p}": (16,)}
    shapes |= {"w1": (16, 64), "b1": (64,), "w2": (64, 16)}
    if opset < 17:
        del shapes["h1"], shapes["h2"]
    return with_weights(text, shapes)


def image_net(opset):
    """Two convolutions, and two layers with one input."""
    return with_weights(f"""<ir_version: 8, opset_import: ["": {opset}]>
        g (float[1,3,8,8] x) => (float[1,5] y) <int64[2] flat = {{1,-1}}> {{
          a = Conv <pads = [1,1,1,1]> (x, w1, b1) b = Relu(a)
          c = Conv <pads = [1,1,1,1]> (b, w2, b2) d = Add(c, b) e = Relu(d)
          f = MaxPool <kernel_shape = [2,2], strides = [2,2]> (e)
          h = GlobalAveragePool(f) i = Reshape(h, flat)
          j = Gemm <transB = 1> (i, w3, b3) k = Gemm <transB = 1> (i, w4, b4)
          l = Sigmoid(j) y = Mul(l, k) }}""", {
              "w1": (4, 3, 3, 3), "b1": (4,), "w2": (4, 4, 3, 3), "b2": (4,),
              "w3": (5, 4), "b3": (5,), "w4": (5, 4), "b4": (5,)})


class Annotated:
    """`model` is a copy of a model of floats, with QuantizeLinear and
    DequantizeLinear around a `share` of its values, as quantization tools write
    them. With `weights`, only around constants."""

    def __init__(self, model, seed, share=1.0, weights=False):
        self.random = np.random.default_rng(seed)
        self.model = shape_inference.infer_shapes(model)
        self.graph = self.model.graph
        self.opset = next(o.version for o in self.model.opset_import
                          if o.domain in ("", "ai.onnx"))
        self.numbers = itertools.count()
        self.new = []
        for name in self.constants():
            self.quantize_constant(name)
        if not weights:
            for name in self.floats():
                if self.random.random() < share:
                    self.quantize(name)
        self.sort()

    def constants(self):
        return [t.name for t in self.graph.initializer
                if t.data_type == TensorProto.FLOAT and len(t.dims) > 1]

    def floats(self):
        known = {t.name for t in self.graph.initializer}
        made = {name for node in self.graph.node for name in node.output}
        return [v.name for v in [*self.graph.input, *self.graph.value_info,
                                 *self.graph.output]
                if v.type.tensor_type.elem_type == TensorProto.FLOAT
                and v.name not in known
                and (v.name in made or v.name in {i.name for i in self.graph.input})]

    def constant(self, array):
        name = f"q{next(self.numbers)}"
        self.graph.initializer.append(numpy_helper.from_array(array, name))
        return name

    def scale(self):
        """Scale and zero point of a whole tensor of activations."""
        zero = self.random.choice([0, 117, 128])
        return (self.constant(np.float32(self.random.choice([0.01, 0.02, 0.05]))),
                self.constant(np.uint8(zero)))

    def quantize(self, name):
        """Makes readers of the value read it through a quantizing pair."""
        scale = self.scale()
        pair, there = f"{name}_q", f"{name}_dq"
        producer = next((n for n in self.graph.node if name in n.output), None)
        if any(o.name == name for o in self.graph.output):
            # The output is the result of the pair, with the old name.
            if producer is None:
                return
            there, float_name = name, f"{name}_float"
            places = list(producer.output)
            producer.output[places.index(name)] = float_name
            source = float_name
        else:
            source = name
        for node in self.graph.node:
            for i, read in enumerate(node.input):
                if read == name:
                    node.input[i] = there
        self.new += [helper.make_node("QuantizeLinear", [source, *scale], [pair]),
                     helper.make_node("DequantizeLinear", [pair, *scale], [there])]

    def quantize_constant(self, name):
        """Stores it as integers, with one scale or one for each column."""
        at = [t.name for t in self.graph.initializer].index(name)
        floats = numpy_helper.to_array(self.graph.initializer[at])
        whole = self.random.random() < 0.5 or self.opset < 13
        largest = np.max(np.abs(floats), axis=None if whole else tuple(
            range(floats.ndim - 1)), initial=1e-3).astype(np.float32)
        scale = np.maximum(largest / np.float32(127), np.float32(1e-6))
        stored = np.clip(np.rint(floats / scale), -127, 127).astype(np.int8)
        del self.graph.initializer[at]
        more = {} if whole else {"axis": floats.ndim - 1}
        self.new.append(helper.make_node(
            "DequantizeLinear",
            [self.constant(stored), self.constant(scale),
             self.constant(np.zeros_like(scale, np.int8))], [name], **more))

    def sort(self):
        """Sorts all nodes topologically."""
        known = {"", *(v.name for v in self.graph.input),
                 *(t.name for t in self.graph.initializer)}
        left, done = [*self.new, *self.graph.node], []
        while left:
            ready = [n for n in left if known.issuperset(n.input)]
            assert ready, "a circle"
            for node in ready:
                known.update(node.output)
            done += ready
            left = [n for n in left if not any(n is r for r in ready)]
        done = [onnx.NodeProto.FromString(n.SerializeToString()) for n in done]
        del self.graph.node[:], self.graph.value_info[:]
        self.graph.node.extend(done)
