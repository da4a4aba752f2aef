"""The tree grammar, lib "tree": every behaviour of its words, and error
messages. The numbers are those of the list of required behaviours."""

import unittest

from support.tree import TreeTest


class Sequences(TreeTest):
    def test_s0_1_each_check_feeds_the_next_and_nothing_shorter_matches(self):
        self.rule('{is "Relu", is "Neg", is "Exp"}')
        self.took("(float[2] x) => (float[2] y)"
                  "{ a = Relu(x) b = Neg(a) y = Exp(b) }", "example::Took(x)")
        self.unchanged("(float[2] x) => (float[2] y)"
                       "{ a = Relu(x) y = Neg(a) }")
        self.unchanged("(float[2] x) => (float[2] y)"
                       "{ b = Neg(x) y = Exp(b) }")

    def test_s0_1_an_inner_value_with_other_readers_is_no_match(self):
        self.rule('{is "Relu", is "Neg"}')
        self.unchanged("(float[2] x) => (float[2] y, float[2] z)"
                       "{ a = Relu(x) y = Neg(a) z = Exp(a) }")

    def test_s0_2_a_kind_is_of_any_attributes(self):
        self.rule('{is("LeakyRelu", function(n) return n.attrs.alpha end)}')
        self.took("(float[2] x) => (float[2] y)"
                  "{ y = LeakyRelu <alpha = 0.25> (x) }", "example::Took(x)")
        # An attribute that the rule does not read prevents the match.
        self.rule('{"LeakyRelu"}')
        self.unchanged("(float[2] x) => (float[2] y)"
                       "{ y = LeakyRelu <alpha = 0.25> (x) }")

    def test_s0_2_named_attributes_must_be_equal(self):
        self.rule('{is("LeakyRelu", {alpha = 0.25})}')
        self.took("(float[2] x) => (float[2] y)"
                  "{ a = LeakyRelu <alpha = 0.25> (x) y = LeakyRelu(a) }",
                  "example::Took(x)", "LeakyRelu(a)")

    def test_s0_2_a_predicate_decides(self):
        self.rule('{is("LeakyRelu", function(node)'
                  ' return node.attrs.alpha > 0.5 end)}')
        self.took("(float[2] x) => (float[2] y)"
                  "{ a = LeakyRelu <alpha = 0.25> (x)"
                  " y = LeakyRelu <alpha = 0.75> (a) }",
                  "LeakyRelu(x)", "example::Took(a)")
        self.assertEqual(self.report["rejected"][0]["reason"],
                         "the check at (0) says no")

    def test_s0_2_a_predicate_alone(self):
        for check in ('function(node) return node.op == "LeakyRelu" and'
                      ' node.attrs.alpha > 0.5 end',
                      'node_check(function(node) return node.op:sub(1, 5) =='
                      ' "Leaky" and not (node.attrs.alpha <= 0.5) end)'):
            with self.subTest(check):
                self.rule(f'{{is "Relu", {check}}}')
                self.took("(float[2] x) => (float[2] y)"
                          "{ a = Relu(x) y = LeakyRelu <alpha = 0.75> (a) }",
                          "example::Took(x)")
                self.unchanged("(float[2] x) => (float[2] y)"
                               "{ a = Relu(x) y = LeakyRelu(a) }")

    def test_s0_2_a_predicate_of_two_ops(self):
        self.rule('{function(n) return n.op == "Sin" or n.op == "Cos" end,'
                  ' is "Exp"}')
        self.took("(float[2] x) => (float[2] y, float[2] z)"
                  "{ a = Sin(x) y = Exp(a) b = Cos(x) z = Exp(b) }",
                  "example::Took(x)", "example::Took(x)")

    def test_s0_2_one_of_several_kinds(self):
        self.rule('{is{"Sin", "Cos"}, is "Exp"}')
        self.took("(float[2] x) => (float[2] y, float[2] z)"
                  "{ a = Sin(x) y = Exp(a) b = Cos(x) z = Exp(b) }",
                  "example::Took(x)", "example::Took(x)")

    def test_s0_23_a_check_reads_shapes_and_fails_without_one(self):
        known = "(float[2,3] x) => (float[2,3] y) { y = Relu(x) }"
        unknown = ("(float x, int64[N] s) => (float y)"
                  "{ a = Reshape(x, s) b = Relu(a) y = ReduceSum<keepdims=0>(b) }")
        for check in ('is "Relu":rank(2)', 'is "Relu":shape "2 3"',
                      'is("Relu", function(n)'
                      ' return n.outputs[1]:rank() == 2 end)'):
            with self.subTest(check):
                self.rule("{" + check + "}")
                self.took(known, "example::Took(x)")
        self.rule('{is "Relu":shape "2 3"}')
        self.unchanged(unknown)
        self.rule('{is("Relu", function(n)'
                  ' return n.inputs[1]:rank() == 2 end)}')
        self.unchanged(unknown)

    def test_s0_24_outputs_by_number(self):
        self.rule('{is("Split", {axis = 0, attrs = any}), getitem(1), is "Exp"}',
                  'graft = {function(t) return function(op, prev)'
                  ' return op.example.Second(prev[1]) end end}')
        self.took("(float[4] x) => (float[2] y)"
                  "{ a, b = Split(x) y = Exp(b) }", "example::Second(x)")
        self.unchanged("(float[4] x) => (float[2] y)"
                       "{ a, b = Split(x) y = Exp(a) }")


