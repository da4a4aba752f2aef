"""ONNX Runtime computes as many ops of a quantized model on integers after a run
as before, for every way to quantize and every target."""

import itertools
import logging
import unittest

import numpy as np
import onnx
from onnxruntime import quantization
from onnxruntime.quantization import QuantFormat, QuantType

from support import graphs, make, mutate, program, quantized

TARGETS = ("portable", "onnx", "ort")
RULES = program.ROOT / "rules"
# One wide op replaces several.
MERGED = {"com.microsoft::MatMulNBits", "QLinearMatMul"}


class Calibration(quantization.CalibrationDataReader):
    def __init__(self, model):
        random = np.random.default_rng(2)
        self.feeds = iter([{
            v.name: random.standard_normal(
                [d.dim_value for d in v.type.tensor_type.shape.dim], np.float32)
            for v in model.graph.input} for _ in range(2)])

    def get_next(self):
        return next(self.feeds, None)


def statically(form, columns, ops=None, integers=QuantType.QUInt8, **more):
    def write(model, source, result):
        quantization.quantize_static(
            source, result, Calibration(model), quant_format=form,
            per_channel=columns, op_types_to_quantize=ops,
            activation_type=integers, weight_type=QuantType.QInt8,
            extra_options=more)
    return write


def dynamically(columns, **more):
    def write(_, source, result):
        quantization.quantize_dynamic(source, result, per_channel=columns,
                                      extra_options=more)
    return write


WAYS = {
    "qdq": statically(QuantFormat.QDQ, False),
    "qdq_columns": statically(QuantFormat.QDQ, True),
    "qdq_signed": statically(QuantFormat.QDQ, False, ["MatMul"],
                             QuantType.QInt8),
    "qdq_signed_columns": statically(QuantFormat.QDQ, True, ["MatMul", "Add"],
                                     QuantType.QInt8),
    "qdq_products": statically(QuantFormat.QDQ, True,
                               ["MatMul", "Gemm", "Conv"]),
    "qdq_float_results": statically(
        QuantFormat.QDQ, False, OpTypesToExcludeOutputQuantization=["MatMul"]),
    "qdq_of_each_reader": statically(
        QuantFormat.QDQ, False, DedicatedQDQPair=True,
        AddQDQPairToWeight=True),
    "qdq_signed_of_each_reader": statically(
        QuantFormat.QDQ, False, None, QuantType.QInt8, DedicatedQDQPair=True),
    "operators": statically(QuantFormat.QOperator, False),
    "operators_columns": statically(QuantFormat.QOperator, True, ["MatMul"]),
    "dynamic": dynamically(False),
    "dynamic_columns": dynamically(True),
    "dynamic_products": dynamically(False, MatMulConstBOnly=False),
}


