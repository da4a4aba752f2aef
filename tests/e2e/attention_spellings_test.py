"""Spellings of attention in existing models beyond the textbook form: composed
for every target, with equal numbers. Symbolic axes have two sizes.
"""

import unittest

import numpy as np
import onnx

from support import graphs, make, numbers, program

HEADS = "float[B,4,S,8] q, float[B,4,T,8] k, float[B,4,T,8] v"
TO_SCORES = "kt = Transpose <perm = [0,1,3,2]> (k) s = MatMul(q, kt)"
TO_OUTPUT = "p = Softmax <axis = -1> (z) y = MatMul(p, v)"


def textbook(extra, constants, steps, inputs=HEADS):
    """softmax(z) v, where `steps` compute z from the scores s."""
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


SPELLINGS |= {
    "a sink for each head, a mask": textbook(
        "float[B,1,S,T] m, float[1,4,1,1] sink",
        "int64[1] first = {0}, int64[1] last = {-1}",
        "d = Shape(s) a = Add(s, m) n = Slice(d, first, last) "
        "one = Constant <value_ints = [1]> () w = Concat <axis = 0> (n, one) "
        "e = Expand(sink, w) c = Concat <axis = 3> (a, e) "
        "r = ReduceMax <axes = [-1], keepdims = 1> (c) b = Sub(c, r) "
        "x = Softmax <axis = -1> (b) z = Slice(x, first, last, last)"
    ).replace("p = Softmax <axis = -1> (z) y = MatMul(p, v)",
              "y = MatMul(z, v)"),
    "a sink of zero, no mask": f"""
        g ({HEADS}) => (float[B,4,S,8] y)
        <int64[8] pads = {{0,0,0,0,0,0,0,1}}, int64[1] first = {{0}},
         int64[1] last = {{-1}}> {{
          {TO_SCORES} c = Pad(s, pads) p = Softmax <axis = -1> (c)
          z = Slice(p, first, last, last) y = MatMul(z, v) }}""",
    "a causal mask that multiplies, beside another": textbook(
        "int64[B,T] seen",
        "float[1,1,16,16] tril = {%s}, int64[1] zero = {0}, int64[1] two = {2},"
        " int64[1] three = {3}, float one = {1.0}, float c = {-10000.0},"
        " float low = {-3.4028234663852886e38}, int64[2] axes = {1,2}" % ",".join(
            str(float(j <= i)) for i in range(16) for j in range(16)),
        "d = Shape(s) rows = Gather(d, two) columns = Gather(d, three) "
        "h = Slice(tril, zero, rows, two) b = Slice(h, zero, columns, three) "
        "x = Mul(s, b) o = Sub(one, b) f = Mul(o, c) a = Add(x, f) "
        "m = Cast <to = 1> (seen) n = Unsqueeze(m, axes) l = Sub(one, n) "
        "g = Mul(l, low) z = Add(a, g)"),
    "a choice between scores and -1e4": textbook(
        "bool[B,1,S,T] keep", "float c = {-10000.0}", "z = Where(keep, s, c)"),
    "a number as large as the scores where the mask hides": textbook(
        "bool[B,1,1,T] keep", "double low = {-3e38}",
        "n = CastLike(low, s) d = Shape(s) f = Expand(n, d) "
        "z = Where(keep, s, f)"),
    "keys by queries": f"""
        g ({HEADS}, float[B,1,T,1] m) => (float[B,4,8,S] y)
        <float c = {{0.25}}> {{
          qt = Transpose <perm = [0,1,3,2]> (q) s = MatMul(k, qt)
          a = Add(s, m) d = Mul(a, c) p = Softmax <axis = 2> (d)
          vt = Transpose <perm = [0,1,3,2]> (v) y = MatMul(vt, p) }}""",
    "heads last in the scores": """
        g (float[S,B,4,8] q, float[T,B,4,8] k, float[T,B,4,8] v,
           float[S,T,B,4] bias) => (float[S,B,4,8] y) {
          s = Einsum <equation = "ibnd,jbnd->ijbn"> (q, k) a = Add(s, bias)
          p = Softmax <axis = 1> (a)
          y = Einsum <equation = "ijbn,jbnd->ibnd"> (p, v) }""",
    "the logarithm of softmax": f"""
        g ({HEADS}) => (float[B,4,S,8] y) {{
          {TO_SCORES} l = LogSoftmax <axis = -1> (s) p = Exp(l)
          y = MatMul(p, v) }}""",
    "divided by the sum at the end": f"""
        g ({HEADS}) => (float[B,4,S,8] y) <int64[1] last = {{-1}}> {{
          {TO_SCORES} r = ReduceMax <axes = [3], keepdims = 1> (s)
          d = Sub(s, r) e = Exp(d) sum = ReduceSum <keepdims = 0> (e, last)
          u = Unsqueeze(sum, last) i = Reciprocal(u) o = MatMul(e, v)
          y = Mul(o, i) }}""",
    "heads that are gated, and zeros where the mask hides": f"""
        g ({HEADS}, bool[B,1,1,T] keep, float[1,4,1,1] gate)
        => (float[B,4,S,8] y) <float low = {{-3.4028234663852886e38}}> {{
          {TO_SCORES} z = Where(keep, s, low) x = Softmax <axis = -1> (z)
          f = Cast <to = 1> (keep) w = Mul(x, f) p = Mul(w, gate)
          y = MatMul(p, v) }}""",
    "heads that are gated": f"""
        g ({HEADS}, float[1,4,1,1] gate) => (float[B,4,S,8] y) {{
          {TO_SCORES} x = Softmax <axis = -1> (s) p = Mul(x, gate)
          y = MatMul(p, v) }}""",
    "a soft cap whose two numbers were multiplied": textbook(
        "float[B,1,S,T] m", "float a = {0.02}, float c = {5.0}",
        "d = Mul(s, a) t = Tanh(d) u = Mul(c, t) z = Add(u, m)"),
    "cut off at the lowest number": textbook(
        "float[B,1,S,T] m", "float low = {-3.4028234663852886e38}",
        "a = Add(s, m) z = Clip(a, low)"),
    "products of one head written as Gemm": """
        g (float[S,8] q, float[T,8] k, float[T,16] v, float[S,T] m)
        => (float[S,16] y) {
          s = Gemm <transB = 1, alpha = 0.25> (q, k, m)
          p = Softmax <axis = -1> (s) y = Gemm(p, v) }""",
    "heads of unknown number": """
        g (float[4,B,S,8] q, float[4,B,T,8] k, float[4,B,T,8] v,
           float[1,B,1,T] m) => (float[4,B,S,8] y) {
          kt = Transpose <perm = [0,1,3,2]> (k) s = MatMul(q, kt)
          a = Add(s, m) p = Softmax <axis = -1> (a) y = MatMul(p, v) }""",
    "halves that are multiplied in float": """
        g (float16[B,4,S,8] q, float16[B,4,T,8] k, float16[B,4,T,8] v,
           float[B,1,S,T] m) => (float16[B,4,S,8] y) {
          qf = Cast <to = 1> (q) kf = Cast <to = 1> (k)
          kt = Transpose <perm = [0,1,3,2]> (kf) s = MatMul(qf, kt)
          a = Add(s, m) x = Softmax <axis = -1> (a) p = Cast <to = 10> (x)
          y = MatMul(p, v) }""",
    "halves that are masked in float": """
        g (float16[B,4,S,8] q, float16[B,4,T,8] k, float16[B,4,T,8] v,
           float[B,1,S,T] m) => (float[B,4,S,8] y) {
          kt = Transpose <perm = [0,1,3,2]> (k) s = MatMul(q, kt)
          f = Cast <to = 1> (s) a = Add(f, m) p = Softmax <axis = -1> (a)
          w = Cast <to = 1> (v) y = MatMul(p, w) }""",
    "tokens of all blocks beside those of each (PEGASUS-X)": """
        g (float[B,4,3,5,8] q, float[B,4,6,8] gk, float[B,4,3,5,8] k,
           float[B,4,6,8] gv, float[B,4,3,5,8] v, float[B,1,3,1,5] m)
        => (float[B,4,3,5,8] y)
        <int64[10] pads = {0,0,0,0,6,0,0,0,0,0}, int64[1] first = {0},
         int64[1] six = {6}, int64[1] end = {9223372036854775807},
         int64[1] last = {4}, int64[1] one = {1}> {
          a = Einsum <equation = "bhnkf,bhxf->bhnkx"> (q, gk)
          b = Einsum <equation = "bhnkf,bhnxf->bhnkx"> (q, k)
          s = Concat <axis = -1> (a, b) mp = Pad(m, pads) z = Add(s, mp)
          p = Softmax <axis = -1> (z)
          pg = Slice(p, first, six, last, one)
          pk = Slice(p, six, end, last, one)
          c = Einsum <equation = "bhnkx,bhxf->bhnkf"> (pg, gv)
          d = Einsum <equation = "bhnkx,bhnxf->bhnkf"> (pk, v)
          y = Add(c, d) }""",
    "two values for one softmax (DiffLlama)": f"""
        g ({HEADS}, float[B,4,T,8] w) => (float[B,4,S,8] y, float[B,4,S,8] z) {{
          {TO_SCORES} p = Softmax <axis = -1> (s) y = MatMul(p, v)
          z = MatMul(p, w) }}""",
}


