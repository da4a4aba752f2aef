"""Lowering: fuse, lower, fuse is a fixed point, and lowered models compute the
same as the originals. For every model of a clone, and random models of the
dialect's ops; rules do not recognize all of these in standard ops, so for them
the second round is the fixed point."""

import collections
import pathlib
import unittest

import numpy as np
import onnx

from support import (draft, graphs, make, numbers, program, random_attention,
                     random_layers, tier)

MODELS = sorted((program.DATA / "models").glob("*.onnx"))
LOWERING = program.ROOT / "rules" / "lowering" / "all.lua"
OURS = ("ruleengine::", "aten::", "tensor_cast::")
# Random models, and the ops of the dialect that may stay in some of them, with a
# warning.
RANDOM = {
    random_attention.window_attention: {"ruleengine::ShiftedWindowAttention"},
    random_attention.cosine_window_attention:
        {"ruleengine::ShiftedWindowAttention"},
    random_attention.multihead_attention: {"ruleengine::MultiheadAttention"},
    random_attention.functional_attention: set(),
    random_layers.quantized_views: set(),
    random_layers.sibling_layers: set(),
}


def ops(path):
    return collections.Counter(
        graphs.op(node) for node in onnx.load(path).graph.node)


def fused(path):
    """The ops that rules composed, without projections that were packed for an
    Attention of the standard, which stays."""
    counts = ops(path)
    return {op: n for op, n in counts.items() if op.startswith("ruleengine::")
            and not (op.endswith("MHAInProjection") and counts["Attention"])}


class Standard(program.ProgramTest):
    """--target standard: readers of the original can read the result."""

    def rewrite(self, source, result):
        self.run_ok("run", *program.packs(), source, "-o", result, "-q",
                    "--target", "standard")
        return self.folder / result

    def check(self, source):
        result = self.rewrite(source, "result.onnx")
        before, after = onnx.load(source), onnx.load(result)
        self.assertEqual(after.ir_version, before.ir_version)
        self.assertEqual(list(after.functions), list(before.functions))
        own = {(each.domain, each.version) for each in before.opset_import}
        self.assertLessEqual({(each.domain, each.version)
                              for each in after.opset_import}, own)
        # A second run may simplify sizes; a third changes nothing.
        again = self.rewrite(result, "again.onnx")
        settled = self.rewrite(again, "settled.onnx")
        self.assertEqual(settled.read_bytes(), again.read_bytes())
        with np.load(source.with_suffix(".npz")) as saved:
            feeds = {key: saved[key] for key in saved.files}
        self.assertEqual(numbers.disagreements(
            source, result, before, feeds), [])

    def test_every_model(self):
        for source in MODELS:
            if not source.with_suffix(".npz").exists():
                continue
            with self.subTest(source.stem):
                self.check(source)

    def test_no_key_is_repeated(self):
        source = program.DATA / "models/llama_gqa.d18_sdpa.onnx"
        result = self.rewrite(source, "result.onnx")
        self.assertLess(ops(result)["Expand"], ops(source)["Expand"])

    def test_grouped_heads_and_a_mask_of_more_rows(self):
        """A single query is broadcast to the rows of the mask."""
        self.write("rows.onnx", make.onnx_bytes("""
          <ir_version: 9, opset_import: ["" : 18]>
          g (float[1,4,S,8] q, float[1,2,T,8] k, float[1,2,T,8] v,
             float[1,1,A,T] a, float[1,1,C,T] c) => (float[1,4,R,8] y)
          <int64[1] two = {2}, int64[5] twice = {1,2,2,1,8},
           int64[4] heads = {1,4,-1,8}, float half = {0.5}> {
            m = Concat <axis = 2> (a, c)
            ku = Unsqueeze(k, two)  ke = Expand(ku, twice)  kr = Reshape(ke, heads)
            vu = Unsqueeze(v, two)  ve = Expand(vu, twice)  vr = Reshape(ve, heads)
            kt = Transpose <perm = [0,1,3,2]> (kr)
            s = MatMul(q, kt)  d = Mul(s, half)  w = Add(d, m)
            p = Softmax <axis = -1> (w)
            y = MatMul(p, vr)
          }"""))
        source, random = self.folder / "rows.onnx", np.random.default_rng(1)
        for target in ("standard", "portable"):
            result = self.folder / f"{target}.onnx"
            self.run_ok("run", *program.packs(), source, "-o", result,
                        "--target", target)
            self.assertNotIn("Expand", ops(result))
            for queries, a, c in ((1, 2, 1), (3, 2, 1), (1, 1, 0)):
                feeds = {name: random.normal(size=shape).astype(np.float32)
                         for name, shape in {
                             "q": (1, 4, queries, 8), "k": (1, 2, 5, 8),
                             "v": (1, 2, 5, 8), "a": (1, 1, a, 5),
                             "c": (1, 1, c, 5)}.items()}
                want, got = (numbers.session(path).run(None, feeds)[0]
                             for path in (source, result))
                self.assertIsNone(numbers.difference(want, got))

    def test_weights_without_a_copy(self):
        """Large ones are transposed lazily in both directions."""
        width = 384
        graph = make.model(f"""
          g (float[1,5,{width}] x) => (float[1,8,5,{width // 8}] y)
          <int64[4] heads = {{1,5,8,{width // 8}}}> {{
            a = MatMul(x, wq)  b = MatMul(x, wk)  c = MatMul(x, wv)
            aq = Reshape(a, heads)  q = Transpose <perm = [0,2,1,3]> (aq)
            ak = Reshape(b, heads)  k = Transpose <perm = [0,2,3,1]> (ak)
            av = Reshape(c, heads)  v = Transpose <perm = [0,2,1,3]> (av)
            s = MatMul(q, k)  p = Softmax <axis = -1> (s)  y = MatMul(p, v)
          }}""", '<ir_version: 9, opset_import: ["" : 18]>\n')
        random = np.random.default_rng(2)
        for name in ("wq", "wk", "wv"):
            graph.graph.initializer.append(onnx.numpy_helper.from_array(
                random.normal(size=(width, width)).astype(np.float32), name))
        source = self.folder / "large.onnx"
        source.write_bytes(graph.SerializeToString())
        result = self.rewrite(source, "result.onnx")
        self.assertEqual(ops(result)["MatMul"], 3)  # one projection
        again = self.rewrite(result, "again.onnx")
        self.assertEqual(again.read_bytes(), result.read_bytes())

    def test_ops_that_the_model_came_with_get_no_body(self):
        self.write("fp8.onnxtxt", """
          <ir_version: 10, opset_import: ["" : 21, "tensor_cast" : 1]>
          g (float[2,2] x) => (float[2,2] y, float[2,2] z)
          <float8e4m3fn[2,2] w = {1, 2, 3, 4}, float[2] a = {1, 2},
           float8e4m3fn[2,2] u = {1, 2, 3, 4}, float[2] b = {3, 4}, float s = {1}> {
            c = Cast <to = 17> (x)
            y = tensor_cast.fp8_linear (c, w, s, a)
            z = tensor_cast.fp8_linear (c, u, s, b)
          }""")
        for target, bodies in (("portable", True), ("standard", False)):
            self.run_ok("run", *program.packs(), "fp8.onnxtxt", "-o",
                        "out.onnx", "--target", target)
            result = onnx.load(self.folder / "out.onnx")
            self.assertEqual(bool(result.functions), bodies, target)

    def test_an_old_model_without_a_body(self):
        """Attention that has no body stays, with a warning."""
        self.write("old.onnxtxt", """
          <ir_version: 4, opset_import: ["" : 9]>
          g (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v)
            => (float[2,4,8,16] y) {
            kt = Transpose <perm = [0,1,3,2]> (k)
            s = MatMul(q, kt)
            p = Softmax <axis = 3> (s)
            y = MatMul(p, v)
          }""")
        done = self.run_ok("run", *program.packs(), "old.onnxtxt", "-o",
                           "out.onnx", "--target", "standard")
        self.assertIn("the target keeps the opset", done.err)
        after = onnx.load(self.folder / "out.onnx")
        self.assertEqual(after.opset_import[0].version, 9)
        self.assertEqual([n.op_type for n in after.graph.node],
                         ["Transpose", "MatMul", "Softmax", "MatMul"])


