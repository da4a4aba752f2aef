"""The tree grammar, lib "tree": the results of a match, the graft that replaces
it, and error messages."""

import unittest

from support import make, program
from support.tree import TreeTest

GRAPH = """(float[2] x, float[2] z) => (float[2] y) {
  [relu] a = Relu(x)
  [exp] b = Exp(a)
  [neg] c = Neg(z)
  [sub] d = Sub(b, c)
  [tanh] y = Tanh(d)
}"""
TREE = """Fork{inputs = {Fork{inputs = {any}, operator = is "Relu", output = {is "Exp"}},
                        {is "Neg"}},
               operator = is "Sub", output = {is "Tanh", Wildcard(is "Cos", "?")}}"""


def named(expression):
    """A graft that shows the value of the expression as the name of an op."""
    return ("graft = {function(t) local said = %s; return function(op, prev)"
            " return op.example[said](prev[1], prev[2]) end end}" % expression)


class Answers(TreeTest):
    def said(self, expression, tree=TREE):
        self.rule(tree, named(expression))
        return self.nodes(GRAPH)[0].split("(")[0].removeprefix("example::")

    def test_s0_13_nodes_by_path(self):
        for path, name in (("0", "tanh"), ("0, 0", "exp"), ("1, 0", "neg")):
            with self.subTest(path):
                self.assertEqual(self.said(f"t:get_node({path}).name"), name)

    def test_s0_13_operators_as_pre_trunk_nodes(self):
        self.assertEqual(self.said("t.pre_trunk_nodes[1].name"), "sub")
        self.assertEqual(self.said("t:pre_trunk().name"), "sub")
        self.assertEqual(self.said("t:pre_trunk(0).name"), "relu")

    def test_s0_13_values(self):
        self.assertEqual(self.said("t:get_value(0, 0).name"), "x")

    def test_patterns_as_checks_and_operators(self):
        tree = """Fork{
          inputs = {{is "Relu", tree.pattern(function(op, name, x)
                       return name("node", op.Exp(name("inner", op.Abs(x)))) end)}, any},
          operator = tree.pattern(function(op, name, a, b) return name("node", op.Add(a, op.Mul(b, name "w"))) end)}"""
        graph = """(float[2] x, float[2] z) => (float[2] y) <float[2] w = {1, 2}> {
          a = Relu(x) [abs] b = Abs(a) [exp] c = Exp(b) d = Mul(z, w) [add] y = Add(c, d) }"""
        for said, name in (("t:get_node(0, 1).name", "exp"),
                           ('t:get(0, 1, "inner").name', "abs"),
                           ("t:pre_trunk().name", "add"),
                           ('t:get("op", "w").name', "w"),
                           ("t:get_value(1).name", "z")):
            with self.subTest(said):
                self.rule(tree, named(said))
                self.took(graph, f"example::{name}(x, z)")

    def test_shared_values_as_branches(self):
        self.rule('Fork{inputs = {shared, {shared, is "Exp"}},'
                  ' operator = is "Sub", output = {is "Neg"}}',
                  named("t:get_value(0).name .. t:get_value(1, 0).name"),
                  before="local shared = SharedNodeCheck()")
        self.took("(float[2] x) => (float[2] y)"
                  "{ a = Exp(x) b = Sub(x, a) y = Neg(b) }",
                  "example::xx(x, x)")

    def test_s0_24_outputs_of_an_operator(self):
        self.rule('Fork{inputs = {any, any}, operator = is("Split",'
                  ' {attrs = any}), output = {getitem(1), is "Exp"}}')
        self.took("(float[4] x, int64[2] s) => (float[N] y)"
                  "{ a, b = Split(x, s) y = Exp(b) }", "example::Took(x, s)")

    def test_s0_9_a_wildcard_that_took_nothing(self):
        self.assertEqual(
            self.said('"n" .. #t:get_node{1, is_wildcard = true}.nodes'), "n0")

    def test_bad_paths_are_named(self):
        for path, *said in (
                ("t:get_node(7)", "no position 7\n", "2 positions"),
                ("t:get_node(4, 0)", "no branch 4\n", "2 branches"),
                ("t:get_node(1, 0, 0)", "no branch 0\n", "0 branches"),
                ('t:get_node("a")', "no position 'a'"),
                ("t:get_node(1)", "a wildcard\n", "expected: get_node{..."),
                ("t:get_node{0, is_wildcard = true}", "no wildcard"),
                ("t:pre_trunk(1)", "the path (1): this is not a fork"),
                ("t:get_value(1)", "it ends at a node")):
            with self.subTest(path):
                self.rule(TREE, named(path))
                self.write("m.onnx", make.onnx_bytes("g " + GRAPH))
                done = program.run("run", "rule.lua", "m.onnx",
                                   cwd=self.folder)
                self.assertEqual(done.code, 4)
                for each in said:
                    self.assertIn(each, done.err)
                self.assertIn("rule.lua:10", done.err)

    def test_a_call_that_is_returned_is_of_the_rule_too(self):
        for graft, said in (
                ("function(t) return t:get_node(7) end", "no position 7"),
                ('function(t) return tree.module{tipe = "Neg"} end', "`tipe`"),
                ("function(t) return function(op, prev)"
                 " return op.Ngg(prev[1]) end end", "no op 'Ngg'"),
                ('tree.module{type = "Ngg"}', "no op 'Ngg'"),
                ('tree.module{type = "example.Sum", take = 4}',
                 "more operands than there are"),
                ('tree.module{type = "Neg", attrs = {axis = 1}}',
                 "it has no attributes")):
            with self.subTest(graft):
                self.rule('{is "Relu"}', f"graft = {{{graft}}}")
                self.refused(8, said)
        for key in ("where = function(t) return t:get_node(7) end",
                    "replace = function(t) return t:get_node(7) end"):
            with self.subTest(key):
                self.rule('{is "Relu"}', f'{key}, graft = '
                          '{tree.module{type = "Neg"}}')
                self.refused(8, "no position 7")

    def test_explain_speaks_of_the_line_of_the_check(self):
        self.rule('{is "Relu",\n    is "Cos"}')
        self.write("m.onnx", make.onnx_bytes("g " + GRAPH))
        self.assertIn("Exp node", self.run_ok(
            "explain", "rule.lua", "m.onnx", "exp").out)


