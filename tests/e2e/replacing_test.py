"""Replacing the masked attention of a model, as in a guide to replacing patterns:
normalize, remove dropout, replace, report. Each case names the behaviours that it
tests (S2.n)."""

import unittest

import numpy as np
import onnx

from support import graphs, make, numbers, program

RULES = program.ROOT / "rules"
CANONICAL = RULES / "canonical.lua"
FUSE = RULES / "attention" / "fuse_masked_attention.lua"
FUSED = "ruleengine::AttentionForward"

# One layer: {q}, {k}, {v} and {m}ask to {y}; {n} makes its names unique.
LAYER = """
    kt{n} = Transpose<perm = [0,1,3,2]>({k})
    s{n} = MatMul({q}, kt{n})
    d{n} = Div(s{n}, {c})
    a{n} = Add(d{n}, {m})
    p{n} = Softmax<axis = -1>(a{n})
    {y} = MatMul(p{n}, {v})"""


def layer(n="", q="q", k="k", v="v", m="m", c="c", y="y"):
    return LAYER.format(n=n, q=q, k=k, v=v, m=m, c=c, y=y)


def model(body, batch="2", rows="8", mask="float[2,1,1,8] m", weights="",
          inputs="", outputs=""):
    heads = f"float[{batch},4,{rows},64]"
    return make.model(
        f"g ({heads} q, {heads} k, {heads} v, {mask}{inputs}) => "
        f"({heads} y{outputs}) <float c = {{8.0}}{weights}> {{ {body} }}")


class Replacing(program.ProgramTest):
    def replaced(self, made, *more, rules=(FUSE,)):
        """Checks the ops of the result, and that the numbers are equal."""
        source = self.write("m.onnx", made.SerializeToString())
        self.run_ok("run", *rules, source, "-o", "out.onnx", *more)
        result = onnx.load(self.folder / "out.onnx")
        onnx.checker.check_model(result)
        random = np.random.default_rng(0)
        feeds = {}
        for value in made.graph.input:
            shape = [d.dim_value or {"B": 3, "S": 8}.get(d.dim_param, 2)
                     for d in value.type.tensor_type.shape.dim]
            feeds[value.name] = random.standard_normal(shape, np.float32)
        self.assertEqual(numbers.disagreements(
            source, self.folder / "out.onnx", made, feeds), [])
        self.result = result
        return [graphs.op(node) for node in result.graph.node]

    def fused(self):
        return [node for node in self.result.graph.node
                if graphs.op(node) == FUSED]

    def scale(self, node):
        return {a.name: onnx.helper.get_attribute_value(a)
                for a in node.attribute}["sm_scale"]

    def stays(self, made, *more, **rules):
        self.assertNotIn(FUSED, self.replaced(made, *more, **rules))