class Lowering(program.ProgramTest):
    def run_rules(self, rules, source, result):
        self.run_ok("run", *rules, source, "-o", result, "-q", "--target",
                    "portable")
        return self.folder / result

    def check(self, source: pathlib.Path):
        once = self.run_rules(program.packs(), source, "fused.onnx")
        lowered = self.run_rules([LOWERING], once, "lowered.onnx")
        again = self.run_rules(program.packs(), lowered, "again.onnx")
        self.assertFalse([op for op in ops(lowered)
                          if op.startswith("ruleengine::")])
        self.assertEqual(fused(again), fused(once))
        inputs = source.with_suffix(".npz")
        if inputs.exists():
            with np.load(inputs) as saved:
                feeds = {key: saved[key] for key in saved.files}
            self.assertEqual(numbers.disagreements(
                source, lowered, onnx.load(source), feeds), [])

    def test_every_model(self):
        self.assertGreater(len(MODELS), 20)
        for source in MODELS:
            with self.subTest(source.stem):
                self.check(source)

    def rounds(self, source):
        """Counts of ops: fused, lowered, and both again, twice."""
        counts = []
        for i in range(3):
            source = self.run_rules(program.packs(), source, f"fused{i}.onnx")
            counts.append(ops(source))
            source = self.run_rules([LOWERING], source, f"lowered{i}.onnx")
            counts.append(ops(source))
        return counts

    def check_random(self, make, seed):
        """Whether the whole model could be lowered."""
        sketch = draft.Draft([seed, 7])
        model, (wanted,) = make(sketch)
        source = self.write("m.onnx", model.SerializeToString())
        once, lowered, *again, last = self.rounds(source)
        left = {op for op in lowered if op.startswith(OURS)}
        self.assertLessEqual(left, RANDOM[make])
        self.assertEqual([again[2], last], again[:2])
        if left:
            return False
        self.assertGreaterEqual(again[0]["ruleengine::ScaledDotProductAttention"],
                                once["ruleengine::SwinAttention"])
        (feeds,) = sketch.feeds
        if any(array.dtype.kind == "V" for array in feeds.values()):
            return True  # of a type that ONNX Runtime cannot be fed
        tolerance = 0.1 if sketch.dtype == np.float16 else 1e-3
        for result in ("lowered0.onnx", "fused1.onnx"):
            got = numbers.session(self.folder / result).run(list(wanted), feeds)
            for want, array in zip(wanted.values(), got):
                self.assertIsNone(numbers.difference(want, array, tolerance))
        return True

    def test_random_models(self):
        for make in RANDOM:
            lowered = 0
            for seed in range(tier.sample(10, 20)):
                with self.subTest(make.__name__, seed=seed):
                    lowered += self.check_random(make, seed)
            self.assertGreater(lowered, 5, make.__name__)


if __name__ == "__main__":
    unittest.main()
