"""`ruleengine draw`: a model as a picture."""

import html.parser
import json
import os
import re
import time
import unittest
import xml.etree.ElementTree

import onnx
from onnx import TensorProto, helper

from support import make, program

BERT = program.ROOT / "examples" / "bert.onnx"
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = ['"><script>alert(1)</script>', 'a"b\\n\\N<b>&amp;</b>', "x\ny\0z",
           "/" * 50_000 + "deep", "L" * 1_000_000, "/a/</svg></script>/x",
           "-->", "]]>", "\\", "é日本", "{{x}}", "%n%s"]


def relus(names):
    """A chain of nodes with these names; values are named after them."""
    nodes, value = [], "x"
    for i, name in enumerate(names):
        nodes.append(helper.make_node("Relu", [value], [f"{name}{i}"],
                                      name=name))
        value = f"{name}{i}"
    nodes.append(helper.make_node("Neg", [value], ["y"], name="last"))
    graph = helper.make_graph(
        nodes, "<b>graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
    return helper.make_model(
        graph, ir_version=8,
        opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


class Tags(html.parser.HTMLParser):
    """Tags and attributes of a page, and its data."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.data = [], [], None
        self.in_data = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.in_data = ("id", "data") in attrs

    def handle_data(self, data):
        if self.in_data:
            self.data = json.loads(data)
            self.in_data = False


class DrawTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("cancel.lua", make.CANCEL)
        self.write("never.lua", make.NEVER)
        self.write("m.onnx", make.onnx_bytes(make.NEGATIONS))

    def read(self, name):
        return (self.folder / name).read_text()

    def drawn(self, name, *arguments):
        self.run_ok("draw", "m.onnx", "-o", name, *arguments)
        return self.read(name)

    def texts(self, svg):
        return [each.text for each in
                xml.etree.ElementTree.fromstring(svg).iter(SVG + "text")]


class Forms(DrawTest):
    def test_svg_has_every_node(self):
        texts = self.texts(self.drawn("m.svg"))
        for each in ("Relu", "Neg", "Exp", "x", "y", "m.onnx"):
            self.assertIn(each, texts)

    def test_dot_needs_no_graphviz(self):
        self.run_ok("draw", "m.onnx", "-o", "m.dot", env={"PATH": "/none"})
        self.assertTrue(self.read("m.dot").startswith("digraph"))

    def test_without_graphviz_an_error_and_no_file(self):
        for name in ("m.svg", "m.html"):
            done = program.run("draw", "m.onnx", "-o", name, cwd=self.folder,
                               env={"PATH": "/none"})
            self.assertEqual(done.code, 7)
            self.assertIn("apt-get install graphviz", done.err)
            self.assertEqual(len(done.diagnostics()), 1)
            self.assertFalse((self.folder / name).exists())

    def test_a_page_is_one_file_that_loads_nothing(self):
        page = self.drawn("m.html", "--rule", "cancel.lua")
        tags = Tags(page)
        self.assertNotIn("src", tags.attributes)
        self.assertNotIn("link", tags.tags)
        self.assertEqual(tags.tags.count("script"), 2)
        outside = re.sub(r"http://www\.w3\.org/\S*", "", page)
        self.assertNotRegex(outside, r"https?:")
        self.assertIn("default-src 'none'", page)
        self.assertEqual([node["op"] for node in tags.data["nodes"]],
                         ["Relu", "Neg", "Neg", "Exp"])
        self.assertEqual(tags.data["rules"][0]["matches"], 1)
        self.assertEqual([node["rules"] for node in tags.data["nodes"]],
                         [[], [0], [0], []])

    def test_lines_of_a_box_do_not_touch(self):
        self.drawn("m.svg")
        root = xml.etree.ElementTree.parse(self.folder / "m.svg").getroot()
        seen = 0
        for box in root.iterfind(f".//{SVG}g[@class='node']"):
            above = None
            for text in box.iter(SVG + "text"):
                y, size = float(text.get("y")), float(text.get("font-size"))
                if above is not None:
                    seen += 1
                    self.assertGreater(y - above, size + 3, text.text)
                above = y
        self.assertGreaterEqual(seen, 2)

    def test_types_stand_on_arrows_inside_the_frame_of_both_ends(self):
        self.write("m.onnx", relus(["/net/a", "/net/b", "/net/c", "d"]))
        dot = self.drawn("m.dot")
        self.assertNotRegex(dot, r"->.*label=")
        frame = re.search(r"subgraph cluster_0 \{(.*?)\n  \}", dot, re.S)[1]
        self.assertRegex(frame, r"e\d+ \[class=\"label\".*float\[2\]")
        self.assertEqual(frame.count('class="label"'), 2)
        self.assertEqual(dot.count('class="label"'), 4)

    def test_details_of_a_node(self):
        self.write("m.onnx", make.onnx_bytes(
            "g (float[2,3] x) => (float[3,2] y)"
            "{ [turn] y = Transpose <perm = [1, 0]> (x) }"))
        [node] = Tags(self.drawn("m.html")).data["nodes"]
        self.assertEqual(node, {
            "op": "Transpose", "name": "turn", "inputs": ["x float[2,3]"],
            "outputs": ["y float[3,2]"], "attributes": ["perm = [1, 0]"],
            "rules": []})

    def test_the_same_bytes_each_time(self):
        for name in ("m.svg", "m.dot", "m.html"):
            first = self.drawn(name, "--rule", "cancel.lua", "never.lua")
            self.assertEqual(
                first, self.drawn(name, "--rule", "never.lua", "cancel.lua"))

    def test_the_model_stays_and_no_other_file_is_left(self):
        before = program.state(self.folder)
        self.drawn("m.svg")
        after = program.state(self.folder)
        del after["m.svg"]
        self.assertEqual(after, before)


class Matches(DrawTest):
    def test_are_coloured_with_a_legend(self):
        texts = self.texts(
            self.drawn("m.svg", "--rule", "cancel.lua", "never.lua"))
        self.assertIn("cancel", texts)
        self.assertIn("1 rule matches nowhere", texts)
        dot = self.drawn("m.dot", "--rule", "cancel.lua")
        coloured = re.findall(r"<B>(\w+)</B>.*fillcolor=\"#ffd166\"", dot)
        self.assertEqual(coloured, ["Neg", "Neg"])

    def test_a_page_has_rejections(self):
        self.write("picky.lua", make.rule(
            "op.Relu(x)", more='where = function(m) need(m.x:dim(0) == 3, '
            '"the size is not 3") end,'))
        data = Tags(self.drawn("m.html", "--rule", "picky.lua")).data
        self.assertEqual(data["rejected"], [
            "picky at Relu node of output 'a': the size is not 3"])
        self.assertEqual(data["silent"], 1)

    def test_nodes_that_die_with_a_match_are_coloured(self):
        self.write("m.onnx", make.onnx_bytes(
            """g (float[2] x) => (float[2] y, float[2] z) {
                 a = Neg(x) b = Abs(a) y = Exp(b) z = Sin(a) }"""))
        self.write("skip.lua", make.rule(
            match="op.Exp(context(op.Abs(context(op.Neg(x)))))",
            rewrite="op.Cos(m.x)"))
        dot = self.drawn("m.dot", "--rule", "skip.lua")
        coloured = re.findall(r"<B>(\w+)</B>.*fillcolor=\"#ffd166\"", dot)
        self.assertEqual(coloured, ["Abs", "Exp"])
        self.assertIn("in colour: what is matched, and what goes with it", dot)

    def test_rules_and_the_model_in_any_order(self):
        first = self.drawn("m.dot", "--rule", "cancel.lua")
        for words in (("cancel.lua", "m.onnx"), ("m.onnx", "cancel.lua"),
                      ("--rule", "cancel.lua", "m.onnx")):
            self.run_ok("draw", *words, "-o", "m.dot")
            self.assertEqual(self.read("m.dot"), first)

    def test_two_rules_stripe_a_node(self):
        self.write("again.lua", make.CANCEL)
        self.assertIn('style="striped"',
                      self.drawn("m.dot", "--rule", "cancel.lua", "again.lua"))

    def test_after_other_rules(self):
        dot = self.drawn("m.dot", "--rule", "cancel.lua", "--first",
                         "cancel.lua")
        self.assertNotIn("Neg", dot)

    def test_in_bert(self):
        self.run_ok("draw", BERT, "-o", "bert.svg", "--rule",
                    program.ROOT / "rules" / "attention.lua", "--first",
                    program.ROOT / "rules" / "canonical.lua")
        texts = self.texts(self.read("bert.svg"))
        for each in ("layer.0", "layer.1", "compose_scaled_dot_product_attention",
                     "query", "Softmax"):
            self.assertIn(each, texts)


class Large(DrawTest):
    def chain(self, layers, scoped):
        steps = [(op, f"/net/layer.{i}/{op}" if scoped else "")
                 for i in range(layers)
                 for op in ("Relu", "Exp", "Neg", "Abs", "Sin", "Cos")]
        nodes = [helper.make_node(op, [f"v{i}"], [f"v{i + 1}"], name=name)
                 for i, (op, name) in enumerate(steps)]
        value = helper.make_tensor_value_info
        self.write("m.onnx", helper.make_model(helper.make_graph(
            nodes, "g", [value("v0", TensorProto.FLOAT, [2])],
            [value(f"v{len(nodes)}", TensorProto.FLOAT, [2])]), ir_version=8,
            opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())

    def test_repeated_layers_are_folded_with_names_or_without(self):
        for scoped, more in ((True, "layer.1 … layer.332"),
                             (False, "blocks 2 … 333")):
            self.chain(333, scoped)
            texts = self.texts(self.drawn("m.svg"))
            self.assertIn(more, texts)
            self.assertIn("332 more like it, 1992 nodes", texts)
            self.assertEqual(texts.count("Relu"), 1)

    def test_a_page_opens_closed_groups(self):
        self.chain(333, True)
        data = Tags(self.drawn("m.html")).data
        self.assertGreater(len(data["views"]), 3)
        # Every node is in a view; some are in several.
        names = {node["name"] for node in data["nodes"]}
        self.assertEqual(len(names), 333 * 6)
        for view in data["views"]:
            self.assertLessEqual(
                sum(each.startswith("b") for each in view["boxes"]), 160)

    def test_scopes_in_metadata(self):
        self.chain(333, False)
        model = onnx.load(self.folder / "m.onnx")
        for i, node in enumerate(model.graph.node):
            each = node.metadata_props.add(key="pkg.torch.onnx.name_scopes")
            each.value = f"['', 'net', 'net.layer.{i // 6}', 'linear_{i}']"
        self.write("m.onnx", model.SerializeToString())
        texts = self.texts(self.drawn("m.svg"))
        for each in ("net", "layer.0", "layer.1 … layer.332"):
            self.assertIn(each, texts)

    def test_boxes(self):
        self.chain(10, False)
        few = self.texts(self.drawn("m.svg", "--boxes", "12"))
        all_of_them = self.texts(self.drawn("m.svg", "--boxes", "100"))
        self.assertEqual((few.count("Relu"), all_of_them.count("Relu")),
                         (1, 10))
        for boxes in range(4, 14):
            for scoped in (True, False):
                self.chain(10, scoped)
                data = Tags(self.drawn("m.html", "--boxes", boxes)).data
                self.assertEqual(
                    sum(node["op"] == "Cos" for node in data["nodes"]), 10)

    def test_time_grows_with_the_model_and_no_faster(self):
        seconds = []
        for layers in (1000, 8000):
            self.chain(layers, True)
            started = time.monotonic()
            self.drawn("m.svg")
            seconds.append(time.monotonic() - started)
        self.assertLess(seconds[1], 8 * 3 * seconds[0] + 1)


class Bad(DrawTest):
    def test_names_are_escaped(self):
        self.write("m.onnx", relus(HOSTILE))
        for name in ("m.svg", "m.dot", "m.html"):
            self.assertLess(len(self.drawn(name)), 100_000)
        svg = self.read("m.svg")
        self.assertEqual(self.texts(svg).count("Relu"), len(HOSTILE))
        self.assertNotIn("<script", svg)
        tags = Tags(self.read("m.html"))
        self.assertEqual(tags.tags.count("script"), 2)
        self.assertEqual(tags.tags.count("svg"), 1)
        self.assertFalse([each for each in tags.attributes
                          if each.startswith("on")])
        self.assertEqual(tags.data["nodes"][0]["name"], HOSTILE[0])

    def test_usage(self):
        for arguments, said in (
                (("m.onnx",), "-o is required"),
                (("m.onnx", "-o", "m.png"), "FILE.svg, FILE.dot, FILE.html, or -"),
                (("m.onnx", "-o", "m"), "FILE.svg, FILE.dot, FILE.html, or -"),
                (("cancel.lua", "-o", "m.svg"), "no model given"),
                (("m.onnx", "m.onnx", "-o", "m.svg"), "one model"),
                (("m.onnx", "-o", "m.svg", "--boxes", "1"), "--boxes")):
            with self.subTest(arguments):
                done = program.run("draw", *arguments, cwd=self.folder)
                self.assertEqual(done.code, 2, done.err)
                self.assertIn(said, done.err)

    def test_not_over_the_model(self):
        os.rename(self.folder / "m.onnx", self.folder / "m.onnxtxt")
        self.write("m.onnx", make.onnx_bytes(make.NEGATIONS))
        os.link(self.folder / "m.onnx", self.folder / "m.svg")
        done = program.run("draw", "m.onnx", "-o", "m.svg", cwd=self.folder)
        self.assertEqual(done.code, 2)
        self.assertIn("replace the model", done.err)

    def test_not_over_the_data_of_the_model(self):
        model = onnx.load_from_string(make.onnx_bytes(
            "g (float[2] x) => (float[2] y) { y = Add(x, w) }"))
        model.graph.initializer.append(
            helper.make_tensor("w", TensorProto.FLOAT, [2], bytes(8), raw=True))
        onnx.save(model, str(self.folder / "e.onnx"), location="w.dot",
                  save_as_external_data=True, size_threshold=0)
        before = (self.folder / "w.dot").read_bytes()
        done = program.run("draw", "e.onnx", "-o", "w.dot", cwd=self.folder)
        self.assertEqual(done.code, 2)
        self.assertIn("data of the model", done.err)
        self.assertEqual((self.folder / "w.dot").read_bytes(), before)

    def test_a_missing_folder(self):
        done = program.run("draw", "m.onnx", "-o", "no/m.dot", cwd=self.folder)
        self.assertEqual(done.code, 7)

    def test_errors_of_models_and_rules(self):
        self.write("bad.onnx", b"\x08\x08:\xff")
        self.assertEqual(program.run("draw", "bad.onnx", "-o", "m.svg",
                                     cwd=self.folder).code, 3)
        self.write("bad.lua", "return 1")
        self.assertEqual(program.run(
            "draw", "m.onnx", "-o", "m.svg", "--rule", "bad.lua",
            cwd=self.folder).code, 4)

    def test_bodies_of_nodes_are_scopes(self):
        body = "(float[2] o) { o1 = Relu(x) o2 = Exp(o1) o = Neg(o2) }"
        self.write("m.onnx", make.onnx_bytes(
            "g (float[2] x, bool c) => (float[2] y) { [choice] y = If (c)"
            f"<then_branch = t () => {body}, else_branch = e () => {body}> }}"))
        texts = self.texts(self.drawn("m.svg"))
        self.assertEqual(texts.count("Exp"), 2)
        self.assertTrue(any("choice" in text and ": t" in text
                            for text in texts), texts)


if __name__ == "__main__":
    unittest.main()
