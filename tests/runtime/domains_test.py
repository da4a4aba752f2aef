"""Kernels without cases in the ONNX package, compared with numpy: ONNX Runtime's
domain, classical machine learning, random numbers."""

import math
import unittest

import numpy as np

from support import program
from support.cases import Cases

MICROSOFT = {"domain": "com.microsoft", "tolerance": 2e-6}
ML = {"domain": "ai.onnx.ml", "version": 5}
erf = np.vectorize(math.erf)


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def gelu_by_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) *
                                  (x + 0.044715 * x ** 3)))


def rms(x, scale, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * scale


class Domains(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(11)

    def normal(self, *shape, dtype="f4"):
        return self.random.standard_normal(shape).astype(dtype)

    def test_activations(self):
        cases = Cases(21)
        for dtype in "f4", "f2":
            for shape in (3, 37), (5,), (2, 3, 16):
                x, b = self.normal(*shape), self.normal(shape[-1])
                x, b = x.astype(dtype), b.astype(dtype)
                wide, sum_ = x.astype("f8"), x.astype("f8") + b
                for op, inputs, wanted in (
                        ("Gelu", [x], gelu(wide)),
                        ("BiasGelu", [x, b], gelu(sum_)),
                        ("FastGelu", [x], gelu_by_tanh(wide)),
                        ("FastGelu", [x, b], gelu_by_tanh(sum_)),
                        ("QuickGelu", [x], wide / (1 + np.exp(-1.702 * wide)))):
                    # Sums of halves are halves.
                    bound = {} if dtype == "f4" else {"tolerance": 1e-3}
                    cases.add(op, inputs, [wanted.astype(dtype)], f"{dtype} {shape}",
                              **{**MICROSOFT, **bound})
        x = self.normal(7)
        cases.add("QuickGelu", [x], [x / (1 + np.exp(-0.5 * x))], alpha=0.5,
                  **MICROSOFT)
        cases.check(self)

    def test_norms(self):
        cases = Cases(21)
        for shape in (2, 3, 64), (2, 1, 7), (1, 5, 33):
            x, skip = self.normal(*shape), self.normal(*shape)
            scale, shift, bias = (self.normal(shape[-1]) for _ in range(3))
            cases.add("SimplifiedLayerNormalization", [x, scale],
                      [rms(x, scale, 1e-3)], tolerance=2e-6, epsilon=1e-3, axis=-1)
            for more in [], [bias]:
                total = x + skip + (bias if more else 0)
                centered = total - total.mean(-1, keepdims=True)
                cases.add("SkipLayerNormalization", [x, skip, scale, shift, *more],
                          [rms(centered, scale, 1e-5) + shift], epsilon=1e-5,
                          **MICROSOFT)
                # Outputs 1 and 2 are for training.
                cases.add("SkipSimplifiedLayerNormalization",
                          [x, skip, scale, *more],
                          [rms(total, scale, 1e-5), None, None, total],
                          epsilon=1e-5, **MICROSOFT)
        cases.check(self)

    def test_products(self):
        cases = Cases(21)
        for trans_a in 0, 1:
            for trans_b in 0, 1:
                a, b = self.normal(2, 5, 7), self.normal(2, 7, 9)
                cases.add("FusedMatMul",
                          [a.swapaxes(1, 2) if trans_a else a,
                           b.swapaxes(1, 2) if trans_b else b], [a @ b * 0.25],
                          alpha=0.25, transA=trans_a, transB=trans_b,
                          **MICROSOFT)
        square = self.normal(3, 6, 6, dtype="f8") + 3 * np.eye(6)
        for dtype in "f4", "f8":
            cases.add("Inverse", [square.astype(dtype)],
                      [np.linalg.inv(square).astype(dtype)], dtype,
                      domain="com.microsoft", tolerance=1e-5)
        for k, n, block in (64, 5, 32), (40, 3, 16), (16, 2, 16):
            blocks = -(-k // block)
            q = self.random.integers(0, 16, (n, blocks, block)).astype("u1")
            packed = q[..., ::2] | q[..., 1::2] << 4
            scale = self.normal(n, blocks)
            zeros = self.random.integers(0, 16, (n, blocks + blocks % 2))
            x = self.normal(4, k)
            for given in False, True:
                zero = zeros[:, :blocks, None] if given else 8
                weight = ((q.astype("f8") - zero) * scale[..., None]).reshape(
                    n, -1)[:, :k]
                inputs = [x, packed, scale.ravel()]
                if given:
                    pairs = zeros.astype("u1")
                    inputs.append((pairs[:, ::2] | pairs[:, 1::2] << 4).ravel())
                cases.add("MatMulNBits", inputs, [(x @ weight.T).astype("f4")],
                          f"{k} {n} {given}", K=k, N=n, bits=4,
                          block_size=block, domain="com.microsoft",
                          tolerance=1e-5)
        cases.check(self)

    def test_quantization(self):
        cases = Cases(21)
        x = np.array([[-300, -2.5, -0.5, 0.5, 1.5, 2.5, 300]], "f4")
        for dtype in "u1", "i1":
            least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
            zero = np.array(3, dtype)
            q = np.clip(np.rint(x / np.float32(1)) + 3, least, most)
            cases.add("QuantizeLinear", [x, np.float32(1), zero],
                      [q.astype(dtype)], dtype, **MICROSOFT)
            cases.add("DequantizeLinear",
                      [q.astype(dtype), np.float32(0.5), zero],
                      [((q - 3) * 0.5).astype("f4")], dtype, **MICROSOFT)
        cases.check(self)

    def test_rotary_embeddings(self):
        cases = Cases(21)
        batch, heads, length, size = 2, 3, 5, 8
        angles = np.arange(16)[:, None] / 10 ** np.arange(size // 2)
        cosines, sines = (f(angles).astype("f4") for f in (np.cos, np.sin))
        x = self.normal(batch, heads, length, size)
        each = self.random.integers(0, 16, (batch, length))
        for positions in np.array([4]), each:
            at = positions if positions.ndim == 2 else np.tile(
                positions + np.arange(length), (batch, 1))
            c, s = cosines[at][:, None], sines[at][:, None]
            for interleaved in 0, 1:
                first, second = ((x[..., ::2], x[..., 1::2]) if interleaved else
                                 np.split(x, 2, -1))
                turned = first * c - second * s, second * c + first * s
                wanted = (np.stack(turned, -1).reshape(x.shape) if interleaved
                          else np.concatenate(turned, -1))
                cases.add("RotaryEmbedding", [x, positions, cosines, sines],
                          [wanted], interleaved=interleaved, **MICROSOFT)
                rows = x.swapaxes(1, 2).reshape(batch, length, -1)
                cases.add("RotaryEmbedding", [rows, positions, cosines, sines],
                          [wanted.swapaxes(1, 2).reshape(rows.shape)],
                          interleaved=interleaved, num_heads=heads, **MICROSOFT)
        cases.check(self)

    def test_features(self):
        cases = Cases(21)
        x = self.normal(4, 3)
        for norm, size in (("L1", np.abs(x).sum(-1, keepdims=True)),
                           ("L2", np.sqrt((x * x).sum(-1, keepdims=True))),
                           ("MAX", x.max(-1, keepdims=True))):
            cases.add("Normalizer", [x], [x / size], norm=norm, tolerance=2e-6,
                      **ML)
        cases.add("Scaler", [x], [(x - np.float32([1, 2, 3])) *
                                  np.float32([0.5, 2, -1])],
                  offset=[1.0, 2.0, 3.0], scale=[0.5, 2.0, -1.0], **ML)
        whole = self.random.integers(0, 4, (4, 3))
        cases.add("Scaler", [whole], [((whole - 1) * 2).astype("f4")],
                  offset=[1.0], scale=[2.0], **ML)
        gaps = x.copy()
        gaps[1, 2], gaps[3, 0] = np.nan, np.nan
        cases.add("Imputer", [gaps],
                  [np.where(np.isnan(gaps), np.float32([7, 8, 9]), gaps)],
                  imputed_value_floats=[7.0, 8.0, 9.0],
                  replaced_value_float=float("nan"), **ML)
        cases.add("Imputer", [whole], [np.where(whole == 2, -5, whole)],
                  imputed_value_int64s=[-5], replaced_value_int64=2, **ML)
        cases.add("OneHotEncoder", [whole],
                  [(whole[..., None] == [3, 0, 1]).astype("f4")],
                  cats_int64s=[3, 0, 1], **ML)
        words = np.array(["a", "c", "b"])
        cases.add("OneHotEncoder", [words],
                  [(words[:, None] == ["b", "a"]).astype("f4")],
                  cats_strings=["b", "a"], **ML)
        # Of equal categories the last one counts.
        cases.add("OneHotEncoder", [words],
                  [(words[:, None] == ["", "b", "c"]).astype("f4")],
                  cats_strings=["b", "b", "c"], **ML)
        image = self.normal(2, 3, 5, 7)
        for p in 1, 2, 3:
            cases.add("GlobalLpPool", [image],
                      [(np.abs(image) ** p).sum((2, 3), keepdims=True) **
                       np.float32(1 / p)], p=p, tolerance=2e-6)
        cases.check(self)

    def test_random_numbers(self):
        count = 40_000
        like = np.zeros((count // 10, 10), "f4")
        cases = Cases(21)
        drawn = [
            cases.add("RandomUniform", [], [None], shape=[count], low=-2.0,
                      high=4.0, dtype=1),
            cases.add("RandomUniformLike", [like], [None], low=-2.0, high=4.0),
            cases.add("RandomNormal", [], [None], shape=[count], mean=1.0,
                      scale=math.sqrt(3), dtype=11),
            cases.add("RandomNormalLike", [like], [None], mean=1.0,
                      scale=math.sqrt(3)),
            cases.add("Bernoulli", [like + np.float32(0.25)], [None], dtype=7),
            cases.add("Bernoulli", [like], [like]),
            cases.add("Bernoulli", [like + 1], [like + 1]),
        ]
        cases.check(self)
        got = np.load(self.folder / "out.npz")
        for (name,), dtype, shape in zip(
                drawn, ("f4", "f4", "f8", "f4", "i8"),
                ((count,), like.shape, (count,), like.shape, like.shape)):
            with self.subTest(name):
                values = got[name]
                self.assertEqual((values.dtype, values.shape),
                                 (np.dtype(dtype), shape))
                if dtype == "i8":
                    self.assertEqual(set(np.unique(values)), {0, 1})
                    self.assertAlmostEqual(values.mean(), 0.25, delta=0.02)
                    continue
                # Both have a mean of 1 and a variance of 3.
                self.assertAlmostEqual(values.mean(), 1, delta=0.05)
                self.assertAlmostEqual(values.var(), 3, delta=0.1)
                self.assertGreater(len(np.unique(values)), 0.9 * count)
        for (name,) in drawn[:2]:
            self.assertGreaterEqual(got[name].min(), -2)
            self.assertLess(got[name].max(), 4)


if __name__ == "__main__":
    unittest.main()