class Fires(Replacing):
    def test_s2_7_one_call_with_scale_and_mask(self):
        self.assertEqual(self.replaced(model(layer())), [FUSED])
        node, = self.fused()
        self.assertEqual(list(node.input), ["q", "k", "v", "m"])
        self.assertEqual(self.scale(node), 0.125)
        causal = [a.i for a in node.attribute if a.name == "is_causal"]
        self.assertIn(causal, ([], [0]))

    def test_s2_9_a_captured_constant(self):
        product = layer().replace("Div", "Mul")
        self.replaced(model(product.replace("c)", "half)"),
                            weights=", float half = {0.5}"))
        self.assertEqual(self.scale(self.fused()[0]), 0.5)
        self.replaced(model(layer(c="other"), weights=", float other = {16.0}"))
        self.assertEqual(self.scale(self.fused()[0]), 0.0625)

    def test_s2_10_the_result_is_of_the_shape_of_q(self):
        self.replaced(model(layer()))
        self.assertEqual(list(self.fused()[0].output), ["y"])
        self.assertEqual(len(self.fused()[0].input), 4)

    def test_s2_11_the_scale_comes_before_the_mask(self):
        late = layer().replace("d = Div(s, c)", "d = Add(s, m)").replace(
            "a = Add(d, m)", "a = Div(d, c)")
        self.stays(model(late))

    def test_s2_12_surrounding_nodes_stay(self):
        body = """w0 = Reshape(x, heads)
            q0 = Transpose<perm = [0,2,1,3]>(w0)
            """ + layer(q="q0", y="o") + """
            z = Transpose<perm = [0,2,1,3]>(o)
            f = Reshape(z, flat)
            h = MatMul(f, w)
            y = Add(q, o)"""
        ops = self.replaced(model(
            body, inputs=", float[2,8,256] x", outputs=", float[2,8,3] h",
            weights=", int64[4] heads = {2,8,4,64}, int64[3] flat = {2,8,256}"
                    ", float[256,3] w = {" + ",".join(["0.5"] * 768) + "}"))
        self.assertEqual(ops.count(FUSED), 1)
        self.assertEqual(sorted(set(ops) - {FUSED}),
                         ["Add", "MatMul", "Reshape", "Transpose"])

    def test_s2_13_layers_that_share_a_mask(self):
        body = "t = Sub(one, m) low = Mul(t, least)" + \
            layer("1", m="low", y="h") + layer("2", q="h", m="low")
        ops = self.replaced(model(
            body, weights=", float one = {1.0}, float least = {-10000.0}"))
        self.assertEqual(ops, ["Sub", "Mul", FUSED, FUSED])
        self.assertEqual({node.input[3] for node in self.fused()}, {"low"})

    def test_s2_18_equal_spellings_are_normalized_first(self):
        spelled = "c1 = Identity(c)" + layer(c="c1", y="o").replace(
            "axis = -1", "axis = 3").replace("(s,", "(s1,").replace(
            "d = ", "s1 = Identity(s) d = ") + " y = Identity(o)"
        self.assertEqual(
            self.replaced(model(spelled), rules=(CANONICAL, FUSE)),
            [FUSED])

    def test_s2_19_s2_27_the_dropout_goes_first(self):
        dropped = layer().replace("MatMul(p,", "MatMul(r,").replace(
            "y = ", "r = Dropout(p) y = ")
        self.stays(model(dropped))
        self.assertEqual(
            self.replaced(model(dropped), rules=(CANONICAL, FUSE)), [FUSED])

    def test_s2_21_in_order_whatever_the_command_line(self):
        dropped = layer().replace("MatMul(p,", "MatMul(r,").replace(
            "y = ", "r = Dropout(p) y = ")
        self.assertEqual(
            self.replaced(model(dropped), rules=(FUSE, CANONICAL)), [FUSED])
        self.write("m.onnx", model(dropped).SerializeToString())
        text = self.run_ok("report", "m.onnx", "--first", CANONICAL, FUSE).out
        self.assertRegex(text, r"(?m)^ruleengine::AttentionForward\s+1$")
        self.assertNotRegex(text, r"(?m)^Dropout\s")

    def test_s2_24_the_mask_in_front(self):
        self.assertEqual(self.replaced(model(layer().replace(
            "Add(d, m)", "Add(m, d)"))), [FUSED])

    def test_s2_28_any_batch_and_rows_and_masks(self):
        for shapes in ({"batch": "B"},
                       {"batch": "B", "mask": "float[B,1,1,8] m"},
                       {"mask": "float[2,4,8,8] m"},
                       {"mask": "float[2,1,8,8] m"},
                       {"batch": "B", "rows": "S", "mask": "float[B,1,1,S] m"},
                       {"batch": "B", "rows": "S",
                        "mask": "float[B,4,S,S] m"}):
            with self.subTest(**shapes):
                if shapes.get("batch") == "B" and "mask" not in shapes:
                    shapes["mask"] = "float[1,1,1,8] m"
                self.assertEqual(self.replaced(model(layer(), **shapes)),
                                 [FUSED])


