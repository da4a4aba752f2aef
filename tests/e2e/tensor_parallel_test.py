"""The example's tensor-parallel decoder through the serving packs: fewer linears
and quantizers, norms on shares, and bit for bit the same on every rank."""

import importlib.util
import unittest

import numpy as np
import onnx
from onnx.reference.op_run import OpRun

from support import dialect, program

PATH = program.ROOT / "examples" / "tensor_parallel_decoder.py"
SPEC = importlib.util.spec_from_file_location(PATH.stem, PATH)
example = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(example)


def product(x, w):
    """x w, each element a sum from the first to the last, whatever else is in
    the matrices: a merged or sharded product has the same bits."""
    y = x[..., :1] * w[..., :1, :]
    for k in range(1, x.shape[-1]):
        y = y + x[..., k:k + 1] * w[..., k:k + 1, :]
    return y


class MatMul(OpRun):
    def _run(self, a, b):
        return (product(a, b),)


class static_quant_linear(OpRun):  # pylint: disable=invalid-name
    op_domain = "tensor_cast"

    def _run(self, x, w, w_scale, w_offset=None, x_scale=None, *_, **__):
        assert w_offset is None
        return (product(x.astype(np.float32) * x_scale,
                        w.astype(np.float32) * w_scale),)


FIXED_ORDER = [MatMul, static_quant_linear]


class TensorParallel(program.ProgramTest):
    def rewritten(self, models, *packs):
        names = [f"rank{rank}.onnx" for rank in range(len(models))]
        for name, model in zip(names, models):
            self.write(name, model.SerializeToString())
        packs = [program.ROOT / "rules" / f"{pack}.lua" for pack in packs]
        self.run_ok("run", *packs, *names, "-o",
                    "out/" if len(names) > 1 else "out/rank0.rewritten.onnx",
                    "--set", "sequence_parallel.enable=true", "-q")
        return [onnx.load(self.folder / "out" / name.replace(
            ".onnx", ".rewritten.onnx")) for name in names]

    def check(self, ranks, quantize):
        (self.folder / "out").mkdir(exist_ok=True)
        shape = example.Shape(quantize=quantize)
        models = example.build(ranks, shape)
        results = self.rewritten(models, "linear", "quantization",
                                 "sequence_parallel")
        ids = np.random.default_rng(ranks).integers(
            0, shape.vocabulary, (1, shape.tokens))
        feeds = [{"ids": ids}] * ranks
        want = dialect.evaluate_each(models, feeds, FIXED_ORDER)
        got = dialect.evaluate_each(results, feeds, FIXED_ORDER)
        output = models[0].graph.output[0].name
        for rank in range(ranks):
            np.testing.assert_array_equal(got[rank][output],
                                          want[rank][output])
        for model in results:
            self.assertEqual(self.count(model, "all_reduce"),
                             0 if ranks > 1 else 5)
        return results

    def count(self, model, kind):
        return sum(node.op_type == kind for node in model.graph.node)

    def test_floats(self):
        for ranks in (1, 2, 3, 4, 8):
            with self.subTest(ranks=ranks):
                for model in self.check(ranks, quantize=False):
                    # Four linears a layer, and the two products of attention.
                    self.assertEqual(self.count(model, "MatMul"), 2 * 6)

    def test_quantized(self):
        for ranks in (1, 2, 4):
            with self.subTest(ranks=ranks):
                for model in self.check(ranks, quantize=True):
                    self.assertEqual(
                        self.count(model, "static_quant_linear"), 2 * 4)
                    # One for each linear: those that read a norm share it.
                    self.assertEqual(
                        self.count(model, "dynamic_quantize_symmetric"), 2 * 4)

    def test_a_layer_after_its_norm(self):
        (model,) = self.check(1, quantize=True)
        norms = {name for node in model.graph.node
                 if node.op_type.endswith(("rms_norm", "rms_norm2"))
                 for name in node.output}
        readers = [node for node in model.graph.node
                   if node.input and norms & set(node.input)
                   and node.op_type == "dynamic_quantize_symmetric"]
        self.assertEqual(len(readers), 2 * 2)
        for quantizer in readers:
            linears = [node for node in model.graph.node
                       if quantizer.output[0] in node.input]
            self.assertEqual([n.op_type for n in linears],
                             ["static_quant_linear"])


if __name__ == "__main__":
    unittest.main()
