"""Attributes that a rule does not mention are neither lost nor applied to another
node: if the pattern is open for an attribute, and neither the pattern names it
nor the rule reads it nor :with keeps it, the match is rejected."""

import json
import unittest

import onnx

from support import program

HEAD = ('<ir_version: 8, opset_import: ["" : 21, "com.example" : 1, '
        '"ruleengine" : 1]>\n')


def op_names(model):
    return sorted(node.op_type for node in model.graph.node)


class Unsaid(program.ProgramTest):
    def rewritten(self, rule, graph, *options):
        """(the result, the report of the only rule)"""
        path = self.write("rule.lua", "return rule {\n" + rule + "\n}\n")
        model = self.write("m.onnxtxt", HEAD + graph)
        self.run_ok("run", path, model, "-o", "out.onnx", "--report", "r.json",
                    "--target", "portable", *options)
        report = json.loads((self.folder / "r.json").read_text())
        return onnx.load(self.folder / "out.onnx"), report["rules"][0]

    def check_stopped(self, rule, graph, attribute):
        model, report = self.rewritten(rule, graph)
        self.assertEqual(report["rewrites"], 0)
        reasons = [r["reason"] for r in report["rejected"]]
        self.assertTrue(any(f"'{attribute}'" in r for r in reasons), reasons)
        return model

    def check_fires(self, rule, graph):
        model, report = self.rewritten(rule, graph)
        self.assertEqual(report["rejected"], [])
        self.assertGreater(report["rewrites"], 0)
        return model


SOFTER = """
  match = function(op, x) return op.Softmax{x, attrs = any}:as "s" end,
  rewrite = function(op, m) return op["com.example"].Softer(%s) end"""
AXIS = "g (float[2,3] x) => (float[2,3] y) { y = Softmax <axis = 0> (x) }"
DEFAULT = "g (float[2,3] x) => (float[2,3] y) { y = Softmax <axis = -1> (x) }"
FRONT = "g (float[2,3] x) => (float[2,3] y) { y = Softmax <axis = 1> (x) }"


ATTENTION = """
g (float[2,4,3,8] q, float[2,4,5,8] k, float[2,4,5,8] v, float[3,5] m)
  => (float[2,4,3,8] y, float[2,4,3,8] z) {
  y = ruleengine.ScaledDotProductAttention <num_heads = 4%s> (q, k, v, m)
  z = ruleengine.ScaledDotProductAttention <num_heads = 4%s> (q, v, k, m)
}"""
FREE = ", guarded = 0"


class Permissions(Unsaid):
    """guarded = 0 only permits more results."""

    def attention(self, model):
        return [{a.name: a.i for a in node.attribute}
                for node in model.graph.node
                if node.op_type == "ScaledDotProductAttention"]

    def test_a_closed_pattern_need_not_name_one(self):
        self.check_fires("""
  match = function(op, q, k, v, m, H)
    return op.ruleengine.ScaledDotProductAttention{q, k, v, m, num_heads = H}
  end,
  rewrite = function(op, m) return op["com.example"].Attend(m.q, m.k) end""",
                         ATTENTION % (FREE, ""))

    def test_it_may_be_dropped(self):
        self.check_fires("""
  match = function(op, q, k, v, m)
    return op.ruleengine.ScaledDotProductAttention{q, k, v, m, attrs = any}:as "a"
  end,
  where = function(m) need(m.a.attrs.num_heads == 4, "other heads") end,
  rewrite = function(op, m) return op["com.example"].Attend(m.q, m.k) end""",
                         ATTENTION % (FREE, ""))

    def test_it_does_not_pass_to_another_node(self):
        rule = """
  match = function(op, q, k, v, m)
    local n = op.Neg(q)
    local y = op.ruleengine.ScaledDotProductAttention{n, k, v, m, num_heads = 4,
      is_causal = 1}
    local z = op.ruleengine.ScaledDotProductAttention{n, v, k, m, num_heads = 4}
    return y:as "a", z
  end,
  changes_meaning = true,
  rewrite = function(op, m)
    return m.a:with(m.q), m.a:with{m.q, m.v, m.k, is_causal = 0}
  end"""
        graph = ATTENTION.replace("y = ", "n = Neg(q) y = ").replace("(q, ", "(n, ")
        causal = FREE + ", is_causal = 1"
        self.check_stopped(rule, graph % (causal, ""), "guarded")
        model = self.check_fires(rule, graph % (causal, FREE))
        self.assertEqual([a["guarded"] for a in self.attention(model)], [0, 0])

    def test_a_node_that_stays_does_not_pass_it_on(self):
        self.check_stopped("""
  match = function(op, q, k, v, m)
    context(op.ruleengine.ScaledDotProductAttention{q, k, v, m, num_heads = 4}:as "a")
    return op.Neg(op.ruleengine.ScaledDotProductAttention{q, v, k, m, num_heads = 4})
  end,
  changes_meaning = true,
  rewrite = function(op, m) return m.a:with(m.q, m.v, m.k) end""",
                           (ATTENTION % (FREE, "")).replace("z = ", "w = ")
                           .replace("}", " z = Neg(w) }"), "guarded")

    def test_equal_nodes_differ_by_it(self):
        """An existing node without the permission is not reused."""
        model = self.write("m.onnxtxt", HEAD + (
            ATTENTION % (FREE, "")).replace("(q, v, k, m)", "(q, k, v, m)"))
        self.run_ok("run", program.ROOT / "rules/canonical.lua", model, "-o",
                    "out.onnx", "--target", "portable")
        model = onnx.load(self.folder / "out.onnx")
        self.assertEqual(len(self.attention(model)), 2)


