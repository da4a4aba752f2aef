"""What a fixture says of a rewritten model, checked.

A fixture is NAME.onnx and NAME.json: "rules" to run, "facts" that hold of the
result, and NAME.inputs.npz and NAME.outputs.npz with keys "r0.VALUE" where it
can be executed. A fact is one key: unchanged, op_count, output_from,
names_preserved, initializers_absent, no_warnings, idempotent or any_of (lists
of facts). output_from follows an output upwards along a spec: {graph_input} or
{const: {shape, equals}} or {op, output, attrs, attrs_or_default, n_inputs,
inputs: {index: spec or null}}.
"""

import numpy as np
import onnx
from onnx import numpy_helper

from support import dialect, graphs, numbers

FOLDED = ("Concat", "Transpose")


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a)
            for a in node.attribute}


class View:
    """A model's main graph, by value."""

    def __init__(self, model):
        self.model = model
        self.inputs = {v.name for v in model.graph.input}
        self.weights = {t.name: t for t in model.graph.initializer}
        self.producers = {name: (node, i) for node in model.graph.node
                          for i, name in enumerate(node.output) if name}

    def count(self, op):
        return sum(graphs.op(node) == op for node in self.model.graph.node)

    def producer(self, name):
        while name in self.producers:
            node, index = self.producers[name]
            if node.op_type != "Identity":
                return node, index
            name = node.input[0]
        return None, name

    def constant(self, name):
        node, place = self.producer(name)
        if node is None:
            tensor = self.weights.get(place)
            return None if tensor is None else numpy_helper.to_array(tensor)
        if node.op_type == "Constant":
            return numpy_helper.to_array(attributes(node)["value"])
        parts = [self.constant(i) for i in node.input]
        if node.op_type not in FOLDED or any(p is None for p in parts):
            return None
        if node.op_type == "Concat":
            return np.concatenate(parts, attributes(node)["axis"])
        return np.transpose(parts[0], attributes(node).get("perm"))

    def live(self):
        """Values that a graph output needs."""
        seen, todo = set(), [v.name for v in self.model.graph.output]
        while todo:
            name = todo.pop()
            if name and name not in seen:
                seen.add(name)
                if name in self.producers:
                    todo += uses(self.producers[name][0])
        return seen

    def idle(self):
        """Nodes and initializers that no output needs."""
        live = self.live()
        nodes = {tuple(n.output) for n in self.model.graph.node
                 if not live.intersection(n.output)}
        return nodes | {name for name in self.weights if name not in live}


def uses(node):
    names = list(node.input)
    for attribute in node.attribute:
        for inner in attribute.g.node:
            names += uses(inner)
        names += [v.name for v in attribute.g.output]
    return names


def same(value, wanted):
    if isinstance(wanted, float):
        return value is not None and abs(value - wanted) <= 1e-6
    return value == wanted


