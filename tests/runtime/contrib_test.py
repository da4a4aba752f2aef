"""Ops of ONNX Runtime's domain mean what its own kernels compute: run by us, and
written in standard ops at several opsets and run by both."""

import unittest

import numpy as np
import onnx
from onnx import helper, numpy_helper
import onnxruntime

from support import program

DOMAIN = "com.microsoft"
RULES = program.ROOT / "rules/lowering/collective_of_one.lua"
# Relative to the largest number of an output.
BOUND = {"f2": 4e-3, "f4": 4e-6}


class Case:
    def __init__(self, op, inputs, outputs=1, weights=(), wanted=None, free=(),
                 judged=None, bound=None, domain=DOMAIN, **attributes):
        """`wanted`: the outputs that the node names, None for all. `free`: those
        whose values nobody says. `judged`: inputs that say the same in a form for
        which ONNX Runtime has a kernel."""
        self.op, self.outputs = op, outputs
        self.inputs = [None if x is None else np.asarray(x) for x in inputs]
        self.judged = self.inputs if judged is None else judged
        self.weights, self.wanted, self.bound = weights, wanted, bound
        self.free, self.domain, self.attributes = free, domain, attributes

    def __str__(self):
        given = [None if x is None else f"{x.dtype}{list(x.shape)}" for x in self.inputs]
        return f"{self.op} {given} {self.attributes}"


def model_of(cases, opset, named, judged=False):
    """`named`: the sizes of all axes but the last are names."""
    nodes, inputs, weights, outputs, feeds = [], [], [], [], {}
    for n, case in enumerate(cases):
        names = []
        for i, x in enumerate(case.judged if judged else case.inputs):
            names.append("" if x is None else f"x{n}_{i}")
            if x is None:
                continue
            if i in case.weights:
                weights.append(numpy_helper.from_array(np.ascontiguousarray(x),
                                                       names[-1]))
                continue
            shape = [f"d{n}_{i}_{k}" if named and k + 1 < x.ndim else size
                     for k, size in enumerate(x.shape)]
            inputs.append(helper.make_tensor_value_info(
                names[-1], helper.np_dtype_to_tensor_dtype(x.dtype), shape))
            feeds[names[-1]] = x
        wanted = range(case.outputs) if case.wanted is None else case.wanted
        made = [f"y{n}_{i}" if i in wanted else "" for i in range(case.outputs)]
        nodes.append(helper.make_node(case.op, names, made, domain=case.domain,
                                      **case.attributes))
        outputs += [name for name in made if name]
    graph = helper.make_graph(nodes, "contrib", inputs,
                              [onnx.ValueInfoProto(name=y) for y in outputs], weights)
    model = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", opset), helper.make_opsetid(DOMAIN, 1)])
    return model, feeds


def by_onnx_runtime(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [y.name for y in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds)))


