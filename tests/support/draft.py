"""A builder of random graphs: nodes, weights, and arrays for the inputs. One seed
determines everything."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from support import dialect

DOMAINS = ["ruleengine", "aten", "tensor_cast", "com.microsoft"]


def element_type(array):
    return helper.np_dtype_to_tensor_dtype(array.dtype)


class Draft:
    """Values are names; `feeds` has the arrays of the inputs, one dictionary for
    each rank. `expected` replaces the op of a node if a rule changes meaning."""

    # pylint: disable=too-many-instance-attributes
    def __init__(self, seed, ranks=1):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights, self.declared = [], [], []
        self.feeds = [{} for _ in range(ranks)]
        self.expected, self.alike = {}, {}
        self.dtype = np.dtype(self.choose(np.float32, np.float32, np.float16))
        self.symbolic = self.chance(0.15)
        self.computed = 0.1
        self.count = 0

    def chance(self, probability):
        return self.random.random() < probability

    def choose(self, *options):
        return options[self.random.integers(len(options))]

    def between(self, low, high):
        return int(self.random.integers(low, high + 1))

    def name(self, what="v"):
        self.count += 1
        return f"{what}{self.count}"

    def array(self, *shape, dtype=None):
        """Random numbers around zero, of the draft's type."""
        numbers = np.asarray(self.random.standard_normal(shape))
        return numbers.astype(dtype or self.dtype)

    def integers(self, low, high, *shape, dtype=np.int8):
        return self.random.integers(low, high + 1, shape).astype(dtype)

    def given(self, *arrays):
        """An input of the graph: one array for all ranks, or one for each."""
        name = self.name("x")
        arrays = arrays * (len(self.feeds) if len(arrays) == 1 else 1)
        for feed, array in zip(self.feeds, arrays):
            feed[name] = array
        return name

    def own(self, *shape):
        """An input that differs on each rank."""
        return self.given(*[self.array(*shape) for _ in self.feeds])

    def constant(self, array):
        """An initializer, or a node."""
        array = np.asarray(array)
        if self.chance(0.2):
            return self.node("Constant", value=numpy_helper.from_array(array))
        name = self.name("w")
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, array):
        """A constant; sometimes an input, computed, or an existing one."""
        array = np.asarray(array)
        alike = self.alike.setdefault((array.shape, array.dtype), [])
        if not alike or not self.chance(0.1):
            alike.append(self.new_weight(array))
        return self.choose(*alike[-2:]) if self.chance(0.1) else alike[-1]

    def new_weight(self, array):
        if self.chance(self.computed):
            return self.given(array)
        if self.chance(self.computed) and array.dtype == self.dtype:
            return self.node("Neg", self.constant(-array))
        return self.constant(array)

    def node(self, op, *inputs, outputs=1, meta=None, **attributes):
        """The name of its output, or a list for several. `op` is domain::type
        outside the standard."""
        domain, _, kind = op.rpartition("::")
        inputs = list(inputs)
        while inputs and not inputs[-1]:
            inputs.pop()
        names = [self.name() for _ in range(outputs)]
        node = helper.make_node(kind, [i or "" for i in inputs], names,
                                self.name("n"), domain=domain)
        # An empty list does not show the type of its elements.
        node.attribute.extend(
            helper.make_attribute(key, value, attr_type=None if value != [] else
                                  onnx.AttributeProto.INTS)
            for key, value in attributes.items())
        if meta:
            helper.set_model_props(node, meta)
        self.nodes.append(node)
        return names[0] if outputs == 1 else names

    def declare(self, name, *shape):
        """Declares the type of an inner value."""
        self.declared.append(helper.make_tensor_value_info(
            name, element_type(self.array()), shape))

    def unread(self):
        read = {name for node in self.nodes for name in node.input}
        return [name for node in self.nodes for name in node.output
                if name not in read]

    def escape(self):
        """Adds another reader to an inner value, or makes it an output of the
        graph. Returns the names of new outputs."""
        inner = sorted({name for node in self.nodes for name in node.output
                        if node.op_type != "Constant"} - set(self.unread()))
        if not inner or not self.chance(0.25):
            return []
        name = self.choose(*inner)
        return [name if self.chance(0.5) else self.node("Identity", name)]

    def finish(self, opset=21):
        """(model, outputs of every rank)."""
        escaped = self.escape()
        outputs = list(dict.fromkeys(self.unread() + escaped))
        model = self.model([helper.make_tensor_value_info(
            name, TensorProto.FLOAT, None) for name in outputs], opset)
        values = dialect.evaluate_ranks(self.as_expected(model), self.feeds)
        del model.graph.output[:]
        model.graph.output.extend(
            self.described(name, np.asarray(values[0][name]))
            for name in outputs)
        return model, [{name: own[name] for name in outputs} for own in values]

    def described(self, name, array):
        """The declaration of an input or output."""
        shape = [f"{name}_{i}" if self.symbolic and i == 0 else size
                 for i, size in enumerate(array.shape)]
        return helper.make_tensor_value_info(name, element_type(array), shape)

    def model(self, outputs, opset):
        graph = helper.make_graph(
            self.nodes, "g",
            [self.described(*item) for item in self.feeds[0].items()],
            outputs, self.weights, value_info=self.declared)
        imports = [helper.make_opsetid("", opset)]
        imports += [helper.make_opsetid(domain, 1) for domain in DOMAINS]
        return helper.make_model(graph, opset_imports=imports,
                                 ir_version=10 if opset < 23 else 11)

    def as_expected(self, model):
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        for node in copy.graph.node:
            node.op_type = self.expected.get(node.output[0], node.op_type)
        return copy
