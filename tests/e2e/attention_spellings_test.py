"""Attention as code in the field spells it beyond the textbook: composed, for
every target, and the numbers as they were. Symbolic axes are tried at two sizes.
"""

import unittest

import numpy as np
import onnx

from support import graphs, make, numbers, program

HEADS = "float[B,4,S,8] q, float[B,4,T,8] k, float[B,4,T,8] v"
TO_SCORES = "kt = Transpose <perm = [0,1,3,2]> (k) s = MatMul(q, kt)"
TO_OUTPUT = "p = Softmax <axis = -1> (z) y = MatMul(p, v)"


def textbook(extra, constants, steps, inputs=HEADS):
    """softmax of scores s that `steps` make z of, times v."""
    more = f", {extra}" if extra else ""
    head = f"g ({inputs}{more}) => (float[B,4,S,8] y)"
    weights = f" <{constants}>" if constants else ""
    return f"{head}{weights} {{ {TO_SCORES} {steps} {TO_OUTPUT} }}"


SPELLINGS = {
    "one head of keys and values for all": textbook(
        "", "", "z = Identity(s)",
        "float[B,4,S,8] q, float[B,1,T,8] k, float[B,1,T,8] v"),
    "queries that are there for one batch": textbook(
        "", "", "z = Identity(s)",
        "float[1,4,S,8] q, float[B,4,T,8] k, float[B,4,T,8] v"),
    "masks and scales by turns": textbook(
        "float[B,1,1,T] m, float[4,S,T] n", "float c = {0.25}",
        "a = Add(s, m) d = Mul(a, c) z = Sub(d, n)"),
    "a floor, less the largest of each row": textbook(
        "float[B,1,1,T] m", "float low = {-3.4028234663852886e38}",
        "a = Add(s, m) b = Max(a, low) "
        "r = ReduceMax <axes = [-1], keepdims = 1> (b) z = Sub(b, r)"),
    "zeros where the mask hides": f"""
        g ({HEADS}, bool[B,1,1,T] hide) => (float[B,4,S,8] y)
        <float low = {{-1e9}}, float zero = {{0.0}}> {{
          {TO_SCORES} w = Where(hide, low, s) p = Softmax <axis = -1> (w)
          x = Where(hide, zero, p) y = MatMul(x, v) }}""",
    "scores that are an output": f"""
        g ({HEADS}) => (float[B,4,S,8] y, float[B,4,S,T] s)
        {{ {TO_SCORES} z = Identity(s) {TO_OUTPUT} }}""",
    "values of unknown width": f"""
        g (float[2,4,8,N] q, float[2,4,8,N] k, float[2,4,8,N] v)
        => (float[2,4,8,N] y) {{ {TO_SCORES} z = Identity(s) {TO_OUTPUT} }}""",
    "without a batch": """
        g (float[S,8] q, float[T,8] k, float[T,16] v) => (float[S,16] y) {
          kt = Transpose <perm = [1,0]> (k) s = MatMul(q, kt)
          p = Softmax <axis = -1> (s) y = MatMul(p, v) }""",
    "windows, with a mask for each": """
        g (float[B,3,4,5,8] q, float[B,3,4,5,8] k, float[B,3,1,5,8] v,
           float[3,1,5,5] m) => (float[B,3,4,5,8] y) {
          kt = Transpose <perm = [0,1,2,4,3]> (k) s = MatMul(q, kt)
          a = Add(s, m) p = Softmax <axis = -1> (a) y = MatMul(p, v) }""",
    "windows of unknown number": """
        g (float[B,4,N,5,8] q, float[B,4,N,5,8] k, float[B,4,N,5,8] v)
        => (float[B,4,N,5,8] y) {
          kt = Transpose <perm = [0,1,2,4,3]> (k) s = MatMul(q, kt)
          p = Softmax <axis = -1> (s) y = MatMul(p, v) }""",
    "heads split sequence first": """
        g (float[S,B,32] q, float[T,B,32] k, float[T,B,32] v, float[1,S,T] m)
        => (float[X,S,8] y)
        <int64 one = {1}, int64[1] four = {4}, int64[1] eight = {8},
         int64[1] rest = {-1}, int64[1] first = {0}> {
          d = Shape(q) n = Gather(d, one) b = Unsqueeze(n, first)
          w = Mul(b, four) t = Concat <axis = 0> (rest, w, eight)
          qr = Reshape(q, t) qh = Transpose <perm = [1,0,2]> (qr)
          kr = Reshape(k, t) kh = Transpose <perm = [1,2,0]> (kr)
          vr = Reshape(v, t) vh = Transpose <perm = [1,0,2]> (vr)
          s = MatMul(qh, kh) a = Add(s, m)
          p = Softmax <axis = -1> (a) y = MatMul(p, vh) }""",
    "position biases of rows and columns": """
        g (float[B,20,8] q, float[B,20,8] k, float[B,20,8] v,
           float[B,4,5,4,1] r, float[B,4,5,1,5] c) => (float[B,20,8] y)
        <int64[5] cut = {-1,4,5,4,5}, int64[3] join = {-1,20,20}> {
          kt = Transpose <perm = [0,2,1]> (k) s = MatMul(q, kt)
          s5 = Reshape(s, cut) a = Add(s5, r) b = Add(a, c)
          z = Reshape(b, join) p = Softmax <axis = -1> (z)
          y = MatMul(p, v) }""",
    "heads stacked as rows, one of keys": """
        g (float[B,24,8] q, float[B,T,8] k, float[B,T,8] v, bool[B,6,1,T] m)
        => (float[B,24,8] y)
        <int64[4] cut = {0,6,4,-1}, int64[3] join = {0,24,-1},
         float low = {-3.4028234663852886e38}> {
          kt = Transpose <perm = [0,2,1]> (k) s = MatMul(q, kt)
          s4 = Reshape(s, cut) w = Where(m, s4, low)
          p4 = Softmax <axis = -1> (w) p = Reshape(p4, join)
          y = MatMul(p, v) }""",
    "values by channel": """
        g (float[B,N,8] q, float[B,8,N] k, float[B,16,N] v)
        => (float[B,16,N] y) {
          s = MatMul(q, k) p = Softmax <axis = -1> (s)
          t = Transpose <perm = [0,2,1]> (p) y = MatMul(v, t) }""",
    "softmax written out": f"""
        g ({HEADS}) => (float[B,4,S,8] y) {{
          {TO_SCORES} r = ReduceMax <axes = [3], keepdims = 1> (s)
          d = Sub(s, r) e = Exp(d) last = Constant <value_ints = [-1]> ()
          sum = ReduceSum <keepdims = 1> (e, last) p = Div(e, sum)
          y = MatMul(p, v) }}""",
    "sums of products that name several letters": """
        g (float[B,S,2,3,8] q, float[B,T,2,8] k, float[B,T,2,8] v)
        => (float[B,S,2,3,8] y) {
          s = Einsum <equation = "bsghd,btgd->bghst"> (q, k)
          p = Softmax <axis = -1> (s)
          y = Einsum <equation = "bghst,btgd->bsghd"> (p, v) }""",
    "sums of products that name no batch": """
        g (float[B,3,5,4,8] q, float[B,3,5,4,8] k, float[B,3,5,4,8] v)
        => (float[B,3,5,4,8] y) {
          s = Einsum <equation = "...qhd,...khd->...hqk"> (q, k)
          p = Softmax <axis = -1> (s)
          y = Einsum <equation = "...hqk,...khd->...qhd"> (p, v) }""",
}


