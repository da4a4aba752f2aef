"""A test of rules in the tree grammar, lib "tree"."""

import json

import onnx

from support import graphs, make, program

WORDS = """local tree = lib "tree"
local Fork, Wildcard, is = tree.Fork, tree.Wildcard, tree.is
local SharedNodeCheck, node_check = tree.SharedNodeCheck, tree.node_check
local getitem, variable, constant = tree.getitem, tree.variable, tree.constant
"""
# Took(inputs of the tree from outside): shows the matched tree.
TOOK = """graft = {function(t)
    return function(op, prev) return op.example.Took(table.unpack(prev, 1, prev.n)) end
  end}"""


class TreeTest(program.ProgramTest):
    def rule(self, tree, more=TOOK, before="", name="rule.lua"):
        self.write(name, f"{WORDS}{before}\nreturn rule(tree.rule {{\n"
                         f"  tree = {tree},\n  {more},\n}})\n")
        return name

    def nodes(self, text, *rules):
        """The nodes of the rewritten graph, as "Exp(x, y)"."""
        self.write("m.onnx", make.onnx_bytes("g " + text))
        self.run_ok("run", *(rules or ["rule.lua"]), "m.onnx", "-o",
                    "out.onnx", "--report", "report.json")
        report = json.loads((self.folder / "report.json").read_text())
        self.report = report["rules"][0]
        return [f"{graphs.op(node)}({', '.join(node.input)})"
                for node in onnx.load(self.folder / "out.onnx").graph.node]

    def took(self, text, *nodes, rules=()):
        self.assertEqual(self.nodes(text, *rules), list(nodes))

    def unchanged(self, text):
        self.assertFalse(any("Took" in node for node in self.nodes(text)))

    def refused(self, line, *said):
        self.write("m.onnx", make.onnx_bytes(
            "g (float[2] x) => (float[2] y) { a = Relu(x) y = Neg(a) }"))
        done = program.run("run", "rule.lua", "m.onnx", cwd=self.folder)
        self.assertEqual(done.code, 4, done.err)
        self.assertEqual(len(done.diagnostics()), 1)
        self.assertIn(f"rule.lua:{line}", done.err)
        for each in said:
            self.assertIn(each, done.err)
