"""Results of kernels compared with numpy: sizes around the edges of tiles, every
type, and values from reports of wrong results."""

import itertools
import math
import unittest

import numpy as np
from onnx import TensorProto, helper
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
        """Also with narrower vectors, if this machine has wider ones."""
        for bits in (None, "256", "128"):
            with self.subTest(vector_bits=bits):
                cases.check(self, env=bits and {"RULEENGINE_VECTOR_BITS": bits})

    def normal(self, *shape, dtype="f4"):
        return self.random.standard_normal(shape).astype(dtype)

    def whole(self, *shape, dtype="i8"):
        least = 0 if dtype[0] == "u" else -9
        return self.random.integers(least, 10, shape).astype(dtype)

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
        # A mean that is large beside the deviation, exact in float.
        x = np.round(self.normal(2, 4, 64) * 64) / 64 + 4096
        w, b = self.normal(4), self.normal(4)
        for op, groups in (("InstanceNormalization", 4),
                           ("GroupNormalization", 2),
                           ("LayerNormalization", 4)):
            wide = x.astype("f8").reshape(2, groups, -1)
            wide -= wide.mean(-1, keepdims=True)
            wide /= np.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-5)
            more = {"num_groups": groups} if groups == 2 else {}
            scale, bias = w[:, None], b[:, None]
            if op == "LayerNormalization":
                scale = bias = np.float32([1])
            cases.add(op, [x.astype("f4"), scale.ravel(), bias.ravel()],
                      [(wide.reshape(2, 4, 64) * scale + bias).astype("f4")],
                      op, epsilon=1e-5, tolerance=1e-6, **more)
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

    def test_powers_and_remainders(self):
        cases = Cases(21)
        special = np.array([0, -0.0, 1, -1, 2, -2, 1e-40, 3e38, np.inf, -np.inf,
                            np.nan, 0.5], "f4")
        whole = np.arange(-9, 10).astype("f4")
        with np.errstate(all="ignore"):
            for x in (special, whole, np.abs(self.normal(67))):
                for y in (2, 3, 0, 1, -1, 0.5, -0.5, 1.7):
                    y = np.float32(y)
                    # By one number numpy takes other ways.
                    wanted = np.power(x.astype("f8"), np.full(x.shape, y, "f8"))
                    wanted = wanted.astype("f4")
                    cases.add("Pow", [x, y], [wanted], f"{y}", constant=[1])
                    cases.add("Pow", [x, np.full_like(x, y)], [wanted], f"{y}s")
                cases.add("Pow", [x, np.array(3)],
                          [np.power(x.astype("f8"), 3).astype("f4")])
            # Whole powers of whole numbers are exact.
            x, y = np.meshgrid(whole, np.arange(7).astype("f4"))
            cases.add("Pow", [x, y], [x ** y], tolerance=0)
            for x in (special, self.normal(67) * 9):
                cases.add("Log", [x], [np.log(x.astype("f8")).astype("f4")])
                cases.add("LeakyRelu", [x], [np.where(x < 0, np.float32(0.5) * x,
                                                      x)], alpha=0.5)
                cases.add("Elu", [x], [np.where(
                    x < 0, np.expm1(x.astype("f8")), x).astype("f4")])
            sizes = np.array([1e-40, 0.3, 1, 3, 7.5, 1e10, 3e38, np.inf], "f4")
            a, b = np.meshgrid(np.concatenate([sizes, -sizes, special]),
                               np.concatenate([sizes, -sizes, [0, np.nan]]))
            a, b = a.astype("f4"), b.astype("f4")
            cases.add("Mod", [a, b], [np.fmod(a, b)], fmod=1, tolerance=0)
        for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8"):
            info = np.iinfo(dtype)
            ends = [info.min, info.min + 1, info.max, info.max - 1, 1, 3, 7]
            a, b = np.meshgrid(np.array(ends * 3, dtype),
                               np.array([1, 2, 3, info.max, info.max - 1] + (
                                   [-1, -2, info.min] if info.min else []), dtype))
            wanted = [int(abs(int(x)) // abs(int(y))) * (
                1 if (x < 0) == (y < 0) else -1) for x, y in zip(a.flat, b.flat)]
            wanted = np.array([x & 2 ** 64 - 1 for x in wanted], "u8").astype(
                dtype).reshape(a.shape)
            cases.add("Div", [a, b], [wanted], dtype)
            cases.add("Div", [a, b[2, 0]], [wanted[2:3].repeat(len(a), 0)],
                      f"{dtype} by one")
        self.check_vectors(cases)

    def test_choices_and_moves(self):
        cases = Cases(21)
        for dtype, size in itertools.product(("u1", "f2", "f4", "f8"), EDGES):
            x, y = self.whole(3, 2, size), self.whole(2, size)
            x, y = x.astype(dtype), y.astype(dtype)
            one, c = x[0, 0, 0], self.random.integers(0, 2, (3, 2, size)) == 1
            for name, args in {"all": (c, x, x + x), "y": (c, x, one),
                               "x": (c, one, x), "none": (c, one, y[0, 0]),
                               "mask": (c[0], x, one), "column": (c[..., :1], x, y),
                               "shared": (c[0, 0], y, x)}.items():
                cases.add("Where", args, [np.where(*args).astype(dtype)],
                          f"{dtype} {size} {name}")
            for parts in ((y, y[:, :1], y), (y, y)):
                cases.add("Concat", parts, [np.concatenate(parts, 1)],
                          f"{dtype} {size}", axis=1)
            wide = np.tile(y, (5, 1))
            cases.add("Concat", [wide, wide], [np.concatenate([wide, wide], 1)],
                      f"rows {dtype} {size}", axis=1)
            indices = self.random.integers(-size, size, (2, 3))
            for kind in ("i4", "i8"):
                at = np.where(indices < 0, indices + size, indices)
                cases.add("GatherElements", [y, indices.astype(kind)],
                          [np.take_along_axis(y, at, 1)], f"{dtype} {size}",
                          axis=1)
            at = self.random.integers(0, 2, (1, max(size - 1, 1)))
            cases.add("GatherElements", [y, at],
                      [np.take_along_axis(y[:, :at.shape[1]], at, 0)], axis=0)
            for mode in ("constant", "edge", "reflect", "wrap"):
                for before, after in ((1, 2), (size + 2, 2 * size + 1), (0, 0)):
                    pads = ((1, 0), (before, after))
                    if mode == "reflect" and size == 1:
                        wanted = np.pad(y, pads, "edge")
                        wanted[0] = y[1]
                        wanted = np.concatenate([wanted[:1], wanted[1:]])
                    else:
                        wanted = np.pad(y, pads, mode)
                    cases.add("Pad", [y, np.array(pads).T.ravel()], [wanted],
                              f"{dtype} {size} {before} {after}", mode=mode)
            cases.add("Pad", [x, np.array([0, 1, 0, 1, 0, 0])],
                      [np.pad(x, ((0, 1), (1, 0), (0, 0)), "reflect")],
                      f"blocks {dtype} {size}", mode="reflect")
        for dtype in ("u1", "f2", "f4", "f8"):
            # Of whole tiles, and what is left of them.
            x = self.whole(3, 70, 65).astype(dtype)
            for perm in ((0, 2, 1), (2, 1, 0), (1, 0, 2), (1, 2, 0)):
                cases.add("Transpose", [x], [x.transpose(perm)], dtype, perm=perm)
        c = self.random.integers(0, 2, 67) == 1
        cases.add("Not", [c], [~c])
        for dtype in ("f4", "i8", "u1"):
            number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
            cases.add("Cast", [c], [c.astype(dtype)], to=number)
        self.check_vectors(cases)

    def test_lines_side_by_side(self):
        cases = Cases(21)
        for size, inner in itertools.product((1, 2, 17), (1, 7, 8, 9, 33, 257)):
            x = self.normal(2, size, inner) * 4
            x[0, 0, 0] = -np.inf if size > 1 else 0
            wanted = softmax(x.astype("f8").swapaxes(1, 2)).swapaxes(1, 2)
            name = f"{size} {inner}"
            cases.add("Softmax", [x], [wanted.astype("f4")], name, axis=1)
            with np.errstate(all="ignore"):
                logs = np.log(wanted)
            cases.add("LogSoftmax", [x], [logs.astype("f4")], name, axis=1,
                      tolerance=1e-5)
            x = self.normal(2, size, inner)
            sums = np.cumsum(x.astype("f8"), 1)
            cases.add("CumSum", [x, np.array(1)], [sums.astype("f4")], name,
                      tolerance=1e-6)
            cases.add("CumSum", [x, np.array(1)], [(sums - x).astype("f4")], name,
                      exclusive=1, tolerance=1e-6)
            norm = np.sqrt((x.astype("f8") ** 2).sum(1, keepdims=True))
            cases.add("LpNormalization", [x], [(x / norm).astype("f4")], name,
                      axis=1)
            cases.add("LpNormalization", [x.swapaxes(1, 2)],
                      [(x / norm).astype("f4").swapaxes(1, 2)], name, axis=2)
        self.check_vectors(cases)

    def test_extremes(self):
        cases = Cases(21)
        for size in EDGES + [1025]:
            x = self.whole(3, size).astype("f4")
            x[1, size // 2] = np.nan
            for op, f in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
                cases.add(op, [x], [f(x, 1)], f"{size}", axis=1, keepdims=0)
                cases.add(op, [x], [size - 1 - f(x[:, ::-1], 1)], f"last {size}",
                          axis=1, keepdims=0, select_last_index=1)
            for op, f in (("ReduceMax", np.max), ("ReduceMin", np.min)):
                cases.add(op, [x, np.array([1])], [f(x, 1)], f"{size}",
                          keepdims=0)
            for k, largest in itertools.product((size // 64, size // 16), (0, 1)):
                order = np.argsort(-x if largest else x, axis=1, kind="stable")
                if largest:  # NaN is the largest
                    order[1] = np.concatenate([order[1, -1:], order[1, :-1]])
                cases.add("TopK", [x, np.array([k])],
                          [np.take_along_axis(x, order, 1)[:, :k], order[:, :k]],
                          f"{size} {k} {largest}", largest=largest)
            x = self.normal(size)
            low, high = min(x.min(), 0), max(x.max(), 0)
            scale = np.float32(np.float32(high - low) / np.float32(255))
            zero = np.clip(np.rint(np.float32(0 - low / scale)), 0, 255)
            cases.add("DynamicQuantizeLinear", [x],
                      [np.clip(np.rint(x / scale) + zero, 0, 255).astype("u1"),
                       scale, zero.astype("u1")], f"{size}")
        self.check_vectors(cases)

    def test_float8(self):
        cases = Cases(21)
        exponents = np.arange(-20, 20)
        x = np.concatenate([np.ldexp(np.linspace(1, 2, 65), e) for e in exponents])
        x = np.concatenate([x, -x, np.nextafter(x, 0, dtype="f4"),
                            [0, -0.0, 1e-40, np.inf, -np.inf, np.nan]]).astype("f4")
        for to in (17, 18, 19, 20):
            for saturate in (0, 1):
                # Doubles take another way.
                (a,) = cases.add("Cast", [x], [None], to=to, saturate=saturate)
                (b,) = cases.add("Cast", [x.astype("f8")], [None], to=to,
                                 saturate=saturate)
                (a,) = cases.add("BitCast", [a], [None], to=2)
                (b,) = cases.add("BitCast", [b], [None], to=2)
                cases.add("Equal", [a, b], [np.ones(x.shape, bool)],
                          f"{to} {saturate}")
        self.check_vectors(cases)

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

    def test_grouped_attention_in_a_window(self):
        cases = Cases(21)
        rows, heads, kv, size = 9, 4, 2, 8
        for window in (-1, 1, 3, 8, 9):
            q = self.normal(1, rows, heads * size)
            k, v = (self.normal(1, rows, kv * size) for _ in range(2))
            split = [t[0].reshape(rows, -1, size).transpose(1, 0, 2).astype("f8")
                     for t in (q, k, v)]
            k_all, v_all = (np.repeat(t, heads // kv, 0) for t in split[1:])
            scores = split[0] @ k_all.transpose(0, 2, 1) / math.sqrt(size)
            behind = np.arange(rows)[:, None] - np.arange(rows)
            seen = (behind >= 0) & ((window < 0) | (behind < window))
            y = softmax(np.where(seen, scores, -np.inf)) @ v_all
            cases.add("GroupQueryAttention",
                      [q, k, v, None, None, np.array([rows - 1], "i4"),
                       np.array(rows, "i4")],
                      [y.transpose(1, 0, 2).reshape(1, rows, -1).astype("f4"),
                       split[1][None].astype("f4"), split[2][None].astype("f4")],
                      f"window {window}", "com.microsoft", num_heads=heads,
                      kv_num_heads=kv, local_window_size=window, tolerance=1e-5)
        cases.check(self)

    def test_rows_behind_a_cache_are_zero(self):
        past, rows = self.normal(2, 1, 4, 8), self.normal(2, 2, 8)
        full = np.zeros((2, 1, 6, 8), "f4")
        for batch, first in enumerate((4, 2)):
            full[batch, 0, :first] = past[batch, 0, :first]
            full[batch, 0, first:first + 2] = rows[batch]
        cases = Cases(21)
        cases.add("GroupQueryAttention",
                  [rows, rows, rows, past, past, np.array([5, 3], "i4"),
                   np.array(6, "i4")], [None, full, full],
                  domain="com.microsoft", num_heads=1, kv_num_heads=1)
        cases.check(self)

    def test_flex_attention_multiplies_by_weights_of_0(self):
        given, made = (helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
                       for name in "pm")
        same = helper.make_graph([helper.make_node("Identity", ["p"], ["m"])],
                                 "same", [given], [made])
        q = np.ones((1, 1, 1, 2), "f4")
        k = np.array([[[[0, 0], [-1e3, -1e3]]]], "f4")
        v = np.array([[[[1, 2, 3], [np.nan, np.inf, 4]]]], "f4")
        cases = Cases(21)
        cases.add("FlexAttention", [q, k, v],
                  [np.array([[[[np.nan, np.nan, 3]]]], "f4")],
                  domain="ai.onnx.preview", prob_mod=same)
        cases.check(self)

    def test_positions_of_a_first_prompt(self):
        # By the schema positions count up from the first one.
        size, rows = 4, 3
        q, k, v = (self.normal(1, rows, size) for _ in range(3))
        angle = np.outer(np.arange(16), [1, 0.1])
        cos, sin = np.cos(angle).astype("f4"), np.sin(angle).astype("f4")

        def turned(x, first):
            c, s = (t[first:first + rows].astype("f8") for t in (cos, sin))
            a, b = x[0, :, :2], x[0, :, 2:]
            return np.concatenate([a * c - b * s, b * c + a * s], 1)

        keys = turned(k, 5)
        scores = turned(q, 5) @ keys.T / 2
        hidden = np.arange(rows) > np.arange(rows)[:, None]
        y = softmax(np.where(hidden, -np.inf, scores)) @ v[0]
        cases = Cases(21)
        cases.add("GroupQueryAttention",
                  [q, k, v, None, None, np.array([rows - 1], "i4"),
                   np.array(rows, "i4"), cos, sin, np.array([[5, 0, 9]])],
                  [y[None].astype("f4"), keys[None, None].astype("f4"),
                   v[None]], domain="com.microsoft", num_heads=1,
                  kv_num_heads=1, do_rotary=1, tolerance=1e-5)
        cases.check(self)

    def test_slices_and_scatters(self):
        cases = Cases(21)
        for size in (1, 2, 3, 8, 17):
            for dtype in ("f4", "i1", "u2", "i8"):
                x = self.whole(2, size, dtype=dtype)
                for start, stop, step in ((None, None, -1), (None, None, -2),
                                          (-1, 0, -1), (1, None, 2), (0, -1, 3),
                                          (-99, 99, 1), (99, -99, -3)):
                    low = -(1 << 40) if step < 0 else 1 << 40
                    cases.add(
                        "Slice",
                        [x, [(1 << 40 if step < 0 else 0) if start is None
                             else start], [low if stop is None else stop], [1],
                         [step]],
                        [x[:, start:stop:step]],
                        f"{size} {dtype} {start}:{stop}:{step}",
                        constant=[1, 2, 3, 4])
        x = self.normal(3, 4)
        index = np.array([[2, 0, 1, 1], [0, 2, 2, 0], [1, 1, 0, 2]])
        put = x.copy()
        np.put_along_axis(put, index, x, 0)
        # The updates are the data themselves.
        (same,) = cases.add("Identity", [x], [x])
        cases.add("ScatterElements", [same, index, same], [put], "over itself",
                  axis=0)
        summed = x.copy()
        for (i, j), row in np.ndenumerate(index):
            summed[row, j] += x[i, j]
        cases.add("ScatterElements", [same, index, same], [summed], "its sum",
                  axis=0, reduction="add")
        rows = x.copy()
        rows[[2, 0]] = x[[0, 1]]
        cases.add("ScatterND", [x, np.array([[2], [0]]), x[[0, 1]]], [rows])
        cases.add("GatherElements", [x, index], [np.take_along_axis(x, index, 0)],
                  axis=0)
        for perm in itertools.permutations(range(4)):
            y = self.normal(2, 3, 5, 17)
            cases.add("Transpose", [y], [y.transpose(perm)], perm=perm)
        for size in EDGES:
            y = self.whole(3, size, dtype="f4")
            k = (size + 1) // 2
            order = np.argsort(-y, 1, kind="stable")[:, :k]
            cases.add("TopK", [y, [k]],
                      [np.take_along_axis(y, order, 1), order], f"{size}",
                      constant=[1])
        cases.check(self)

    def test_windows(self):
        cases = Cases(22)
        view = np.lib.stride_tricks.sliding_window_view
        for dtype, size, kernel, stride in itertools.product(
                ("i1", "u1", "f4"), (5, 8, 17), (1, 2, 3), (1, 2)):
            x = (self.normal if dtype == "f4" else self.whole)(
                2, 3, size, size + 2, dtype=dtype)
            name = f"{dtype} {size} {kernel} {stride}"
            windows = view(x, (kernel, kernel), (2, 3))[:, :, ::stride, ::stride]
            cases.add("MaxPool", [x], [windows.max((-1, -2))], name,
                      kernel_shape=[kernel] * 2, strides=[stride] * 2)
            if dtype != "f4":
                continue
            cases.add("AveragePool", [x],
                      [windows.astype("f8").mean((-1, -2)).astype("f4")], name,
                      kernel_shape=[kernel] * 2, strides=[stride] * 2)
            for group, pad in ((1, 0), (3, 1)):
                w, b = self.normal(6, 3 // group, kernel, kernel), self.normal(6)
                padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
                around = view(padded, (kernel, kernel), (2, 3))[
                    :, :, ::stride, ::stride].astype("f8")
                parts = [np.einsum("nchwij,ocij->nohw", part, of) for part, of in
                         zip(np.split(around, group, 1), np.split(w, group, 0))]
                y = np.concatenate(parts, 1) + b[:, None, None]
                cases.add("Conv", [x, w, b], [y.astype("f4")], name, group=group,
                          pads=[pad] * 4, strides=[stride] * 2, tolerance=1e-5)
        x = self.normal(1, 1, 5, 5)
        best, places = cases.add(
            "MaxPool", [x], [None, None], kernel_shape=[2, 2], strides=[2, 2])
        back = np.zeros(25, "f4")
        for i, j in itertools.product((0, 2), (0, 2)):
            window = x[0, 0, i:i + 2, j:j + 2]
            a, b = np.unravel_index(window.argmax(), (2, 2))
            back[5 * (i + a) + j + b] = window.max()
        cases.add("MaxUnpool", [best, places, [1, 1, 5, 5]],
                  [back.reshape(1, 1, 5, 5)], constant=[2], kernel_shape=[2, 2],
                  strides=[2, 2])
        # The first window begins in the padding.
        cases.add("MaxUnpool", [np.array([[[5, 3, 4]]], "f4"),
                                np.array([[[0, 1, 4]]]), [1, 1, 5]],
                  [np.array([[[5, 3, 0, 0, 4]]], "f4")], constant=[2],
                  kernel_shape=[2], strides=[2], pads=[1, 1])
        cases.check(self)

    def test_resizing(self):
        cases = Cases(10, 5)
        x = np.array([[[[1, 2, 3, 4], [5, 6, 7, 8]]]], "f4")
        cases.add("Resize", [x, np.array([1, 1, 0.6, 0.6], "f4")],
                  [np.array([[[[1, 3]]]], "f4")], constant=[1], computed=False)
        cases.add("Resize", [x, np.array([1, 1, 1, 1.5], "f4")],
                  [x[..., [0, 0, 1, 2, 2, 3]]], constant=[1], computed=False)
        cases.check(self)
        # To one element: the weighted sum of all.
        cases = Cases(18, 8)
        row = np.array([[[[0.3, -1.2, 2.5, 0.7]]]], "f4")
        for mode, y in (("linear", 0.565625), ("cubic", 0.57254636)):
            cases.add("Resize", [row, None, None, [1, 1, 1, 1]],
                      [np.array([[[[y]]]], "f4")], constant=[3], mode=mode,
                      antialias=1)
        cases.check(self)

    def test_texts(self):
        cases = Cases(20)
        words = np.array(["The", "quick", "\u00e4rger", "stra\u00dfe", "\u01c6"])
        cases.add("StringNormalizer", [words],
                  [["QUICK", "\u00c4RGER", "STRASSE", "\u01c4"]],
                  case_change_action="UPPER", stopwords=["the"], computed=False)
        cases.add("StringNormalizer", [np.array(["\u00c4B"])], [["\u00e4b"]],
                  case_change_action="LOWER", computed=False)
        slow = np.array(["a" * 4000 + "b", "a" * 5000])
        cases.add("RegexFullMatch", [slow], [np.array([False, True])],
                  pattern="(a|aa)*(a|a)*", computed=False)
        split = np.array([["Hello", "World", ""], ["a", "b", "c d"]])
        cases.add("StringSplit", [np.array(["  Hello World ", "a b c d"])],
                  [split, np.array([2, 3])], maxsplit=2, computed=False)
        cases.check(self)

    def test_features(self):
        x, z = self.whole(4, 3, dtype="f4"), self.whole(4, 2, dtype="f4")
        cases = Cases(21)
        for widths in None, [3, 2], [2, 5], [0, 1]:
            parts = [np.pad(each, ((0, 0), (0, 9)))[:, :n] for each, n in
                     zip((x, z), widths or (3, 2))]
            cases.add("FeatureVectorizer", [x, z], [np.concatenate(parts, 1)],
                      domain="ai.onnx.ml",
                      **({"inputdimensions": widths} if widths else {}))
        cases.add("LinearRegressor",
                  [np.array([[0], [0.5], [1]], "f4")],
                  [np.array([[-np.inf], [0], [np.inf]], "f4")],
                  domain="ai.onnx.ml", coefficients=[1.0],
                  post_transform="PROBIT", tolerance=1e-6)
        cases.check(self)

    def test_powers_of_whole_numbers(self):
        cases = Cases(15, 8)
        base = np.array([-1, -1, -1, 0, 1, 2, 2, -3], "i8")
        power = np.array([-1, -2, -3, 2, -5, -1, 62, 3], "i8")
        cases.add("Pow", [base, power],
                  [np.array([-1, 1, -1, 0, 1, 0, 1 << 62, -27])])
        cases.check(self)
        # The same for constants, which fold.
        cases = Cases(15, 8)
        cases.add("Pow", [base, power],
                  [np.array([-1, 1, -1, 0, 1, 0, 1 << 62, -27])],
                  constant=[0, 1])
        cases.check(self)


if __name__ == "__main__":
    unittest.main()
