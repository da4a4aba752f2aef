"""The kinds of models that rewrite() takes: the result is of the same kind."""

import copy
import os
import pathlib
import unittest

import numpy as np
import onnx
import onnx_ir

from support import package, program
from support.package import ruleengine


class KindsTest(program.ProgramTest):
    """The result is of the kind that was given, and the same for all kinds."""

    def setUp(self):
        super().setUp()
        self.proto = package.attention()
        self.path = self.write("m.onnx", self.proto.SerializeToString())
        self.expected = ruleengine.rewrite(
            self.path, output=self.folder / "expected.onnx",
            target="onnx").model.read_bytes()
        self.assertEqual(
            package.fused(onnx.ModelProto.FromString(self.expected)), 1)

    def test_paths(self):
        out = ruleengine.rewrite(self.path, target="onnx").model
        self.assertEqual(out, self.folder / "m.rewritten.onnx")
        self.assertEqual(out.read_bytes(), self.expected)
        out = ruleengine.rewrite(str(self.path), target="onnx",
                                 output=str(self.folder / "o.onnx")).model
        self.assertEqual(out, str(self.folder / "o.onnx"))
        self.assertEqual(pathlib.Path(out).read_bytes(), self.expected)

    def test_other_paths(self):
        [entry] = [each for each in os.scandir(self.folder)
                   if each.name == "m.onnx"]
        out = ruleengine.rewrite(entry, target="onnx").model
        self.assertEqual(out, self.folder / "m.rewritten.onnx")

    def test_names_that_are_no_utf8(self):
        path = self.folder.joinpath("m\udcff.onnx")
        path.write_bytes(self.path.read_bytes())
        out = ruleengine.rewrite(path, target="onnx").model
        self.assertEqual(out.read_bytes(), self.expected)

    def test_bytes(self):
        data = self.path.read_bytes()
        for kind in (bytes, bytearray):
            out = ruleengine.rewrite(kind(data), target="onnx").model
            self.assertIs(type(out), kind)
            self.assertEqual(bytes(out), self.expected)
        out = ruleengine.rewrite(memoryview(data), target="onnx").model
        self.assertEqual(bytes(out), self.expected)

    def test_protos(self):
        before = copy.deepcopy(self.proto)
        out = ruleengine.rewrite(self.proto, target="onnx").model
        self.assertIsInstance(out, onnx.ModelProto)
        self.assertEqual(out, onnx.ModelProto.FromString(self.expected))
        self.assertEqual(self.proto, before)

    def test_models_of_the_engine(self):
        model = ruleengine.Model(self.path)
        out = ruleengine.rewrite(model, target="onnx").model
        self.assertIsInstance(out, ruleengine.Model)
        self.assertEqual(out.to_bytes(), self.expected)
        out.save(self.folder / "saved.onnx")
        self.assertEqual((self.folder / "saved.onnx").read_bytes(),
                         self.expected)
        # Of a result, after all that it was made of is gone.
        del model
        again = ruleengine.rewrite(out, target="onnx").model
        self.assertEqual(package.fused(again.to_proto()), 1)

    def test_other_kinds_are_refused(self):
        for model in (None, 3, self.proto.graph, [self.proto], object()):
            with self.assertRaisesRegex(ruleengine.UsageError, "another kind"):
                ruleengine.rewrite(model)

    def test_options_that_do_not_fit_the_kind(self):
        with self.assertRaisesRegex(ruleengine.UsageError, "`output`"):
            ruleengine.rewrite(self.proto, output="x.onnx")
        with self.assertRaisesRegex(ruleengine.UsageError, "`share_data`"):
            ruleengine.rewrite(self.proto, share_data=True)
        with self.assertRaisesRegex(ruleengine.UsageError, "`folder`"):
            ruleengine.rewrite(self.path, folder="x")
        with self.assertRaisesRegex(ruleengine.UsageError, "`dims`"):
            ruleengine.rewrite(ruleengine.Model(self.path), dims={"S": 3})

    def test_external_data(self):
        onnx.save(copy.deepcopy(self.proto), self.folder / "e.onnx",
                  location="e.bin",
                  save_as_external_data=True, size_threshold=0)
        bare = onnx.load(self.folder / "e.onnx", load_external_data=False)
        with self.assertRaisesRegex(ruleengine.ModelError, "in memory"):
            ruleengine.rewrite(bare)
        out = ruleengine.rewrite(bare, folder=self.folder, target="onnx").model
        onnx.save(out, self.folder / "out.onnx")
        x = np.ones((1, 3, 16), np.float32)
        self.assertEqual(
            self.run_model(self.folder / "out.onnx", x).tobytes(),
            self.run_model(self.folder / "expected.onnx", x).tobytes())
        files = {"e.bin": (self.folder / "e.bin").read_bytes()}
        model = ruleengine.Model.from_bytes(bare.SerializeToString(),
                                            files=files)
        ruleengine.verify(model, self.path)

    def run_model(self, model, x):
        [out] = ruleengine.Session(model).run({"x": x}).values()
        return out

    def test_files_with_options(self):
        onnx.save(copy.deepcopy(self.proto), self.folder / "e.onnx",
                  location="e.bin", save_as_external_data=True,
                  size_threshold=0)
        path = ruleengine.rewrite(
            self.folder / "e.onnx", "attention", target="onnx",
            share_data=True, dims={"S": 5}).model
        out = onnx.load(path, load_external_data=False)
        self.assertEqual(
            {entry.value for tensor in out.graph.initializer
             for entry in tensor.external_data if entry.key == "location"},
            {"e.bin"})
        dim = out.graph.input[0].type.tensor_type.shape.dim[1]
        self.assertEqual(dim.dim_value, 5)

    def test_dims(self):
        out = ruleengine.rewrite(self.proto, dims={"S": 5}).model
        dim = out.graph.input[0].type.tensor_type.shape.dim[1]
        self.assertEqual(dim.dim_value, 5)


