"""Rewrites that are right only in a range state an assumption: results of the
default run are right if it holds, and those of `--exact` always.
"""

import itertools
import json
import re
import unittest

import numpy as np
import onnx

from support import graphs, make, numbers, program

RULES = program.ROOT / "rules"
S = 6

# A choice between scores and a number, without other masks.
CHOSEN = """
g (float[1,1,2,4] q, float[1,1,3,4] k, float[1,1,3,4] v, bool[1,1,1,3] keep)
  => (float[1,1,2,4] y) <float fill = {FILL}> {
  kt = Transpose <perm = [0,1,3,2]> (k)
  s = MatMul(q, kt)
  w = Where(keep, s, fill)
  p = Softmax <axis = -1> (w)
  y = MatMul(p, v)
}
"""

# Old exports of GPT-2 and similar models: a causal choice and a padding mask.
TWO_MASKS = """
g (float[2,2,S,8] q, float[2,2,S,8] k, float[2,2,S,8] v, bool[1,1,S,S] causal,
   float[2,S] attention_mask) => (float[2,2,S,8] y)
<float c = {2.5}, float low = {LOW}, float lower = {LOWER}, float one = {1.0},
 int64[2] axes = {1,2}> {
  kt = Transpose <perm = [0,1,3,2]> (k)
  t = MatMul(q, kt)
  s = Div(t, c)
  u = Unsqueeze(attention_mask, axes)
  r = Sub(one, u)
  n = Mul(r, lower)
  STEPS
  p = Softmax <axis = -1> (a)
  y = MatMul(p, v)
}
"""
STEPS = {
    "choice, then sum": "w = Where(causal, s, low) a = Add(w, n)",
    "sum, then choice": "w = Add(s, n) a = Where(causal, w, low)",
    "by product": "b = Cast <to = 1> (causal) d = Mul(s, b) e = Sub(one, b) "
                  "f = Mul(e, low) w = Add(d, f) a = Add(w, n)",
}

CHOICE = """
g (float[2,3] x, bool[2,3] k) => (float[2,3] y, float[2,3] z)
<float one = {1.0}, float c = {-10000.0}> {
  b = Cast <to = 1> (k)
  xb = Mul(x, b)
  nb = Sub(one, b)
  cb = Mul(nb, c)
  y = Add(xb, cb)
  p = Softmax <axis = -1> (x)
  z = Mul(p, b)
}
"""

INFINITE_CHOICE = """
g (float[2,3] x, bool[2,3] k, float[3,4] v) => (float[2,4] y)
<float one = {1.0}, float c = {-inf}> {
  b = Cast <to = 1> (k)
  xb = Mul(x, b)
  nb = Sub(one, b)
  cb = Mul(nb, c)
  s = Add(xb, cb)
  p = Softmax <axis = -1> (s)
  y = MatMul(p, v)
}
"""

NEW = '<ir_version: 10, opset_import: ["": 23]>\n'
CAPPED = NEW + """
g (float[1,2,4,8] q, float[1,2,4,8] k, float[1,2,4,8] v, bool[1,1,4,4] m)
  => (float[1,2,4,8] y) <float c = {5.0}, float ninf = {-inf}> {
  kt = Transpose <perm = [0,1,3,2]> (k)
  s = MatMul(q, kt)
  d = Div(s, c)
  t = Tanh(d)
  u = Mul(t, c)
  w = Where(m, u, ninf)
  p = Softmax <axis = -1> (w)
  y = MatMul(p, v)
}
"""
GUARDED = NEW + """
g (float[1,4,2,8] q3, float[1,2,4,8] k, float[1,2,4,8] v, bool[1,1,4,4] m)
  => (float[1,4,2,8] y) <float ninf = {-inf}, float zero = {0.0}> {
  q = Transpose <perm = [0,2,1,3]> (q3)
  kt = Transpose <perm = [0,1,3,2]> (k)
  s = MatMul(q, kt)
  w = Where(m, s, ninf)
  p = Softmax <axis = -1> (w)
  n = IsNaN(p)
  g = Where(n, zero, p)
  h = MatMul(g, v)
  y = Transpose <perm = [0,2,1,3]> (h)
}
"""
HALF = NEW + """
g (float16[1,4,2,8] q3, float16[1,2,4,8] k, float16[1,2,4,8] v,
   bool[1,1,4,4] m) => (float16[1,4,2,8] y)
  <float low = {-65504.0}, float zero = {0.0}> {
  f = Where(m, zero, low)
  b = Cast <to = 10> (f)
  q = Transpose <perm = [0,2,1,3]> (q3)
  kt = Transpose <perm = [0,1,3,2]> (k)
  s = MatMul(q, kt)
  w = Add(s, b)
  p = Softmax <axis = -1> (w)
  h = MatMul(p, v)
  y = Transpose <perm = [0,2,1,3]> (h)
}
"""
ROWS = NEW + """
g (float[1,2,S,8] q, float[1,2,T,8] k, float[1,2,T,8] v, float[1,1,A,T] m1,
   float[1,1,C,T] m2) => (float[1,2,R,8] y) <float c = {0.25}> {
  m = Concat <axis = 2> (m1, m2)
  kt = Transpose <perm = [0,1,3,2]> (k)
  s = MatMul(q, kt)
  d = Mul(s, c)
  w = Add(d, m)
  p = Softmax <axis = -1> (w)
  y = MatMul(p, v)
}
"""


