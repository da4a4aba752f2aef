"""Checks the facts of a fixture for a rewritten model.

A fixture is NAME.onnx and NAME.json: "rules" to run and "facts" of the result.
If it can be executed it has NAME.inputs.npz and NAME.outputs.npz with keys
"r0.VALUE", and "r1.VALUE" and so on for more ranks. A fact is one key, a
method of Checker; any_of has lists of facts. A place in the graph is {op, nth}.
output_from, node and some_node follow a value upwards along a spec:
{graph_input}, {const: {shape, value, equals}}, {linear: {input, weight, bias}},
{any_of: specs}, {not: spec}, {any: true}, or {op, output, attrs,
attrs_or_default, attrs_absent, n_inputs, inputs: {index: spec or null},
inputs_any_order: specs}.
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
        return len(self.all(op))

    def all(self, op):
        return [n for n in self.model.graph.node if graphs.op(n) == op]

    def find(self, place):
        """The node that {op, nth} means; None if there are fewer."""
        found, nth = self.all(place["op"]), place.get("nth", 0)
        return found[nth] if nth < len(found) else None

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


class Checker:  # pylint: disable=too-many-public-methods
    """One fixture's run: the original, the result and the output."""

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
        ranks = self.fixture["numeric"]["ranks"]
        inputs, outputs = (self.arrays(which, ranks)
                           for which in ("inputs", "outputs"))
        results = {"reference": dialect.evaluate_ranks(self.new.model, inputs)}
        if dialect.has_bodies(self.new.model):
            session = numbers.session(self.result)
            names = [v.name for v in session.get_outputs()]
            results["ONNX Runtime"] = [
                dict(zip(names, session.run(None, own))) for own in inputs]
        return [f"{which}: rank {rank}: {name}: {what}"
                for which, got in results.items() for rank in range(ranks)
                for name, want in outputs[rank].items()
                if (what := numbers.difference(
                    want, got[rank][name], self.fixture["numeric"]["rtol"]))]

    def arrays(self, which, ranks):
        """The inputs or outputs of every rank, by name."""
        saved = np.load(self.source.with_suffix(f".{which}.npz"))
        return [{key.split(".", 1)[1]: value for key, value in saved.items()
                 if key.startswith(f"r{rank}.")} for rank in range(ranks)]

    def fact(self, fact):
        (kind, value), = fact.items()
        return getattr(self, f"fact_{kind}")(value)

    def fact_unchanged(self, _):
        if self.unchanged():
            return []
        grown = (len(self.new.model.graph.node)
                 - len(self.old.model.graph.node))
        # A wider rewrite is allowed there; its numbers are compared above.
        if self.fixture.get("may_improve") and grown <= 2:
            return []
        return ["the graph was changed"]

    def fact_changed(self, _):
        return ["the graph was not changed"] if self.unchanged() else []

    def fact_op_count(self, counts):
        return [f"{self.new.count(op)} of {op}, wanted {n}"
                for op, n in counts.items() if self.new.count(op) != n]

    def fact_op_at_most(self, counts):
        return [f"{self.new.count(op)} of {op}, wanted at most {n}"
                for op, n in counts.items() if self.new.count(op) > n]

    def fact_node(self, fact):
        """The specified node fits, or all nodes of the op do."""
        if fact.get("nth") == "all":
            return [why for node in self.new.all(fact["op"])
                    for why in self.follow_node(node, fact)]
        node = self.new.find(fact)
        return self.follow_node(node, fact) if node else ["there is none"]

    def fact_some_node(self, fact):
        found = [self.follow_node(n, fact) for n in self.new.all(fact["op"])]
        return [] if [] in found else [f"no {fact['op']}: {found}"]

    def fact_same_source(self, operands):
        sources = []
        for place, index in operands:
            node = self.new.find(place)
            if node is None or index >= len(node.input):
                return [f"{place} has no input {index}"]
            source, at = self.new.producer(node.input[index])
            sources.append((source.output[0] if source else "", at))
        return [] if len(set(sources)) == 1 else [f"several: {sources}"]

    def fact_value_shape(self, fact):
        node = self.new.find(fact)
        if node is None:
            return [f"there is no {fact['op']}"]
        name = (node.output[fact["output"]] if "output" in fact
                else node.input[fact["input"]])
        inputs = self.arrays("inputs", self.fixture["numeric"]["ranks"])
        shape = dialect.evaluate_ranks(self.new.model, inputs)[0][name].shape
        return [] if list(shape) == fact["shape"] else [f"{name} is {shape}"]

    def fact_initializers_present(self, names):
        return [f"{name} is lost or another" for name in names
                if self.new.weights.get(name) != self.old.weights[name]]

    def fact_functions_absent(self, names):
        return [f"function {f.name} is still there"
                for f in self.new.model.functions if f.name in names]

    def fact_metadata(self, fact):
        node = self.new.find(fact)
        has = {p.key: p.value for p in node.metadata_props} if node else {}
        wanted = has.get(fact["key"]) == fact["value"]
        return [] if wanted else [f"{fact['op']} has metadata {has}"]

    def fact_warnings(self, parts):
        return [f"it did not say '{p}'" for p in parts if p not in self.log]

    def fact_output_from(self, fact):
        return self.follow(fact["output"], fact["spec"])

    def fact_names_preserved(self, names):
        return [f"node {name} is lost" for name in names
                if name not in {n.name for n in self.new.model.graph.node}]

    def fact_initializers_absent(self, names):
        return [f"{name} is still there" for name in names
                if name in self.new.weights]

    def fact_no_warnings(self, _):
        return ["it warned"] if "Skipping" in self.log else []

    def fact_idempotent(self, _):
        if self.second.read_bytes() == self.result.read_bytes():
            return []
        return ["a second run changed the model"]

    def fact_any_of(self, choices):
        found = [[why for fact in choice for why in self.fact(fact)]
                 for choice in choices]
        return [] if [] in found else [f"none of: {found}"]

    # pylint: disable=too-many-return-statements
    def follow(self, name, spec):
        node, place = self.new.producer(name)
        if "graph_input" in spec:
            wanted = spec["graph_input"]
            return [] if place == wanted else [f"{name} is not {wanted}"]
        if "const" in spec:
            return self.follow_constant(name, spec["const"])
        if "linear" in spec:
            return self.follow_linear(name, spec["linear"])
        if "any_of" in spec:
            found = [self.follow(name, inner) for inner in spec["any_of"]]
            return [] if [] in found else [f"none of: {found}"]
        if "not" in spec:
            return [] if self.follow(name, spec["not"]) else [
                f"{name} is what it must not be"]
        if "any" in spec:
            return []
        if node is None or graphs.op(node) != spec["op"]:
            return [f"{name} does not come from {spec['op']}"]
        if place != spec.get("output", place):
            return [f"{name} is output {place} of {spec['op']}"]
        return self.follow_node(node, spec)

    def follow_node(self, node, spec):
        found, has = [], attributes(node)
        for key in spec.get("attrs_absent", []):
            if key in has:
                found.append(f"{spec['op']}: has {key}")
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
        if "inputs_any_order" in spec:
            left, right = spec["inputs_any_order"]
            orders = [self.follow(inputs[i], left)
                      + self.follow(inputs[1 - i], right) for i in (0, 1)]
            found += [] if [] in orders else [f"in no order: {orders}"]
        return found

    def follow_linear(self, name, spec):
        """x w^T + b in any form; weights arrive as [out, in]."""
        parts = self.linear_parts(name)
        if parts is None:
            return [f"{name} is no linear layer"]
        x, weight, bias = parts
        found = self.follow(x, spec["input"]) if "input" in spec else []
        if "weight" in spec and (weight is None or not np.array_equal(
                weight, self.wanted(spec["weight"]))):
            found.append(f"{name} has other weights")
        if spec.get("bias", bool(bias)) != bool(bias):
            found.append(f"{name} has bias '{bias}'")
        return found

    def linear_parts(self, name):
        """(x, weights [out, in], bias) behind a value, or None."""
        node, _ = self.new.producer(name)
        op, bias = graphs.op(node) if node else None, ""
        if op == "Add":
            for i in (0, 1):
                inner, _ = self.new.producer(node.input[i])
                if inner and inner.op_type == "MatMul":
                    node, op, bias = inner, "MatMul", node.input[1 - i]
                    break
        if op not in ("MatMul", "Gemm", "ruleengine::Linear"):
            return None
        if op != "MatMul" and len(node.input) > 2:
            bias = node.input[2]
        weight = self.new.constant(node.input[1])
        if weight is not None and (op == "MatMul" or op == "Gemm" and not
                                   attributes(node).get("transB")):
            weight = weight.T
        return node.input[0], weight, bias

    def wanted(self, spec):
        """{concat, axis, transpose_each} of the original's constants."""
        parts = [self.old.constant(n) for n in spec["concat"]]
        if spec.get("transpose_each"):
            parts = [part.T for part in parts]
        return np.concatenate(parts, spec.get("axis", 0))

    def follow_constant(self, name, spec):
        value = self.new.constant(name)
        if value is None:
            return [f"{name} is not constant"]
        wanted = np.asarray(spec.get("value", value), value.dtype)
        if "equals" in spec:
            wanted = self.wanted(spec["equals"])
        if (list(value.shape) != spec.get("shape", list(value.shape))
                or not np.array_equal(value, wanted)):
            return [f"{name} is another constant"]
        return []