class OneNode(Unsaid):
    def test_an_unmentioned_attribute_stops_the_match(self):
        self.check_stopped(SOFTER % "m.x", AXIS, "axis")

    def test_a_default_says_nothing(self):
        for graph in (DEFAULT, FRONT):
            self.check_fires(SOFTER % "m.x", graph)

    def test_what_is_read_is_said(self):
        self.check_fires(SOFTER.replace("(%s)", "{m.x, axis = m.s.attrs.axis}"),
                         AXIS)

    def test_read_in_where(self):
        self.check_fires("""
  match = function(op, x) return op.Softmax{x, attrs = any}:as "s" end,
  where = function(m) need(m.s.attrs.axis == 0, "another axis") end,
  rewrite = function(op, m) return op["com.example"].Softer(m.x) end""", AXIS)

    def test_named_in_the_pattern(self):
        for named in ("axis = any", "axis = k", "axis = 0"):
            self.check_fires(f"""
  match = function(op, x, k) return op.Softmax{{x, {named}, attrs = any}} end,
  rewrite = function(op, m) return op["com.example"].Softer(m.x) end""", AXIS)

    def test_with_carries(self):
        model = self.check_fires("""
  match = function(op, x) return op.Softmax{op.Neg(x), attrs = any}:as "s" end,
  rewrite = function(op, m) return m.s:with(m.x) end""",
            "g (float[2,3] x) => (float[2,3] y) "
            "{ n = Neg(x) y = Softmax <axis = 0> (n) }")
        self.assertEqual(model.graph.node[0].attribute[0].i, 0)

    def test_with_upon_with_carries(self):
        self.check_fires("""
  match = function(op, x) return op.Softmax{op.Neg(x), attrs = any}:as "s" end,
  rewrite = function(op, m)
    local y = m.s:with(m.x)
    return y.producer:with(op.Abs(m.x))
  end""", "g (float[2,3] x) => (float[2,3] y) "
                         "{ n = Neg(x) y = Softmax <axis = 0> (n) }")

    def test_an_unused_with_does_not(self):
        self.check_stopped("""
  match = function(op, x) return op.Softmax{op.Neg(x), attrs = any}:as "s" end,
  rewrite = function(op, m)
    local _ = m.s:with(m.x)
    return op.Softmax(m.x)
  end""", "g (float[2,3] x) => (float[2,3] y) "
                           "{ n = Neg(x) y = Softmax <axis = 0> (n) }", "axis")

    def test_with_mentions_the_changed_attribute(self):
        self.check_fires("""
  match = function(op, x) return op.Softmax{op.Neg(x), attrs = any}:as "s" end,
  rewrite = function(op, m) return m.s:with{m.x, axis = -1} end""",
                         "g (float[2,3] x) => (float[2,3] y) "
                         "{ n = Neg(x) y = Softmax <axis = 0> (n) }")

    def test_a_kept_node_keeps_its_own(self):
        self.check_fires("""
  changes_meaning = true,
  match = function(op, x)
    return op.Tanh(op.Softmax{x, attrs = any}:as "s")
  end,
  replace = function(op, x)
    return op.Relu(op.Softmax{x, attrs = any}:as "s")
  end""", "g (float[2,3] x) => (float[2,3] y) "
                         "{ s = Softmax <axis = 0> (x) y = Tanh(s) }")

    def test_an_existing_value_in_its_place(self):
        self.check_stopped("""
  match = function(op, x) return op.Gelu{x, attrs = any} end,
  rewrite = function(op, m) return m.x end""",
                           "g (float[2,3] x) => (float[2,3] y) "
                           '{ y = Gelu <approximate = "tanh"> (x) }',
                           "approximate")

    def test_context_that_is_not_read(self):
        rule = """
  match = function(op, x)
    return op.Relu(context(op.Softmax{x, attrs = any}))
  end,
  rewrite = function(op, m) return op["com.example"].Softer(m.x) end"""
        self.check_stopped(rule, "g (float[2,3] x) => (float[2,3] y) "
                                 "{ s = Softmax <axis = 0> (x) y = Relu(s) }",
                           "axis")
        self.check_stopped(
            rule, "g (float[2,3] x) => (float[2,3] y, float[2,3] s) "
            "{ s = Softmax <axis = 0> (x) y = Relu(s) }", "axis")

    def test_context_that_is_still_read(self):
        self.check_fires("""
  match = function(op, x)
    return op.Relu(context(op.Softmax{x, attrs = any}:as "s"))
  end,
  rewrite = function(op, m) return op.Abs(m.s.outputs[1]) end""",
            "g (float[2,3] x) => (float[2,3] y, float[2,3] s) "
            "{ s = Softmax <axis = 0> (x) y = Relu(s) }")

    def test_readers_that_stay(self):
        self.check_fires("""
  match = function(op, x)
    local y = op.Relu(x)
    context(op.Softmax{x, attrs = any})
    return y
  end,
  rewrite = function(op, m) return op.Max(m.x, 0) end""",
            "g (float[2,3] x) => (float[2,3] y, float[2,3] s) "
            "{ s = Softmax <axis = 0> (x) y = Relu(x) }")

    def test_steps_of_a_chain(self):
        rule = """
  match = function(op, x)
    return op.Relu(many(function(s)
      return op.Softmax{s, attrs = any}:as "step"
    end, x))
  end,
  rewrite = function(op, m)
    local y = m.x
    for _, step in ipairs(m.step) do %s end
    return op.Abs(y)
  end"""
        graph = ("g (float[2,3] x) => (float[2,3] y) { s = Softmax <axis = 0> "
                 "(x) t = Softmax(s) y = Relu(t) }")
        self.check_stopped(rule % "y = op.Softmax(y)", graph, "axis")
        self.check_fires(rule % "y = step:with(y)", graph)
        self.check_fires(rule %
                         "y = op.Softmax{y, axis = step.attrs.axis}", graph)

    def test_unknown_ops(self):
        rule = """
  match = function(op, x) return op["com.example"].F{x, attrs = any} end,
  rewrite = function(op, m) return op.Abs(m.x) end"""
        graph = "g (float[2] x) => (float[2] y) { y = com.example.F%s (x) }"
        self.check_stopped(rule, graph % " <a = 0>", "a")
        self.check_fires(rule, graph % "")

    def test_older_forms_read_as_new_ones(self):
        path = self.write("rule.lua", "return rule {" + SOFTER % "m.x" + "}")
        for axis, rewrites in ((1, 1), (0, 0)):
            model = self.write("m.onnxtxt",
                               '<ir_version: 8, opset_import: ["" : 12]>\n'
                               "g (float[2,3] x) => (float[2,3] y) "
                               f"{{ y = Softmax <axis = {axis}> (x) }}")
            self.run_ok("run", path, model, "-o", "out.onnx", "--report",
                        "r.json", "--target", "portable")
            report = json.loads((self.folder / "r.json").read_text())
            self.assertEqual(report["rules"][0]["rewrites"], rewrites)