class Contrib(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(7)

    def normal(self, *shape, dtype="f4", scale=1):
        return (self.random.standard_normal(shape) * scale).astype(dtype)

    def integers(self, low, high, shape, dtype="i4"):
        return self.random.integers(low, high, shape).astype(dtype)

    def compare(self, cases, got, wanted, what):
        self.assertEqual(got.keys(), wanted.keys())
        for name, right in wanted.items():
            number, output = map(int, name[1:].split("_"))
            case = cases[number]
            with self.subTest(f"{what}: {case} {name}"):
                array = got[name]
                self.assertEqual((array.dtype, array.shape), (right.dtype, right.shape))
                if output in case.free:
                    continue
                if right.dtype.kind != "f":
                    # A sum on the edge between two numbers may fall to either.
                    np.testing.assert_allclose(array.astype("i8"), right.astype("i8"),
                                               atol=case.bound or 0)
                    continue
                bound = case.bound or BOUND[right.dtype.str[1:]]
                np.testing.assert_allclose(
                    array, right, rtol=bound,
                    atol=bound * np.abs(right[np.isfinite(right)]).max(initial=0))

    def check(self, cases, opsets=(11, 13, 17, 23), named=(False, True)):
        for names in named:
            wanted = by_onnx_runtime(*model_of(cases, opsets[-1], names, judged=True))
            _, feeds = model_of(cases, opsets[-1], names)
            np.savez(self.folder / "in.npz", **feeds)
            for opset in opsets:
                model, _ = model_of(cases, opset, names)
                self.write("model.onnx", model.SerializeToString())
                what = f"opset {opset}{', named' if names else ''}"
                if opset in (opsets[0], opsets[-1]):
                    self.compare(cases, self.exec("model.onnx"), wanted, f"exec, {what}")
                self.run_ok("run", RULES, "model.onnx", "-o", "out.onnx",
                            "--target", "standard")
                result = onnx.load(self.folder / "out.onnx")
                left = {n.op_type for n in result.graph.node if n.domain == DOMAIN}
                self.assertLessEqual(left, {"MatMulNBits"}, what)
                self.compare(cases, by_onnx_runtime(result, feeds), wanted,
                             f"written, {what}")
                self.compare(cases, self.exec("out.onnx"), wanted,
                             f"written and executed, {what}")

    def exec(self, name):
        self.run_ok("exec", name, "--inputs", "in.npz", "--outputs", "out.npz")
        with np.load(self.folder / "out.npz") as got:
            return dict(got)

    def test_activations(self):
        cases = []
        for shape in (3, 37), (2, 3, 16):
            x, b = self.normal(*shape), self.normal(shape[-1])
            cases += [Case("Gelu", [x]), Case("BiasGelu", [x, b]),
                      Case("FastGelu", [x]), Case("FastGelu", [x, b]),
                      Case("QuickGelu", [x]), Case("QuickGelu", [x], alpha=0.5)]
        self.check(cases)

    def test_norms(self):
        cases = []
        for shape in (2, 3, 64), (2, 1, 7):
            x, skip = self.normal(*shape), self.normal(*shape)
            scale, shift, bias = (self.normal(shape[-1]) for _ in range(3))
            cases += [
                Case("SkipLayerNormalization", [x, skip, scale], epsilon=1e-5),
                Case("SkipLayerNormalization", [x, skip, scale, shift, bias], 4,
                     wanted=(0, 3)),
                Case("SkipLayerNormalization", [x, skip[:1], scale, shift]),
                Case("SkipSimplifiedLayerNormalization", [x, skip, scale], 4,
                     wanted=(0, 3), epsilon=1e-5),
                Case("SkipSimplifiedLayerNormalization", [x, skip, scale, bias]),
                Case("SimplifiedLayerNormalization", [x, scale], domain="", axis=-1),
                Case("SimplifiedLayerNormalization", [x, scale], 2, domain="",
                     axis=2, epsilon=1e-3, stash_type=1)]
        # Their sum is larger than any half.
        large = np.array([[[60000, 1, 2, 3]]], "f2")
        cases.append(Case("SkipLayerNormalization", [large, large, np.ones(4, "f2")]))
        x, scale = self.normal(2, 8), self.normal(8)
        for a, b in ("f4", "f2"), ("f2", "f4"):
            cases.append(Case("SimplifiedLayerNormalization",
                              [x.astype(a), scale.astype(b)], domain="", bound=4e-3))
        self.check(cases)

    def test_embeddings(self):
        ids = self.integers(0, 11, (2, 5))
        segments = self.integers(0, 2, (2, 5))
        mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], "i4")
        words, places, parts = (self.normal(n, 16) for n in (11, 9, 2))
        scale, shift = self.normal(16), self.normal(16)
        tables = [words, places, parts, scale, shift]
        bare = [words, places, None, scale, shift]
        at = self.integers(0, 9, (2, 5))
        self.check([
            Case("EmbedLayerNormalization", [ids, segments, *tables], 2),
            Case("EmbedLayerNormalization", [ids, None, *bare, mask], 3),
            Case("EmbedLayerNormalization", [ids, None, *tables], 3),
            Case("EmbedLayerNormalization", [ids, segments, *tables, mask, at], 2,
                 epsilon=1e-3),
            Case("EmbedLayerNormalization", [ids, None, *bare, None, at[:1]], 2)])

    def test_products(self):
        a, b = self.normal(2, 5, 7), self.normal(2, 7, 9)
        cases = [Case("FusedMatMul", [a.swapaxes(1, 2) if ta else a,
                                      b.swapaxes(1, 2) if tb else b],
                      transA=ta, transB=tb, alpha=0.25)
                 for ta in (0, 1) for tb in (0, 1)]
        c, d = self.normal(3, 2, 4, 5), self.normal(3, 2, 5, 6)
        cases += [Case("FusedMatMul", [c, d]),
                  Case("FusedMatMul", [np.moveaxis(c, 2, 0), np.moveaxis(d, 2, 0)],
                       transBatchA=1, transBatchB=1),
                  Case("FusedMatMul", [self.normal(7), b], transA=1),
                  Case("FusedMatMul", [np.full((1, 1), 300, "f2"),
                                       np.full((1, 1), 0.01, "f2")], alpha=300.0)]
        x, y, z = self.normal(4, 6), self.normal(6, 5), self.normal(5)
        for activation in ("Relu", "Tanh", "Sigmoid", "Softsign", "Softplus"):
            cases.append(Case("FusedGemm", [x, y, z], activation=activation))
        for activation in "Elu", "ThresholdedRelu":
            cases.append(Case("FusedGemm", [x, y, z], activation=activation,
                              activation_alpha=0.4))
        cases += [
            Case("FusedGemm", [x.T, y.T], transA=1, transB=1, alpha=0.5,
                 activation="LeakyRelu", activation_alpha=0.3),
            Case("FusedGemm", [x, y, z], beta=0.5, activation="HardSigmoid",
                 activation_alpha=0.3, activation_beta=0.1)]
        self.check(cases)

    def test_convolutions(self):
        x, w, b = self.normal(2, 4, 9, 9), self.normal(6, 2, 3, 3), self.normal(6)
        z = self.normal(2, 6, 9, 9)
        common = {"group": 2, "pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
        self.check([
            Case("FusedConv", [x, w, b], activation="Relu", **common),
            Case("FusedConv", [x, w, b, z], activation="Relu", **common),
            Case("FusedConv", [x, w, None, z], **common),
            Case("FusedConv", [x, w], activation="LeakyRelu",
                 activation_params=[0.2], strides=[2, 2], group=2),
            Case("FusedConv", [x, w], activation="Clip",
                 activation_params=[-0.5, 0.75], **common),
            Case("FusedConv", [x, w], activation="HardSigmoid",
                 activation_params=[0.3, 0.4], **common)])

    def test_weights_of_bits(self):
        cases = []
        for bits, k, n, block in (4, 64, 5, 32), (4, 40, 3, 16), (8, 48, 4, 32):
            blocks = -(-k // block)
            packed = self.integers(0, 256, (n, blocks, block * bits // 8), "u1")
            scale = self.normal(n, blocks)
            zeros = self.integers(0, 256, (n, (blocks * bits + 7) // 8), "u1")
            x, bias = self.normal(4, k), self.normal(n)
            sizes = {"K": k, "N": n, "bits": bits, "block_size": block, "bound": 1e-5}
            forms = [[], [zeros.ravel()], [None, None, bias]]
            if bits == 4:
                forms.append([self.normal(n, blocks)])
            for more in forms:
                cases.append(Case("MatMulNBits", [x, packed, scale.ravel(), *more],
                                  weights=range(1, 6), **sizes))
        self.check(cases)

    def test_experts(self):
        cases = []
        x, routes = self.normal(5, 8), self.normal(5, 4)
        w1, b1 = self.normal(4, 16, 8), self.normal(4, 16)
        w2, b2 = self.normal(4, 8, 16), self.normal(4, 8)
        for activation in "relu", "gelu", "silu", "identity":
            for k, normalize in (1, 0), (2, 1):
                cases.append(Case("MoE", [x, routes, w1, b1, w2, b2], k=k, bound=1e-5,
                                  activation_type=activation,
                                  normalize_routing_weights=normalize))
        cases.append(Case("MoE", [x.reshape(1, 5, 8), routes, w1, None, w2], k=4,
                          activation_type="silu", bound=1e-5))
        # Of equal experts the last one is taken.
        cases.append(Case("MoE", [x, np.zeros((5, 4), "f4"), w1, b1, w2, b2], k=1,
                          bound=1e-5))
        w1, b1 = self.normal(4, 32, 8), self.normal(4, 32)
        for limit in {}, {"swiglu_limit": 1.0}:
            cases.append(Case("MoE", [x, routes, w1, b1, w2, b2], k=2, bound=1e-5,
                              activation_type="swiglu", swiglu_fusion=1,
                              activation_alpha=1.702, activation_beta=1.0,
                              normalize_routing_weights=1, **limit))
        self.check(cases)

    def test_between_quantizers(self):
        cases = []
        for dtype in "u1", "i1":
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
            image = self.integers(low, high, (2, 3, 6, 6), dtype)
            scale, zero = np.float32(0.05), np.array(7, dtype)
            to = [np.float32(0.03), np.array(11, dtype)]
            one = [image, scale, zero, *to]

            def case(op, inputs=one, **attributes):
                cases.append(Case(op, inputs, bound=1, **attributes))

            case("QLinearSigmoid", [image, scale, zero, np.float32(1 / 256), zero])
            case("QLinearLeakyRelu", alpha=0.2)
            case("QLinearGlobalAveragePool")
            case("QLinearAveragePool", kernel_shape=[3, 3], strides=[2, 2],
                 pads=[1, 1, 1, 1])
            case("QLinearAveragePool", kernel_shape=[2, 3], pads=[0, 1, 0, 1],
                 count_include_pad=1)
            small = [image, scale, zero, np.float32(1 / 256), np.array(low, dtype)]
            case("QLinearSoftmax", small, opset=13)
            case("QLinearSoftmax", small, opset=12, axis=2)
            # No older Softmax is over an inner axis alone.
            self.check([Case("QLinearSoftmax", small, opset=13, axis=1, bound=1)],
                       opsets=(13, 23))
            parts = [image, scale, zero, image[:, :1], np.float32(0.1), to[1]]
            case("QLinearConcat", [*to, *parts], axis=1)
            case("QLinearConcat", [*to, image, *to], axis=-2)
            case("QLinearWhere", [image[0] > zero, image, scale, zero, image[:, :, :1],
                                  np.float32(0.1), to[1], *to])
            a = self.integers(low, high, (4, 6), dtype)
            b = self.integers(-128, 127, (6, 5), "i1")
            c = self.integers(-900, 900, (5,))
            each = abs(self.normal(5, scale=0.05))
            none, zeros = np.array(0, "i1"), np.zeros(5, "i1")
            gemm = [a, scale, zero, b]
            if dtype == "u1":
                case("QGemm", [*gemm, scale, none, c, np.float32(0.4), to[1]])
                case("QGemm", [*gemm, each, zeros, c, np.float32(0.4), to[1]],
                     alpha=0.5)
                case("QGemm", [a.T, scale, zero, b.T, each, zeros, None,
                               np.float32(0.4), to[1]], transA=1, transB=1)
                cases.append(Case("QGemm", [*gemm, scale, none, c], bound=1e-5))
        self.check(cases)

    def test_quantized(self):
        cases = []
        x = self.normal(3, 4, scale=9)
        for dtype in "u1", "i1":
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
            q = self.integers(low, high, (3, 4), dtype)
            more = self.integers(low, high, (3, 4), dtype)
            scale, zero = np.float32(0.25), np.array(7, dtype)
            cases += [
                Case("QuantizeLinear", [x, scale, zero]),
                Case("DequantizeLinear", [q, scale, zero]),
                Case("QLinearAdd", [q, scale, zero, more, np.float32(0.5), zero,
                                    np.float32(0.75), zero], bound=1),
                Case("QLinearMul", [q, scale, zero, more, np.float32(0.5), zero,
                                    np.float32(9), zero], bound=1),
                Case("QLinearAdd", [q, scale, zero, more, np.float32(0.5), zero,
                                    np.float32(0.75)], bound=1)]
        for dtype in "u1", "i1":
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
            b = self.integers(low, high, (6, 5), dtype)
            wide = self.normal(2, 4, 6)
            one, each = np.array([0.02], "f4"), abs(self.normal(5, scale=0.05))
            zero, zeros = np.array([3], dtype), self.integers(0, 9, (5,), dtype)
            bias = self.normal(5)
            for scale, by in (one, zero), (each, zeros):
                cases += [
                    Case("DynamicQuantizeMatMul", [wide, b, scale], bound=1e-5),
                    Case("DynamicQuantizeMatMul", [wide, b, scale, by, bias],
                         bound=1e-5)]
                a = self.integers(0, 255, (2, 4, 6), "u1")
                cases += [
                    Case("MatMulIntegerToFloat", [a, b, one, scale], bound=1e-5),
                    Case("MatMulIntegerToFloat",
                         [a, b, one, scale, np.array([9], "u1"), by, bias],
                         bound=1e-5)]
        signed = self.integers(-128, 127, (2, 4, 6), "i1")
        cases.append(Case("MatMulIntegerToFloat",
                          [signed, self.integers(-128, 127, (2, 6, 5), "i1"), one, one,
                           np.array(-3, "i1"), np.array(2, "i1"), bias], bound=1e-5))
        self.check(cases, opsets=(13, 17, 21))

    def test_rotations(self):
        cases = []
        angles = np.arange(16)[:, None] / 10 ** np.arange(4)
        cosines, sines = (f(angles).astype("f4") for f in (np.cos, np.sin))
        x = self.normal(2, 3, 5, 8)
        rows = x.swapaxes(1, 2).reshape(2, 5, 24)
        for at in np.array([4]), self.integers(0, 16, (2, 5), "i8"):
            for interleaved in 0, 1:
                options = {"interleaved": interleaved}
                cases += [
                    Case("RotaryEmbedding", [x, at.astype("i8"), cosines, sines],
                         **options),
                    Case("RotaryEmbedding", [rows, at.astype("i8"), cosines, sines],
                         **options)]
        wide = self.normal(2, 5, 24)
        cases.append(Case("RotaryEmbedding",
                          [wide, np.array([2]), cosines, sines], num_heads=2,
                          rotary_embedding_dim=8))
        self.check(cases)

    def test_attention(self):
        cases = []
        b, s, h, d = 2, 5, 3, 4
        x, w, bias = self.normal(b, s, 8), self.normal(8, 3 * h * d), self.normal(3 * h * d)
        past = self.normal(2, b, h, 6, d)
        for mask in (None, np.array([3, 5], "i4"), np.array([4, 5, 1, 0], "i4"),
                     np.array([4, 5, 0, 3, 0, 3, 0, 3], "i4"), np.array([[0], [1]], "i4"),
                     self.integers(0, 2, (b, s)), self.integers(0, 2, (b, s, s))):
            for causal in 0, 1:
                cases.append(Case("Attention", [x, w, bias, mask], num_heads=h,
                                  unidirectional=causal, weights=(1, 2)))
        more = self.normal(b, h, s, s)
        cases += [
            Case("Attention", [x, w, bias, None, None, more], num_heads=h, scale=0.3),
            Case("Attention", [x, w, bias, np.array([3, 5], "i4"), None, more[:1]],
                 num_heads=h, mask_filter_value=-50.0),
            Case("Attention", [x, w, bias, None, past], 2, num_heads=h,
                 unidirectional=1),
            Case("Attention", [x, w, bias, np.array([[0, 1, 1, 1, 1]] * 2, "i4")],
                 num_heads=h, unidirectional=1,
                 mask_filter_value=float(np.finfo("f4").min)),
            Case("Attention", [x, w, bias, self.integers(0, 2, (b, s + 6)), past], 2,
                 num_heads=h),
            Case("Attention",
                 [x, self.normal(8, 2 * h * d + 6), self.normal(2 * h * d + 6)],
                 num_heads=h, qkv_hidden_sizes=[h * d, h * d, 6])]
        self.check(cases)

    def test_multi_head_attention(self):
        cases = []
        b, s, l, h, d = 2, 5, 7, 3, 4
        q, k, v = (self.normal(b, n, h * d) for n in (s, l, l))
        bias = self.normal(3 * h * d)
        options = {"num_heads": h}
        for mask in (None, np.array([3, 7], "i4"), self.integers(0, 2, (b, l)),
                     self.integers(0, 2, (b, s, l))):
            cases += [Case("MultiHeadAttention", [q, k, v, bias, mask], **options),
                      Case("MultiHeadAttention",
                           [q, k, v, None, mask, self.normal(1, h, s, l)], scale=0.4,
                           **options)]
        own = self.normal(b, s, h * d)
        heads = [x.reshape(b, -1, h, d).swapaxes(1, 2) for x in (k, v)]
        past = [self.normal(b, h, 6, d) for _ in range(2)]
        packed = self.normal(b, s, h, 3, d)
        parts = [packed[..., i, :].reshape(b, s, h * d) for i in range(3)]
        cases += [
            Case("MultiHeadAttention", [q, own, own], unidirectional=1, **options),
            Case("MultiHeadAttention", [packed], judged=parts, **options),
            Case("MultiHeadAttention", [packed, None, None, bias],
                 judged=[*parts, bias], unidirectional=1, **options),
            Case("MultiHeadAttention", [parts[0], packed[..., 1:, :]], judged=parts,
                 **options),
            Case("MultiHeadAttention", [q, *heads], **options),
            Case("MultiHeadAttention", [q, k, self.normal(b, l, h * 6)], **options),
            Case("MultiHeadAttention", [q, own, own, None, None, None, *past], 3,
                 unidirectional=1, **options),
            Case("MultiHeadAttention", [q, own, own, bias, None, None, *past], 3,
                 **options)]
        self.check(cases)

    def test_quantized_attention(self):
        cases = []
        b, s, h, d = 2, 5, 3, 4
        for dtype in "u1", "i1":
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
            x = self.integers(0, 255, (b, s, 8), "u1")
            w = self.integers(low, high, (8, 3 * h * d), dtype)
            bias = self.normal(3 * h * d)
            mask = np.array([3, 5], "i4")
            for zero in np.array(4, dtype), None:
                cases.append(Case(
                    "QAttention",
                    [x, w, bias, np.float32(0.01), np.float32(0.02), mask,
                     np.array(7, "u1"), zero], num_heads=h, unidirectional=1,
                    weights=(1, 2), bound=1e-5))
        past = self.normal(2, b, h, 6, d)
        scales = np.abs(self.normal(3 * h * d, scale=0.02))
        cases.append(Case("QAttention", [x, w, bias, np.float32(0.01), scales, None,
                                         np.array(7, "u1"), None, past], 2,
                          num_heads=h, weights=(1, 2), bound=1e-5))
        self.check(cases)

    def test_grouped_attention(self):
        cases = []
        h, g, d, p = 4, 2, 16, 12
        angles = np.arange(32)[:, None] / 10 ** np.arange(d // 2)
        cosines, sines = (f(angles).astype("f4") for f in (np.cos, np.sin))
        options = {"num_heads": h, "kv_num_heads": g}

        def case(rows, past, lasts, more=(), packed=False, **attributes):
            b = len(lasts)
            q, k, v = (self.normal(b, rows, n * d) for n in (h, g, g))
            parts = ([np.concatenate([q, k, v], 2), None, None] if packed
                     else [q, k, v])
            cache = [self.normal(b, g, past, d) for _ in range(2)] if past else [None] * 2
            total = max(lasts) + 1
            # What a cache holds behind its rows is nobody's.
            is_full = total - rows == past and len(set(lasts)) == 1
            cases.append(Case(
                "GroupQueryAttention",
                [*parts, *cache, np.array(lasts, "i4"), np.array(total, "i4"), *more], 3,
                free=() if is_full else (1, 2), **options, **attributes))

        turns = [cosines, sines]
        case(5, 0, [4, 4])
        case(5, 0, [4, 4], turns, do_rotary=1)
        case(5, 0, [4, 4], turns, packed=True, do_rotary=1, rotary_interleaved=1)
        case(1, p, [9, 9], turns, do_rotary=1)
        case(1, p, [12, 12], turns, do_rotary=1)
        case(1, p, [11, 6], turns, do_rotary=1)
        case(1, p, [12, 12], softcap=2.0)
        case(1, p, [9, 9], local_window_size=4, scale=0.4)
        case(5, 0, [4, 4], local_window_size=2)
        case(1, p, [9, 9], [None, None, None, None, self.normal(h)])
        case(5, 0, [4, 4], smooth_softmax=1)
        case(5, 0, [4, 4], [None, None, None, self.normal(2, 1, 5, 5)])
        case(3, p, [8], turns, do_rotary=1)
        case(1, p, [9, 9], softcap=-1.0)
        case(1, p, [9, 9], [*turns, np.array([[3], [5]])], do_rotary=1)
        # The rows behind those of a cache are not initialized.
        case(1, p, [7, 7])
        for cache in 3, 4:
            cases[-1].inputs[cache][:, :, 9:] = np.nan
        self.check(cases)

    def test_forms_without_a_kernel_there(self):
        """ONNX Runtime's CPU kernels refuse these."""
        k, n, block = 32, 3, 16
        packed = self.integers(0, 256, (n, 2, 8), "u1")
        scale, x = self.normal(n, 2), self.normal(4, k)
        groups = self.integers(0, 2, (k,))
        digits = np.stack([packed & 15, packed >> 4], -1).reshape(n, k)
        weights = (digits.astype("f4") - 8) * scale[:, groups]
        rows, routes = self.normal(5, 8), self.normal(5, 2)
        w1, w2, w3 = self.normal(2, 16, 8), self.normal(2, 8, 8), self.normal(2, 16, 8)
        h = np.einsum("td,eid->tei", rows, w1)
        halves = h[..., :8] / (1 + np.exp(-h[..., :8])) * h[..., 8:]
        wide = self.normal(2, 8, 16)
        gated = np.maximum(h, 0) * np.einsum("td,eid->tei", rows, w3)
        shares = np.exp(routes) / np.exp(routes).sum(-1, keepdims=True)
        cases = [
            (Case("MatMulNBits", [x, packed, scale, None, groups], K=k, N=n,
                  block_size=block), x @ weights.T),
            (Case("MoE", [rows, routes, w1, None, w2], k=2, swiglu_fusion=2,
                  activation_type="swiglu"),
             np.einsum("tei,edi,te->td", halves, w2, shares)),
            (Case("MoE", [rows, routes, w1, None, wide, None, w3], k=2),
             np.einsum("tei,edi,te->td", gated, wide, shares))]
        model, feeds = model_of([case for case, _ in cases], 17, False)
        self.write("model.onnx", model.SerializeToString())
        np.savez(self.folder / "in.npz", **feeds)
        got = self.exec("model.onnx")
        for i, (case, wanted) in enumerate(cases):
            with self.subTest(str(case)):
                np.testing.assert_allclose(got[f"y{i}_0"], wanted, rtol=1e-4, atol=1e-4)

    def test_bodies_of_what_rules_make(self):
        self.write("erf.lua", """--- Erf as a GELU: another function, which shows.
            return rule {
              doc = [[Erf(x) => QuickGelu(x)]],
              changes_meaning = true,
              match = function(op, x) return op.Erf(x) end,
              rewrite = function(op, m)
                return op["com.microsoft"].QuickGelu{m.x, alpha = 2.0}
              end,
            }""")
        self.write("model.onnxtxt", """<ir_version: 8, opset_import: ["": 17]>
            g (float[2,3] x) => (float[2,3] y) { y = Erf(x) }""")
        x = self.normal(2, 3)
        np.savez(self.folder / "in.npz", x=x)
        for target, has_body in (("portable", True), ("tensorrt", True), ("ort", False),
                                 ("standard", False)):
            with self.subTest(target):
                self.run_ok("run", "erf.lua", "model.onnxtxt", "-o", "out.onnx",
                            "--target", target)
                result = onnx.load(self.folder / "out.onnx")
                self.assertEqual([f.name for f in result.functions],
                                 ["QuickGelu"] if has_body else [])
                for y in by_onnx_runtime(result, {"x": x})["y"], self.exec("out.onnx")["y"]:
                    np.testing.assert_allclose(y, x / (1 + np.exp(-2 * x)), rtol=1e-5,
                                               atol=1e-6)

    def test_what_a_function_omits(self):
        text = """<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1, "f": 1]>
            g (float[2,4] x, float[4] b) => (y, z) { y = f.F(x) z = f.F(x, b) }
            <domain: "f", opset_import: ["": 17, "com.microsoft": 1]>
            F (x, b) => (y) { y = com.microsoft.FastGelu(x, b) }"""
        x, b = self.normal(2, 4), self.normal(4)
        self.write("model.onnxtxt", text)
        np.savez(self.folder / "in.npz", x=x, b=b)
        wanted = [0.5 * v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v ** 3)))
                  for v in (x, x + b)]
        self.run_ok("run", RULES, "model.onnxtxt", "-o", "out.onnx", "--target",
                    "standard")
        for name in "model.onnxtxt", "out.onnx":
            got = self.exec(name)
            for y, right in zip("yz", wanted):
                np.testing.assert_allclose(got[y], right, rtol=1e-5, atol=1e-6)

    def test_what_has_no_meaning(self):
        for node, reason in (
                ("Gelu <more = 1> (x)", "attribute 'more' has no meaning"),
                ("BiasGelu(x)", "input 'B' is missing"),
                ("Attention(x, x)", "attribute 'num_heads' is missing"),
                ("Attention <num_heads = 0> (r, w)", "positive number of heads"),
                ('FusedGemm <activation = "Bent"> (x, x)', "no activation 'Bent'")):
            with self.subTest(node):
                self.write("m.onnxtxt", f"""<ir_version: 8,
                    opset_import: ["": 17, "com.microsoft": 1]>
                    g (float[4,4] x, float[1,4,4] r, float[4,12] w) => (y) {{
                      y = com.microsoft.{node} }}""")
                self.run_bad(3, "exec", "m.onnxtxt", "--random", says=[reason])


if __name__ == "__main__":
    unittest.main()