def two_masks(steps, low, lower):
    return (TWO_MASKS.replace("STEPS", STEPS[steps])
            .replace("{LOWER}", f"{{{lower}}}").replace("{LOW}", f"{{{low}}}"))


class Rewriting(program.ProgramTest):
    def rewrite(self, text, *words):
        """(number of fused ops, texts of assumptions)."""
        self.write("m.onnx", make.onnx_bytes(text))
        self.run_ok("run", *program.packs(), "m.onnx", "-o", "out.onnx", "-q",
                    "--report", "r.json", *words)
        self.report = json.loads((self.folder / "r.json").read_text())
        self.result = onnx.load(self.folder / "out.onnx")
        return graphs.fused(self.result), [
            each["text"] for each in self.report["assumptions"]]

    def both(self, feeds):
        return [numbers.session(self.folder / name).run(None, feeds)
                for name in ("m.onnx", "out.onnx")]

    def agree(self, feeds, rows=None):
        for want, got in zip(*self.both(feeds)):
            if rows is not None:
                want, got = want[rows], got[rows]
            np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4)


class Assumptions(Rewriting):
    def test_a_fill_is_no_minus_infinity(self):
        """Hidden keys win if the scores of all visible keys are lower."""
        feeds = {"q": np.full((1, 1, 2, 4), 100, np.float32),
                 "k": np.full((1, 1, 3, 4), -100, np.float32),
                 "v": np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4),
                 "keep": np.array([True, True, False]).reshape(1, 1, 1, 3)}
        text = CHOSEN.replace("{FILL}", "{-10000.0}")
        fused, assumed = self.rewrite(text)
        self.assertEqual((fused, assumed),
                         (1, ["scores between -9,900 and 1e13"]))
        fused, assumed = self.rewrite(text, "--exact")
        self.assertEqual((fused, assumed), (0, []))
        self.agree(feeds)
        reasons = [each["reason"] for rule in self.report["rules"]
                   for each in rule["rejected"]]
        self.assertIn("it rests on an assumption: "
                      "scores between -9,900 and 1e13", reasons)

    def test_hidden_scores_may_be_no_numbers(self):
        """But not in the result of a run that states the assumption."""
        rng = np.random.default_rng(1)
        feeds = {n: rng.normal(size=(1, 1, s, 4)).astype(np.float32)
                 for n, s in (("q", 2), ("k", 3), ("v", 3))}
        feeds["k"][..., 2, :] = np.nan
        feeds["keep"] = np.array([True, True, False]).reshape(1, 1, 1, 3)
        for fill, exact in ((-3.4e38, 0), ("-inf", 1)):
            with self.subTest(fill):
                text = CHOSEN.replace("{FILL}", f"{{{fill}}}")
                fused, _ = self.rewrite(text, "--exact")
                self.assertEqual(fused, exact)
                self.agree(feeds)
                fused, assumed = self.rewrite(text)
                self.assertEqual(fused, 1)
                self.assertEqual(bool(assumed), not exact)

    def test_two_masks_of_old(self):
        rng = np.random.default_rng(2)
        lows = (-1e4, -1e9, -3.4028234663852886e38)
        for steps, low, lower, target in itertools.product(
                STEPS, lows, lows, ("portable", "onnx", "ort")):
            if target != "portable" and low != lower:
                continue
            with self.subTest(steps=steps, low=low, lower=lower,
                              target=target):
                text = two_masks(steps, low, lower)
                fused, assumed = self.rewrite(text, "--target", target)
                self.assertEqual(fused, 1)
                self.assertTrue(assumed)
                for mask in ([[1] * S, [1, 1, 1, 0, 0, 0]],
                             [[1, 0, 1, 1, 0, 1], [0, 0, 1, 1, 1, 1]]):
                    feeds = {n: rng.normal(size=(2, 2, S, 8)).astype(
                        np.float32) * 4 for n in "qkv"}
                    feeds["causal"] = np.tril(np.ones((1, 1, S, S), bool))
                    mask = feeds["attention_mask"] = np.array(mask, np.float32)
                    # Queries that see a key: all except leading padding.
                    rows = np.broadcast_to(
                        (mask.cumsum(axis=1) > 0)[:, None], (2, 2, S))
                    self.agree(feeds, rows)
                fused, assumed = self.rewrite(text, "--exact")
                self.assertEqual((fused, assumed), (0, []))

    def test_numbers_without_a_softmax_stay_multiplied(self):
        """0 times NaN or infinity is NaN."""
        inf, nan = np.inf, np.nan
        feeds = {"x": np.array([[-inf, nan, 0], [-inf] * 3], np.float32),
                 "k": np.array([[0, 0, 1], [1, 1, 0]], bool)}
        self.rewrite(CHOICE)
        want, got = self.both(feeds)
        np.testing.assert_equal(got, want)

    def test_no_assumption_of_undone_rewrites(self):
        """A form without attention, whether the result contains it or not."""
        self.rewrite(CHOICE.replace("y = Add(xb, cb)",
                                    "s = Add(xb, cb) y = Softmax(s)"))
        stays = [node.op_type for node in self.result.graph.node].count("Mul")
        assumed = self.report["assumptions"]
        self.assertEqual(len(assumed), 0 if stays == 3 else 1)

    def test_an_infinite_choice_is_none(self):
        rng = np.random.default_rng(3)
        fused, assumed = self.rewrite(INFINITE_CHOICE)
        self.assertEqual((fused, assumed), (0, []))
        want, got = self.both({
            "x": rng.normal(size=(2, 3)).astype(np.float32),
            "k": np.array([[0, 1, 1], [1, 1, 1]], bool),
            "v": rng.normal(size=(3, 4)).astype(np.float32)})
        np.testing.assert_equal(got, want)

    def test_docs_name_the_assumptions(self):
        listed = (program.ROOT / "docs" / "assumptions.md").read_text()
        said = 0
        for path in RULES.glob("*/**/*.lua"):
            text = path.read_text(encoding="utf-8").split("  examples = {")[0]
            for call in re.findall(r"\bassume\((.*)", text):
                sentences = re.findall(r'"([^"]+)"', call)
                for name in re.findall(r"\b[A-Z]{3,}\b", call):
                    sentences += re.findall(rf'local {name} =\s+"(.*)"', text)
                self.assertTrue(sentences, call)
                said += len(sentences)
                for sentence in sentences:
                    self.assertIn(f"### {sentence}\n", listed)
        self.assertGreater(said, 7)


