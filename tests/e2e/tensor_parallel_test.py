"""The tensor-parallel decoder of the example through the serving packs: fewer
linears and quantizers, norms on shares, and equal bits on every rank."""

import importlib.util
import json
import subprocess
import sys
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
    """x w, where each element is summed in order, whatever the other elements
    are: a merged or sharded product has the same bits."""
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
ENABLED = ["--set", "sequence_parallel.enable=true"]


class InPieces(example.Decoder):
    """Separate sums and norms, as in most exporters."""

    def op(self, kind, *inputs, domain="", outputs=1, **attributes):
        if kind == "rms_norm":
            return self.norm(*inputs)
        if kind == "add_rms_norm2":
            total = self.op("Add", *inputs[:2])
            return [self.norm(total, inputs[2]), total]
        return super().op(kind, *inputs, domain=domain, outputs=outputs,
                          **attributes)

    def norm(self, x, weight):
        """As in Gemma: the stored weight is one less."""
        mean = self.op("ReduceMean", self.op("Mul", x, x),
                       self.constant(np.array([-1])), keepdims=1)
        root = self.op("Sqrt", self.op("Add", mean,
                                       self.constant(np.float32(1e-6))))
        more = self.op("Add", weight, self.constant(np.float32(1)))
        return self.op("Mul", self.op("Div", x, root), more)


class Stage(InPieces):
    """A middle stage of a pipeline: hidden states are an input."""

    def embedding(self):
        return "hidden"

    def model(self):
        model, shape = super().model(), self.shape
        del model.graph.input[:]
        model.graph.input.append(onnx.helper.make_tensor_value_info(
            "hidden", onnx.TensorProto.FLOAT, [1, shape.tokens, shape.hidden]))
        return model