class Checker:
    """One fixture's run: the original, the result and what was printed."""

    def __init__(self, fixture, source, result, second, log):
        self.fixture, self.log = fixture, log
        self.source, self.result, self.second = source, result, second
        self.old, self.new = (View(onnx.load(p)) for p in (source, result))

    def complaints(self):
        found = self.structure() + self.numbers()
        for fact in self.fixture["facts"]:
            found += self.fact(fact)
        return found

    def unchanged(self):
        return self.source.read_bytes() == self.result.read_bytes()

    def structure(self):
        found = []
        try:
            onnx.checker.check_model(self.new.model)
        except Exception as error:  # pylint: disable=broad-except
            found.append(f"not valid: {error}")
        for part in ("input", "output"):
            if (getattr(self.old.model.graph, part)
                    != getattr(self.new.model.graph, part)):
                found.append(f"the graph's {part}s changed")
        names = [n.name for n in self.new.model.graph.node if n.name]
        if len(names) != len(set(names)):
            found.append("two nodes of one name")
        idle = self.new.idle() - self.old.idle()
        return found + [f"nobody reads {what}" for what in idle]

    def numbers(self):
        if "numeric" not in self.fixture:
            return []
        inputs, outputs = (
            {key.split(".", 1)[1]: value for key, value in
             np.load(self.source.with_suffix(f".{which}.npz")).items()}
            for which in ("inputs", "outputs"))
        results = {"reference": dialect.evaluate(self.new.model, inputs)}
        if dialect.has_bodies(self.new.model):
            session = numbers.session(self.result)
            names = [v.name for v in session.get_outputs()]
            results["ONNX Runtime"] = dict(
                zip(names, session.run(None, inputs)))
        return [f"{which}: {name}: {what}"
                for which, got in results.items()
                for name, want in outputs.items()
                if (what := numbers.difference(want, got[name]))]

    def fact(self, fact):
        (kind, value), = fact.items()
        return getattr(self, f"fact_{kind}")(value)

    def fact_unchanged(self, _):
        if self.unchanged():
            return []
        grew = len(self.new.model.graph.node) > len(self.old.model.graph.node)
        # A wider rewrite is welcome there; its numbers are compared above.
        if self.fixture.get("may_improve") and not grew:
            return []
        return ["the graph was changed"]

    def fact_op_count(self, counts):
        return [f"{self.new.count(op)} of {op}, wanted {n}"
                for op, n in counts.items() if self.new.count(op) != n]

    def fact_output_from(self, fact):
        return self.follow(fact["output"], fact["spec"])

    def fact_names_preserved(self, names):
        return [f"node {name} is lost" for name in names
                if name not in {n.name for n in self.new.model.graph.node}]

    def fact_initializers_absent(self, names):
        return [f"{name} is still there" for name in names
                if name in self.new.weights]

    def fact_no_warnings(self, _):
        return ["it warned"] if "warning:" in self.log else []

    def fact_idempotent(self, _):
        if self.second.read_bytes() == self.result.read_bytes():
            return []
        return ["a second run changed the model"]

    def fact_any_of(self, choices):
        found = [[why for fact in choice for why in self.fact(fact)]
                 for choice in choices]
        return [] if [] in found else [f"none of: {found}"]

    def follow(self, name, spec):
        node, place = self.new.producer(name)
        if "graph_input" in spec:
            wanted = spec["graph_input"]
            return [] if place == wanted else [f"{name} is not {wanted}"]
        if "const" in spec:
            return self.follow_constant(name, spec["const"])
        if node is None or graphs.op(node) != spec["op"]:
            return [f"{name} does not come from {spec['op']}"]
        found = []
        if place != spec.get("output", place):
            found.append(f"{name} is output {place} of {spec['op']}")
        has = attributes(node)
        for key, wanted in spec.get("attrs", {}).items():
            if not same(has.get(key), wanted):
                found.append(f"{spec['op']}: {key} is {has.get(key)}")
        for key, wanted in spec.get("attrs_or_default", {}).items():
            if key in has and not same(has[key], wanted):
                found.append(f"{spec['op']}: {key} is {has[key]}")
        return found + self.follow_inputs(node, spec)

    def follow_inputs(self, node, spec):
        inputs = list(node.input)
        while inputs and not inputs[-1]:
            inputs.pop()
        if len(inputs) != spec.get("n_inputs", len(inputs)):
            return [f"{spec['op']} has {len(inputs)} inputs"]
        found = []
        for index, inner in spec.get("inputs", {}).items():
            name = inputs[int(index)] if int(index) < len(inputs) else ""
            if (inner is None) != (not name):
                found.append(f"{spec['op']}: input {index} is '{name}'")
            elif inner is not None:
                found += self.follow(name, inner)
        return found

    def follow_constant(self, name, spec):
        value = self.new.constant(name)
        if value is None:
            return [f"{name} is not constant"]
        wanted = value
        if "equals" in spec:
            parts = [self.old.constant(n) for n in spec["equals"]["concat"]]
            if spec["equals"].get("transpose_each"):
                parts = [part.T for part in parts]
            wanted = np.concatenate(parts, spec["equals"].get("axis", 0))
        if (list(value.shape) != spec.get("shape", list(value.shape))
                or not np.array_equal(value, wanted)):
            return [f"{name} is another constant"]
        return []
