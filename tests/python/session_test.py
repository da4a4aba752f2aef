"""ruleengine.Session: arrays in and out; bench and verify."""

import ctypes
import gc
import unittest

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper

from support import package, program
from support.package import ruleengine

TYPES = ["float32", "float64", "float16", "int8", "int16", "int32", "int64",
         "uint8", "uint16", "uint32", "uint64", "bool", "complex64",
         "complex128"]
SMALL = ["bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
         "float8_e5m2fnuz", "float8_e8m0fnu", "int4", "uint4",
         "float4_e2m1fn", "int2", "uint2"]


def type_of(name):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    return dtype, helper.np_dtype_to_tensor_dtype(dtype)


def identity(kind, shape):
    return package.unary("Identity", kind, shape)


class ArraysTest(unittest.TestCase):
    def check(self, model, x, expected=None):
        [y] = ruleengine.Session(model).run({"x": x}).values()
        expected = np.asarray(x) if expected is None else expected
        self.assertEqual((y.dtype, y.shape), (expected.dtype, expected.shape))
        self.assertEqual(y.tobytes(), np.ascontiguousarray(expected).tobytes())
        return y

    def test_every_type(self):
        for name in TYPES + SMALL:
            dtype, kind = type_of(name)
            for shape in ((3, 5), (), (0, 2), (7,)):
                with self.subTest(name, shape=shape):
                    values = np.arange(int(np.prod(shape))) % 2 + 1
                    x = values.astype(np.float32).astype(dtype).reshape(shape)
                    self.check(identity(kind, shape), x)

    def test_packed_signs(self):
        x = np.array([-8, 7, -1, 0, 3], np.int8).astype(ml_dtypes.int4)
        self.check(identity(TensorProto.INT4, [5]), x)
        x = np.array([-2, 1, -1, 0, 1], np.int8).astype(ml_dtypes.int2)
        self.check(identity(TensorProto.INT2, [5]), x)

    def test_numbers_are_right(self):
        for name in ("float32", "float64", "float16", "bfloat16", "int32"):
            dtype, kind = type_of(name)
            x = np.array([[1, 2, 3], [4, 5, 6]], np.float32).astype(dtype)
            model = package.unary("Neg", kind, [2, 3])
            [y] = ruleengine.Session(model).run({"x": x}).values()
            self.assertEqual((-x).tobytes(), y.tobytes())

    def test_layouts(self):
        x = np.arange(24, dtype=np.float32).reshape(4, 6)
        frozen = x.copy()
        frozen.flags.writeable = False
        shifted = np.frombuffer(b"\0" * 3 + x.tobytes(), np.uint8)[3:]
        for each in (np.asfortranarray(x), x[::2], x[:, ::-1], x.T,
                     x.astype(">f4"), frozen, x[1:, 1:],
                     np.broadcast_to(x[0], (3, 6)),
                     shifted.view(np.float32).reshape(4, 6)):
            expected = each.astype("<f4")
            self.check(identity(TensorProto.FLOAT, list(each.shape)), each,
                       expected)

    def test_lists_and_scalars(self):
        model = identity(TensorProto.INT64, None)
        self.check(model, [[1, 2], [3, 4]])
        self.check(model, 7)
        self.check(model, np.int64(7))
        with self.assertRaisesRegex(ruleengine.UsageError, "input 'x'"):
            ruleengine.Session(model).run({"x": [[1], [1, 2]]})

    def test_strings(self):
        model = identity(TensorProto.STRING, None)
        session = ruleengine.Session(model)
        for x in (["a", "bé", ""], np.array([["x"], ["yy"]]),
                  np.array(["a", b"\xff"], object), np.array([], object),
                  ["a\0b", "\0"]):
            [y] = session.run({"x": x}).values()
            expected = [each if isinstance(each, str) else
                        each.decode("utf-8", "surrogateescape")
                        for each in np.asarray(x).reshape(-1).tolist()]
            self.assertEqual(y.reshape(-1).tolist(), expected)
            self.assertEqual(y.shape, np.asarray(x).shape)
        with self.assertRaises(ruleengine.UsageError):
            session.run({"x": np.array(["a", 3], object)})

    def test_what_callers_own(self):
        """Outputs may be written, and nothing else changes."""
        x = np.ones(4, np.float32)
        y = self.check(identity(TensorProto.FLOAT, [4]), x)
        y[0] = 5
        self.assertEqual(x[0], 1)
        model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
