"""The canonical rules on small graphs: nodes that go, and nodes that stay."""

import unittest

import numpy as np
import onnx

from support import graphs, make, numbers, program

PACK = program.ROOT / "rules" / "canonical.lua"


class Canonical(program.ProgramTest):
    def check(self, text, ops):
        """The pack leaves these ops, with equal numbers."""
        model = make.model(text)
        source = self.write("m.onnx", model.SerializeToString())
        self.run_ok("run", PACK, source, "-o", "out.onnx")
        result = onnx.load(self.folder / "out.onnx")
        onnx.checker.check_model(result)
        self.assertEqual([graphs.op(n) for n in result.graph.node], ops)
        self.assertEqual([v.name for v in result.graph.output],
                         [v.name for v in model.graph.output])
        random = np.random.default_rng(0)
        feeds = {v.name: random.standard_normal(
                     [d.dim_value or 3 for d in
                      v.type.tensor_type.shape.dim], np.float32)
                 for v in model.graph.input}
        self.assertEqual(numbers.disagreements(
            source, self.folder / "out.onnx", model, feeds), [])

    def test_sizes_that_are_0_when_it_runs(self):
        """A computed size of 0 means 0, not a copy of the input's size."""
        for opset in (17, 13):
            model = make.model(f"""<ir_version: 8, opset_import: ["" : {opset}]>
                g (float[2,4,S,8] q, float[2,4,8,P] k, float[8,P,8] v)
                  => (float[8,S,8] y)
                  <int64[3] a = {{8,-1,8}}, int64[3] b = {{8,8,-1}}> {{
                  qm = Reshape(q, a) km = Reshape(k, b)
                  s = MatMul(qm, km) y = MatMul(s, v)
                }}""")
            source = self.write("m.onnx", model.SerializeToString())
            self.run_ok("run", PACK, source, "-o", "out.onnx")
            random = np.random.default_rng(0)
            for queries, keys in ((5, 3), (5, 0), (0, 3), (1, 1)):
                feeds = {name: random.standard_normal(shape, np.float32)
                         for name, shape in (("q", (2, 4, queries, 8)),
                                             ("k", (2, 4, 8, keys)),
                                             ("v", (8, keys, 8)))}
                want, got = (numbers.session(str(path)).run(None, feeds)[0]
                             for path in (source, self.folder / "out.onnx"))
                with self.subTest(opset=opset, queries=queries, keys=keys):
                    self.assertIsNone(numbers.difference(want, got))

    def test_identity(self):
        self.check("g (float[2] x) => (float[2] y) { a = Identity(x) "
                   "b = Neg(a) y = Identity(b) }", ["Neg"])

    def test_identities_in_a_row(self):
        self.check("g (float[2] x) => (float[2] y) { a = Identity(x) "
                   "b = Identity(a) c = Identity(b) y = Neg(c) }", ["Neg"])

    def test_identity_from_input_to_output(self):
        self.check("g (float[2] x) => (float[2] y) { y = Identity(x) }",
                   ["Identity"])

    def test_one_value_for_two_outputs(self):
        self.check("g (float[2] x) => (float[2] y, float[2] z) "
                   "{ y = Neg(x) z = Identity(y) }", ["Neg", "Identity"])

    def test_cast_to_the_same_type(self):
        self.check("g (float[2] x) => (float[2] y) "
                   "{ a = Cast<to = 1>(x) y = Neg(a) }", ["Neg"])

    def test_cast_to_another_type(self):
        self.check("g (float[2] x) => (int64[2] y) "
                   "{ a = Neg(x) y = Cast<to = 7>(a) }", ["Neg", "Cast"])

    def test_identity_transpose(self):
        self.check("g (float[2,3] x) => (float[2,3] y) "
                   "{ a = Transpose<perm = [0,1]>(x) y = Neg(a) }", ["Neg"])

    def test_transpose_that_moves(self):
        self.check("g (float[2,2] x) => (float[2,2] y) "
                   "{ a = Transpose(x) y = Neg(a) }", ["Transpose", "Neg"])

    def test_reshape_to_the_same_shape(self):
        self.check("g (float[N,6] x) => (float[N,6] y) "
                   "<int64[2] s = {-1, 6}> { a = Reshape(x, s) y = Neg(a) }",
                   ["Neg"])

    def test_reshape_to_a_computed_shape(self):
        self.check("""g (float[N,6] x) => (float[N,6] y)
            <int64[1] six = {6}, int64 zero = {0}, int64[1] first = {0}> {
              s = Shape(x) n = Gather(s, zero) m = Unsqueeze(n, first)
              t = Concat<axis = 0>(m, six) a = Reshape(x, t) y = Neg(a) }""",
                   ["Neg"])

    def test_expand_that_keeps_the_shape(self):
        self.check("g (float[2,3] x) => (float[2,3] y) <int64[2] s = {2, 1}> "
                   "{ a = Expand(x, s) y = Neg(a) }", ["Neg"])

    def test_dropout(self):
        self.check("g (float[2] x) => (float[2] y) <float r = {0.5}> "
                   "{ a = Neg(x) b = Dropout(a, r) y = Exp(b) }",
                   ["Neg", "Exp"])

    def test_dropout_with_a_used_mask(self):
        self.check("g (float[2] x) => (float[2] y, bool[2] m) "
                   "<float r = {0.5}> { a, m = Dropout(x, r) y = Exp(a) }",
                   ["Dropout", "Exp"])

    def test_dropout_before_its_ratio_was_an_input(self):
        self.check('<ir_version: 7, opset_import: ["": 11]> g (float[2] x) '
                   "=> (float[2] y) { a = Dropout<ratio = 0.3>(x) y = Exp(a) }",
                   ["Exp"])

    def test_inside_a_branch(self):
        self.write("m.onnx", make.onnx_bytes("""
            g (bool c, float[2] x) => (float[2] y) {
              y = If(c) <
                then_branch = t () => (float[2] b)
                  { a = Identity(x) b = Neg(a) },
                else_branch = e () => (float[2] d) { d = Exp(x) }> }"""))
        self.run_ok("run", PACK, "m.onnx", "-o", "out.onnx")
        model = onnx.load(self.folder / "out.onnx")
        ops = [graphs.op(n) for g in graphs.blocks(model.graph)
               for n in g.node]
        self.assertEqual(sorted(ops), ["Exp", "If", "Neg"])

    def test_inside_a_function(self):
        """The Softmax of opset 12 is another one, so the body stays."""
        self.write("m.onnx", make.onnx_bytes(
            'g (float[2] x) => (float[2] y) { y = f.a(x) }\n'
            '<domain: "f", opset_import: ["": 12]> a (p) => (q) '
            "{ r = Identity(p) q = Softmax(r) }",
            '<ir_version: 8, opset_import: ["": 17, "f": 1]>\n'))
        self.run_ok("run", PACK, "m.onnx", "-o", "out.onnx")
        model = onnx.load(self.folder / "out.onnx")
        self.assertEqual([n.op_type for n in model.functions[0].node],
                         ["Softmax"])

    def test_a_shape_as_an_output(self):
        self.check("g (float[2,3] x) => (float[2,3] z, int64[2] y) "
                   "{ z = Relu(x) y = Shape(z) }", ["Relu", "Identity"])

    def test_attributes_of_callers(self):
        """Of a function: they are unknown in its body, so nothing fires."""
        body = ("{ a = Cast<to: int = @p>(x) b = Cast<to: int = @q>(a) "
                "c = Transpose<perm: ints = @r>(b) "
                "y = Transpose<perm: ints = @r>(c) }")
        model = make.model(
            "g (float[3,2] x) => (float[3,2] y, float[3,2] z) "
            "{ y = f.turn<p = 6, q = 1, r = [1,0]>(x) z = f.turn<p = 6, q = 1, r = [0,1]>(x) }\n"
            f'<domain: "f", opset_import: ["": 17]> turn<p, q, r>(x) => (y) '
            f"{body}", '<ir_version: 8, opset_import: ["": 17, "f": 1]>\n')
        self.write("m.onnx", model.SerializeToString())
        self.run_ok("run", *program.packs(), "m.onnx", "-o", "out.onnx")
        self.assertEqual((self.folder / "out.onnx").read_bytes(),
                         (self.folder / "m.onnx").read_bytes())


if __name__ == "__main__":
    unittest.main()
