"""coverage: attention that is found, and the reasons why some stays."""

import json
import unittest

from support import program, verbs

BERT = program.ROOT / "examples" / "bert.onnx"

# One attention: `steps` are all nodes between its inputs and y.
MODEL = """<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
g (float[2,4,8,16] q, float[2,4,16,6] k, float[2,4,6,16] v, float[2,4,8,6] keep)
  => (float[2,4,8,16] y)
  <float c = {{0.25}}, float s = {{0.1}}, uint8 u = {{128}}> {{ {} }}"""

SOFTMAX = "p = Softmax <axis = -1> (a)"
WHOLE = "qq, qs, qz = DynamicQuantizeLinear(q) kq, ks, kz = DynamicQuantizeLinear(k)"
QDQ = """{0}q = QuantizeLinear({0}, s, u) {0}d = {1}DequantizeLinear({0}q, s, u)"""


def qdq(*names, domain=""):
    return " ".join(QDQ.format(name, domain) for name in names)


# title: the steps, and whether they are computed on integers.
SPELLINGS = {
    "FusedMatMul": (f"""
        a = com.microsoft.FusedMatMul <alpha = 0.25> (q, k) {SOFTMAX}
        y = com.microsoft.FusedMatMul (p, v)""", False),
    "Einsum": (f"""
        a = Einsum <equation = "bhsd,bhdt->bhst"> (q, k) {SOFTMAX}
        y = Einsum <equation = "bhst,bhtd->bhsd"> (p, v)""", False),
    "a mask behind the softmax, and its sum": (f"""
        a = MatMul(q, k) {SOFTMAX} m = Mul(p, keep)
        n = ReduceSum <keepdims = 1> (m) w = Div(m, n) y = MatMul(w, v)""",
        False),
    "a quotient of exponentials": ("""
        a = MatMul(q, k) e = Exp(a) n = ReduceSum <keepdims = 1> (e)
        p = Div(e, n) y = MatMul(p, v)""", False),
    "the exponential of a LogSoftmax": ("""
        a = MatMul(q, k) l = LogSoftmax <axis = -1> (a) p = Exp(l)
        y = MatMul(p, v)""", False),
    "MatMulInteger": (f"""
        {WHOLE} i = MatMulInteger(qq, kq, qz, kz) f = Cast <to = 1> (i)
        g = Mul(qs, ks) a = Mul(f, g) {SOFTMAX} pq, ps, pz = DynamicQuantizeLinear(p)
        vq, vs, vz = DynamicQuantizeLinear(v) j = MatMulInteger(pq, vq, pz, vz)
        h = Cast <to = 1> (j) w = Mul(ps, vs) y = Mul(h, w)""", True),
    "MatMulIntegerToFloat": (f"""
        {WHOLE}
        a = com.microsoft.MatMulIntegerToFloat(qq, kq, qs, ks, qz, kz) {SOFTMAX}
        y = MatMul(p, v)""", True),
    "QLinearMatMul": (f"""
        {qdq("q", "k", "v")} i = QLinearMatMul(qq, s, u, kq, s, u, s, u)
        p = com.microsoft.QLinearSoftmax <axis = -1, opset = 17> (i, s, u, s, u)
        o = QLinearMatMul(p, s, u, vq, s, u, s, u) y = DequantizeLinear(o, s, u)""",
        True),
    "QDQ": (f"""
        {qdq("q", "k", "v")} a = MatMul(qd, kd) {qdq("a")}
        p = Softmax <axis = -1> (ad) {qdq("p")} y = MatMul(pd, vd)""", True),
    "QDQ of com.microsoft": (f"""
        {qdq("q", "k", "v", domain="com.microsoft.")} a = MatMul(qd, kd)
        {SOFTMAX} {qdq("p", domain="com.microsoft.")} y = MatMul(pd, vd)""", True),
}