class LargeProtoTest(unittest.TestCase):
    """Weights of a ModelProto are lent where it is too large for a message."""

    def setUp(self):
        from ruleengine import _proto
        self.module = _proto
        self.kept = _proto._LARGEST_MESSAGE
        _proto._LARGEST_MESSAGE = 1000
        self.addCleanup(setattr, _proto, "_LARGEST_MESSAGE", self.kept)

    def test_the_result_is_the_same(self):
        proto = package.attention(size=32, blocks=2)
        before = copy.deepcopy(proto)
        lent = ruleengine.rewrite(proto, target="ort").model
        self.module._LARGEST_MESSAGE = self.kept
        self.assertEqual(lent, ruleengine.rewrite(proto, target="ort").model)
        self.assertEqual(proto, before)
        self.assertFalse(any(t.external_data for t in lent.graph.initializer))


class IrTest(program.ProgramTest):
    """onnx_ir models: weights stay what they were."""

    def setUp(self):
        super().setUp()
        self.proto = package.attention(size=32)
        onnx.save(copy.deepcopy(self.proto), self.folder / "e.onnx",
                  location="e.bin",
                  save_as_external_data=True, size_threshold=1024)

    def result(self, model, **options):
        out = ruleengine.rewrite(model, "attention", target="onnx",
                                 **options).model
        self.assertIsInstance(out, onnx_ir.Model)
        self.assertIsNot(out, model)
        return out

    def check(self, out):
        """The result is right."""
        path = self.folder / "out.onnx"
        onnx_ir.save(out, path)
        self.assertEqual(package.fused(onnx.load(path)), 1)
        ruleengine.verify(self.proto, path)

    def test_weights_of_a_file_stay_views_of_it(self):
        model = onnx_ir.load(self.folder / "e.onnx")
        out = self.result(model)
        views = [value.const_value for value in out.graph.initializers.values()
                 if isinstance(value.const_value, onnx_ir.ExternalTensor)]
        self.assertEqual(len(views), 3)
        self.assertEqual({each.path for each in views},
                         {str(self.folder / "e.bin")})
        self.check(out)

    def test_weights_in_memory_are_the_same_objects(self):
        model = onnx_ir.from_proto(self.proto)
        for value in model.graph.initializers.values():
            value.const_value = onnx_ir.tensor(value.const_value.numpy(),
                                               name=value.name)
        kept = {id(value.const_value)
                for value in model.graph.initializers.values()}
        out = self.result(model)
        same = [value for value in out.graph.initializers.values()
                if id(value.const_value) in kept]
        self.assertEqual(len(same), 3)
        self.check(out)

    def test_weights_of_protos_and_lazy_ones(self):
        model = onnx_ir.from_proto(self.proto)
        self.check(self.result(model))
        value = model.graph.initializers["w0q"]
        kept = value.const_value
        value.const_value = onnx_ir.LazyTensor(
            lambda: kept, dtype=kept.dtype, shape=kept.shape, name="w0q")
        self.check(self.result(model))

    def test_new_weights(self):
        """Those that rules make, beside those that stay."""
        for model in (onnx_ir.load(self.folder / "e.onnx"),
                      onnx_ir.from_proto(self.proto)):
            out = ruleengine.rewrite(model, target="onnx").model
            [w] = [value.const_value for value in
                   out.graph.initializers.values()
                   if value.const_value.nbytes > 1024]
            self.assertEqual(tuple(w.shape), (32, 96))
            self.assertIsInstance(w, onnx_ir.Tensor)
            self.check(out)

    def test_the_model_stays_as_it_is(self):
        model = onnx_ir.load(self.folder / "e.onnx")
        model.meta["mine"] = 3
        before = onnx_ir.to_proto(model).SerializeToString(deterministic=True)
        out = self.result(model)
        self.assertEqual(out.meta["mine"], 3)
        self.assertEqual(
            onnx_ir.to_proto(model).SerializeToString(deterministic=True),
            before)

    def test_weights_of_bodies_and_attributes(self):
        """Also where the model was loaded from the current folder."""
        proto = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 21]>