class TensorParallel(program.ProgramTest):
    def rewritten(self, models, *packs, settings=()):
        names = [f"rank{rank}.onnx" for rank in range(len(models))]
        for name, model in zip(names, models):
            self.write(name, model.SerializeToString())
        packs = [program.ROOT / "rules" / f"{pack}.lua" for pack in packs]
        self.run_ok("run", *packs, *names, "-o",
                    "out/" if len(names) > 1 else "out/rank0.rewritten.onnx",
                    *ENABLED, *settings, "-q")
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

    def check_chain(self, kind, ranks, shape, feed, settings=()):
        """A residual in elementary ops is sharded as a whole, with equal bits."""
        (self.folder / "out").mkdir(exist_ok=True)
        models = [kind(shape, rank, ranks).model() for rank in range(ranks)]
        results = self.rewritten(models, "sequence_parallel",
                                 settings=settings)
        want = dialect.evaluate_each(models, [feed] * ranks, FIXED_ORDER)
        got = dialect.evaluate_each(results, [feed] * ranks, FIXED_ORDER)
        output = models[0].graph.output[0].name
        for rank, model in enumerate(results):
            self.assertEqual(self.count(model, "all_reduce"), 0)
            np.testing.assert_array_equal(got[rank][output],
                                          want[rank][output])
        return results

    def ids(self, shape):
        return {"ids": np.random.default_rng(1).integers(
            0, shape.vocabulary, (1, shape.tokens))}

    def test_sums_and_norms_in_pieces(self):
        shape = example.Shape()
        for ranks in (2, 3, 4):
            with self.subTest(ranks=ranks):
                self.check_chain(InPieces, ranks, shape, self.ids(shape))

    def test_tokens_that_the_ranks_do_not_divide(self):
        shape = example.Shape(tokens=50)
        for model in self.check_chain(InPieces, 4, shape, self.ids(shape),
                                      ["--set", "chain.uneven=true"]):
            self.assertEqual(self.count(model, "Pad"), 5)

    def test_hidden_states_as_inputs(self):
        shape = example.Shape()
        hidden = np.random.default_rng(2).standard_normal(
            (1, shape.tokens, shape.hidden)).astype(np.float32)
        for ranks in (2, 4):
            with self.subTest(ranks=ranks):
                self.check_chain(Stage, ranks, shape, {"hidden": hidden},
                                 ["--set", "chain.entry=true"])

    def test_bytes(self):
        """A quarter of the gathered bytes, and where a chain stays whole."""
        quantized = example.build(4, example.Shape(quantize=True))[0]
        self.write("quantized.onnx", quantized.SerializeToString())
        stage = Stage(example.Shape(), 0, 2).model()
        self.write("stage.onnx", stage.SerializeToString())
        packs = [program.ROOT / "rules" / f"{pack}.lua"
                 for pack in ("linear", "quantization", "sequence_parallel")]
        done = self.run_ok("collectives", *packs, "quantized.onnx", *ENABLED,
                           "--json")
        found, = json.loads(done.out)
        reduced = found["before"]["all_reduce"]["bytes"]
        self.assertEqual(reduced, 5 * 2 * 3 / 4 * 48 * 96 * 4)
        self.assertEqual(found["after"]["reduce_scatter"]["bytes"], reduced / 2)
        self.assertLess(found["after"]["all_gather"]["bytes"],
                        0.45 * reduced / 2)
        self.assertEqual(found["rejected"], [])
        done = self.run_ok("collectives", "stage.onnx")
        self.assertIn("  rule:    chain\n"
                      "  reason:  it is whole on every rank", done.out)
        self.assertIn("  value:   'hidden' float[1,48,96]\n", done.out)

    def test_unknown_bytes(self):
        """In a function that is called twice, and in a loop."""
        self.write("hidden.onnxtxt", """
            <ir_version: 10, opset_import:
             ["" : 18, "tensor_cast" : 1, "own" : 1]>
            g (float[4,8] x, int64 n, bool c) => (float[4,8] y) {
              a = own.Twice(x)
              b = own.Twice(a)
              y = Loop(n, c, b) <body = each (int64 i, bool go, float[4,8] v)
                => (bool on, float[4,8] w) {
                  on = Identity(go)
                  w = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (v)
                }>
            }
            <domain: "own", opset_import: ["" : 18, "tensor_cast" : 1]>
            Twice (x) => (y) {
              s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
              y = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (s)
            }""")
        found, = json.loads(
            self.run_ok("collectives", "hidden.onnxtxt", "--json").out)
        self.assertEqual(found["before"]["all_reduce"],
                         {"nodes": 5, "bytes": 0, "unknown": 5})

    def test_nodes_that_the_rule_reads_and_keeps(self):
        """A Dropout on the residual, which canonical rules remove first."""
        packs = [program.ROOT / "rules" / f"{pack}.lua"
                 for pack in ("canonical", "sequence_parallel")]
        shape = example.Shape()
        model = InPieces(shape, 0, 2).model()
        sums = {node.output[0] for node in model.graph.node
                if node.op_type == "all_reduce"}
        residual = next(node for node in model.graph.node
                        if node.op_type == "Add" and sums & set(node.input))
        dropped = onnx.helper.make_node("Dropout", ["late"], residual.output)
        residual.output[0] = "late"
        model.graph.node.insert(
            list(model.graph.node).index(residual) + 1, dropped)
        self.write("m.onnx", model.SerializeToString())
        done = self.run_ok("collectives", *packs, "m.onnx", *ENABLED, "--json")
        found, = json.loads(done.out)
        self.assertEqual(found["rejected"], [])
        self.assertNotIn("all_reduce", found["after"])
        done = self.run_ok("collectives", packs[1], "m.onnx", *ENABLED,
                           "--json")
        found, = json.loads(done.out)
        self.assertIn(("chain", f"'{dropped.output[0]}' float[1,48,96]"), [
            (each["rule"], each["value"]) for each in found["rejected"]])

    def test_collectives_of_another_runtime(self):
        names = {"all_reduce": "AllReduce", "all_gather": "AllGather",
                 "reduce_scatter": "ReduceScatter"}
        shape = example.Shape()
        model = InPieces(shape, 0, 2).model()
        for node in model.graph.node:
            if node.op_type == "all_reduce":
                node.op_type, node.domain = "AllReduce", "acme"
                del node.attribute[:]
        model.opset_import.append(onnx.helper.make_opsetid("acme", 1))
        self.write("m.onnx", model.SerializeToString())

        def named(rule):
            settings = [f"{rule}.ranks=2"] + [
                f"{rule}.{kind}=acme::{name}" for kind, name in names.items()]
            return [word for each in settings for word in ("--set", each)]
        rules = program.ROOT / "rules"
        self.run_ok("run", rules / "sequence_parallel.lua", "m.onnx", "-o",
                    "shared.onnx", *ENABLED, *named("adopt_collectives"))
        self.run_ok("run", rules / "sequence_parallel/return_collectives.lua",
                    "shared.onnx", "-o", "back.onnx",
                    *named("return_collectives"))
        back = onnx.load(self.folder / "back.onnx")
        self.assertEqual([self.count(back, name) for name in names.values()],
                         [0, 5, 5])
        self.assertFalse([node for node in back.graph.node
                          if node.domain == "tensor_cast"])

    def count(self, model, kind):
        return sum(node.op_type == kind for node in model.graph.node)

    def test_floats(self):
        for ranks in (1, 2, 3, 4, 8):
            with self.subTest(ranks=ranks):
                for model in self.check(ranks, quantize=False):
                    # Four linears for each layer, and the two products of attention.
                    self.assertEqual(self.count(model, "MatMul"), 2 * 6)

    def test_quantized(self):
        for ranks in (1, 2, 4):
            with self.subTest(ranks=ranks):
                for model in self.check(ranks, quantize=True):
                    self.assertEqual(
                        self.count(model, "static_quant_linear"), 2 * 4)
                    # One for each linear; linears that read one norm share it.
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

    def test_thousands_of_norms_of_one_sum(self):
        """In less than quadratic time."""
        count = 8000
        inputs = ", ".join(f"float[8] w{i}" for i in range(count))
        outputs = ", ".join(f"float[4,8] y{i}" for i in range(count))
        norms = "\n".join(f"y{i} = RMSNormalization(s, w{i})"
                          for i in range(count))
        self.write("m.onnxtxt", f"""
            <ir_version: 11, opset_import: ["" : 23, "tensor_cast" : 1]>
            g (float[4,8] x, {inputs}) => ({outputs}) {{
              s = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
              {norms}
            }}""")
        rule = program.ROOT / "rules" / "sequence_parallel" / "p1.lua"
        self.run_ok("run", rule, "m.onnxtxt", "--dry-run",
                    "--limit-time", "10")


class Ranks(program.ProgramTest):
    def test_that_do_not_divide_the_model(self):
        for ranks in ("0", "-1", "5", "48"):
            done = subprocess.run(
                [sys.executable, PATH, "out", "--ranks", ranks], check=False,
                cwd=self.folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"--ranks {ranks}: ", done.stderr)
            self.assertIn("among 1, 2, 3, 4, 6, 8, 12, 24 ranks", done.stderr)
            self.assertNotIn("Traceback", done.stderr)
            self.assertFalse((self.folder / "out").exists())


if __name__ == "__main__":
    unittest.main()
