"""Names of new nodes, and which nodes of the model they come from."""

import unittest

import onnx

from support import make, program

ATTENTION = """g (float[2,4,8] x, float[8,8] a, float[8,8] b, float[8,8] c) => (float[2,4,8] y) {
  [n0] q = MatMul(x, a)
  [n1] k = MatMul(x, b)
  [n2] v = MatMul(x, c)
  [n3] t = Transpose <perm = [0,2,1]> (k)
  [n4] s = MatMul(q, t)
  [n5] p = Softmax <axis = -1> (s)
  [n6] y = MatMul(p, v)
}"""
NAMES = ["/layer.0/query/MatMul", "/layer.0/key/MatMul", "/layer.0/value/MatMul", "/layer.0/core/Transpose",
         "/layer.0/core/MatMul", "/layer.0/core/Softmax", "/layer.0/core/MatMul_1"]
# Neg becomes Relu, which the next rule consumes.
STEPS = ("""return rule {
  phase = "canonical", changes_meaning = true,
  match = function(op, x) return op.Neg(x) end,
  rewrite = function(op, m) return op.Relu(m.x) end,
}""", """return rule {
  phase = "attention", changes_meaning = true,
  match = function(op, x) return op.Exp(op.Relu(x)) end,
  rewrite = function(op, m) return op.Tanh(m.x) end,
}""")
WITH = """return rule {
  changes_meaning = true,
  match = function(op, x) return op.Softmax{x, attrs = any}:as "step" end,
  rewrite = function(op, m) return m.step:with{axis = 0} end,
}"""


def said(node, key):
    return [p.value for p in node.metadata_props if p.key == key]


class Names(program.ProgramTest):
    def result(self, model, *arguments):
        self.write("m.onnx", model.SerializeToString())
        self.run_ok("run", *arguments, "m.onnx", "-o", "out.onnx")
        return onnx.load(self.folder / "out.onnx").graph.node

    def attention(self, names):
        model = make.model(ATTENTION)
        for node, name in zip(model.graph.node, names, strict=True):
            node.name = name
        return model

    def test_new_nodes_lie_in_the_scope_of_what_they_replace(self):
        nodes = self.result(self.attention(NAMES), *program.packs(), "--target", "portable")
        names = {n.op_type: n.name for n in nodes}
        self.assertEqual(names["ScaledDotProductAttention"], "/layer.0/core/ScaledDotProductAttention")

    def test_names_without_a_scope(self):
        nodes = self.result(self.attention([f"n{i}" for i in range(7)]), *program.packs(), "--target", "portable")
        names = {n.op_type: n.name for n in nodes}
        self.assertEqual(names["ScaledDotProductAttention"], "ScaledDotProductAttention")

    def test_origins_are_nodes_of_the_model(self):
        for i, rule in enumerate(STEPS):
            self.write(f"s{i}.lua", rule)
        model = make.model("g (float[2] x) => (float[2] y) { a = Neg(x) y = Exp(a) }")
        for name, node in zip(("/s/first", "/s/second"), model.graph.node, strict=True):
            node.name = name
        nodes = self.result(model, "s0.lua", "s1.lua")
        self.assertEqual([n.op_type for n in nodes], ["Tanh"])
        self.assertEqual(said(nodes[0], "ruleengine.from"), ["/s/second,/s/first"])
        # A second run takes this result for its model.
        again = self.result(onnx.load(self.folder / "out.onnx"), self.write("t.lua", """return rule {
          changes_meaning = true,
          match = function(op, x) return op.Tanh(x) end,
          rewrite = function(op, m) return op.Sigmoid(m.x) end,
        }""").name)
        self.assertEqual(said(again[0], "ruleengine.from"), ["/s/Tanh"])

    def test_with_keeps_the_name(self):
        self.write("with.lua", WITH)
        nodes = self.result(self.attention(NAMES), "with.lua")
        self.assertIn("/layer.0/core/Softmax", [n.name for n in nodes])
        self.assertEqual([a.i for n in nodes for a in n.attribute if n.op_type == "Softmax"], [0])


if __name__ == "__main__":
    unittest.main()
