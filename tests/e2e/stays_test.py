"""Parts that no rewrite needs stay: bytes, nodes, counts, a second run."""

import json
import unittest

import onnx

from support import make, program

CANONICAL = program.ROOT / "rules" / "canonical.lua"
MODELS = sorted((program.DATA / "models").glob("*.onnx"))
TARGETS = ("portable", "onnx", "ort")

# Canonical rules spell these in another way, which no later rule needs.
FORMS = """
    g = Gemm<transB = 1>(x, x)
    e = Einsum<equation = "ij,jk->ik">(g, x)
    r = Neg(e)
"""
# Canonical rules leave a Neg of these.
NEEDLESS = """
    i = Identity(x)
    t = Transpose<perm = [1,0]>(i)
    u = Transpose<perm = [1,0]>(t)
    n = Neg(u)
    c = Cast<to = 1>(n)
    s = Shape(n)
    z = Reshape(c, s)
"""
ATTENTION = """
    kt = Transpose<perm = [0,1,3,2]>(k)
    p = MatMul(q, kt)
    p1 = Identity(p)
    d = Div(p1, scale)
    m = Softmax<axis = 3>(d)
    a = MatMul(m, v)
"""
HEADS = ", ".join(f"float[2,4,8,16] {name}" for name in "qkv")


def model(body, inputs="float[N,3] x", outputs="float[N,3] y"):
    return make.model(
        f"g ({inputs}) => ({outputs}) <float scale = {{4.0}}> {{ {body} }}")


