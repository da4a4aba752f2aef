"""Names of a model, strings of a rule and arguments are escaped in all output:
their control characters reach no terminal, picture or page."""

import json
import os
import unittest
import xml.etree.ElementTree

import onnx
from onnx import TensorProto, helper

from support import make, program

# One of each kind: controls of both sets, direction marks, characters without
# width, ends of lines, noncharacters, and invalid UTF-8.
HIDDEN = ["\x01", "\t", "\r", "\n", "\x1b[31m", "\x7f", "\x9b31m", "\u00ad",
          "\u061c", "\u200b", "\u200d", "\u200f", "\u2028", "\u2029", "\u202e",
          "\u2066", "\u2069", "\ufeff", "\ufff9", "\ufffe", "\uffff", "\ufdd0",
          "\U0001fffe", "\U000e0041", "\U0010ffff", "\u3164"]
SHOWN = "é日本 \u05d0\U0001f600\ufffd"
HOSTILE = "".join(HIDDEN) + SHOWN
RAW = [part.encode() for part in HIDDEN if part != "\n"]


def hostile_model():
    """A model in which everything has this name."""
    def name(kind):
        return kind + HOSTILE

    tensor = helper.make_tensor(name("w"), TensorProto.FLOAT, [2], [1, 2])
    nodes = [
        helper.make_node("Relu", [name("x")], [name("a")], name=name("r")),
        helper.make_node("Neg", [name("a")], [name("b")], name=name("n")),
        helper.make_node("Neg", [name("b")], [name("c")], name=name("m")),
        helper.make_node("Add", [name("c"), name("w")], [name("d")]),
        helper.make_node(name("Op"), [name("d")], [name("e")],
                         domain=name("dom"),
                         **{name("key"): name("value"), "s": [HOSTILE]}),
        helper.make_node(name("F"), [name("d")], [name("f")],
                         domain=name("local"))]
    graph = helper.make_graph(
        nodes, name("graph"),
        [helper.make_tensor_value_info(name("x"), TensorProto.FLOAT,
                                       [name("N"), 2])],
        [helper.make_tensor_value_info(name("e"), TensorProto.FLOAT, None),
         helper.make_tensor_value_info(name("f"), TensorProto.FLOAT, None)],
        [tensor], doc_string=HOSTILE)
    opset = [helper.make_opsetid("", 17)]
    function = helper.make_function(
        name("local"), name("F"), [name("p")], [name("q")],
        [helper.make_node("Neg", [name("p")], [name("q")], name=name("g"))],
        opset)
    model = helper.make_model(
        graph, ir_version=8, functions=[function], producer_name=HOSTILE,
        opset_imports=[*opset, helper.make_opsetid(name("dom"), 1),
                       helper.make_opsetid(name("local"), 1)])
    helper.set_model_props(model, {name("meta"): name("data")})
    return model