class TreesAndPasses(Unsaid):
    TREE = """
local tree = lib "tree"
return rule(tree.rule {
  doc = [[ relu(softmax(x)) => Softer(x) ]],
  tree = {%s, "Relu"},
  graft = {tree.module{type = "com.example.Softer"}},
})
"""
    GRAPH = HEAD + ("g (float[2,3] x) => (float[2,3] y) "
                    "{ s = Softmax <axis = 0> (x) y = Relu(s) }")

    def run_file(self, text):
        path = self.write("rule.lua", text)
        model = self.write("m.onnxtxt", self.GRAPH)
        self.run_ok("run", path, model, "-o", "out.onnx", "--report", "r.json",
                    "--target", "portable")
        return json.loads((self.folder / "r.json").read_text())["rules"][0]

    def test_trees(self):
        report = self.run_file(self.TREE % '"Softmax"')
        self.assertEqual(report["rewrites"], 0)
        self.assertIn("'axis'", report["rejected"][0]["reason"])
        report = self.run_file(
            self.TREE % 'tree.is("Softmax", {axis = any})')
        self.assertEqual(report["rewrites"], 1)

    def test_replace_pattern(self):
        text = """
return rule {
  doc = "",
  pass = function(graph)
    replace_pattern(graph,
      function(op, x) return op.Relu(op.Softmax{x, attrs = any}%s) end,
      function(op, x) return op.%s end)
  end,
}
"""
        report = self.run_file(text % ("", "Abs(x)"))
        self.assertEqual(report["rewrites"], 0)
        self.assertIn("'axis'", report["rejected"][0]["reason"])
        kept = ':as "s"', 'Abs(op.Softmax{x, attrs = any}:as "s")'
        self.assertEqual(self.run_file(text % kept)["rewrites"], 1)