class Grafts(TreeTest):
    RELU = "(float[2] x) => (float[2] y) { y = Relu(x) }"

    def test_s0_14_each_item_feeds_the_next(self):
        self.rule('{is "Relu"}', """graft = {
          function(t) return tree.module{type = "Neg"}, function(op, prev) return op.Exp(prev[1]) end end,
          tree.module{type = "LeakyRelu", attrs = {alpha = 0.25}}}""")
        self.took(self.RELU, "Neg(x)", "Exp(Neg_Y)", "LeakyRelu(Exp_output)")

    def test_s0_14_modules_with_weights_and_outputs(self):
        self.rule('{is "Relu"}', """graft = {
          function(t) return tree.module{type = "Split", outputs = 2, attrs = {axis = 0}, weights = {{1, 1}}} end,
          tree.module{type = "example.Both", take = 2}}""")
        nodes = self.nodes(self.RELU)
        self.assertEqual([node.split("(")[0] for node in nodes],
                         ["Split", "example::Both"])
        self.assertEqual(nodes[1].count(","), 1)

    def test_s0_15_an_inserter_gets_the_graph_and_gives_its_last_value(self):
        self.rule('{is "Relu"}', """graft = {function(t) return function(op, prev, graph)
            local a = op.Neg(graph.inputs[1])
            return {a, op.Exp(a)}
          end end}""")
        self.took(self.RELU, "Neg(x)", "Exp(Neg_Y)")

    def test_s0_16_an_inserter_gets_all_operands_in_order(self):
        self.rule('{is "Clip"}')
        for given, took in (("x, low, high", "x, low, high"), ("x", "x"),
                            ('x, "", high', "x, , high")):
            self.took("(float[2] x, float low, float high) => (float[2] y)"
                      "{ y = Clip(%s) }" % given, f"example::Took({took})")

    def test_s0_17_a_later_match_sees_the_replacement_of_a_node(self):
        self.rule('{is "Relu", is "Neg"}', """graft = {function(t)
            return function(op, prev) return op.Exp(t:get_node(0).inputs[1]) end
          end}""")
        self.took("(float[2] x) => (float[2] y)"
                  "{ a = Relu(x) b = Neg(a) c = Relu(b) y = Neg(c) }",
                  "Exp(x)", "Exp(b)")

    def test_s0_18_phases_order(self):
        self.rule('{is "Relu"}', 'phase = "quantization", graft ='
                  ' {tree.module{type = "Neg"}}', name="first.lua")
        self.rule('{is "Relu"}', 'phase = "conversion", graft ='
                  ' {tree.module{type = "Exp"}}', name="second.lua")
        self.took(self.RELU, "Exp(x)", rules=("first.lua", "second.lua"))

    def test_s0_19_to_the_fixed_point_in_any_order(self):
        self.rule('{is "Relu"}', 'graft = {tree.module{type = "Neg"}}',
                  name="a.lua")
        self.rule('{is "Neg", is "Exp"}', 'graft = {tree.module{type = "Cos"}}',
                  name="b.lua")
        for rules in (("a.lua", "b.lua"), ("b.lua", "a.lua")):
            self.took("(float[2] x) => (float[2] y)"
                      "{ a = Relu(x) y = Exp(a) }", "Cos(x)", rules=rules)

    def test_s0_20_matches_are_filtered_the_others_go_on(self):
        self.rule('{is "Relu"}', 'where = function(t) need(t:get_node(0).name'
                  ' ~= "keep", "it is kept") end, ' +
                  'graft = {tree.module{type = "Neg"}}')
        self.took("(float[2] x) => (float[2] y)"
                  "{ [keep] a = Relu(x) [go] y = Relu(a) }",
                  "Relu(x)", "Neg(a)")
        self.assertEqual(self.report["rejected"][0]["reason"], "it is kept")

    def test_s0_21_code_before_the_graft(self):
        self.rule('{is "Relu"}', """graft = {tree.module{type = "Neg"}},
          replace = function(t, op, graft)
            t.operands[1] = op.Exp(t.operands[1])
            return op.Cos(graft())
          end""")
        self.took(self.RELU, "Exp(x)", "Neg(Exp_output)",
                  "Cos(Neg_Y)")

    def test_s0_22_overlapping_matches_are_not_both_applied(self):
        self.rule('{is "Relu", is "Relu"}')
        self.took("(float[2] x) => (float[2] y)"
                  "{ a = Relu(x) b = Relu(a) y = Relu(b) }",
                  "example::Took(x)", "Relu(b)")


