"""What nothing needed stays as it was: bytes, nodes, counts, a second run."""

import json
import unittest

import onnx

from support import make, program

CANONICAL = program.ROOT / "rules" / "canonical.lua"
MODELS = sorted((program.DATA / "models").glob("*.onnx"))
TARGETS = ("portable", "onnx", "ort")

# Forms of every kind with nothing behind them that wants them.
FORMS = """
    i = Identity(x)
    t = Transpose<perm = [1,0]>(i)
    u = Transpose<perm = [1,0]>(t)
    n = Neg(u)
    c = Cast<to = 1>(n)
    s = Shape(n)
    r = Reshape(c, s)
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

    def test_byte_for_byte_where_nothing_else_fired(self):
        source = self.written(model(FORMS + "y = Identity(r)"))
        _, report = self.result(source)
        self.assertEqual((self.folder / "out.onnx").read_bytes(),
                         source.read_bytes())
        self.assertEqual(report["nodes_after"], report["nodes_before"])
        canonical = [r for r in report["rules"] if r["phase"] == "canonical"]
        self.assertEqual(sum(r["rewrites"] for r in canonical), 0)
        reasons = [(left["reason"], left["node"]) for r in canonical
                   for left in r["rejected"] if r["name"] == "cancel_transposes"]
        self.assertEqual(reasons, [("no other rule needed it", "u")])

    def test_canonical_rules_alone_were_asked_for(self):
        source = self.written(model(FORMS + "y = Identity(r)"))
        self.run_ok("run", CANONICAL, source, "-o", "out.onnx")
        self.assertEqual(
            [n.op_type for n in onnx.load(self.folder / "out.onnx").graph.node],
            ["Neg"])

    def test_growth_that_nothing_needed(self):
        source = self.written(make.model("""
            g (float[2,4,5,8] q, float[2,4,8,5] k, float[8,5,8] v)
              => (float[8,5,8] y) <int64[3] a = {8,5,8}, int64[3] b = {8,8,5}> {
              qm = Reshape(q, a)
              km = Reshape(k, b)
              s = MatMul(qm, km)
              y = MatMul(s, v)
            }"""))
        self.result(source)
        self.assertEqual((self.folder / "out.onnx").read_bytes(),
                         source.read_bytes())

    def test_far_from_a_fusion_nodes_are_the_models_own(self):
        proto = model(FORMS + "y = Identity(r)" + ATTENTION,
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
                                 [*"ituncsr", "y"])
                for node in far:
                    self.assertEqual(node.SerializeToString(),
                                     before[node.name])
                self.assertIn("a", [o for n in after.graph.node
                                    for o in n.output])

    def test_in_bodies_of_nodes(self):
        source = self.written(model(
            "y = If(c) < then_branch = t () => (float[N,3] z) {" + FORMS +
            "z = Identity(r) }, else_branch = e () => (float[N,3] w) { "
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


if __name__ == "__main__":
    unittest.main()