MERGED = """
  match = function(op, x, w)
    return op["com.example"].Linear{x, w, attrs = any}:as "layer"
  end,
  together = function(m) return m.x end,
  rewrite = function(op, ms)
    local w = op.Concat{ms:all "w", axis = 0}
    local wide = %s
    local parts = {}
    for i, m in ipairs(ms) do
      parts[i] = op["com.example"].Part{wide, place = i}
    end
    return parts
  end"""
CARRIED = MERGED % "ms[1].layer:with(ms[1].x, w)"
ANEW = MERGED % 'op["com.example"].Linear(ms[1].x, w)'
WIDTH = MERGED % """nil
    local width = 0
    for _, m in ipairs(ms) do width = width + m.layer.attrs.N end
    wide = ms[1].layer:with{ms[1].x, w, N = width}"""


def layers(*attributes):
    outs = ", ".join(f"float[2,4] y{i}" for i in range(len(attributes)))
    ins = ", ".join(f"float[4,3] w{i}" for i in range(len(attributes)))
    body = " ".join(f"y{i} = com.example.Linear {a} (x, w{i})"
                    for i, a in enumerate(attributes))
    return f"g (float[2,3] x, {ins}) => ({outs}) {{ {body} }}"


class Groups(Unsaid):
    def widths(self, model):
        """The number of weights of each merged layer."""
        made = {o: node for node in model.graph.node for o in node.output}
        return sorted(len(made[node.input[1]].input) for node in
                      model.graph.node if node.op_type == "Linear"
                      and node.input[1] in made)

    def test_equal_ones_go_together(self):
        for a in ("", "<packed = 1>"):
            model = self.check_fires(CARRIED, layers(a, a, a))
            self.assertEqual(self.widths(model), [3])

    def test_different_ones_do_not(self):
        model, report = self.rewritten(CARRIED, layers("<packed = 1>", ""))
        self.assertEqual(report["rewrites"], 0)
        self.assertEqual(op_names(model), ["Linear", "Linear"])
        model, report = self.rewritten(
            CARRIED, layers("<packed = 1>", "", "<packed = 1>", ""))
        self.assertEqual(self.widths(model), [2, 2])
        self.assertEqual(report["rewrites"], 2)

    def test_an_absent_attribute_equals_the_default(self):
        rule = """
  match = function(op, x) return op.Softmax{x, attrs = any}:as "s" end,
  together = function(m) return m.x end,
  rewrite = function(op, ms)
    local y, out = ms[1].s:with(op.Neg(ms[1].x)), {}
    for i = 1, #ms do out[i] = y end
    return out
  end"""
        graph = ("g (float[2,3] x) => (float[2,3] y, float[2,3] z) "
                 "{ y = Softmax <axis = %s> (x) z = Softmax(x) }")
        for axis, rewrites in (("-1", 1), ("1", 1), ("0", 0)):
            report = self.rewritten(rule, graph % axis)[1]
            self.assertEqual(report["rewrites"], rewrites, axis)

    def test_what_is_read_of_each_may_differ(self):
        model = self.check_fires(WIDTH, layers("<N = 1>", "<N = 2>"))
        wide = [n for n in model.graph.node if n.op_type == "Linear"]
        self.assertEqual([n.attribute[0].i for n in wide], [3])

    def test_built_anew_the_attribute_is_gone(self):
        self.check_stopped(ANEW, layers("<packed = 1>", "<packed = 1>"),
                           "packed")
        self.check_fires(ANEW, layers("", ""))

    def test_match_says_why_one_stays_alone(self):
        path = self.write("rule.lua", "return rule {" + CARRIED + "}")
        model = self.write("m.onnxtxt", HEAD + layers("<packed = 1>", "", ""))
        found = self.run_ok("match", path, model).out
        self.assertIn("attributes that the rule does not mention differ", found)

    def test_twins_of_one_match(self):
        rule = """
  match = function(op, x, w, v)
    local linear = op["com.example"].Linear
    return op.Add(linear{x, w, attrs = any}:as "one",
      linear{x, v, attrs = any}:as "two")
  end,
  rewrite = function(op, m) return m.one:with(m.x, op.Add(m.w, m.v)) end"""
        graph = ("g (float[2,3] x, float[4,3] w, float[4,3] v) => "
                 "(float[2,4] y) {{ a = com.example.Linear {} (x, w) "
                 "b = com.example.Linear {} (x, v) y = Add(a, b) }}")
        self.check_fires(rule, graph.format("", ""))
        self.check_fires(rule, graph.format("<k = 1>", "<k = 1>"))
        self.check_stopped(rule, graph.format("<k = 1>", ""), "k")
        self.check_stopped(rule, graph.format("", "<k = 1>"), "k")


