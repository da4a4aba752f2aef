"""Masks of every strength, also with rows that see no key: composed attention
gives the numbers of the original, and forms for which it would not stay.
"""

import itertools
import json
import unittest

import numpy as np
import onnx

from support import graphs, make, numbers, program

FILLS = (-np.inf, np.finfo(np.float32).min, -3e38, -1e37, -1e9, -1e4)
HALF_FILLS = (-np.inf, -65504.0, -1e4)
S = 6


def chosen(name, fill):
    """Scores of hidden keys are `fill`."""
    if name == "float16":  # ONNX text requires its bits
        fill = int(np.float16(fill).view(np.uint16))
    text = "-Infinity" if fill == -np.inf else fill
    return f"""
<ir_version: 8, opset_import: ["": 17]>
g ({name}[1,2,{S},8] q, {name}[1,2,{S},8] k, {name}[1,2,{S},8] v,
   bool[1,1,{S},{S}] keep) => ({name}[1,2,{S},8] y) {{
  kt = Transpose <perm = [0,1,3,2]> (k)
  s = MatMul(q, kt)
  fill = Constant <value = {name} {{{text}}}> ()
  w = Where(keep, s, fill)
  p = Softmax <axis = -1> (w)
  y = MatMul(p, v)
}}
"""


def added(name, count):
    masks = ", ".join(f"{name}[1,1,{S},{S}] m{i}" for i in range(count))
    sums = "\n".join(f"  a{i + 1} = Add(a{i}, m{i})" for i in range(count))
    return f"""
<ir_version: 8, opset_import: ["": 17]>
g ({name}[1,2,{S},8] q, {name}[1,2,{S},8] k, {name}[1,2,{S},8] v, {masks})
  => ({name}[1,2,{S},8] y) {{
  kt = Transpose <perm = [0,1,3,2]> (k)
  a0 = MatMul(q, kt)
{sums}
  p = Softmax <axis = -1> (a{count})
  y = MatMul(p, v)
}}
"""


def chosen_beside(name, fill, low, other, after):
    """A mask by Where, and an added one in place of `other`; the sum is
    scaled."""
    return f"""
<ir_version: 8, opset_import: ["": 17]>
g ({name}[1,2,{S},8] q, {name}[1,2,{S},8] k, {name}[1,2,{S},8] v,
   bool[1,1,{S},{S}] keep, bool[1,1,1,{S}] real, {name}[1,1,{S},{S}] m)
  => ({name}[1,2,{S},8] y)
<{name} fill = {{{fill}}}, {name} low = {{{low}}}, {name} zero = {{0.0}},
 {name} after = {{{after}}}> {{
  kt = Transpose <perm = [0,1,3,2]> (k)
  s = MatMul(q, kt)
  w = Where(keep, s, fill)
  n = Where(real, {other}, low)
  a = Add(w, n)
  b = Mul(a, after)
  p = Softmax <axis = -1> (b)
  y = MatMul(p, v)
}}
"""


def hidden(rng):
    """Hides random keys, all keys in row 0 and none in row 1."""
    out = rng.random((1, 1, S, S)) < 0.4
    out[..., 0, :], out[..., 1, :] = True, False
    return out


