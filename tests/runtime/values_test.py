"""What kernels compute, beside numpy: sizes around the edges of tiles, every
type, and values that reports of wrong results were about."""

import itertools
import math
import unittest

import numpy as np
from support import program
from support.cases import Cases

# Around the widths of vectors and tiles.
EDGES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129]
FLOATS = ["f2", "f4", "f8"]
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


def softmax(x):
    top = np.where(np.isfinite(x.max(-1, keepdims=True)),
                   x.max(-1, keepdims=True), 0)
    e = np.exp(x - top)
    return e / e.sum(-1, keepdims=True)


class Values(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(7)

    def check_vectors(self, cases):
        """With the vectors of other machines too."""
        for bits in ("512", "256", "128"):
            with self.subTest(vector_bits=bits):
                cases.check(self, env={"RULEENGINE_VECTOR_BITS": bits})

    def normal(self, *shape, dtype="f4"):
        return self.random.standard_normal(shape).astype(dtype)

    def whole(self, *shape, dtype="i8"):
        info = np.iinfo(dtype)
        return self.random.integers(max(info.min, -9), 10, shape).astype(dtype)

    def test_products(self):
        cases = Cases(21)
        sizes = [(m, k, n) for i, (m, n) in enumerate(
            itertools.product(EDGES[:13], EDGES)) for k in
            (EDGES[i % len(EDGES)], (0, 257, 64)[i % 3])]
        for i, (m, k, n) in enumerate(sizes):
            dtype = ("f4", "f4", "f8")[i % 3]
            a, b = self.normal(m, k, dtype=dtype), self.normal(k, n, dtype=dtype)
            cases.add("MatMul", [a, b], [a @ b], f"{m} {k} {n}",
                      constant=[(), (1,)][i % 2], tolerance=1e-5)
        for dtype in ("i4", "u4", "i8", "f2"):
            a, b = ((self.normal(5, 33, dtype=dtype), self.normal(33, 9, dtype=dtype))
                    if dtype == "f2" else (self.whole(5, 33, dtype=dtype),
                                           self.whole(33, 9, dtype=dtype)))
            wide = (a.astype("f8") @ b.astype("f8")).astype(dtype)
            cases.add("MatMul", [a, b], [wide], dtype)
        for (m, k, n), c_shape in itertools.product(
                [(5, 257, 8), (1, 300, 17), (17, 1, 33), (4, 0, 3)],
                [(), (1,), "n", "m1", "mn"]):
            shape = {"n": (n,), "m1": (m, 1), "mn": (m, n)}.get(c_shape, c_shape)
            a, b, c = self.normal(k, m), self.normal(n, k), self.normal(*shape)
            cases.add("Gemm", [a, b, c],
                      [(0.5 * (a.T @ b.T) + 3 * c).astype("f4")],
                      f"{m} {k} {n} {c_shape}", alpha=0.5, beta=3.0, transA=1,
                      transB=1, tolerance=1e-5)
        a, b = self.normal(2, 1, 3, 4), self.normal(5, 4, 2)
        cases.add("MatMul", [a, b], [a @ b], "broadcast", tolerance=1e-5)
        v = self.normal(4)
        cases.add("MatMul", [v, b], [v @ b], "a vector", tolerance=1e-5)
        cases.add("MatMul", [a, v], [a @ v], "by a vector", tolerance=1e-5)
        self.check_vectors(cases)

    def test_reductions(self):
        cases = Cases(21)
        functions = {"ReduceSum": np.sum, "ReduceMax": np.max,
                     "ReduceMin": np.min, "ReduceMean": np.mean,
                     "ReduceProd": np.prod,
                     "ReduceL1": lambda x, axis: np.abs(x).sum(axis),
                     "ReduceL2": lambda x, axis: np.sqrt((x * x).sum(axis)),
                     "ReduceSumSquare": lambda x, axis: (x * x).sum(axis),
                     "ReduceLogSum": lambda x, axis: np.log(x.sum(axis)),
                     "ReduceLogSumExp":
                         lambda x, axis: np.log(np.exp(x).sum(axis))}
        for (op, f), size in itertools.product(functions.items(), EDGES + [1025]):
            x = np.abs(self.normal(3, size)) + np.float32(0.5)
            if op == "ReduceProd":
                x = x ** np.float32(1 / size)
            for axis in (0, 1):
                cases.add(op, [x, np.array([axis])],
                          [f(x.astype("f8"), axis).astype("f4")],
                          f"{size} along {axis}", keepdims=0, constant=[1])
        for dtype in ("i4", "i8", "f8", "f2"):
            x = self.whole(4, 17, dtype="i4").astype(dtype)
            for op in ("ReduceSum", "ReduceMax", "ReduceMin"):
                cases.add(op, [x, np.array([1])],
                          [functions[op](x, 1).astype(dtype)], dtype,
                          keepdims=0, constant=[1])
        for dtype in ("i1", "u1"):
            x = self.whole(4, 17, dtype=dtype)
            for op in ("ReduceMax", "ReduceMin"):
                cases.add(op, [x, np.array([1])], [functions[op](x, 1)], dtype,
                          keepdims=0, constant=[1])
        for size in EDGES:
            x = self.normal(2, size) * 4
            cases.add("Softmax", [x], [softmax(x)], f"{size}")
            x[0, size // 2] = -np.inf if size > 1 else 0
            cases.add("Softmax", [x], [softmax(x)], f"{size} with -inf")
            x = self.normal(3, size, 2)
            cases.add("CumSum", [x, np.array(1)],
                      [np.cumsum(x.astype("f8"), 1).astype("f4")], f"{size}")
            # Ties go to the first, or to the last.
            x = self.whole(3, size).astype("f4")
            cases.add("ArgMax", [x], [np.argmax(x, 1)], f"{size}", axis=1,
                      keepdims=0)
            cases.add("ArgMin", [x],
                      [size - 1 - np.argmin(x[:, ::-1], 1)], f"{size}", axis=1,
                      keepdims=0, select_last_index=1)
        cases.check(self)

    def test_norms(self):
        cases = Cases(23, 11)
        for size in EDGES + [1025]:
            x, w, b = (self.normal(3, size) * 3 + 1, self.normal(size),
                       self.normal(size))
            wide = x.astype("f8")
            mean = wide.mean(-1, keepdims=True)
            deviation = np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
            cases.add("LayerNormalization", [x, w, b],
                      [((wide - mean) / deviation * w + b).astype("f4")],
                      f"{size}", epsilon=1e-5, tolerance=2e-5)
            square = np.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-5)
            cases.add("RMSNormalization", [x, w],
                      [(wide / square * w).astype("f4")], f"{size}",
                      epsilon=1e-5, tolerance=1e-5)
        cases.check(self)

    def test_attention(self):
        cases = Cases(23, 11)
        for queries, keys in [(1, 65), (1, 64), (1, 129), (5, 33), (17, 17),
                              (33, 65), (64, 64), (65, 129), (2, 1), (3, 0)]:
            for causal, heads, kv in ((0, 2, 2), (1, 4, 2), (0, 3, 1)):
                q, k = self.normal(2, heads, queries, 9), self.normal(2, kv, keys, 9)
                v = self.normal(2, kv, keys, 5)
                if keys:
                    # The last key weighs most: sums so far are scaled down.
                    k[:, :, -1] = 4 * np.sign(q[:, :1].mean(2))
                wide = [np.repeat(t.astype("f8"), heads // kv, 1) for t in (k, v)]
                scores = q.astype("f8") @ wide[0].transpose(0, 1, 3, 2) / 3
                if causal:
                    hidden = np.arange(keys) > np.arange(queries)[:, None]
                    scores = np.where(hidden, -np.inf, scores)
                wanted = (softmax(scores) @ wide[1] if keys else
                          np.zeros((2, heads, queries, 5))).astype("f4")
                cases.add("Attention", [q, k, v], [wanted],
                          f"{queries} queries {keys} keys", is_causal=causal,
                          tolerance=1e-5)
        self.check_vectors(cases)

    def test_unidirectional_attention_of_onnx_runtime(self):
        cases = Cases(21)
        for queries, keys in ((3, 3), (3, 5), (2, 6), (5, 3), (1, 4)):
            q, k, v = (self.normal(1, n, 8) for n in (queries, keys, keys))
            scores = q[0].astype("f8") @ k[0].T / math.sqrt(8)
            hidden = np.arange(keys) > np.arange(queries)[:, None]
            hidden[-1] = False  # ONNX Runtime's loop stops before the last row
            wanted = softmax(np.where(hidden, -np.inf, scores)) @ v[0]
            cases.add("MultiHeadAttention", [q, k, v],
                      [wanted[None].astype("f4")], f"{queries} {keys}",
                      "com.microsoft", num_heads=1, unidirectional=1,
                      tolerance=1e-5)
        cases.check(self)

    def test_elementwise(self):
        cases = Cases(21)
        for dtype, size in itertools.product(FLOATS + INTEGERS, (1, 7, 16, 67)):
            make = self.normal if dtype in FLOATS else self.whole
            a, b = make(2, size, dtype=dtype), make(size, dtype=dtype)
            name = f"{dtype} {size}"
            with np.errstate(all="ignore"):
                cases.add("Add", [a, b], [a + b], name)
                cases.add("Sub", [a, b], [a - b], name)
                cases.add("Mul", [a, b], [a * b], name)
                cases.add("Max", [a, b], [np.maximum(a, b)], name)
                cases.add("Min", [a, b], [np.minimum(a, b)], name)
                cases.add("Less", [a, b], [a < b], name)
                cases.add("Equal", [a, b], [a == b], name)
                if dtype[0] != "u":
                    cases.add("Neg", [a], [-a], name)
                cases.add("Where", [a > b, a, b], [np.where(a > b, a, b)], name)
                if dtype in INTEGERS:
                    b = np.where(b == 0, np.ones_like(b), b)
                    cases.add("Div", [a, b],
                              [np.trunc(a.astype("f8") / b).astype(dtype)], name)
                    cases.add("Mod", [a, b], [np.mod(a, b)], name)
                    cases.add("BitwiseXor", [a, b], [a ^ b], name)
                else:
                    cases.add("Div", [a, b], [a / b], name)
        special = np.array([0.0, -0.0, 1, -1, 0.5, 88.5, -88.5, -104, 1e-30, 3e38,
                            np.inf, -np.inf, np.nan, 1e-45], "f4")
        functions = {"Exp": np.exp, "Tanh": np.tanh, "Abs": np.abs,
                     "Sqrt": np.sqrt, "Log": np.log, "Floor": np.floor,
                     "Ceil": np.ceil, "Round": np.round, "Sign": np.sign,
                     "Reciprocal": lambda x: 1 / x,
                     "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
                     "Erf": np.vectorize(math.erf, otypes=["f8"]),
                     "Softplus": lambda x: np.logaddexp(0, x),
                     "Relu": lambda x: np.where(x < 0, 0, x)}
        for (op, f), size in itertools.product(functions.items(), EDGES):
            with np.errstate(all="ignore"):
                x = np.resize(special, size) if size > 13 else self.normal(size)
                if op in ("Reciprocal", "Log"):
                    x = x[(x != 0) & (np.abs(x) > 1e-38)]
                wanted = f(x.astype("f8")).astype("f4")
            cases.add(op, [x], [wanted], f"{size}")
        cases.check(self)

    def test_rounding(self):
        cases = Cases(21)
        ties = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 126.5, 127.5, 300,
                         -128.5, -129], "f4")
        one, zero = np.float32(1), {t: np.zeros((), t) for t in INTEGERS}
        for dtype in ("i1", "u1", "i2", "u2"):
            info = np.iinfo(dtype)
            wanted = np.clip(np.rint(ties), info.min, info.max).astype(dtype)
            cases.add("QuantizeLinear", [ties, one, zero[dtype]], [wanted], dtype)
        # To bfloat16 and back: ties go to even.
        bits = np.array([0x3f808000, 0x3f818000, 0x3f808001, 0x3f807fff,
                         0x7f7fffff, 0x00008000, 0xbf808000], "u4")
        even = ((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000).view("f4")
        x = bits.view("f4")
        (narrow,) = cases.add("Cast", [x], [None], to=16)
        cases.add("Cast", [narrow], [even], to=1)
        cases.check(self)

    def test_powers_of_whole_numbers(self):
        cases = Cases(15, 8)
        base = np.array([-1, -1, -1, 0, 1, 2, 2, -3], "i8")
        power = np.array([-1, -2, -3, 2, -5, -1, 62, 3], "i8")
        cases.add("Pow", [base, power],
                  [np.array([-1, 1, -1, 0, 1, 0, 1 << 62, -27])])
        cases.check(self)
        # The same where constants fold.
        cases = Cases(15, 8)
        cases.add("Pow", [base, power],
                  [np.array([-1, 1, -1, 0, 1, 0, 1 << 62, -27])],
                  constant=[0, 1])
        cases.check(self)


if __name__ == "__main__":
    unittest.main()