class Branches(TreeTest):
    def test_s0_3_anything_is_a_producer_and_stays(self):
        self.rule('Fork{inputs = {any, {}, any}, operator = is "Where"}')
        self.took("(float[2] x, bool[2] c) => (float[2] y, float[2] a)"
                  "<float[2] w = {1, 2}> { a = Relu(x) y = Where(c, a, w) }",
                  "Relu(x)", "example::Took(c, a, w)")

    def test_s0_4_inputs_match_one_to_one_and_the_result_goes_on(self):
        self.rule('Fork{inputs = {{is "Relu"}, {is "Exp"}},'
                  ' operator = is "Sub", output = {is "Neg"}}')
        self.took("(float[2] x, float[2] z) => (float[2] y)"
                  "{ a = Relu(x) b = Exp(z) c = Sub(a, b) y = Neg(c) }",
                  "example::Took(x, z)")
        self.unchanged("(float[2] x, float[2] z) => (float[2] y)"
                       "{ a = Relu(x) b = Exp(z) c = Sub(b, a) y = Neg(c) }")
        self.unchanged("(float[2] x, float[2] z) => (float[2] y)"
                       "{ a = Relu(x) b = Exp(z) y = Sub(a, b) }")

    def test_s0_5_forks_nest_with_trunks_of_their_own(self):
        self.rule("""Fork{
          inputs = {Fork{inputs = {any, {is "Relu"}}, operator = is "Sub",
                         output = {is "Exp"}}, any},
          operator = is "Div"}""")
        self.took("(float[2] x, float[2] z) => (float[2] y)"
                  "{ a = Relu(z) b = Sub(x, a) c = Exp(b) y = Div(c, x) }",
                  "example::Took(x, z, x)")

    def test_s0_6_only_the_listed_orders(self):
        fork = ('Fork{inputs = {{is "Relu"}, {is "Exp"}}, operator = is "%s",'
                ' perms_override = {%s}}')
        graph = ("(float[2] x, float[2] z) => (float[2] y)"
                 "{ a = Relu(x) b = Exp(z) y = %s }")
        for op, orders, text, fits in (
                ("Add", "{0, 1}", "Add(b, a)", False),
                ("Add", "{1, 0}", "Add(b, a)", True),
                ("Sub", "{1, 0}", "Sub(b, a)", True),
                ("Sub", "{1, 0}", "Sub(a, b)", False),
                ("Sub", "{1, 0}, {0, 1}", "Sub(a, b)", True)):
            with self.subTest(op=op, orders=orders, text=text):
                self.rule(fork % (op, orders))
                took = self.nodes(graph % text)
                self.assertEqual("example::Took(x, z)" in took, fits)

    def test_s0_6_trailing_branches_may_be_missing(self):
        self.rule('Fork{inputs = {{is "Relu"}, any, any}, operator ='
                  ' is "Clip", perms_override = {{0}, {0, 1}, {0, 1, 2}}}')
        for inputs, took in (("a", "x"), ("a, low", "x, low"),
                             ("a, low, high", "x, low, high")):
            with self.subTest(inputs):
                self.took("(float[2] x, float low, float high) => (float[2] y)"
                          "{ a = Relu(x) y = Clip(%s) }" % inputs,
                          f"example::Took({took})")
        self.rule('Fork{inputs = {{is "Relu"}, any, any}, operator ='
                  ' is "Clip", perms_override = {{0}, {0, 1, 2}}}')
        self.unchanged("(float[2] x, float low) => (float[2] y)"
                       "{ a = Relu(x) y = Clip(a, low) }")

    def test_s0_7_only_commutative_ops_try_all_orders(self):
        for op, fits in (("Add", True), ("Mul", True), ("Sub", False),
                         ("Div", False), ("MatMul", False)):
            with self.subTest(op):
                self.rule('Fork{inputs = {{is "Relu"}, any}, operator ='
                          f' is "{op}"' '}')
                took = self.nodes(
                    "(float[2,2] x, float[2,2] z) => (float[2,2] y)"
                    "{ a = Relu(x) y = %s(z, a) }" % op)
                self.assertEqual("example::Took(x, z)" in took, fits)

    def test_s0_10_a_node_check_serves_as_operator_and_in_sequences(self):
        check = ('node_check("LeakyRelu", function(node)'
                 ' return node.attrs.alpha == 0.25 end)')
        graph = ("(float[2] x) => (float[2] y)"
                 "{ a = Exp(x) b = LeakyRelu <alpha = %s> (a) y = Neg(b) }")
        for tree in ('{is "Exp", check, is "Neg"}', 'Fork{inputs ='
                     ' {{is "Exp"}}, operator = check, output = {is "Neg"}}'):
            self.rule(tree, before=f"local check = {check}")
            self.took(graph % 0.25, "example::Took(x)")
            self.unchanged(graph % 0.5)

    def test_s0_11_a_shared_check_is_one_node(self):
        self.rule('Fork{inputs = {{shared, is "Exp"}, {shared, is "Neg"}},'
                  ' operator = is "Sub"}',
                  before='local shared = SharedNodeCheck(is "Relu")')
        self.took("(float[2] x) => (float[2] y)"
                  "{ r = Relu(x) a = Exp(r) b = Neg(r) y = Sub(a, b) }",
                  "example::Took(x, x)")
        self.unchanged("(float[2] x) => (float[2] y)"
                       "{ r = Relu(x) s = Relu(x) a = Exp(r) b = Neg(s)"
                       " y = Sub(a, b) }")

    def test_s0_11_a_shared_value(self):
        self.rule('Fork{inputs = {{shared, is "Exp"}, {shared, is "Neg"}},'
                  ' operator = is "Sub"}',
                  before='local shared = SharedNodeCheck()')
        self.took("(float[2] x) => (float[2] y)"
                  "{ a = Exp(x) b = Neg(x) y = Sub(a, b) }",
                  "example::Took(x, x)")
        self.unchanged("(float[2] x, float[2] z) => (float[2] y)"
                       "{ a = Exp(x) b = Neg(z) y = Sub(a, b) }")

    def test_s0_11_a_check_that_is_shared_with_nothing_is_a_check(self):
        self.rule('{SharedNodeCheck(is "Relu"), is "Exp"}')
        self.took("(float[2] x) => (float[2] y) { a = Relu(x) y = Exp(a) }",
                  "example::Took(x)")

    def test_s0_12_a_second_site_binds_anew(self):
        self.rule('Fork{inputs = {{shared, is "Exp"}, {shared, is "Neg"}},'
                  ' operator = is "Sub"}',
                  before='local shared = SharedNodeCheck()')
        self.took("(float[2] x, float[2] z) => (float[2] y, float[2] w)"
                  "{ a = Exp(x) b = Neg(x) y = Sub(a, b)"
                  " c = Exp(z) d = Neg(z) w = Sub(c, d) }",
                  "example::Took(x, x)", "example::Took(z, z)")

    def test_constants_and_variables(self):
        self.rule('Fork{inputs = {any, constant "1"}, operator = is "Div"}')
        self.took("(float[2] x) => (float[2] y) <float c = {2.0}>"
                  "{ y = Div(x, c) }", "example::Took(x, c)")
        self.unchanged("(float[2] x, float c) => (float[2] y)"
                       "{ y = Div(x, c) }")
        self.unchanged("(float[2] x) => (float[2] y) <float[2] c = {1, 2}>"
                       "{ y = Div(x, c) }")
        self.rule('Fork{inputs = {variable "v", {is("Mul", {variable "v"})}},'
                  ' operator = is "Sub"}')
        self.took("(float[2] x, float[2] z) => (float[2] y)"
                  "{ a = Mul(x, z) y = Sub(x, a) }", "example::Took(x, z)")
        self.unchanged("(float[2] x, float[2] z) => (float[2] y)"
                       "{ a = Mul(z, z) y = Sub(x, a) }")


