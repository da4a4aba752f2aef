"""The meanings of fused ops run in a stock ONNX Runtime, at every opset: as
function bodies, and inlined by rules/lowering.

Each case is a call of an op of an unknown domain. A rule for the case rewrites it
to one of the engine's own ops, which the target `portable` writes with a body;
the body must compute the same as numpy.
"""

import dataclasses
import itertools
import types
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

from support import dialect, numbers, program, tensor_cast

TYPES = {
    np.dtype("float32"): TensorProto.FLOAT,
    np.dtype("float16"): TensorProto.FLOAT16,
    np.dtype("float64"): TensorProto.DOUBLE,
    np.dtype("bool"): TensorProto.BOOL,
    np.dtype("int64"): TensorProto.INT64,
    np.dtype("int32"): TensorProto.INT32,
    np.dtype("int16"): TensorProto.INT16,
    np.dtype("uint16"): TensorProto.UINT16,
    np.dtype("int8"): TensorProto.INT8,
    np.dtype("uint8"): TensorProto.UINT8,
}
LOWERING = program.ROOT / "rules" / "lowering" / "all.lua"


@dataclasses.dataclass
class Case:
    title: str
    op: str  # "domain::Type"
    inputs: list  # arrays, "" where absent, "=0" for input 0 again
    attributes: dict
    expected: list
    opsets: tuple = (11, 12, 13, 14, 15, 17, 18, 21, 23)
    symbolic: bool = False  # dimensions of the inputs are names
    tolerance: float = 1e-5
    typed: bool = False  # the result has the type of `expected`, not that of input 0