class Runtimes(Rewriting):
    """Forms that the oldest runtime with the op runs like the newest."""

    def ops(self):
        return [node.op_type for node in self.result.graph.node]

    def feeds(self, rng, rows=4):
        feeds = {n: rng.normal(size=(1, 2, 4, 8)).astype(np.float32)
                 for n in "qkv"}
        feeds["m"] = np.tril(np.ones((1, 1, rows, 4), bool))
        return feeds

    def test_no_soft_cap_beside_a_mask(self):
        for target in ("onnx", "auto", "ort"):
            with self.subTest(target):
                fused, _ = self.rewrite(CAPPED, "--target", target)
                self.assertEqual(fused, 1)
                self.assertIn("ScaledDotProductAttention", self.ops())
                self.agree(self.feeds(np.random.default_rng(4)))

    def test_a_row_without_a_key_is_guarded(self):
        for target, op in (("onnx", "Attention"), ("ort", "MultiHeadAttention")):
            with self.subTest(target):
                self.rewrite(GUARDED, "--target", target)
                self.assertIn(op, self.ops())
                self.assertIn("IsNaN", self.ops())
                feeds = self.feeds(np.random.default_rng(5))
                feeds["q3"] = feeds.pop("q").transpose(0, 2, 1, 3)
                feeds["m"][..., 1, :] = False
                self.agree(feeds)

    def test_a_mask_in_float16(self):
        """All targets have the same assumptions if whole rows may be hidden."""
        said = "each query sees a key that its float16 mask does not hide"
        rng = np.random.default_rng(7)
        seen = {"m": rng.random((1, 1, 4, 4)) < 0.6}
        seen["m"][..., 0] = True
        for name, shape in (("q3", (1, 4, 2, 8)), ("k", (1, 2, 4, 8)),
                            ("v", (1, 2, 4, 8))):
            seen[name] = rng.normal(size=shape).astype(np.float16)
        for target, op in (("onnx", "Attention"), ("ort", "MultiHeadAttention")):
            with self.subTest(target):
                self.assertEqual(self.rewrite(HALF, "--target", target),
                                 (1, [said]))
                self.assertIn(op, self.ops())
                (want,), (got,) = self.both(seen)
                np.testing.assert_allclose(got, want, rtol=4e-3, atol=4e-3)
                self.rewrite(HALF, "--target", target, "--exact")
                self.assertNotIn(op, self.ops())

    def test_a_mask_may_have_more_rows(self):
        rng = np.random.default_rng(6)
        for target, op in (("onnx", "Attention"),
                           ("ort", "ScaledDotProductAttention")):
            with self.subTest(target):
                gpu = ("--set", "onnx/scaled_dot_product_attention.gpu=true")
                self.rewrite(ROWS, "--target", target,
                             *(gpu if target == "onnx" else ()))
                self.assertIn(op, self.ops())
                for queries, a, c in ((1, 2, 1), (3, 2, 1), (1, 1, 0)):
                    self.agree({
                        name: rng.normal(size=shape).astype(np.float32)
                        for name, shape in {
                            "q": (1, 2, queries, 8), "k": (1, 2, 5, 8),
                            "v": (1, 2, 5, 8), "m1": (1, 1, a, 5),
                            "m2": (1, 1, c, 5)}.items()})