class Wildcards(TreeTest):
    COUNT = """graft = {function(t)
      local nodes = t:get_node{1, is_wildcard = true}.nodes
      return function(op, prev)
        local alphas = {}
        for i, node in ipairs(nodes) do alphas[i] = node.attrs.alpha * 4 end
        return op.example["Took" .. table.concat(alphas, "_")](prev[1])
      end
    end}"""

    def graph(self, *alphas, before="Relu"):
        steps = "".join(f" a{i + 1} = LeakyRelu <alpha = {alpha / 4}> (a{i})"
                        for i, alpha in enumerate(alphas))
        return ("(float[2] x) => (float[2] y) { a0 = %s(x)%s y = Neg(a%d) }" %
                (before, steps, len(alphas)))

    def check(self, count, expected):
        self.rule('{is "Relu", Wildcard(is "LeakyRelu", "%s"), is "Neg"}' %
                  count, self.COUNT)
        for alphas, taken in expected.items():
            with self.subTest(count=count, alphas=alphas):
                nodes = self.nodes(self.graph(*alphas))
                if taken is None:
                    self.assertEqual(len(nodes), 2 + len(alphas))
                else:
                    self.assertEqual(nodes, [f"example::Took{taken}(x)"])

    def test_s0_8_s0_9_none_or_one(self):
        self.check("?", {(): "", (2,): "2", (2, 3): None})

    def test_s0_8_s0_9_any_number(self):
        self.check("*", {(): "", (2,): "2", (2, 3, 1): "2_3_1"})

    def test_s0_8_s0_9_one_or_more(self):
        self.check("+", {(): None, (2,): "2", (2, 3, 1): "2_3_1"})

    def test_s0_8_at_the_end_of_the_tree_no_node_is_left(self):
        for count, left in (("?", 1), ("*", 0), ("+", 0)):
            with self.subTest(count):
                self.rule('{is "Relu", Wildcard(is "Exp", "%s")}' % count)
                self.took("(float[2] x) => (float[2] y)"
                          "{ a = Relu(x) b = Exp(a) y = Exp(b) }",
                          *["example::Took(x)", "Exp(b)"][:1 + left])

    def test_s0_9_a_predicate_is_asked_of_each(self):
        self.rule('{is "Relu", Wildcard(is("LeakyRelu", function(n)'
                  ' return n.attrs.alpha < 0.5 end), "*"), is "Neg"}',
                  self.COUNT)
        self.assertEqual(self.nodes(self.graph(1, 1)),
                         ["example::Took1_1(x)"])
        self.assertEqual(len(self.nodes(self.graph(1, 3))), 4)


if __name__ == "__main__":
    unittest.main()