def softmax(s):
    with np.errstate(invalid="ignore"):
        e = np.exp(s - s.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
    return np.where(np.isnan(p), 0, p)


def attention(q, k, v, mask=None, scale=None, causal=False, softcap=0.0):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    heads = q.shape[-3]
    k = np.repeat(k, heads // k.shape[-3], -3)
    v = np.repeat(v, heads // v.shape[-3], -3)
    s = q @ np.swapaxes(k, -1, -2)
    s = s * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    if softcap:
        s = softcap * np.tanh(s / softcap)
    if causal:
        s = np.where(np.tri(s.shape[-2], s.shape[-1], dtype=bool), s, -np.inf)
    if mask is not None and mask.dtype == bool:
        s = np.where(mask, s, -np.inf)
    elif mask is not None:
        s = s + mask.astype(np.float64)
    return softmax(s) @ v


def window_cases():
    """The window ops, on maps that are padded, rolled along both axes, along
    one or none, or covered by one window."""
    rng = np.random.default_rng(5)

    def rand(*dims):
        return rng.standard_normal(dims).astype(np.float32)

    for size, window, shift in (
            ((5, 7), (3, 2), (1, 1)), ((6, 4), (3, 2), (0, 1)),
            ((6, 4), (3, 2), (2, 0)), ((4, 4), (2, 2), (0, 0)),
            ((3, 7), (3, 3), (1, 1)), ((2, 3), (4, 4), (2, 2))):
        title = f"{size} by {window} from {shift}"
        n = window[0] * window[1]
        sides = {"window_size": list(window)}
        x = rand(2, *size, 6)
        windows, spatial = dialect.partition(x, window, shift)
        for symbolic in (False, True):
            yield Case(f"partition {title}", "ruleengine::SwinWindowPartition",
                       [x], {**sides, "shift_size": list(shift)},
                       [windows, spatial], symbolic=symbolic)
            yield Case(f"reverse {title}", "ruleengine::SwinWindowReverse",
                       [windows, spatial], sides,
                       [dialect.reverse(windows, spatial, window)],
                       symbolic=symbolic)
        table = rand((2 * window[0] - 1) * (2 * window[1] - 1), 2)
        index = rng.integers(0, len(table), (n, n))
        bias = dialect.position_bias(table, index, window)
        yield Case(f"bias of {n}", "ruleengine::RelativePositionBias",
                   [table, index], sides, [bias])
        yield Case(f"bias of {n}, flat", "ruleengine::RelativePositionBias",
                   [table, index.reshape(-1)], sides, [bias], symbolic=True)
        qkv = [rand(len(windows), 2, n, 3) for _ in range(3)]
        heads = {**sides, "num_heads": 2, "head_dim": 3}
        for dtype, tolerance in ((np.float32, 1e-5), (np.float64, 1e-5),
                                 (np.float16, 5e-3)):
            inputs = [a.astype(dtype) for a in (*qkv, table)]
            yield Case(f"attention {title}, {np.dtype(dtype)}",
                       "ruleengine::SwinAttention", [*inputs, index, spatial],
                       heads,
                       [dialect.window_attention(qkv, bias, spatial, window)],
                       symbolic=dtype == np.float32, tolerance=tolerance)


def cases():
    rng = np.random.default_rng(3)

    def rand(*dims, dtype=np.float32):
        return rng.standard_normal(dims).astype(dtype)

    q, k, v = rand(2, 4, 3, 8), rand(2, 4, 5, 8), rand(2, 4, 5, 6)
    base = {"num_heads": 4, "head_dim": 6}
    op = "ruleengine::ScaledDotProductAttention"
    yield Case("plain", op, [q, k, v], base, [attention(q, k, v)])
    yield Case("plain, symbolic", op, [q, k, v], base, [attention(q, k, v)],
               symbolic=True)
    yield Case("scale", op, [q, k, v], {**base, "scale": 0.25},
               [attention(q, k, v, scale=0.25)])
    yield Case("scale 1", op, [q, k, v], {**base, "scale": 1.0},
               [attention(q, k, v, scale=1.0)])
    for causal in (0, 1):
        allowed = rng.random((2, 1, 3, 5)) < 0.6
        allowed[0, 0, 1] = False
        added = rand(3, 5)
        added[2] = -np.inf
        for name, mask in (("bool", allowed), ("added", added)):
            yield Case(f"{name} mask, causal {causal}", op, [q, k, v, mask],
                       {**base, "is_causal": causal},
                       [attention(q, k, v, mask, causal=causal)],
                       symbolic=causal == 1)
    for s, t in ((3, 5), (5, 3), (4, 4)):
        a, b, c = rand(2, 4, s, 8), rand(2, 4, t, 8), rand(2, 4, t, 6)
        yield Case(f"causal {s}x{t}", op, [a, b, c], {**base, "is_causal": 1},
                   [attention(a, b, c, causal=True)])
    yield Case("softcap", op, [q * 9, k, v], {**base, "softcap": 3.0},
               [attention(q * 9, k, v, softcap=3.0)])
    k2, v1 = rand(2, 2, 5, 8), rand(2, 1, 5, 6)
    yield Case("grouped heads", op, [q, k2, rand(2, 2, 5, 6)], base, None)
    yield Case("grouped, k and v apart", op, [q, k2, v1], base, None)
    h = [x.astype(np.float16) for x in (q, k, v)]
    yield Case("float16", op, h, base, [attention(*h)], tolerance=5e-3)
    d = [x.astype(np.float64) for x in (q, k, v)]
    yield Case("double", op, d, {**base, "is_causal": 1},
               [attention(*d, causal=True)])
    yield Case("forward", "ruleengine::AttentionForward",
               [q, k, v[..., :6].repeat(2, -1)[..., :8], rand(1, 1, 3, 5)],
               {"sm_scale": 0.3}, None)
    yield Case("aten, rank 3", "aten::scaled_dot_product_attention",
               [q[0], k[0], v[0]], {"is_causal": 1},
               [attention(q[0], k[0], v[0], causal=True)])
    yield Case("aten, mask", "aten::scaled_dot_product_attention",
               [q, k, v, rng.random((3, 5)) < 0.7], {"scale": 0.5}, None)

    op = "ruleengine::MHAInProjection"
    w, b = rand(24, 10), rand(24)
    x, y, z = rand(2, 3, 10), rand(2, 5, 10), rand(2, 5, 10)
    heads = {"num_heads": 2, "head_dim": 4}

    def project(*sources, bias=None):
        out = []
        for i, s in enumerate(sources):
            p = s @ w[8 * i:8 * i + 8].T
            p = p if bias is None else p + bias[8 * i:8 * i + 8]
            out.append(p.reshape(2, -1, 2, 4).transpose(0, 2, 1, 3))
        return out

    yield Case("cross projection", op, [x, y, z, w, b], heads,
               project(x, y, z, bias=b), tolerance=1e-4)
    yield Case("cross, no bias", op, [x, y, z, w], heads, project(x, y, z),
               tolerance=1e-4)
    yield Case("self projection", op, [x, "=0", "=0", w, b], heads,
               project(x, x, x, bias=b), tolerance=1e-4)
    yield Case("self, no bias, symbolic", op, [x, "=0", "=0", w], heads,
               project(x, x, x), symbolic=True, tolerance=1e-4)
    yield Case("linear", "ruleengine::Linear", [x, w, b], {}, [x @ w.T + b],
               tolerance=1e-4)
    yield Case("linear, no bias", "ruleengine::Linear", [x, w], {},
               [x @ w.T], tolerance=1e-4)
    yield from window_cases()


def meant(op, inputs, attributes, outputs=1):
    """The result of support/tensor_cast.py."""
    node = types.SimpleNamespace(output=["y"] * outputs)
    inputs = [None if isinstance(i, str) else i for i in inputs]
    # pylint: disable=protected-access
    return list(getattr(tensor_cast, op)._run(node, *inputs, **attributes))


def tensor_cast_cases():
    """Norms, quantizers and quantized layers."""
    rng = np.random.default_rng(11)

    def rand(*dims, dtype=np.float32):
        return (rng.standard_normal(dims) * 3).astype(dtype)

    def ints(*dims, dtype=np.int8):
        return rng.integers(-8 if dtype == np.int8 else 0, 8, dims).astype(dtype)

    def case(title, op, inputs, attributes=None, outputs=1, **how):
        attributes = attributes or {}
        return Case(f"{op}, {title}", f"tensor_cast::{op}", inputs, attributes,
                    meant(op, inputs, attributes, outputs), typed=True, **how)

    for dtype, tolerance in ((np.float32, 1e-5), (np.float64, 1e-5),
                             (np.float16, 2e-3)):
        x, r, w = rand(2, 3, 8, dtype=dtype), rand(2, 3, 8, dtype=dtype), rand(8, dtype=dtype)
        how = {"tolerance": tolerance, "symbolic": dtype == np.float32}
        yield case(f"{dtype.__name__}", "rms_norm", [x, w], {"epsilon": 0.5}, **how)
        yield case(f"{dtype.__name__}, no weight", "rms_norm", [x], **how)
        yield case(f"{dtype.__name__}", "add_rms_norm", [x, r, w], **how)
        yield case(f"{dtype.__name__}", "add_rms_norm2", [x, r, w], {}, 2, **how)
        scale = np.abs(rand(8, dtype=dtype)) + 1
        for out in (np.int8, np.uint8):
            number = {"out_dtype": int(TYPES[np.dtype(out)])}
            yield case(f"{dtype.__name__} to {out.__name__}", "quantize",
                       [x, scale, ints(8, dtype=np.int32)], number)
            for dims in ([-1], [0, 2], []):
                title = f"{dtype.__name__} to {out.__name__} along {dims}"
                number = {**number, "dims": dims}
                if out == np.int8:
                    yield case(title, "dynamic_quantize_symmetric", [x], number,
                               2, symbolic=True)
                yield case(title, "dynamic_quantize_asymmetric", [x], number, 3)
        yield case(f"{dtype.__name__}, a part that nobody reads",
                   "dynamic_quantize_symmetric", [x])
    yield case("zeros", "dynamic_quantize_symmetric", [rand(2, 4) * 0], {}, 2)
    yield case("zeros", "dynamic_quantize_asymmetric", [rand(2, 4) * 0], {}, 3)
    wide = rand(3, 64) * np.float32(2.0) ** rng.integers(-120, 120, (3, 1))
    wide[0, :32] = 0
    powers = np.float32(2.0) ** np.arange(-126, 127)
    yield case("all powers", "dynamic_quantize_mxfp4",
               [powers.astype(np.float32)], {"group_size": 1}, 2)
    yield case("just below all powers", "dynamic_quantize_mxfp4",
               [np.nextafter(powers[2:], np.float32(0)).astype(np.float32)],
               {"group_size": 1}, 2)
    yield case("wide", "dynamic_quantize_mxfp4", [wide.astype(np.float32)], {}, 2,
               symbolic=True)
    yield case("halves", "dynamic_quantize_mxfp4",
               [rand(2, 2, 8, dtype=np.float16)], {"group_size": 4}, 2)

    x, w = ints(2, 3, 8), ints(8, 5)
    s, b = np.abs(rand(5)) + 1, rand(5)
    for op in ("static_quant_linear", "static_quant_linear_int4"):
        yield case("all", op, [x, w, s, ints(5), np.array(0.5, np.float32),
                               ints(1), b], symbolic=True, tolerance=1e-4)
        yield case("by groups", op, [x, w, np.abs(rand(4, 5)), ints(4, 5)],
                   tolerance=1e-4)
        yield case("one scale", op, [x, w, s[:1], "", "", "", b],
                   {"out_dtype": 10}, tolerance=2e-2)
    codes = [ints(3, 8, dtype=np.uint8), ints(8, 5, dtype=np.uint8)]
    yield case("groups", "mxfp4_linear",
               [*codes, np.abs(rand(3, 2)), np.abs(rand(2, 5)), b],
               {"group_size": 4}, symbolic=True, tolerance=1e-4)


def fill(case):
    """Sets the expected result from numpy if the case has none."""
    if case.expected is None:
        a = case.attributes
        args = [i.astype(np.float32) if i.dtype != bool else i
                for i in case.inputs]
        case.expected = [attention(
            *args, scale=a.get("scale", a.get("sm_scale")),
            causal=bool(a.get("is_causal", 0)))]
    return case


def model(case, opset):
    names, values, feeds = [], [], {}
    for i, array in enumerate(case.inputs):
        if isinstance(array, str):
            names.append(names[int(array[1:])] if array else "")
            continue
        name = f"i{i}"
        dims = ([f"{name}d{a}" if a in (0, array.ndim - 2) else d
                 for a, d in enumerate(array.shape)]
                if case.symbolic else list(array.shape))
        names.append(name)
        values.append(helper.make_tensor_value_info(name, TYPES[array.dtype],
                                                    dims))
        feeds[name] = array
    outs = [f"o{i}" for i in range(len(case.expected))]
    node = helper.make_node("Call", names, outs, name="call", domain="test")
    infos = [helper.make_tensor_value_info(
        o, TYPES[e.dtype] if case.typed or e.dtype == np.int64
        else TYPES[case.inputs[0].dtype],
        [None] * e.ndim if case.symbolic else list(e.shape))
        for o, e in zip(outs, case.expected)]
    graph = helper.make_graph([node], "g", values, infos)
    return helper.make_model(graph, ir_version=7, opset_imports=[
        helper.make_opsetid("", opset), helper.make_opsetid("test", 1)]), feeds


def rule(case):
    """test::Call(...) => the op, with the attributes of the case."""
    names = []
    for i, array in enumerate(case.inputs):
        same = isinstance(array, str)
        names.append("abcdefgh"[i] if not same
                     else names[int(array[1:])] if array else "nil")
    domain, op = case.op.split("::")
    count = f", outputs = {len(case.expected)}"
    given = ["nil" if n == "nil" else f"m.{n}" for n in names] + [
        f"{k} = {v!r}".replace("[", "{").replace("]", "}")
        for k, v in case.attributes.items()]
    return f"""
return rule {{
  doc = "test::Call => {case.op}",
  match = function(op, {", ".join(sorted(set(names) - {"nil"}))})
    return op.test.Call{{{", ".join(names)}{count}}}
  end,
  rewrite = function(op, m)
    return op.{domain}.{op}{{{", ".join(given)}{count}}}
  end,
}}
"""


class Portable(program.ProgramTest):
    def computed(self, case, opset, text):
        """The rewritten model of the case, and its results."""
        source, feeds = model(case, opset)
        self.write("m.onnx", source.SerializeToString())
        self.write("call.lua", text)
        self.run_ok("run", "call.lua", "m.onnx", "-o", "out.onnx",
                    "--target", "portable")
        out = self.folder / "out.onnx"
        result = onnx.load(out)
        onnx.checker.check_model(result)
        return result, numbers.session(out).run(None, feeds)

    def check(self, case, opset):
        result, computed = self.computed(case, opset, rule(case))
        self.assertEqual(len(result.functions), 1)
        self.assertEqual(result.graph.node[0].op_type,
                         case.op.split("::")[1])
        self.compare(case, computed)

    def check_inlined(self, case, opset):
        """The same by rules/lowering, without a function."""
        source, feeds = model(case, opset)
        self.write("m.onnx", source.SerializeToString())
        self.write("call.lua", rule(case))
        self.run_ok("run", "call.lua", LOWERING, "m.onnx", "-o", "out.onnx",
                    "--target", "portable")
        out = self.folder / "out.onnx"
        self.assertFalse(onnx.load(out).functions)
        self.compare(case, numbers.session(out).run(None, feeds))

    def compare(self, case, computed):
        for got, expected in zip(computed, case.expected):
            self.assertEqual(got.shape, expected.shape)
            np.testing.assert_allclose(
                got.astype(np.float64), expected.astype(np.float64),
                rtol=case.tolerance, atol=case.tolerance)

    def test_bodies(self):
        for case in itertools.chain(cases(), tensor_cast_cases()):
            for opset in case.opsets:
                with self.subTest(case.title, opset=opset):
                    self.check(fill(case), opset)

    def test_inlined(self):
        for case in itertools.chain(cases(), tensor_cast_cases()):
            for opset in (11, 17, 23):
                with self.subTest(case.title, opset=opset):
                    self.check_inlined(fill(case), opset)

    def test_windows_that_are_not_shifted(self):
        """The producer of `spatial` shows it: then the attention has no seams."""
        rng = np.random.default_rng(7)
        table, index = rng.standard_normal((9, 2)), rng.integers(0, 9, (4, 4))
        x = rng.standard_normal((2, 4, 6, 5))
        _, spatial = dialect.partition(x, (2, 2), (0, 0))
        qkv = [rng.standard_normal((12, 2, 4, 3)) for _ in range(3)]
        case = Case(
            "not shifted", "", [a.astype(np.float32) for a in (*qkv, table)] +
            [index, x.astype(np.float32)], {},
            [dialect.window_attention(
                qkv, dialect.position_bias(table, index, (2, 2)), spatial,
                (2, 2))])
        rewrite = """
return rule {
  doc = "test::Call => both ops",
  match = function(op, q, k, v, table, index, x)
    return op.test.Call{q, k, v, table, index, x}
  end,
  rewrite = function(op, m)
    local _, spatial = op.ruleengine.SwinWindowPartition{
      m.x, window_size = {2, 2}, outputs = 2}
    return op.ruleengine.SwinAttention{
      m.q, m.k, m.v, m.table, m.index, spatial,
      window_size = {2, 2}, num_heads = 2, head_dim = 3}
  end,
}
"""
        for opset in (11, 17, 23):
            with self.subTest(opset=opset):
                result, got = self.computed(case, opset, rewrite)
                self.assertEqual({f.name for f in result.functions},
                                 {"SwinWindowPartition", "SwinAttention"})
                np.testing.assert_allclose(got[0], case.expected[0], rtol=1e-5,
                                           atol=1e-5)
                attention, = [f for f in result.functions
                              if f.name == "SwinAttention"]
                self.assertNotIn("Range", {n.op_type for n in attention.node})

    def test_one_source_is_one_product(self):
        rng = np.random.default_rng(1)
        x, w = (rng.standard_normal(s).astype(np.float32)
                for s in ((2, 3, 10), (24, 10)))
        for inputs, products in (([x, "=0", "=0", w], 1), ([x, x, x, w], 3)):
            case = Case("", "ruleengine::MHAInProjection", inputs,
                        {"num_heads": 2, "head_dim": 4},
                        [np.zeros((2, 2, 3, 4), np.float32)] * 3)
            body = self.computed(case, 17, rule(case))[0].functions[0]
            self.assertEqual([n.op_type for n in body.node].count("MatMul"),
                             products)

    def test_a_function_of_the_file_is_not_taken_for_the_body(self):
        """It has the same name, but computes something else."""
        x, w = np.float32([[1, 2]]), np.float32([[3, 4]])
        case = Case("", "ruleengine::Linear", [x, w], {}, [x @ w.T])
        source, feeds = model(case, 21)
        other = helper.make_function(
            "ruleengine", "Linear", ["x", "weight"], ["Y"],
            [helper.make_node("MatMul", ["x", "x"], ["p"]),
             helper.make_node("Neg", ["p"], ["Y"])],
            [helper.make_opsetid("", 21)], overload="plain")
        source.functions.append(other)
        source.ir_version = 10
        source.opset_import.append(helper.make_opsetid("ruleengine", 1))
        source.graph.node.append(helper.make_node(
            "Linear", ["i1", "i0"], ["other"], domain="ruleengine",
            overload="plain"))
        source.graph.output.append(helper.make_tensor_value_info(
            "other", TensorProto.FLOAT, None))
        self.write("m.onnx", source.SerializeToString())
        self.write("call.lua", rule(case))
        self.run_ok("run", "call.lua", "m.onnx", "-o", "out.onnx", "--target",
                    "portable")
        result = onnx.load(self.folder / "out.onnx")
        self.assertEqual([f.overload for f in result.functions],
                         ["plain", "plain_2"])

    def test_without_a_mask_its_inputs_cost_nothing(self):
        for case in cases():
            if not case.op.endswith("Attention"):
                continue
            with self.subTest(case.title):
                self.check(fill(case), case.opsets[-1])
                body = onnx.load(self.folder / "out.onnx").functions[0]
                self.assertEqual(len(case.inputs) > 3,
                                 any(n.op_type == "IsNaN" for n in body.node))


if __name__ == "__main__":
    unittest.main()