class Stays(program.ProgramTest):
    def result(self, source, *more, name="out.onnx"):
        """The model and the report of a run of all packs."""
        self.run_ok("run", *program.packs(), source, "-o", name,
                    "--report", "report.json", *more)
        return (onnx.load(self.folder / name, load_external_data=False),
                json.loads((self.folder / "report.json").read_text()))

    def written(self, proto):
        return self.write("m.onnx", proto.SerializeToString())

    def test_equal_bytes_if_no_other_rule_fires(self):
        source = self.written(model(FORMS + "y = Abs(r)"))
        _, report = self.result(source)
        self.assertEqual((self.folder / "out.onnx").read_bytes(),
                         source.read_bytes())
        self.assertEqual(report["nodes_after"], report["nodes_before"])
        canonical = [r for r in report["rules"] if r["phase"] == "canonical"]
        self.assertEqual(sum(r["rewrites"] for r in canonical), 0)
        reasons = [(left["reason"], left["node"]) for r in canonical
                   for left in r["rejected"] if r["name"] == "einsum_as_matmul"]
        self.assertEqual(reasons, [("no other rule needed it", "e")])

    def test_what_makes_the_model_smaller_stays(self):
        source = self.written(model(NEEDLESS + "y = Identity(z)"))
        for target in TARGETS:
            with self.subTest(target):
                after, report = self.result(source, "--target", target)
                self.assertEqual([n.op_type for n in after.graph.node], ["Neg"])
                self.assertEqual(report["nodes_after"], 1)

    def test_what_would_swell_the_file(self):
        for size, ops in (256, ["Add"]), (1024, ["Expand", "Gather", "Add"]):
            with self.subTest(size):
                source = self.written(make.model(f"""
                    g (float[{size},{size}] x) => (float[{size},{size}] y)
                      <float[2] t = {{1, 2}}, int64[1] i = {{1}},
                       int64[2] s = {{{size},{size}}}> {{
                      places = Expand(i, s)
                      numbers = Gather(t, places)
                      y = Add(x, numbers)
                    }}"""))
                after, _ = self.result(source)
                self.assertEqual([n.op_type for n in after.graph.node], ops)

    def test_only_canonical_rules(self):
        source = self.written(model(FORMS + NEEDLESS + "y = Add(r, z)"))
        self.run_ok("run", CANONICAL, source, "-o", "out.onnx")
        self.assertEqual(
            sorted(n.op_type
                   for n in onnx.load(self.folder / "out.onnx").graph.node),
            ["Add", "MatMul", "MatMul", "Neg", "Neg", "Transpose"])

    def test_growth_that_makes_up_for_itself(self):
        """Two Reshapes and a MatMul become a MatMul and a Reshape."""
        source = self.written(make.model("""
            g (float[2,4,5,8] q, float[2,4,8,5] k, float[8,5,8] v)
              => (float[8,5,8] y) <int64[3] a = {8,5,8}, int64[3] b = {8,8,5}> {
              qm = Reshape(q, a)
              km = Reshape(k, b)
              s = MatMul(qm, km)
              y = MatMul(s, v)
            }"""))
        after, _ = self.result(source)
        self.assertEqual(
            [n.op_type for n in after.graph.node if n.op_type != "Constant"],
            ["MatMul", "Reshape", "MatMul"])

    def test_far_from_a_fusion_nodes_are_the_models_own(self):
        proto = model(FORMS + "y = Abs(r)" + ATTENTION,
                      inputs="float[N,3] x, " + HEADS,
                      outputs="float[N,3] y, float[2,4,8,16] a")
        for node in proto.graph.node:
            node.name = "node " + node.output[0]
            node.doc_string = "of " + node.output[0]
            node.metadata_props.add(key="said", value=node.output[0])
        before = {n.name: n.SerializeToString() for n in proto.graph.node}
        for target in TARGETS:
            with self.subTest(target):
                after, _ = self.result(self.written(proto), "--target", target)
                far = [n for n in after.graph.node if n.name in before]
                self.assertEqual([n.output[0] for n in far],
                                 ["g", "e", "r", "y"])
                for node in far:
                    self.assertEqual(node.SerializeToString(),
                                     before[node.name])
                self.assertIn("a", [o for n in after.graph.node
                                    for o in n.output])

    def test_nodes_that_a_fusion_leaves_unread_go(self):
        """The size of the scores is read, as in DistilBERT."""
        source = self.written(make.model("""
            g (float[B,4,S,16] q, float[B,4,T,16] k, float[B,4,T,16] v,
               bool[B,1,1,T] hidden) => (float[B,4,S,16] y)
              <float lowest = {-1e9}, float scale = {0.25}> {
              kt = Transpose<perm = [0,1,3,2]>(k)
              d = Mul(q, scale)
              s = MatMul(d, kt)
              size = Shape(s)
              all = Expand(hidden, size)
              w = Where(all, lowest, s)
              p = Softmax<axis = -1>(w)
              y = MatMul(p, v)
            }"""))
        for target in (*TARGETS, "standard"):
            with self.subTest(target):
                after, report = self.result(source, "--target", target)
                self.assertEqual(report["cost"]["after"]["products"],
                                 report["cost"]["before"]["products"])
                self.assertLessEqual(
                    sum(n.op_type == "MatMul" for n in after.graph.node), 2)

    def test_what_a_proof_rests_on(self):
        """The last rule reads a result of the second, which depends on an
        assumption of the first; it matches nodes of neither."""
        self.write("first.lua", """return rule { phase = "canonical",
            match = function(op, x) return op.Neg(x) end,
            rewrite = function(op, m)
              assume("x is not positive", m.x)
              return op.Abs(m.x)
            end }""")
        self.write("second.lua", """return rule { phase = "canonical",
            match = function(op, x) return op.Abs(x) end,
            rewrite = function(op, m) return op.Sqrt(op.Mul(m.x, m.x)) end }""")
        self.write("third.lua", """return rule { phase = "attention",
            match = function(op, x) return op.Relu(x) end,
            where = function(m)
              local from = m.x.producer
              need(from and from.op == "Sqrt", "it may be negative", m.x)
            end,
            rewrite = function(op, m) return m.x end }""")
        self.written(model("n = Neg(x) y = Relu(n)"))
        self.run_ok("run", "first.lua", "second.lua", "third.lua", "m.onnx",
                    "-o", "out.onnx", "--report", "report.json")
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual([each["text"] for each in report["assumptions"]],
                         ["x is not positive"])
        self.assertEqual(
            [n.op_type for n in onnx.load(self.folder / "out.onnx").graph.node],
            ["Mul", "Sqrt"])

    def test_in_bodies_of_nodes(self):
        source = self.written(model(
            "y = If(c) < then_branch = t () => (float[N,3] z) {" + FORMS +
            "z = Abs(r) }, else_branch = e () => (float[N,3] w) { "
            "w = Neg(x) } >" + ATTENTION,
            inputs="float[N,3] x, bool c, " + HEADS,
            outputs="float[N,3] y, float[2,4,8,16] a"))
        after, report = self.result(source)
        before = onnx.load(source)
        self.assertEqual([n for n in after.graph.node if n.op_type == "If"],
                         [n for n in before.graph.node if n.op_type == "If"])
        self.assertEqual(report["ops_after"][
            "ruleengine::ScaledDotProductAttention"], 1)

    def test_never_more_nodes(self):
        for source in MODELS:
            with self.subTest(source.name):
                _, report = self.result(source, "--target", "portable")
                self.assertLessEqual(report["nodes_after"],
                                     report["nodes_before"])

    def test_a_second_run_changes_nothing(self):
        for source in MODELS:
            for target in TARGETS:
                with self.subTest(source.name, target=target):
                    self.result(source, "--target", target)
                    self.result("out.onnx", "--target", target,
                                name="again.onnx")
                    self.assertEqual(
                        (self.folder / "again.onnx").read_bytes(),
                        (self.folder / "out.onnx").read_bytes())


