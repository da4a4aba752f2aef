"""Examples of every shipped rule, with values from an unknown op: without type
and shape a rule may reject, but it does not fail."""

import unittest

import onnx
from onnx import helper

from support import mutate, program

RULES = program.ROOT / "rules"
DOMAIN = "com.example"


def unknown(value):
    return helper.make_node("Unknown", [value], [f"{value}_unknown"],
                            domain=DOMAIN)


def hidden(model, hides):
    """A copy in which readers of values that `hides` selects read them through
    an op of another domain."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph, named = copy.graph, {}
    nodes, outputs = list(graph.node), {o.name for o in graph.output}
    del graph.node[:]

    def hide(names):
        for name in names:
            if name and name not in outputs and hides(name):
                graph.node.append(unknown(name))
                named[name] = graph.node[-1].output[0]

    hide([v.name for v in graph.input] + [t.name for t in graph.initializer])
    for node in nodes:
        node.input[:] = [named.get(name, name) for name in node.input]
        graph.node.append(node)
        hide(node.output)
    for domain in {node.domain for node in graph.node} - {
            entry.domain for entry in copy.opset_import}:
        copy.opset_import.append(helper.make_opsetid(domain, 1))
    return copy


class UnknownTypes(program.ProgramTest):
    def models(self, path):
        for model in mutate.examples(path):
            names = [v.name for v in model.graph.input]
            names += [t.name for t in model.graph.initializer]
            made = {name for node in model.graph.node for name in node.output}
            for name in names:
                yield hidden(model, lambda value, only=name: value == only)
            yield hidden(model, names.__contains__)
            yield hidden(model, made.__contains__)

    def test_no_rule_fails(self):
        for path in sorted(RULES.glob("*/**/*.lua")):
            if "  examples = {" not in path.read_text(encoding="utf-8"):
                continue
            with self.subTest(rule=str(path.relative_to(RULES))):
                files = [self.write(f"m{i}.onnx", model.SerializeToString())
                         for i, model in enumerate(self.models(path))]
                if files:
                    self.run_ok("run", path, *files, "-o", "out", "-q",
                                timeout=600)


if __name__ == "__main__":
    unittest.main()
