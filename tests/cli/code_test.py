"""`code` prints a graph as Lua, `build` builds the same graph from it."""

import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

from support import numbers, program

LAYERS = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[3,4] x) => (float[3,5] clamp)
    <float[3,4] param = {%s}, float[4,5] w = {%s}> {
      add = Add(x, param)
      [linear] h = MatMul(add, w)
      c = Constant <value = float[1] {0.5}> ()
      [clamp] clamp = Clip(h, , c)
    }""" % (",".join("1" * 12), ",".join("2" * 20))


def attribute(each):
    """An attribute as a comparable value, independent of its encoding."""
    if each.type == onnx.AttributeProto.GRAPH:
        return each.name, each.type, graph(each.g)
    if each.type == onnx.AttributeProto.TENSOR and \
            each.t.data_location != TensorProto.EXTERNAL:
        array = numpy_helper.to_array(each.t)
        return (each.name, each.type, each.t.data_type, array.shape,
                array.tobytes() if array.dtype != object else array.tolist())
    return each.name, each.type, each.SerializeToString(deterministic=True)


def node(each):
    return (each.op_type, each.domain if each.domain != "ai.onnx" else "",
            each.name, list(each.input), list(each.output),
            sorted(map(attribute, each.attribute), key=str),
            each.doc_string,
            sorted((p.key, p.value) for p in each.metadata_props))


def graph(each):
    return ([node(n) for n in each.node],
            [i.SerializeToString() for i in each.input],
            [o.SerializeToString() for o in each.output],
            [i.SerializeToString() for i in each.initializer],
            sorted(v.SerializeToString() for v in each.value_info))


def load(path):
    return onnx.load(str(path), load_external_data=False)


class Code(program.ProgramTest):
    def code(self, model, *more):
        return self.run_ok("code", model, *more).out

    def build(self, code, model, out="again.onnx"):
        self.write("code.lua", code)
        self.run_ok("build", "code.lua", model, "-o", out)
        return self.folder / out

    def same(self, model):
        """Builds the model from its own code and compares node by node."""
        again = load(self.build(self.code(model), model))
        was = load(model)
        self.assertEqual(len(again.graph.node), len(was.graph.node))
        for ours, theirs in zip(again.graph.node, was.graph.node):
            self.assertEqual(node(ours), node(theirs))
        self.assertEqual(graph(again.graph), graph(was.graph))
        self.assertEqual([f.SerializeToString() for f in again.functions],
                         [f.SerializeToString() for f in was.functions])
        self.assertEqual({(o.domain, o.version) for o in again.opset_import},
                         {(o.domain, o.version) for o in was.opset_import})
        return again

    def refused(self, code, says, expected=4):
        self.write("m.onnxtxt", LAYERS)
        self.write("code.lua", code)
        return self.run_bad(expected, "build", "code.lua", "m.onnxtxt", "-o",
                            "out.onnx", says=says)


class Print(Code):
    def test_one_statement_a_node_and_releases(self):
        """S2.16: dead values are released on the line of their last reader."""
        self.write("m.onnxtxt", LAYERS)
        lines = [line.split(" --")[0].rstrip()
                 for line in self.code("m.onnxtxt").splitlines()
                 if line and not line.startswith("--")]
        self.assertEqual(lines, [
            'x = input "x"',
            'param = weight "param"',
            "add = op.Add{x, param};  x, param = nil",
            'w = weight "w"',
            "h = op.MatMul{add, w};  add, w = nil",
            'c = op.Constant{value = tensor("float", {1}, {0.5})}',
            "clamp = op.Clip{h, none, c};  h, c = nil",
            "output(clamp)",
            "names {",
            '  h = {"linear"},',
            '  clamp = {"clamp"},',
            "}"])

    def test_the_same_each_time(self):
        bert = program.ROOT / "examples" / "bert.onnx"
        self.assertEqual(self.code(bert), self.code(bert))

    def test_large_weights_are_referenced(self):
        big = np.arange(100_000, dtype=np.float32)
        made = helper.make_model(helper.make_graph(
            [helper.make_node("Constant", [], ["c"],
                              value=numpy_helper.from_array(big)),
             helper.make_node("Add", ["c", "w"], ["y"])],
            "g", [], [helper.make_tensor_value_info("y", 1, [100_000])],
            [numpy_helper.from_array(big, "w")]),
            opset_imports=[helper.make_opsetid("", 17)])
        made.ir_version = 8
        self.write("big.onnx", made.SerializeToString())
        self.assertLess(len(self.code("big.onnx")), 1000)
        self.same(self.folder / "big.onnx")

    def test_after_rules(self):
        """S2.21, S2.26: the result of a run, without writing a model."""
        code = self.code(program.ROOT / "examples" / "bert.onnx", "--first",
                         program.ROOT / "rules" / "attention.lua")
        self.assertIn("op.ruleengine.ScaledDotProductAttention{", code)

    def test_of_rules(self):
        self.run_bad(2, "code", program.ROOT / "rules" / "attention.lua",
                     says="no model given")


class Build(Code):
    def test_every_small_model(self):
        models = sorted(program.DATA.rglob("*.onnx"))
        self.assertGreater(len(models), 50)
        for model in models:
            with self.subTest(model=model.name):
                self.same(model)

    def test_every_shared_model(self):
        models = sorted(program.SHARED.glob("models/*.onnx")) + \
            sorted(program.SHARED.glob("fixtures/cases/*.onnx"))
        if not models:
            self.skipTest("needs ../shared")
        for model in models:
            with self.subTest(model=model.name):
                self.same(model)

    def test_what_runs_made(self):
        """Functions, metadata and ops of the engine's own."""
        self.run_ok("run", *program.packs(),
                    program.ROOT / "examples" / "bert.onnx", "-o", "r.onnx")
        again = self.same(self.folder / "r.onnx")
        onnx.checker.check_model(again)
        self.assertTrue(again.functions)

    def test_code_after_rules(self):
        """Nodes from rules are in the code, with small constants."""
        self.write("m.onnxtxt", '''<ir_version: 8, opset_import: ["" : 17]>
            g (float[2,3] x, float16[2,3] h) => (float[2,3] y, float16[2,3] z) {
              y = Neg(x)
              z = Neg(h)
            }''')
        self.write("r.lua", '''return rule {
            match = function(op, x) return op.Neg(x) end,
            rewrite = function(op, m) return op.Mul(m.x, -1) end}''')
        code = self.code("m.onnxtxt", "--first", "r.lua")
        self.assertRegex(code, r'= weight\(".*", tensor\("float16", {}, {-1}\)')
        self.build(code, "m.onnxtxt", "built.onnxtxt")
        self.run_ok("run", "r.lua", "m.onnxtxt", "-o", "run.onnxtxt")
        built, ran = (onnx.parser.parse_model((self.folder / f).read_text())
                      for f in ("built.onnxtxt", "run.onnxtxt"))
        self.assertEqual([node(n)[:-1] for n in built.graph.node],
                         [node(n)[:-1] for n in ran.graph.node])
        self.assertEqual([numpy_helper.to_array(i).tolist()
                          for i in built.graph.initializer], [-1, -1])
        self.run_bad(4, "build", "code.lua", "built.onnxtxt", "-o", "out.onnx",
                     says=["a new weight has the name of a value"])

    def test_ops_of_the_engine_get_bodies(self):
        self.write("m.onnxtxt", LAYERS)
        code = self.code("m.onnxtxt")
        linear = code.replace(
            "op.MatMul{add, w}", "op.ruleengine.Linear{add, op.Transpose{w}}")
        made = self.build(linear, "m.onnxtxt", "linear.onnx")
        x = np.arange(12, dtype=np.float32).reshape(3, 4) / 50
        sessions = [numbers.session(m) for m in
                    (self.build(code, "m.onnxtxt", "plain.onnx"), made)]
        plain, own = (s.run(None, {"x": x})[0] for s in sessions)
        np.testing.assert_allclose(own, plain, rtol=1e-6)
        self.assertEqual([f.name for f in load(made).functions], ["Linear"])
        self.same(made)
        # The op determines the type of an attribute, even in a new domain.
        made = self.build(code.replace(
            "op.MatMul{add, w}", "op.ruleengine.AttentionForward{add, add, "
            "add, sm_scale = 1}"), "m.onnxtxt", "scaled.onnx")
        [scale] = load(made).graph.node[1].attribute
        self.assertEqual((scale.type, scale.f), (onnx.AttributeProto.FLOAT, 1))
        self.refused(code.replace("op.MatMul{add, w}",
                                  "op.ruleengine.Linear{add}"),
                     ["Linear lacks its input 2 'weight'", "node 'linear'"])

    def test_code_for_reading(self):
        self.write("m.onnxtxt", LAYERS)
        self.write("r.lua", '''return rule {
            match = function(op, x, w) return op.MatMul(x, w:const "K N") end,
            rewrite = function(op, m)
              return op.Gemm(m.x, op.Neg(m.w)) end}''')
        code = self.code("m.onnxtxt", "--first", "r.lua")
        self.assertIn("-- Only for reading: rules made weights that are too large",
                      code)
        self.refused(code, ["the model has no weight", "write the result of the rules, and print the code"])

    def test_graphs_in_graphs(self):
        inner = helper.make_graph(
            [helper.make_node("Add", ["v", "w"], ["t"], name="inner"),
             helper.make_node("Mul", ["t", "x"], ["u"]),
             helper.make_node("Identity", ["go"], ["on"])],
            "body",
            [helper.make_tensor_value_info("i", TensorProto.INT64, []),
             helper.make_tensor_value_info("go", TensorProto.BOOL, []),
             helper.make_tensor_value_info("v", 1, [2])],
            [helper.make_tensor_value_info("on", TensorProto.BOOL, []),
             helper.make_tensor_value_info("u", 1, [2])],
            [numpy_helper.from_array(np.ones(2, np.float32), "k")])
        # The same names in another body.
        inner.node.append(helper.make_node("Add", ["u", "k"], ["unread"]))
        other = helper.make_graph(
            [helper.make_node("Neg", ["x"], ["t"])], "other", [],
            [helper.make_tensor_value_info("t", 1, [2])])
        captured = helper.make_graph(
            [helper.make_node("Relu", ["w"], ["t"])], "captured", [],
            [helper.make_tensor_value_info("t", 1, [2])])
        made = helper.make_model(helper.make_graph(
            [helper.make_node("Loop", ["n", "b", "x"], ["l"], body=inner),
             helper.make_node("If", ["b"], ["c"], then_branch=other,
                              else_branch=captured),
             helper.make_node("Dropout", ["c"], ["", "mask"], "drop"),
             helper.make_node("Sum", ["l", "c"], ["y"])], "g",
            [helper.make_tensor_value_info("n", TensorProto.INT64, []),
             helper.make_tensor_value_info("b", TensorProto.BOOL, []),
             helper.make_tensor_value_info("x", 1, [2])],
            [helper.make_tensor_value_info("y", 1, [2]),
             helper.make_tensor_value_info("mask", TensorProto.BOOL, [2])],
            [numpy_helper.from_array(np.ones(2, np.float32), "w")]),
            opset_imports=[helper.make_opsetid("", 17)])
        made.ir_version = 8
        self.write("nested.onnx", made.SerializeToString())
        code = self.code("nested.onnx")
        self.assertIn("body = function()", code)
        self.same(self.folder / "nested.onnx")

    def test_graphs_in_functions_and_in_texts(self):
        branches = """{ y = If(c) <
            then_branch = t () => (float[2] a) { a = Neg(x) },
            else_branch = e () => (float[2] f) { f = Identity(x) }> }"""
        self.write("function.onnx", parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 17, "f" : 1]>\n'
            "g (bool c, float[2] x) => (float[2] y) { y = f.pick(c, x) }\n"
            '<domain: "f", opset_import: ["" : 17]> pick (c, x) => (y) ' + branches).SerializeToString())
        self.same(self.folder / "function.onnx")
        self.write("m.onnxtxt", '<ir_version: 8, opset_import: ["" : 17]>\n'
                   "g (bool c, float[2] x) => (float[2] y) " + branches)
        self.build(self.code("m.onnxtxt"), "m.onnxtxt", "again.onnx")
        again = load(self.folder / "again.onnx")
        onnx.checker.check_model(again)
        self.assertEqual([[n.op_type for n in a.g.node] for a in again.graph.node[0].attribute],
                         [["Neg"], ["Identity"]])
        self.build(self.code("m.onnxtxt"), "m.onnxtxt", "again.onnxtxt")
        self.assertEqual(self.code("again.onnxtxt").split("\n", 1)[1], self.code("m.onnxtxt").split("\n", 1)[1])

    def test_names_that_are_words(self):
        made = parser.parse_model(LAYERS)
        renamed = {"add": "op", "h": "input", "param": "end",
                   "w": 'a "b"\n\\c', "c": "none", "x": "123"}
        for each in made.graph.node:
            each.input[:] = [renamed.get(i, i) for i in each.input]
            each.output[:] = [renamed.get(o, o) for o in each.output]
        for each in [*made.graph.input, *made.graph.initializer]:
            each.name = renamed.get(each.name, each.name)
        self.write("odd.onnx", made.SerializeToString())
        self.same(self.folder / "odd.onnx")

    def test_attributes_of_every_kind(self):
        ints = [0, -1, 2**53, 2**53 + 1, -2**63, 2**63 - 1]
        floats = [0.0, -0.0, 0.1, 1e-45, 3.4e38, float("inf"), -float("inf"),
                  float("nan"), 1.0]
        nodes = [helper.make_node(
            "Odd", ["x"] if i == 0 else [f"v{i - 1}"], [f"v{i}"], f"n{i}",
            domain="com.example", **{key: value})
            for i, (key, value) in enumerate(
                [("i", i) for i in ints] + [("f", f) for f in floats] +
                [("s", ""), ("s", 'q"\\\n\0é'), ("strings", ["a", ""]),
                 ("ints", ints), ("floats", floats), ("floats", [1.0, 2.0]),
                 ("attrs", 4), ("end", 5), ("a-b", 6),
                 ("t", helper.make_tensor("", TensorProto.INT64, [2], ints[:2])),
                 ("t", helper.make_tensor("", TensorProto.INT64, [1],
                                          [2**53 + 1])),
                 ("t", helper.make_tensor("", TensorProto.BOOL, [], [True])),
                 ("t", helper.make_tensor("", TensorProto.DOUBLE, [0, 2], [])),
                 ("t", helper.make_tensor("", TensorProto.STRING, [1],
                                          [b"s"])),
                 ("t", helper.make_tensor("", TensorProto.FLOAT16, [1],
                                          [0.1]))])]
        nodes[0].attribute.append(helper.make_attribute("outputs", 3))
        nodes[0].attribute.append(helper.make_attribute("inputs", [4]))
        nodes.append(helper.make_node("Relu", [nodes[-1].output[0]], ["y"]))
        made = helper.make_model(helper.make_graph(
            nodes, "g", [helper.make_tensor_value_info("x", 1, [2])],
            [helper.make_tensor_value_info("y", 1, [2])]),
            opset_imports=[helper.make_opsetid("", 17),
                           helper.make_opsetid("com.example", 1)])
        made.ir_version = 8
        self.write("odd.onnx", made.SerializeToString())
        self.same(self.folder / "odd.onnx")

    def test_weights_as_inputs(self):
        made = parser.parse_model(LAYERS)
        for weight in made.graph.initializer:
            made.graph.input.append(helper.make_tensor_value_info(
                weight.name, weight.data_type, list(weight.dims)))
        for version in 3, 8:
            made.ir_version = version
            name = f"v{version}.onnx"
            self.write(name, made.SerializeToString())
            self.same(self.folder / name)

    def test_a_node_that_reads_more_than_lua_assigns_to(self):
        nodes = "".join(f"v{i} = Relu(x) " for i in range(260))
        every = ", ".join(f"v{i}" for i in range(260))
        model = parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 17]> g (float[1] x) => '
            f"(float[260] y) {{ {nodes} y = Concat <axis = 0> ({every}) }}")
        onnx.save(model, str(self.folder / "wide.onnx"))
        again = self.build(self.code("wide.onnx"), "wide.onnx")
        self.assertEqual(graph(load(again).graph), graph(model.graph))

    def test_a_long_graph(self):
        nodes = [helper.make_node("Neg", [f"v{i}"], [f"v{i + 1}"], f"n{i}")
                 for i in range(30_000)]
        made = helper.make_model(helper.make_graph(
            nodes, "g", [helper.make_tensor_value_info("v0", 1, [2])],
            [helper.make_tensor_value_info("v30000", 1, [2])]),
            opset_imports=[helper.make_opsetid("", 17)])
        made.ir_version = 8
        self.write("long.onnx", made.SerializeToString())
        self.same(self.folder / "long.onnx")

    def test_code_that_was_changed(self):
        self.write("m.onnxtxt", LAYERS)
        code = self.code("m.onnxtxt").replace(
            "op.MatMul{add, w}", "op.Neg(op.MatMul{add, w})")
        self.build(code, "m.onnxtxt", "out.onnxtxt")
        text = (self.folder / "out.onnxtxt").read_text()
        self.assertRegex(text, r"(?s)(\w+) = MatMul\(add, w\).*"
                               r"\[linear\] h = Neg\(\1\)")