class Coverage(verbs.VerbsTest):
    def test_all_of_it(self):
        done = self.run_ok("coverage", BERT, "--min", "100")
        self.assertRegex(done.out, r"bert\.onnx +2 +2\n")

    def test_remaining_nodes_have_a_reason(self):
        rules = program.ROOT / "rules"
        done = program.run("coverage", rules / "canonical.lua",
                           rules / "attention" / "fuse_masked_attention.lua",
                           BERT, "--min", "1", "--json")
        self.assertEqual(done.code, 1, done.err)
        found, = json.loads(done.out)
        self.assertEqual((found["found"], found["fused"]), (2, 0))
        for left in found["left"]:
            self.assertEqual(left["rule"], "fuse_masked_attention")
            self.assertTrue(left["reason"])

    def test_probabilities_that_are_needed(self):
        for more, steps, reason in (
                ("float[2,4,8,6] p", "", "an output of the model"),
                ("float[2,4,8,6] z", "z = Sigmoid(p)", "by Sigmoid node")):
            with self.subTest(reason):
                self.write("m.onnxtxt", f"""
                    <ir_version: 8, opset_import: ["" : 17]>
                    g (float[2,4,8,16] q, float[2,4,6,16] k,
                       float[2,4,6,16] v) => (float[2,4,8,16] y, {more}) {{
                      kt = Transpose <perm = [0,1,3,2]> (k)
                      s = MatMul(q, kt) p = Softmax <axis = -1> (s)
                      y = MatMul(p, v) {steps} }}""")
                done = self.run_ok("coverage", "m.onnxtxt")
                self.assertRegex(done.out, r"m\.onnxtxt +1 +0\n")
                self.assertIn("needed elsewhere", done.out)
                self.assertIn(reason, done.out)

    def test_no_attention(self):
        self.write("m.onnxtxt", """<ir_version: 8, opset_import: ["" : 17]>
            g (float[4,4] x) => (float[4,4] y) {
              s = Softmax <axis = -1> (x)
              y = MatMul(s, x)
            }""")
        done = self.run_ok("coverage", "m.onnxtxt", "--min", "100")
        self.assertRegex(done.out, r"m\.onnxtxt +0 +0\n")

    def test_whatever_its_products_are(self):
        """It is found even if no rule matches it, so --min counts it."""
        for title, (steps, quantized) in SPELLINGS.items():
            with self.subTest(title):
                self.write("m.onnxtxt", MODEL.format(steps))
                done = program.run("coverage", self.folder / "m.onnxtxt",
                                   "--min", "100", "--json")
                found, = json.loads(done.out)
                self.assertEqual(found["found"], 1, done.err)
                self.assertEqual(done.code, 1 if found["left"] else 0)
                if quantized:
                    reason = found["left"][0]["reason"]
                    self.assertIn("quantized, so it stays", reason)

    def test_behind_quantized_projections(self):
        """Weights that only the runtime unpacks are no scores."""
        self.write("m.onnxtxt", """
            <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
            g (float[2,8,32] x) => (float[2,8,32] y)
              <uint8[32,1,16] w = {WEIGHT}, float[32] s = {SCALE}> {
              q = com.microsoft.MatMulNBits
                <K = 32, N = 32, bits = 4, block_size = 32> (x, w, s)
              t = Transpose <perm = [0,2,1]> (x)
              a = MatMul(q, t) p = Softmax <axis = -1> (a) y = MatMul(p, x)
            }""".replace("WEIGHT", ",".join(["7"] * 512))
                 .replace("SCALE", ",".join(["0.1"] * 32)))
        done = self.run_ok("coverage", "m.onnxtxt")
        self.assertRegex(done.out, r"m\.onnxtxt +1 +[01]\n")

    def test_gates_are_no_attention(self):
        """A softmax over weights, dequantized or not, is a gate of experts."""
        self.write("m.onnxtxt", f"""
            <ir_version: 8, opset_import: ["" : 17]>
            g (float[4,4] x, float[4,4] z) => (float[4,4] y)
              <uint8[4,4] w = {{{",".join(["3"] * 16)}}}, float s = {{0.1}}> {{
              d = DequantizeLinear(w, s) a = MatMul(x, d)
              p = Softmax <axis = -1> (a) y = MatMul(p, z)
            }}""")
        done = self.run_ok("coverage", program.ROOT / "rules" / "canonical.lua",
                           "m.onnxtxt", "--min", "100")
        self.assertRegex(done.out, r"m\.onnxtxt +0 +0\n")


if __name__ == "__main__":
    unittest.main()