m (bool c, float[300] x) => (float[300] y)
  <float[300] w = {%s}> {
  k = Constant <value = float[300] {%s}> ()
  a = Neg(x)  b = Neg(a)
  s = Add(b, k)
  d = If (c) <then_branch = t () => (float[300] u)
      <float[300] v = {%s}> { u = Add(s, v) },
    else_branch = e () => (float[300] u) { u = Add(s, w) }>
  y = Add(d, w)
}""" % tuple(", ".join([each] * 300) for each in "123"))
        onnx.save(copy.deepcopy(proto), self.folder / "b.onnx",
                  location="b.bin", save_as_external_data=True,
                  size_threshold=100, convert_attribute=True)
        before = os.getcwd()
        for folder, path in ((self.folder, "b.onnx"),
                             (before, self.folder / "b.onnx")):
            os.chdir(folder)
            self.addCleanup(os.chdir, before)
            out = ruleengine.rewrite(onnx_ir.load(path), "simplify").model
            onnx_ir.external_data.load_to_model(out)
            ruleengine.verify(proto, onnx_ir.to_proto(out))

    def test_a_file_that_is_gone(self):
        model = onnx_ir.load(self.folder / "e.onnx")
        (self.folder / "e.bin").unlink()
        with self.assertRaises(ruleengine.ModelError) as caught:
            ruleengine.rewrite(model)
        self.assertIn("e.bin", caught.exception.where)

    def test_a_lazy_weight_that_fails(self):
        def fail():
            raise OSError("gone")
        model = onnx_ir.from_proto(self.proto)
        value = model.graph.initializers["w0q"]
        value.const_value = onnx_ir.LazyTensor(
            fail, dtype=value.const_value.dtype, shape=value.const_value.shape,
            name="w0q")
        with self.assertRaises(ruleengine.ModelError) as caught:
            ruleengine.rewrite(model)
        self.assertIn("w0q", str(caught.exception))

    def test_packed_weights(self):
        proto = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 21]>
m (float[4] x) => (float[64,64] y) {
  s = Constant<value = float {0.5}>()
  d = DequantizeLinear(w, s)
  a = Neg(d)
  y = Neg(a)
}""")
        values = (np.arange(64 * 64) % 16 - 8).reshape(64, 64)
        w = onnx.helper.make_tensor("w", onnx.TensorProto.INT4, [64, 64],
                                    values.reshape(-1).tolist())
        proto.graph.initializer.append(w)
        model = onnx_ir.from_proto(proto)
        value = model.graph.initializers["w"]
        value.const_value = onnx_ir.tensor(value.const_value.numpy(),
                                           dtype=onnx_ir.DataType.INT4,
                                           name="w")
        out = ruleengine.rewrite(model, target="standard").model
        onnx_ir.save(out, self.folder / "q.onnx")
        ruleengine.verify(proto, self.folder / "q.onnx")


if __name__ == "__main__":
    unittest.main()