class Stays(Replacing):
    def test_s2_8_another_literal(self):
        meant = ("--set", "fuse_masked_attention.literal_divisor=8")
        self.assertEqual(self.replaced(model(layer()), *meant), [FUSED])
        self.stays(model(layer(c="other"), weights=", float other = {16.0}"),
                   *meant)

    def test_s2_20_a_dropout_in_training(self):
        body = layer().replace("MatMul(p,", "MatMul(r,").replace(
            "y = ", "r, kept = Dropout(p) y = ")
        ops = self.replaced(model(body, outputs=", bool[2,4,8,8] kept"),
                            rules=(CANONICAL, FUSE))
        self.assertIn("Dropout", ops)
        self.assertNotIn(FUSED, ops)

    def test_s2_23_the_probabilities_are_read(self):
        self.stays(model(layer(), outputs=", float[2,4,8,8] p"))
        self.stays(model(layer() + " e = Exp(p)",
                         outputs=", float[2,4,8,8] e"))

    def test_s2_24_operands_the_other_way_round(self):
        self.stays(model(layer().replace("Div(s, c)", "Div(c, s)")))
        self.stays(model(layer().replace("MatMul(p, v)", "MatMul(v, p)"),
                         rows="64", mask="float[2,1,1,64] m"))

    def test_s2_25_a_head_mask_or_relative_positions(self):
        self.stays(model(layer().replace("MatMul(p,", "MatMul(r,").replace(
            "y = ", "r = Mul(p, heads) y = "),
            inputs=", float[1,4,1,1] heads"))
        self.stays(model(layer().replace("d = Div(s, c)",
                                         "r = Add(s, places) d = Div(r, c)"),
                         inputs=", float[1,4,8,8] places"))

    def test_s2_29_a_softmax_over_another_axis(self):
        self.stays(model(layer().replace("axis = -1", "axis = 2")))


class Layers(Replacing):
    TEXT = """g (float[3,5] x) => (float[3,1] y)
        <float[5,10] w1 = {%s}, float[10] b1 = {%s}, float[10,1] w2 = {%s}> {
          h = Gemm(x, w1, b1)
          t = Tanh(h)
          o = Gemm(t, w2)
          y = Sigmoid(o) }""" % (",".join("1" * 50), ",".join("2" * 10),
                                ",".join("3" * 10))
    PASS = """return rule {
      doc = "the first layer's activation, as the guide has it",
      changes_meaning = true,
      pass = function(graph, op)
        local function pattern(op, v)
          return op.Tanh(op.Gemm{v, any, any, attrs = any}:as "linear")
        end
        local function replacement(op, v)
          return op.Relu(op.Gemm{v, any, any, attrs = any}:as "linear")
        end
        need(#replace_pattern(graph, pattern, replacement) %s 1, "so many")
      end }"""

    def run_pass(self, relation):
        made = make.model(self.TEXT)
        for node, name in zip(made.graph.node, ["fc1", "tanh", "fc2", "last"]):
            node.name = name
        self.write("m.onnx", made.SerializeToString())
        self.write("guide.lua", self.PASS % relation)
        done = self.run_ok("run", "guide.lua", "m.onnx", "-o", "out.onnx")
        return made.graph, onnx.load(self.folder / "out.onnx").graph, done.err

    def test_s2_1_to_s2_6_the_two_layers_of_the_guide(self):
        before, after, _ = self.run_pass("<=")  # 1, then nothing is left to replace
        self.assertEqual([node.op_type for node in after.node],
                         ["Gemm", "Relu", "Gemm", "Sigmoid"])
        for i in (0, 2, 3):
            was, now = before.node[i], after.node[i]
            self.assertEqual((was.name, was.op_type, *was.input, *was.output),
                             (now.name, now.op_type, *now.input, *now.output))
        self.assertEqual(list(before.initializer), list(after.initializer))

    def test_s2_2_a_pass_may_reject_a_match(self):
        before, after, err = self.run_pass(">")
        self.assertEqual(before, after)
        self.assertIn("4 -> 4 nodes", err)


class Opaque(Replacing):
    def test_s2_14_a_custom_kernel_is_one_node(self):
        self.write("own.lua", """return rule {
          doc = "the pattern of the guide, as it stands",
          match = function(op, q, k, mask, v)
            local transpose = op.Transpose{k, perm = {0, 1, 3, 2}}
            local matmul = op.MatMul(q, transpose)
            local truediv = op.Div(matmul, 8.0)
            local add = op.Add(truediv, mask)
            return op.MatMul(op.Softmax{add, axis = -1}, v)
          end,
          replace = function(op, q, k, mask, v)
            return op.kernl.attention_forward{q, k, v, mask, sm_scale = 1 / 8.0,
                                              is_causal = 0}
          end,
        }""")
        self.write("m.onnx", model(layer()).SerializeToString())
        self.run_ok("run", "own.lua", "m.onnx", "-o", "out.onnx")
        result = onnx.load(self.folder / "out.onnx")
        self.assertEqual([graphs.op(node) for node in result.graph.node],
                         ["kernl::attention_forward"])
        self.assertIn("kernl", [o.domain for o in result.opset_import])
        self.assertEqual(self.scale(result.graph.node[0]), 0.125)


if __name__ == "__main__":
    unittest.main()
