"""Old models, opsets and targets on the command line."""

import unittest

import numpy as np
import onnx

from support import graphs, make, numbers, onnx_runtime, program, runs

ATTENTION = ", float[1,2,4,8] q, float[1,2,5,8] k, float[1,2,5,8] v"
PRODUCTS = ("kt = Transpose <perm = [0,1,3,2]> (k) s = MatMul(q, kt) m = Mul(s, c)"
            " p = Softmax <axis = 3> (m) o = MatMul(p, v) ")
# Nodes that a newer opset, or ONNX Runtime there, does not support.
STUCK = {
    "Scatter": (10, "float[1,5] x", "float[1,5] y", "int64[1,2] i = {1,3}, float[1,2] u = {7,8}",
                "y = Scatter <axis = 1> (x, i, u)"),
    "Upsample": (9, "float[1,1,2,2] x", "float[1,1,4,4] y", "float[4] f = {1,1,2,2}", "y = Upsample(x, f)"),
    "Dropout": (9, "float[2,3] x", "float[2,3] y", "float[3] b = {1,2,3}", "h, mask = Dropout(x) y = Add(h, b)"),
    "Resize": (10, "float[1,1,2,2] x", "float[1,1,4,4] y", "float[4] f = {1,1,2,2}", "y = Resize(x, f)"),
}
ROI = (16, "float[1,1,6,6] x", "float[2,1,2,2] y", "float[2,4] r = {0,0,3,3,1,1,4,4}, int64[2] b = {0,0}",
       "y = RoiAlign <output_height = 2, output_width = 2> (x, r, b)")
GELU = """g (float[2,3] x) => (float[2,3] y)
  <float r = {1.4142135}, float one = {1.0}, float half = {0.5}, float[3] b = {1, 2, 3}> {
    s = Add(x, b) d = Div(s, r) e = Erf(d) a = Add(e, one) h = Mul(s, half) y = Mul(h, a) }"""


def beside_attention(opset, inputs, outputs, constants, nodes):
    return make.model(f"g ({inputs}{ATTENTION}) => ({outputs}, float[1,2,4,8] o)"
                      f" <float c = {{0.35355338}}, {constants}> {{ {nodes} {PRODUCTS} }}",
                      f'<ir_version: 8, opset_import: ["" : {opset}]>\n')


def inputs_of(model):
    random = np.random.default_rng(1)
    return {v.name: random.standard_normal([d.dim_value for d in v.type.tensor_type.shape.dim]).astype("f")
            for v in model.graph.input}
# On a CPU the rule only applies if it removes a Transpose or has a mask.
GPU = ("--set", "onnx/scaled_dot_product_attention.gpu=true")