class Masks(program.ProgramTest):
    def agree(self, text, feeds, tolerance, fused=None, rows=...,
              target="portable", seeing=...):
        """Compares `rows` of the two results, or `seeing`, the rows that see a
        key, if the run assumes that all rows do."""
        self.write("m.onnx", make.onnx_bytes(text))
        self.run_ok("run", *program.packs(), "m.onnx", "-o", "out.onnx", "-q",
                    "--target", target, "--report", "r.json")
        report = json.loads((self.folder / "r.json").read_text())
        if any("each query sees a key" in each["text"]
               for each in report["assumptions"]):
            rows = seeing
        result = graphs.fused(onnx.load(self.folder / "out.onnx"))
        if fused is not None:
            self.assertEqual(result, fused)
        (want,) = numbers.session(self.folder / "m.onnx").run(None, feeds)
        (got,) = numbers.session(self.folder / "out.onnx").run(None, feeds)
        want, got = want[:, :, rows], got[:, :, rows]
        known = ~np.isnan(want)
        np.testing.assert_allclose(
            got[known].astype(np.float64), want[known].astype(np.float64),
            rtol=tolerance, atol=tolerance)
        return result

    def feeds(self, rng, dtype):
        return {n: rng.normal(size=(1, 2, S, 8)).astype(dtype) * 6
                for n in "qkv"}

    def test_chosen(self):
        rng = np.random.default_rng(1)
        for fill in FILLS:
            with self.subTest(fill=fill):
                feeds = self.feeds(rng, np.float32)
                feeds["keep"] = ~hidden(rng)
                self.agree(chosen("float", fill), feeds, 1e-5,
                           fused=1 if fill <= -1e4 else 0)

    def test_chosen_in_half(self):
        rng = np.random.default_rng(2)
        for fill in HALF_FILLS:
            with self.subTest(fill=fill):
                feeds = self.feeds(rng, np.float16)
                feeds["keep"] = ~hidden(rng)
                self.agree(chosen("float16", fill), feeds, 2e-2)

    def test_added(self):
        rng = np.random.default_rng(3)
        for fill in FILLS:
            with self.subTest(fill=fill):
                feeds = self.feeds(rng, np.float32)
                feeds["m0"] = np.where(hidden(rng), fill, 0).astype(np.float32)
                self.agree(added("float", 1), feeds, 1e-4, fused=1)

    def test_two_added(self):
        rng = np.random.default_rng(4)
        for first in FILLS + (1.5,):
            for second in FILLS + (1.5,):
                with self.subTest(first=first, second=second):
                    feeds = self.feeds(rng, np.float32)
                    feeds["m0"] = np.where(hidden(rng), first, 0).astype(
                        np.float32)
                    feeds["m1"] = np.where(hidden(rng), second, 0).astype(
                        np.float32)
                    # Sums of masks round: if two finite masks hide a whole
                    # row, the rest of the scores is noise, which differs
                    # (docs/progress.md).
                    noise = -1e37 < max(first, second) < 0
                    self.agree(added("float", 2), feeds, 1e-4, fused=1,
                               rows=slice(1, None) if noise else slice(None))

    def test_order_of_the_lowest(self):
        """In a row hidden by two low numbers the keys of the higher have weight."""
        rng = np.random.default_rng(5)
        lowest = np.finfo(np.float32).min
        for target in ("portable", "onnx", "ort"):
            for other in (-3.3895314e38, -3e38, lowest, -np.inf):
                with self.subTest(target=target, other=other):
                    feeds = self.feeds(rng, np.float32)
                    feeds["m0"] = np.where(hidden(rng), lowest, 0).astype(
                        np.float32)
                    feeds["m0"][..., 0, ::2] = other
                    self.agree(added("float", 1), feeds, 1e-4, fused=1,
                               target=target)

    def test_a_guard_without_a_mask(self):
        """Scores that overflow have no softmax; the guard gives 0."""
        text = added("float", 0).replace("8] v, )", "8] v)").replace(
            "y = MatMul(p, v)", """
  zero = Constant <value = float {0.0}> ()
  n = IsNaN(p)
  z = Where(n, zero, p)
  y = MatMul(z, v)""")
        feeds = self.feeds(np.random.default_rng(6), np.float32)
        feeds["q"][:, :, 2] = feeds["k"][:, :, 3] = 1e30
        for target in ("portable", "onnx", "ort"):
            with self.subTest(target=target):
                self.agree(text, feeds, 1e-4, fused=1, target=target)

    def test_chosen_beside_an_added_one(self):
        rng = np.random.default_rng(5)
        cases = itertools.product(
            ("float", "double"), (-10, -1e4, -1e9, -1e36, -3e38),
            (-1e37, -3e37, -3.4e38), ("zero", "m"), (0.125, 1, 1000))
        fused = 0
        for name, fill, low, other, after in cases:
            dtype = np.dtype(name.replace("float", "float32")).type
            with self.subTest(name=name, fill=fill, low=low, other=other,
                              after=after):
                feeds = self.feeds(rng, dtype)
                feeds["keep"] = ~hidden(rng)
                # Row 2 sees no key for both.
                feeds["real"] = rng.random((1, 1, 1, S)) < 0.5
                feeds["keep"][..., 2, :] = ~feeds["real"][..., 0, :]
                feeds["m"] = rng.normal(size=(1, 1, S, S)).astype(dtype)
                seen = (feeds["keep"] & feeds["real"])[0, 0].any(axis=-1)
                fused += self.agree(
                    chosen_beside(name, fill, low, other, after), feeds, 1e-4,
                    seeing=np.flatnonzero(seen))
        self.assertGreater(fused, 30)


if __name__ == "__main__":
    unittest.main()