class Lossless(program.ProgramTest):
    def check(self, models, rules, target, merges=frozenset()):
        """{name: model}; returns {name: result} of changed models."""
        before = {name: quantized.on_integers(m) for name, m in models.items()}
        models = {n: m for n, m in models.items() if before[n] is not None}
        self.assertTrue(models)
        paths = [self.write(f"{name}.onnx", m.SerializeToString())
                 for name, m in models.items()]
        out = target if len(paths) > 1 else f"{target}.onnx"
        self.run_ok("run", *rules, *paths, "-o", out, "-q", "--jobs", "2",
                    "--target", target, timeout=600)
        changed = {}
        for name, path in zip(models, paths):
            result = self.folder / out
            if len(paths) > 1:
                result = result / f"{name}.rewritten.onnx"
            if result.read_bytes() == path.read_bytes():
                continue
            changed[name] = onnx.load(result)
            after = quantized.on_integers(changed[name])
            with self.subTest(name, target=target):
                self.assertIsNotNone(after, "ONNX Runtime does not take it")
                for op, count in before[name].items():
                    if op not in merges:
                        self.assertGreaterEqual(after.get(op, 0), count,
                                                (op, before[name], after))
        return changed

    def quantized_by(self, ways, model):
        logging.disable(logging.WARNING)
        self.addCleanup(logging.disable, logging.NOTSET)
        source = self.write("floats.onnx", model.SerializeToString())
        made = {}
        for name in ways:
            path = str(self.folder / f"{name}.quantized.onnx")
            WAYS[name](model, str(source), path)
            made[name] = onnx.load(path)
        return made

    def test_encoders(self):
        made = {}
        for opset in (13, 21):
            model = quantized.encoder(opset)
            for name, m in self.quantized_by(WAYS, model).items():
                made[f"{name}{opset}"] = m
        for target in TARGETS:
            changed = self.check(made, program.packs(), target)
            # Attention in floats is still composed.
            self.assertTrue({"dynamic13", "dynamic21"} <= set(changed))
            for name in ("dynamic13", "dynamic21"):
                self.assertEqual(graphs.fused(changed[name]), 1)

    def test_images(self):
        ways = [way for way in WAYS if "dynamic" not in way]
        made = self.quantized_by(ways, quantized.image_net(17))
        for target in TARGETS:
            self.check(made, program.packs(), target)

    def examples(self, files, steps):
        """Every example of the rules with a share of its values quantized."""
        made = {}
        for path in files:
            for i, model in enumerate(mutate.examples(path)):
                if MERGED & {graphs.op(n) for n in model.graph.node}:
                    continue
                for share, seed in steps:
                    try:
                        annotated = quantized.Annotated(
                            model, 100 * i + seed, share).model
                        # Near misses may have sizes that no runtime takes,
                        # once they are known.
                        onnx.shape_inference.infer_shapes(
                            annotated, strict_mode=True, data_prop=True)
                        made[f"{path.stem}_{i}_{seed}"] = annotated
                    except onnx.shape_inference.InferenceError:
                        break  # not a valid model of the standard
        return made

    def check_examples(self, folder, steps, targets, without=""):
        files = sorted(path for path in RULES.glob(f"{folder}/*.lua")
                       if path.stem != without)
        made = self.examples(files, steps)
        for target in targets:
            self.check(made, program.packs(), target)

    def test_examples_of_canonical_rules(self):
        self.check_examples("canonical", [(1, 0), (0.6, 1), (0.4, 2)],
                            ["portable"],
                            without="common_subexpressions")  # which merges ops

    def test_examples_of_attention(self):
        self.check_examples("attention", [(1, 0), (0.4, 1)], ["portable"])

    def test_examples_of_linears(self):
        for folder in ("linear", "quantization"):
            self.check_examples(folder, [(1, 0), (0.6, 1), (0, 2)], TARGETS)

    def test_examples_of_targets(self):
        for target in TARGETS[1:]:
            self.check_examples(f"targets/{target}", [(1, 0), (0.5, 1)], [target])

    # One shape each.

    def stays(self, model, ops):
        """The packs do not change it; `ops` nodes are on integers."""
        model = make.model(model) if isinstance(model, str) else model
        self.assertEqual(sum(quantized.on_integers(model).values()), ops)
        for target in TARGETS:
            self.assertEqual(self.check({"m": model}, program.packs(), target),
                             {})

    def test_products_of_one_activation(self):
        for results in ("aq = QuantizeLinear(a, t, u) bq = QuantizeLinear(b, t, u)",
                        "aq = Relu(a) bq = Neg(b)"):
            kind = "uint8" if "Quantize" in results else "float"
            self.stays(f"""g (uint8[2,4,2] xq) => ({kind}[2,4,2] aq, {kind}[2,4,2] bq)
              <int8[2,2] w1 = {{1,2,3,4}}, int8[2,2] w2 = {{5,6,7,8}},
               float s = {{0.02}}, float t = {{0.1}}, int8 z = {{0}},
               uint8 u = {{128}}> {{
                x = DequantizeLinear(xq, s, u)
                f1 = DequantizeLinear(w1, s, z)
                f2 = DequantizeLinear(w2, s, z)
                a = MatMul(x, f1)
                b = MatMul(x, f2)
                {results} }}""", 2)

    def test_layers_with_a_bias(self):
        for turned, how in itertools.product((0, 1), ("Gemm", "MatMul")):
            layers = "".join(
                f"a{i} = Gemm <transB = {turned}> (x, f{i}, c{i}) "
                if how == "Gemm" else
                f"p{i} = MatMul(x, f{i}) a{i} = Add(p{i}, c{i}) "
                for i in (1, 2))
            self.stays(f"""g (uint8[4,2] xq) => (uint8[4,2] q1, uint8[4,2] q2)
              <int8[2,2] w1 = {{1,2,3,4}}, int8[2,2] w2 = {{5,6,7,8}},
               int32[2] b1 = {{1,2}}, int32[2] b2 = {{3,4}}, float s = {{0.02}},
               float sb = {{0.0004}}, float t = {{0.1}}, int8 z = {{0}},
               int32 zb = {{0}}, uint8 u = {{128}}> {{
                x = DequantizeLinear(xq, s, u)
                f1 = DequantizeLinear(w1, s, z)
                f2 = DequantizeLinear(w2, s, z)
                c1 = DequantizeLinear(b1, sb, zb)
                c2 = DequantizeLinear(b2, sb, zb)
                {layers}
                q1 = QuantizeLinear(a1, t, u)
                q2 = QuantizeLinear(a2, t, u) }}""", 2)

    def test_weights_of_four_bits(self):
        model = make.model("""<ir_version: 10, opset_import: ["": 21]>
            g (float[2,32] x) => (float[2,2] a, float[2,2] b)
            <float[2,2] s = {0.1,0.2,0.3,0.4}, float[2,2] t = {0.5,0.2,0.3,0.4}> {
              f1 = DequantizeLinear <axis = 0, block_size = 16> (w1, s)
              f2 = DequantizeLinear <axis = 0, block_size = 16> (w2, t)
              a = MatMul(x, f1)
              b = MatMul(x, f2) }""")
        for i, name in enumerate(("w1", "w2")):
            model.graph.initializer.append(onnx.helper.make_tensor(
                name, onnx.TensorProto.INT4, [32, 2],
                [(i + n) % 16 - 8 for n in range(64)]))
        self.stays(model, 2)

    def test_a_gemm_of_activations(self):
        self.stays("""g (uint8[2,4] aq, uint8[4,3] bq) => (float[2,3] y)
            <float s = {0.02}, uint8 u = {128}> {
              a = DequantizeLinear(aq, s, u)
              b = DequantizeLinear(bq, s, u)
              y = Gemm(a, b) }""", 1)

    def test_merged_if_nothing_is_lost(self):
        text = """g (uint8[2,4] x) => (uint8[2,4] y, uint8[2,4] z)
            <float s = {0.02}, uint8 u = {128}, int8 o = {0},
             int8[4,4] v = {1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8},
             int8[4,4] w = {2,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8}> {
              y = QLinearMatMul(x, s, u, v, s, o, s, u)
              z = QLinearMatMul(x, s, u, w, s, o, s, u) }"""
        changed = self.check({"m": make.model(text)}, program.packs(),
                             "portable", MERGED)
        self.assertEqual(quantized.on_integers(changed["m"]),
                         {"QLinearMatMul": 1})


if __name__ == "__main__":
    unittest.main()