class Standing(Unsaid):
    """The matched node stays, and another one replaces it."""

    def test_another_output_is_read(self):
        self.check_stopped("""
  match = function(op, x) return op.MaxPool{x, attrs = any, outputs = any} end,
  rewrite = function(op, m) return op.Relu(m.x) end,
  changes_meaning = true""", """g (float[1,2,4,4] x) =>
            (float[1,2,4,4] y, int64[1,2,4,4] z) {
              p, i = MaxPool <kernel_shape = [1,1], storage_order = 1>(x)
              y = Neg(p)
              z = Neg(i)
            }""", "kernel_shape")

    def test_a_reader_was_moved(self):
        self.check_stopped("""
  match = function(op, x, y)
    return op.Add(context(op.Softmax{x, attrs = any}), y):as "add"
  end,
  rewrite = function(op, m)
    m.add:replace_input(m.add.inputs[1], op.Relu(m.x))
    return m.add.outputs[1]
  end,
  changes_meaning = true""", """g (float[2,3] x, float[2,3] y) =>
            (float[2,3] z, float[2,3] s) {
              s = Softmax <axis = 0>(x)
              z = Add(s, y)
            }""", "axis")

    def test_a_node_that_is_handed_back_as_its_own_model(self):
        self.check_stopped("""
  match = function(op, x)
    return op.Tanh(op.Softmax{x, attrs = any}:as "s")
  end,
  rewrite = function(op, m)
    local again = m.s:with()
    return op.Relu(m.x)
  end,
  changes_meaning = true""", """g (float[2,3] x) => (float[2,3] y) {
              s = Softmax <axis = 0>(x)
              y = Tanh(s)
            }""", "axis")


if __name__ == "__main__":
    unittest.main()