class Mistakes(TreeTest):
    def test_are_named_with_file_line_and_value(self):
        for tree, *said in (
                ('{is "Sigmiod"}', "no op 'Sigmiod'", "did you mean"),
                ('{is("Relu", {alhpa = 1})}', "'alhpa'"),
                ('{function(node) return true end}', "looks at node.op"),
                ('{function(node) return node.attrs.axis end}', "node.op"),
                ('{function(node) return false end}', "rejects every known op"),
                ('{function(node) return nodes.op end}', "'nodes'"),
                ('{is "Relu", 7}', "at (1) is not a check\n", "found:    7"),
                ('{Wildcard(is "Relu", "!")}', "a wildcard takes", "'!'"),
                ('{getitem(0)}', "does not follow a node"),
                ('{is "Relu", SharedNodeCheck()}', "at (1)", "first in a"),
                ('{SharedNodeCheck(), is "Relu"}', "at (0)", "used only once",
                 "local x = tree.SharedNodeCheck("),
                ('Fork{inputs = {{SharedNodeCheck(is "Relu"), is "Exp"},'
                 ' SharedNodeCheck(is "Relu")}, operator = is "Sub"}',
                 "at (1, 0)", "makes a new one"),
                ('{is "Relu":shape "B ? S"}', "'?' is not a dimension"),
                ('Fork{inputs = {any}}', "`operator` of a fork is not a check"),
                ('Fork{inputs = {}, operator = is "Add"}', "`inputs`"),
                ('Fork{input = {any}, operator = is "Add"}', "'input'"),
                ('Fork{inputs = {any, 3}, operator = is "Add"}', "found:    3"),
                ('Fork{inputs = {any}, operator = is "Add"}',
                 "wrong number of inputs of Add"),
                ('Fork{inputs = {any, any}, operator = is "Add",'
                 ' perms_override = {{0, 2}}}', "branch 2", "0 to 1"),
                ('Fork{inputs = {any, any}, operator = is "Add",'
                 ' perms_override = {{0, 0}}}', "branch 0"),
        ):
            with self.subTest(tree):
                self.rule(tree)
                # Errors without a place have that of the call of `rule`.
                self.refused("" if "function" in tree else
                             6 if "7" in tree else 7, *said)

    def test_a_tree_that_is_no_node(self):
        for tree in ("{}", "any", '{Wildcard(is "Relu", "?")}'):
            with self.subTest(tree):
                self.rule(tree)
                self.refused(6, "`tree` may match no node at all")

    def test_of_the_rule_itself(self):
        for more, said in (
                ("rewrite = 1", "`rewrite` beside `tree`"),
                ("graft = {}", "`graft` is a list"),
                ("graft = {7}", "found:    7"),
                ('graft = {tree.module{tipe = "Neg"}}', "`tipe` of a module"),
                ('graft = {tree.module{}}', "a module has no `type`"),
                ("where = 1, " + 'graft = {tree.module{type = "Neg"}}',
                 "`where` is a function")):
            with self.subTest(more):
                self.rule('{is "Relu"}', more)
                self.refused("", said)

    def test_of_a_graft(self):
        for graft, said in (
                ("function(t) end", "yields nothing"),
                ("function(t) return 7 end", "found:    7"),
                ("function(t) return function(op) end end", "found:    nothing")):
            with self.subTest(graft):
                self.rule('{is "Relu"}', "graft = {%s}" % graft)
                self.refused("", said)


if __name__ == "__main__":
    unittest.main()