class OpsetTest(runs.RunTest):
    def rewritten(self, model, *words):
        self.write("m.onnx", model.SerializeToString())
        done = self.run_ok("run", *program.packs(), "m.onnx", "-o", "out.onnx", *words)
        return done, onnx.load(self.folder / "out.onnx")

    def same(self, model):
        given = inputs_of(model)
        want = numbers.session(self.folder / "m.onnx").run(None, given)
        for session in (numbers.session(self.folder / "out.onnx"),
                        onnx_runtime.session(onnx.load(self.folder / "out.onnx"))):
            for x, y in zip(want, session.run(None, given)):
                self.assertIsNone(numbers.difference(x, y))

    def test_attention_beside_what_cannot_be_raised_stays(self):
        for name, case in STUCK.items():
            for target in ("auto", "portable", "onnx", "ort"):
                with self.subTest(node=name, target=target):
                    model = beside_attention(*case)
                    # Another match that is rewritten.
                    model.graph.node.extend(make.model(
                        "g (float[2] y) => (float[2] w) { n = Neg(y) t = Neg(n) w = Neg(t) }").graph.node)
                    model.graph.output[0].name = "w"
                    self.write("m.onnx", model.SerializeToString())
                    done = self.run_ok("run", *program.packs(), "cancel.lua", "m.onnx", "-o", "out.onnx",
                                       "--target", target)
                    out = onnx.load(self.folder / "out.onnx")
                    self.assertIn("warning: m.onnx: nodes that fused ops would replace stay unchanged: opset", done.err)
                    self.assertIn(name, done.err)
                    self.assertEqual(out.opset_import[0].version, case[0])
                    self.assertEqual(graphs.fused(out), 0)
                    self.assertEqual([n.op_type for n in out.graph.node].count("Neg"), 1)
                    self.same(model)

    def test_an_unreachable_opset(self):
        for name, case in STUCK.items():
            self.write("m.onnx", beside_attention(*case).SerializeToString())
            self.run_bad(3, "run", *program.packs(), "m.onnx", "-o", "out.onnx", "--opset", "13",
                         says=["the opset cannot be raised to 13", name])

    def test_not_past_the_last_kernel(self):
        model = beside_attention(*ROI)
        done, out = self.rewritten(model, "--target", "onnx", *GPU)
        self.assertIn("stays portable where it would need opset 23: the opset cannot be raised to 23: RoiAlign", done.err)
        self.assertIn("runs it up to opset 21", done.err)
        self.assertEqual(out.opset_import[0].version, 16)
        self.assertIn("ruleengine::ScaledDotProductAttention", [graphs.op(n) for n in out.graph.node])
        self.same(model)
        _, out = self.rewritten(model, "--target", "onnx", "--opset", "20")
        self.assertEqual(out.opset_import[0].version, 20)
        self.same(model)
        self.run_bad(3, "run", "never.lua", "m.onnx", "--opset", "22", "-o", "x.onnx", says="RoiAlign")

    def test_bodies_want_an_opset_that_the_rest_can_have(self):
        # Past 11, and not as far as 23.
        model = beside_attention(10, *ROI[1:])
        done, out = self.rewritten(model, "--target", "onnx")
        self.assertIn("stays portable", done.err)
        self.assertEqual(out.opset_import[0].version, 11)
        self.assertEqual(graphs.fused(out), 1)
        self.same(model)

    def test_targets_raise_the_opset_as_requested(self):
        model = make.model(GELU, '<ir_version: 8, opset_import: ["" : 12]>\n')
        _, out = self.rewritten(model, "--target", "ort", "--opset", "15")
        self.assertEqual({o.domain: o.version for o in out.opset_import}, {"": 15, "com.microsoft": 1})
        self.assertEqual([graphs.op(n) for n in out.graph.node], ["Add", "com.microsoft::Gelu"])
        self.same(model)

    def test_rules_of_a_target_need_no_attention(self):
        model = make.model(GELU, '<ir_version: 8, opset_import: ["" : 20]>\n')
        for target, ops in (("ort", ["Add", "com.microsoft::Gelu"]), ("onnx", ["Add", "Gelu"])):
            self.write("m.onnx", model.SerializeToString())
            self.run_ok("run", "never.lua", "m.onnx", "-o", "out.onnx", "--target", target)
            self.assertEqual(self.ops("out.onnx"), ops)
            self.same(model)
            self.run_ok("run", "never.lua", "out.onnx", "-o", "again.onnx", "--target", target)
            self.assertEqual((self.folder / "again.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())
        model.opset_import[0].version = 23  # for which `auto` is onnx
        self.write("m.onnx", model.SerializeToString())
        for rules in (["never.lua"], program.packs()):
            self.run_ok("run", *rules, "m.onnx", "-o", "out.onnx")  # by default nothing fired
            self.assertEqual((self.folder / "out.onnx").read_bytes(), (self.folder / "m.onnx").read_bytes())
        model.graph.node.extend(make.model("g (float[2] y) => (float[2] w) { n = Neg(y) t = Neg(n) w = Abs(t) }")
                                .graph.node)
        model.graph.output[0].name = "w"
        self.write("m.onnx", model.SerializeToString())
        self.run_ok("run", "cancel.lua", "m.onnx", "-o", "out.onnx")
        self.assertEqual(self.ops("out.onnx"), ["Add", "Gelu", "Abs"])

    def test_an_outer_rule_goes_before_an_inner_one(self):
        """A layer norm contains a norm by the root of the mean square."""
        graph = """g (float[2,3,8] x) => (float[2,3,8] y, float[2,3,8] z)
          <float[8] w = {1,2,3,4,5,6,7,8}, float[8] b = {8,7,6,5,4,3,2,1},
           float two = {2.0}, float tiny = {0.00001}> {
            """ + make.LAYER_NORM + """
            s2 = Mul(x, x)
            v2 = ReduceMean <axes = [-1]> (s2)
            a2 = Add(v2, tiny)
            r2 = Sqrt(a2)
            n2 = Div(x, r2)
            z = Mul(n2, w)
          }"""
        model = onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 14]>' + graph)
        _, out = self.rewritten(model, "--target", "onnx")
        self.assertEqual([node.op_type for node in out.graph.node],
                         ["LayerNormalization", "RMSNormalization"])

    def test_a_target_raises_for_any_of_its_rules(self):
        model = make.model(GELU, '<ir_version: 8, opset_import: ["" : 17]>\n')
        _, out = self.rewritten(model, "--target", "onnx")
        self.assertEqual(out.opset_import[0].version, 20)
        self.assertEqual([n.op_type for n in out.graph.node], ["Add", "Gelu"])
        self.same(model)

    def test_the_target_of_onnx_runtime_raises_for_a_norm(self):
        graph = """g (float[2,4] x) => (float[2,4] y)
          <float two = {2.0}, float tiny = {0.00001}, float[4] w = {1, 2, 3, 4}> {
            m = ReduceMean <axes = [-1]> (x) c = Sub(x, m) s = Pow(c, two) v = ReduceMean <axes = [-1]> (s)
            a = Add(v, tiny) r = Sqrt(a) d = Div(c, r) y = Mul(d, w) }"""
        for before, target, after in ((11, "ort", 17), (13, "ort", 17), (13, "auto", 13)):
            model = make.model(graph, f'<ir_version: 7, opset_import: ["" : {before}]>\n')
            with self.subTest(opset=before, target=target):
                _, out = self.rewritten(model, "--target", target)
                self.assertEqual(out.opset_import[0].version, after)
                self.assertEqual([n.op_type for n in out.graph.node] == ["LayerNormalization"], after == 17)
                self.same(model)

    def test_an_option_of_a_targets_rule(self):
        self.write("m.onnx", make.model(GELU, '<ir_version: 8, opset_import: ["" : 20]>\n').SerializeToString())
        for target in ("onnx", "auto"):  # from which a model may choose it
            self.run_bad(2, "run", "never.lua", "m.onnx", "-o", "out.onnx", "--target", target, "--set", "gelu.no=1",
                         says="'gelu' has no such option")
        for words in (["--target", "portable", "--set", "gelu.no=1"], ["--set", "nobody.no=1"]):
            self.run_bad(2, "run", "never.lua", "m.onnx", "-o", "out.onnx", *words, says="is loaded")

    def test_a_rule_of_the_name_of_a_targets_rule_takes_its_place(self):
        self.write("onnx/gelu.lua", """return rule { phase = "target",
            match = function(op, x) return op.Mul(x, op.Sigmoid(x)) end,
            rewrite = function(op, m) return op.Relu(m.x) end, changes_meaning = true }""")
        self.write("m.onnx", make.model(GELU, '<ir_version: 8, opset_import: ["" : 20]>\n').SerializeToString())
        self.run_ok("run", "onnx/gelu.lua", "m.onnx", "-o", "out.onnx", "--target", "onnx")
        self.assertNotIn("Gelu", self.ops("out.onnx"))

    def test_a_bias_before_the_standards_gelu(self):
        model = make.model("g (float[2,3] x) => (float[2,3] y) <float[3] b = {1, 2, 3}> { s = Add(x, b) y = Gelu(s) }",
                           '<ir_version: 8, opset_import: ["" : 20]>\n')
        _, out = self.rewritten(model, "--target", "ort")
        self.assertEqual([graphs.op(n) for n in out.graph.node], ["Add", "Gelu"])
        _, out = self.rewritten(model, program.ROOT / "rules/targets/ort/gpu", "--target", "ort")
        self.assertEqual([graphs.op(n) for n in out.graph.node], ["com.microsoft::BiasGelu"])
        self.same(model)

    def test_quantized_embedding(self):
        model = make.model("""g (int64[2,8] ids) => (float[2,4,8,8] y)
            <int8[3,32] table = {%s}, float f = {0.1}, int8 z = {2}, int64[4] sh = {2,4,8,8}, float c = {0.35}> {
              e = Gather(table, ids) d = DequantizeLinear(e, f, z) t = Transpose <perm = [0,2,1]> (d)
              u = Neg(t) r = Reshape(u, sh) q = Transpose <perm = [0,1,3,2]> (r) s = MatMul(q, r) m = Mul(s, c)
              p = Softmax <axis = -1> (m) o = MatMul(p, q) y = Relu(o) }""" % ",".join(str(i % 90) for i in range(96)))
        done, out = self.rewritten(model, "--target", "onnx", *GPU)
        self.assertIn("the result stays portable", done.err)
        self.assertIn("DequantizeLinear", done.err)
        self.assertEqual(graphs.fused(out), 1)
        given = {"ids": np.arange(16).reshape(2, 8) % 3}
        want = numbers.session(self.folder / "m.onnx").run(None, given)
        got = onnx_runtime.session(out).run(None, given)
        self.assertIsNone(numbers.difference(want[0], got[0]))

    def test_onnx_runtimes_own_norm(self):
        text = ("g (float16[2,4] x) => (float[2,4] y) <float[4] w = {1, 2, 3, 4}>"
                " { y = LayerNormalization <axis = -1> (x, w) }")
        model = make.model(text, '<ir_version: 8, opset_import: ["" : 12]>\n')
        self.write("m.onnx", model.SerializeToString())
        self.run_bad(3, "run", "never.lua", "m.onnx", "--opset", "17", "-o", "out.onnx",
                     says="it is an op of ONNX Runtime with the same name")
        for words in (["--opset", "16"], ["--target", "onnx"], ["--target", "ort"]):
            self.run_ok("run", "never.lua", "m.onnx", *words, "-o", "out.onnx")
            onnx_runtime.session(onnx.load(self.folder / "out.onnx"))


if __name__ == "__main__":
    unittest.main()