class Escaped(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("cancel.lua", make.CANCEL)
        self.write("m.onnx", hostile_model().SerializeToString())
        quoted = "".join(f"\\{byte:03d}" for byte in HOSTILE.encode())
        self.write("rude.lua", make.rule(
            match="op.Neg(op.Neg(x))", more=f"""
            where = function(m) need(false, "{quoted}", m.x) end,
            examples = {{ {{ "{quoted}", [[ (float[2] x) => (float[2] y) {{
              a = Neg(x) b = Neg(a) y = Exp(b) }}]], rejected = "no" }} }},"""))
        self.write("refusing.lua", make.rule(
            more=f"""where = function(m) refuse(true, "{quoted}", m.x) end,"""))
        self.write("failing.lua", make.rule(
            more=f"""where = function(m) error("{quoted}" .. tostring(m.x))
            end,"""))

    def check_bytes(self, what, data):
        for part in RAW:
            self.assertNotIn(part, data, what)

    def outputs(self, *words, codes=(0,)):
        done = program.subprocess.run(
            [program.PROGRAM, *words], cwd=self.folder, check=False,
            stdin=program.subprocess.DEVNULL, capture_output=True, timeout=60)
        self.assertIn(done.returncode, codes, done.stderr)
        self.check_bytes(words, done.stdout)
        self.check_bytes(words, done.stderr)
        self.assertNotIn(b"\nforged", done.stdout + done.stderr)
        return done

    def test_every_verb(self):
        self.write("lines.lua", make.rule(
            more="""where = function(m) need(false, "a\\nforged", m.x) end,"""))
        for words in (
                ["run", "cancel.lua", "-v"], ["run", "rude.lua", "-v"],
                ["run", "refusing.lua", "-v"], ["run", "lines.lua", "-v"],
                ["match", "cancel.lua", "rude.lua", "refusing.lua"],
                ["match", "lines.lua"], ["explain", "lines.lua"],
                ["explain", "rude.lua"], ["explain", "cancel.lua"],
                ["coverage"], ["collectives"], ["report"], ["print"],
                ["code"], ["print", "--weights"]):
            with self.subTest(words=words):
                self.outputs(words[0], *words[1:], "m.onnx")
        for node in (f"r{HOSTILE}", f"e{HOSTILE}", f"d{HOSTILE}"):
            self.outputs("explain", "cancel.lua", "m.onnx", node)
        self.outputs("test", "rude.lua", codes=(1,))

    def test_errors(self):
        self.outputs("run", "failing.lua", "m.onnx", codes=(4,))
        self.outputs("run", HOSTILE, codes=(2,))
        self.outputs(HOSTILE, codes=(2,))
        self.outputs("run", "--" + HOSTILE, codes=(2,))
        name = HOSTILE.replace("/", "") + ".onnx"
        self.outputs("run", "cancel.lua", name, codes=(3,))
        self.outputs("print", name, codes=(3,))
        self.outputs("run", "cancel.lua", "m.onnx", "-o", HOSTILE, codes=(2,))
        self.outputs("run", "cancel.lua", "m.onnx", "-o", "no/" + name,
                     codes=(7,))
        self.outputs("explain", "cancel.lua", "m.onnx", HOSTILE, codes=(2,))
        for option in ("--limit-time", "--jobs", "--opset", "--target",
                       "--set", "--report"):
            with self.subTest(option):
                self.outputs("run", "cancel.lua", "m.onnx", option,
                             HOSTILE + ".lua", codes=(2,))

    def test_file_names(self):
        for name in (HOSTILE[:60] + ".onnx", b"\xff\xfe.onnx"):
            path = os.path.join(os.fsencode(self.folder), os.fsencode(name))
            with open(path, "wb") as file:
                file.write(hostile_model().SerializeToString())
            for words in (["run", "cancel.lua"], ["match", "cancel.lua"],
                          ["report"], ["coverage"], ["collectives"],
                          ["report", "m.onnx"], ["print"]):
                self.outputs(*words, name)

    def json_of(self, *words):
        data = self.outputs(*words).stdout
        data.decode("ascii")
        return json.loads(data)

    def test_json_has_the_names_themselves(self):
        report = self.json_of("report", "m.onnx", "--json")
        self.assertEqual([node["name"] for node in report["nodes"]][:3],
                         ["r" + HOSTILE, "n" + HOSTILE, "m" + HOSTILE])
        self.assertEqual(report["inputs"][0]["name"], "x" + HOSTILE)
        self.assertEqual(report["inputs"][0]["shape"][0], "N" + HOSTILE)
        for words in (["match", "rude.lua", "m.onnx"], ["coverage", "m.onnx"],
                      ["collectives", "m.onnx"]):
            self.json_of(*words, "--json")
        self.outputs("run", "rude.lua", "m.onnx", "--report", "r.json")
        json.loads((self.folder / "r.json").read_bytes().decode("ascii"))
        self.check_bytes("r.json", (self.folder / "r.json").read_bytes())

    def test_names_that_are_not_utf8(self):
        model = make.model(make.NEGATIONS)
        model.graph.node[2].name = "qqqq"
        self.write("odd.onnx", model.SerializeToString().replace(
            b"qqqq", b"\xff\xfe\xed\xa0"))
        for words in (["report"], ["print"], ["match", "cancel.lua"],
                      ["report", "--json"]):
            self.outputs(*words, "odd.onnx").stdout.decode("utf-8")

    def test_pictures(self):
        for kind in ("svg", "html", "dot"):
            with self.subTest(kind):
                self.outputs("draw", "m.onnx", "-o", f"m.{kind}", "--rule",
                             "cancel.lua")
                data = (self.folder / f"m.{kind}").read_bytes()
                self.check_bytes(kind, data.replace(b"\t", b" "))
                if kind == "svg":
                    xml.etree.ElementTree.fromstring(data)

    def test_print_reads_back(self):
        text = self.outputs("print", "m.onnx").stdout
        self.write("again.onnxtxt", text)
        self.write("never.lua", make.NEVER)
        self.outputs("run", "never.lua", "again.onnxtxt", "-o", "again.onnx")
        again = onnx.load(self.folder / "again.onnx")
        want = hostile_model()
        self.assertEqual(
            [(n.op_type, n.domain, *n.input, *n.output)
             for n in again.graph.node],
            [(n.op_type, n.domain, *n.input, *n.output)
             for n in want.graph.node])
        self.assertEqual(again.graph.node[4].attribute,
                         want.graph.node[4].attribute)
        self.assertEqual(again.graph.name, want.graph.name)
        self.assertEqual(self.outputs("print", "again.onnx").stdout, text)

    def test_an_escape_is_a_byte(self):
        self.write("t.onnxtxt", make.HEADER + r'''
            g (float[2] "a\x1b\\x41") => (float[2] y)
            { y = Relu("a\x1b\\x41") }''')
        self.write("never.lua", make.NEVER)
        self.outputs("run", "never.lua", "t.onnxtxt", "-o", "t.onnx")
        self.assertEqual(onnx.load(self.folder / "t.onnx").graph.input[0].name,
                         "a\x1b\\x41")


if __name__ == "__main__":
    unittest.main()