m () => (float[300] y, float[300] z) <float[300] w = {%s}>
{ y = Identity(w)  z = Identity(w) }""" % ", ".join(["2"] * 300))
        session = ruleengine.Session(model)
        y, z = session.run().values()
        y[:] = 7
        self.assertEqual(z[0], 2)
        self.assertEqual(list(session.run()["y"][:2]), [2, 2])

    def test_outputs_outlive_all(self):
        session = ruleengine.Session(package.attention())
        x = np.ones((1, 3, 16), np.float32)
        [y] = session.run({"x": x}).values()
        kept = y.copy()
        [other] = session.run({"x": x * 2}).values()
        del session, x, other
        gc.collect()
        self.assertEqual(y.tobytes(), kept.tobytes())

    def test_warm_up(self):
        session = ruleengine.Session(package.attention())
        x = np.ones((1, 3, 16), np.float32)
        expected = session.run({"x": x})
        done = []
        session.warm_up({"x": x}, progress=lambda *at: done.append(at))
        self.assertEqual(done[-1][0], done[-1][1])
        for name, value in session.run({"x": x}).items():
            self.assertEqual(value.tobytes(), expected[name].tobytes())
        with self.assertRaises(ruleengine.Error):
            session.warm_up({"x": x[0]})

    def test_wrong_arrays(self):
        session = ruleengine.Session(package.attention())
        good = np.ones((1, 3, 16), np.float32)
        for x in (good.astype(np.float64), good[0], good[:, :, :5],
                  good.astype(np.int32), np.array(["a"]), good * 1j):
            with self.assertRaises(ruleengine.Error) as caught:
                session.run({"x": x})
            self.assertIn("'x'", str(caught.exception))
        for inputs in ({}, {"y": good}, {"x": good, "y": good}):
            with self.assertRaises(ruleengine.Error):
                session.run(inputs)
        with self.assertRaises(ruleengine.UsageError):
            session.run({"x": np.array(["2020-01-01"], "datetime64[D]")})
        [y] = session.run({"x": good}).values()
        self.assertEqual(y.shape, (1, 3, 16))

    def test_bools_of_any_byte(self):
        x = np.array([0, 1, 2, 255], np.uint8).view(bool)
        model = package.unary("Cast", TensorProto.BOOL, [4], to=6,
                              out=TensorProto.INT32)
        [y] = ruleengine.Session(model).run({"x": x}).values()
        self.assertEqual(y.tolist(), [0, 1, 1, 1])

    def test_sequences_as_inputs(self):
        model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
m (seq(float) x) => (int64 n, seq(float) y) {
  n = SequenceLength(x)  y = Identity(x)
}""")
        items = [np.ones(2, np.float32), np.zeros(3, np.float32)]
        out = ruleengine.Session(model).run({"x": items})
        self.assertEqual(out["n"], 2)
        self.assertEqual([each.tolist() for each in out["y"]],
                         [each.tolist() for each in items])

    def test_sequences_and_optionals(self):
        model = onnx.parser.parse_model("""
<ir_version: 8, opset_import: ["" : 17]>
m (float[4] x) => (seq(float) s) { s = SplitToSequence(x) }""")
        s = ruleengine.Session(model).run(
            {"x": np.arange(4, dtype=np.float32)})["s"]
        self.assertEqual([each.tolist() for each in s], [[0], [1], [2], [3]])


class _Tensor(ctypes.Structure):
    """DLTensor of DLPack."""
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    """DLManagedTensor of DLPack."""
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p)]


class Foreign:
    """An array of another framework: (code, bits) as DLPack has them."""

    def __init__(self, array, code, bits, device=1):
        self.array, self.device = array, device
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.managed = _Managed(_Tensor(
            array.ctypes.data, (ctypes.c_int32 * 2)(device, 0), array.ndim,
            code, bits, 1, self.shape, None, 0), None, None)

    def __dlpack__(self, **_):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [
            ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor", None)

    def __dlpack_device__(self):
        return self.device, 0


class DlpackTest(unittest.TestCase):
    def test_types_that_numpy_has(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        session = ruleengine.Session(package.unary("Neg", TensorProto.FLOAT,
                                                   [2, 3]))
        [y] = session.run({"x": Foreign(x, 2, 32)}).values()
        self.assertEqual((-x).tobytes(), y.tobytes())

    def test_types_that_numpy_lacks(self):
        x = np.array([1, -2, 3], np.float32).astype(ml_dtypes.bfloat16)
        session = ruleengine.Session(package.unary("Neg", TensorProto.BFLOAT16,
                                                   [3]))
        [y] = session.run({"x": Foreign(x.view(np.uint16), 4, 16)}).values()
        self.assertEqual((y.dtype, y.tolist()), (x.dtype, (-x).tolist()))

    def test_what_is_not_on_the_cpu(self):
        x = np.zeros(3, np.float32)
        session = ruleengine.Session(package.unary("Neg", TensorProto.FLOAT,
                                                   [3]))
        for each in (Foreign(x, 2, 32, device=2), Foreign(x, 9, 32)):
            with self.assertRaises(ruleengine.UsageError):
                session.run({"x": each})


class MeasureTest(program.ProgramTest):
    def test_bench(self):
        model = package.attention()
        found = ruleengine.bench(model, ruleengine.rewrite(model).model,
                                 rounds=3, dims={"S": 4})
        self.assertEqual((found["rounds"], found["against"]["rounds"]), (3, 3))
        self.assertLess(found["ratio"]["low"], found["ratio"]["high"] + 1e-9)

    def test_verify(self):
        model = package.attention()
        found = ruleengine.verify(model, ruleengine.rewrite(model).model)
        self.assertGreater(found.verified.inputs, 1)
        other = package.attention(seed=1)
        with self.assertRaises(ruleengine.VerifyError) as caught:
            ruleengine.verify(model, other)
        self.assertTrue(caught.exception.report["difference"])
        ruleengine.verify(model, other, tolerance=(1e9, 0))
        with self.assertRaises(ruleengine.UsageError):
            ruleengine.verify(model, other, tolerance=(-1, 0))
        with self.assertRaises(ruleengine.Error):
            ruleengine.verify(model, package.small())

    def test_sessions_of_rules_and_files(self):
        path = self.write("m.onnx", package.attention().SerializeToString())
        x = np.ones((1, 3, 16), np.float32)
        one = ruleengine.Session(path).run({"x": x})
        two = ruleengine.Session(path, rules=ruleengine.RuleSet(),
                                 threads=1).run({"x": x})
        self.assertEqual([v.tobytes() for v in one.values()],
                         [v.tobytes() for v in two.values()])
        for options in ({"threads": -1}, {"threads": 10**6}):
            with self.assertRaises(ruleengine.UsageError):
                ruleengine.Session(path, **options)
        with self.assertRaises(ruleengine.LimitError):
            ruleengine.Session(path, tensors=1).run({"x": x})


if __name__ == "__main__":
    unittest.main()