def feeds(model, size):
    rng = np.random.default_rng(size)
    out = {}
    for value in model.graph.input:
        kind = value.type.tensor_type
        shape = [d.dim_value or size + ord(d.dim_param) % 5
                 for d in kind.shape.dim]
        array = rng.standard_normal(shape)
        numpy_type = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        out[value.name] = (array if numpy_type.kind == "f" else array > 0
                           ).astype(numpy_type)
    return out


class Spellings(program.ProgramTest):
    def test_spellings(self):
        for target in ("portable", "onnx", "ort"):
            for name, text in SPELLINGS.items():
                with self.subTest(name, target=target):
                    self.check(text, target)

    def test_opsets_older_than_bodies(self):
        """The result is raised as far as its function bodies need."""
        for opset in (7, 9, 10):
            for target in ("portable", "ort"):
                with self.subTest(opset=opset, target=target):
                    header = ('<ir_version: 8, opset_import: '
                              f'["": {opset}]>\n')
                    self.check(header + textbook(
                        "float[B,1,S,T] m", "float c = {0.25}",
                        "d = Mul(s, c) z = Add(d, m)"
                    ).replace("axis = -1", "axis = 3"), target)

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
        """Two rules might undo each other."""
        model = make.model("""
            g (float[B,4,5,8] x, float[N,5,8] r) => (float[B,4,5,8] y)
            <int64[3] join = {-1,5,8}, int64[4] cut = {-1,4,5,8}> {
              a = Reshape(x, join) b = Add(a, r) c = Reshape(b, cut)
              d = Add(c, x) e = Reshape(d, join) f = Add(e, r)
              y = Reshape(f, cut) }""")
        source = self.write("m.onnx", model.SerializeToString())
        self.run_ok("run", *program.packs(), source, "-o", "out.onnx")

    def test_softmax_over_rows_of_a_product_with_a_softmax(self):
        """Likewise: transposed scores, and products with them."""
        for last in ("y = MatMul(v, p)", "y = Identity(p)"):
            with self.subTest(last):
                model = make.model(f"""
                    g (float[1,4,4] a, float[1,4,4] b, float[1,4,4] v)
                    => (float[1,4,4] y) {{
                      r = Softmax <axis = -1> (a) s = MatMul(r, b)
                      p = Softmax <axis = -2> (s) {last} }}""")
                source = self.write("m.onnx", model.SerializeToString())
                self.run_ok("run", *program.packs(), source, "-o", "out.onnx")
                self.assertEqual(numbers.disagreements(
                    source, self.folder / "out.onnx", model,
                    feeds(model, 2)), [])


if __name__ == "__main__":
    unittest.main()