def feeds(model, size):
    rng = np.random.default_rng(size)
    out = {}
    for value in model.graph.input:
        kind = value.type.tensor_type
        shape = [d.dim_value or size + ord(d.dim_param) % 5
                 for d in kind.shape.dim]
        array = rng.standard_normal(shape)
        out[value.name] = (array > 0 if kind.elem_type == onnx.TensorProto.BOOL
                           else array.astype(np.float32))
    return out


class Spellings(program.ProgramTest):
    def test_spellings(self):
        for target in ("portable", "onnx", "ort"):
            for name, text in SPELLINGS.items():
                with self.subTest(name, target=target):
                    self.check(text, target)

    def check(self, text, target):
        model = make.model(text)
        source = self.write("m.onnx", model.SerializeToString())
        self.run_ok("run", *program.packs(), source, "-o", "out.onnx", "-q",
                    "--target", target)
        result = self.folder / "out.onnx"
        self.assertEqual(graphs.fused(onnx.load(result)), 1)
        for size in (2, 3):
            self.assertEqual(numbers.disagreements(
                source, result, model, feeds(model, size)), [])

    def test_residuals_on_either_side_of_a_split(self):
        """Each of two rules would undo what the other does."""
        model = make.model("""
            g (float[B,4,5,8] x, float[N,5,8] r) => (float[B,4,5,8] y)
            <int64[3] join = {-1,5,8}, int64[4] cut = {-1,4,5,8}> {
              a = Reshape(x, join) b = Add(a, r) c = Reshape(b, cut)
              d = Add(c, x) e = Reshape(d, join) f = Add(e, r)
              y = Reshape(f, cut) }""")
        source = self.write("m.onnx", model.SerializeToString())
        self.run_ok("run", *program.packs(), source, "-o", "out.onnx")


if __name__ == "__main__":
    unittest.main()