class Refused(Code):
    def change(self, old, new):
        self.write("m.onnxtxt", LAYERS)
        code = self.code("m.onnxtxt")
        self.assertIn(old, code)
        return code.replace(old, new)

    def test_mistakes_are_said_with_their_line(self):
        for old, new, says in (
                ("op.Add{", "op.Adn{", ["no op 'Adn'", "did you mean 'Add'",
                                        "code.lua:6"]),
                ("{add, w}", "{x, w}", ["'x' was released", "code.lua:8"]),
                ("{add, w}", "{nothing, w}", ["'nothing'", "code.lua:8"]),
                ("{add, w}", "{add, 3}", ["an input is not a value"]),
                ('input "x"', 'input "z"', ["has no input 'z'", "code.lua:4"]),
                ('weight "w"', 'weight "x"', ["has no weight 'x'"]),
                ("output(clamp)", "", ["no `output`"]),
                ("output(clamp)", "output(clamp, clamp)",
                 ["wrong number of values"]),
                ('weight "w"', 'weight("w", 3)',
                 ["a new weight needs a tensor", "code.lua"]),
                ("output(clamp)", "output(3)", ["an output is not a value"]),
                ("h = op.", "add = op.", ["'add' is assigned twice"]),
                ('h = {"linear"}', 'z = {"linear"}', ["`names` has 'z'"]),
                ('h = {"linear"}', "h = 3", ["the name of 'h'"]),
                ('clamp = {"clamp"}', 'clamp = {"clamp", "z"}',
                 ["output 1 has another name"]),
                ('clamp = {"clamp"}', 'clamp = {"clamp", "h"}',
                 ["two values have one name"]),
                ("{1}, {0.5}", "{2}, {0.5}", ["wrong number of elements"]),
                ('tensor("float"', 'tensor("flaot"', ["`tensor`"]),
                ("op.Clip{h, none, c}", "op.Clip{h, none, c, min = stored}",
                 ["has no 'min' for this Clip"]),
                ("op.MatMul{add, w}", 'op.Softmax{add, axis = "a"}',
                 ["attribute 'axis' cannot have this value",
                  "expected: a value of the type that the op requires"]),
                ("op.MatMul{add, w}", "op.own.F{add, w, k = true}",
                 ["attribute 'k' cannot have this value",
                  "expected: a number, a text, a list, a tensor"]),
                ("output(clamp)", "os.exit(1)", ["code.lua"]),
                ("output(clamp)", "output(", ["code.lua"])):
            with self.subTest(new=new):
                self.refused(self.change(old, new), says)

    def test_a_body_that_fails_and_is_caught(self):
        code = self.change(
            "output(clamp)",
            'pcall(function() op.If{x, then_branch = function() error("no") '
            "end} end)\noutput(clamp)")
        code = code.replace("x, param = nil", "param = nil")
        self.build(code, "m.onnxtxt")

    def test_it_cannot_run_for_ever(self):
        self.refused("while true do end", "ran longer than 2 s", expected=5)
        self.refused('x = input "x" while true do op.Neg(x) end', "code.lua",
                     expected=5)
        self.refused('x = input "x" s = string.rep("s", 1e7) while true do '
                     'op.a.B{x, s = s} end', "code.lua", expected=5)

    def test_files_that_are_none(self):
        self.write("m.onnxtxt", LAYERS)
        self.run_bad(4, "build", "none.lua", "m.onnxtxt", "-o", "out.onnx",
                     says="none.lua")
        self.write("code.lua", "output()")
        self.run_bad(2, "build", "code.lua", "-o", "out.onnx",
                     says="no model given")
        self.run_bad(2, "build", "code.lua", "m.onnxtxt", says="-o")
        self.run_bad(2, "build", "code.lua", "m.onnxtxt", "-o", "m.onnxtxt",
                     says="would replace the model")
        self.write("sub.lua", "return rule {}")
        self.run_bad(4, "build", "sub.lua", "m.onnxtxt", "-o", "out.onnx",
                     says="'rule'")


if __name__ == "__main__":
    unittest.main()