class Seen(program.ProgramTest):
    """A rewrite has the assumptions of rewrites that it depends on."""

    def test_by_a_callback(self):
        rule = self.write("positive.lua", """return rule {
          phase = "attention",
          match = function(op, p) return op.Relu(p) end,
          where = function(m)
            need(m.p.producer and m.p.producer.op == "Softmax", "none", m.p)
          end,
          rewrite = function(op, m) return op.Abs(m.p) end }""")
        model = self.write("m.onnxtxt", """
          <ir_version: 10, opset_import: ["" : 18]>
          g (float[2,3] x) => (float[2,3] y) <int64[1] axes = {-1}> {
            e = Exp(x)  s = ReduceSum <keepdims = 1> (e, axes)
            p = Div(e, s)  y = Relu(p)
          }""")
        for options, said in (((), ["scores between -60 and 60"]),
                              (("--exact",), [])):
            self.run_ok("run", RULES / "canonical.lua", rule, model, "-o",
                        "out.onnx", "--report", "r.json", *options)
            report = json.loads((self.folder / "r.json").read_text())
            self.assertEqual([a["text"] for a in report["assumptions"]], said)
            fired = {r["name"]: r["rewrites"] for r in report["rules"]}
            self.assertEqual(fired["positive"], len(said))


if __name__ == "__main__":
    unittest.main()