def unary(phase, match, rewrite, where=""):
    return f"""return rule {{ phase = "{phase}", {where}
      match = function(op, x) return {match} end,
      rewrite = function(op, m) {rewrite} end, changes_meaning = true }}"""


class DoneAgain(Stays):
    """Needed edits are replayed without the others."""

    def rules(self, **texts):
        return [self.write(f"{name}.lua", text)
                for name, text in texts.items()]

    def graph(self, text):
        return self.write("m.onnxtxt",
                          '<ir_version: 10, opset_import: ["" : 18, '
                          '"local" : 1]>\n' + text)

    def test_a_node_names_its_rule(self):
        rules = self.rules(
            ca=unary("canonical", "op.Abs(x)",
                     "return op.Tanh(op.Sin(m.x))"),
            cb=unary("canonical", "op.Ceil(x)",
                     "return op.Floor(op.Sin(m.x))"),
            fu=unary("attention", "op.Relu(op.Floor(x))",
                     "return op.Sqrt(m.x)"))
        source = self.graph("""g (float[3] x) => (float[3] z, float[3] y) {
            a = Abs(x)  z = Neg(a)  b = Ceil(x)  y = Relu(b)
          }""")
        self.run_ok("run", *rules, source, "-o", "out.onnx")
        out = onnx.load(self.folder / "out.onnx")
        said = {n.op_type: [p.value for p in n.metadata_props
                            if p.key == "ruleengine.rule"]
                for n in out.graph.node}
        self.assertEqual(list(said), ["Abs", "Neg", "Sin", "Sqrt"])
        self.assertTrue(said["Sin"][0].endswith("/cb"), said)
        self.assertTrue(said["Sqrt"][0].endswith("/fu"), said)

    def test_twice(self):
        """The second replay does not use results of the first."""
        rules = self.rules(
            dd=unary("canonical", "op.Ceil(op.Ceil(x):as 'c')",
                     "return m.c.outputs[1]"),
            e=unary("attention", "op.Exp(x)", "return op.Log(m.x)"),
            higher=unary("canonical", "op.Neg(x):as 'n'",
                "m.n:replace_input(m.x, m.x.producer.inputs[1])"
                " return m.n.outputs[1]",
                'where = function(m) need(m.x.producer and '
                'm.x.producer.op == "Abs", "an input", m.x) end,'),
            walks=unary("linear", "op.Abs(x):as 'a'", """
              local r = m.a.outputs[1].users[1]
              for _, u in ipairs(m.x.users) do
                if u.op == "Neg" then r = u end
              end
              return op.Max(m.x, r.outputs[1])"""))
        source = self.graph("""g (float[3] x, float[3] w)
            => (float[3] y, float[3] q, float[3] t) {
              a = Abs(x)  r = Neg(a)  y = Add(a, r)
              c1 = Ceil(w)  c2 = Ceil(c1)  q = Exp(c2)
              t = local.f(w)
            }
            <domain: "local", opset_import: ["" : 18]>
            f (u) => (v) { d1 = Ceil(u)  v = Ceil(d1) }""")
        self.run_ok("run", *rules, source, "-o", "out.onnx")
        out = onnx.load(self.folder / "out.onnx")
        self.assertEqual([n.op_type for n in out.graph.node],
                         ["Neg", "Max", "Add", "Ceil", "f", "Log"])
        self.assertEqual(len(out.functions[0].node), 1)


if __name__ == "__main__":
    unittest.main()
