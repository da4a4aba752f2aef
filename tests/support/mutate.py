"""Mutants of small models: the graph of a rule's example, most often with changes.
Sizes, types, opsets, constants, attributes, ops and edges change, values get more
readers, ops without effect are inserted. Declarations of inner values may be stale
or wrong. Inputs have ordinary or extreme numbers; symbolic sizes are also 0 and 1.
One seed determines the mutant; a mutant that is no valid model, or that the
reference cannot run, is None.
"""

import dataclasses
import re

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference

from support import dialect, near_misses, program, runtimes
from support.near_misses import words

FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16,
          TensorProto.DOUBLE)
# Ops with one signature, so that a mutant is often still valid. None gives NaN for
# random numbers, since results may differ for NaN.
KIN = [("Add", "Sub", "Mul", "Div", "Max", "Min"),
       ("Relu", "Tanh", "Sigmoid", "Neg", "Abs", "Exp", "Erf", "Gelu",
        "Identity"),
       ("Softmax", "LogSoftmax", "Hardmax"), ("And", "Or", "Xor"),
       ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"),
       ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceProd")]
RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike",
          "RandomUniform", "RandomUniformLike"}
# Kinds of extreme inputs, each a method of Mutant.
EXTREMES = ("hidden", "large", "tiny", "limits", "endless")
# Names of masks.
MASK = re.compile(r"\w*mask\w*|m\d?|bias")
EXAMPLE = re.compile(r'\{\s*"[^"]*",\s*\[\[(.*?)\]\]', re.S)
HEADER = ('<ir_version: 10, opset_import: ["": 21, "ruleengine": 1, "aten": 1, '
          '"tensor_cast": 1, "com.microsoft": 1]>\n')


def examples(path):
    """The models of the examples of a rule file, in order, and of its near
    misses."""
    rule, found = path.read_text(encoding="utf-8"), []
    misses = near_misses.OF.get(str(path.relative_to(program.ROOT / "rules")), [])
    for text in [*EXAMPLE.findall(rule),
                 *(words.graph(rule, miss) for miss in misses)]:
        text = text.strip()
        if text.startswith("("):
            text = "g " + text
        if not text.startswith("<"):
            text = HEADER + text
        try:
            found.append(onnx.parser.parse_model(text))
        except onnx.parser.ParseError:
            continue  # syntax that only the engine's own parser knows
    return found


class Mutant:
    """`model` is a copy that the methods change; `feeds` come with build()."""

    def __init__(self, model, seed):
        self.random = np.random.default_rng(seed)
        self.model = onnx.ModelProto()
        self.model.CopyFrom(model)
        self.graph = self.model.graph
        self.sizes = {}  # of symbolic dimensions
        self.shapes = {}  # of inputs without a declared shape
        self.extreme = None  # kind of numbers of the inputs; None: ordinary ones
        self.count = 0

    def choose(self, options):
        options = list(options)
        return options[self.random.integers(len(options))]

    def chance(self, probability):
        return self.random.random() < probability

    def name(self):
        self.count += 1
        return f"mutant{self.count}"

    # Parts of the model.

    def constants(self):
        """(array, a function that replaces it) of each."""
        for tensor in self.graph.initializer:
            yield numpy_helper.to_array(tensor), self.replacer(tensor)
        for node in self.graph.node:
            for attribute in node.attribute:
                if node.op_type == "Constant" and attribute.name == "value":
                    yield (numpy_helper.to_array(attribute.t),
                           self.replacer(attribute.t))

    @staticmethod
    def replacer(tensor):
        def put(array):
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
        return put

    def edges(self):
        """(node, index) of each present input."""
        return [(node, i) for node in self.graph.node
                for i, name in enumerate(node.input) if name]

    def check_splits(self):
        """The reference makes as many parts as a Split names, whatever its outputs."""
        for node in self.graph.node:
            said = [a.i for a in node.attribute if a.name == "num_outputs"]
            if node.op_type == "Split" and said not in ([], [len(node.output)]):
                raise shape_inference.InferenceError("outputs of a Split")

    def types(self):
        inferred = runtimes.infer_shapes(self.model).graph
        return {v.name: v.type.tensor_type for v in
                [*inferred.input, *inferred.value_info, *inferred.output]}

    # Mutations.

    def resize(self, new=None):
        """Changes one size, in every place with that number."""
        old = {d.dim_value for v in self.graph.input
               for d in v.type.tensor_type.shape.dim} - {0}
        if not old:
            return
        old = self.choose(sorted(old))
        if new is None:
            new = self.choose((1, 2, 3, 4, 6, 2 * old))
        for value in self.graph.input:
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_value == old:
                    dim.dim_value = new
        for array, put in list(self.constants()):
            if array.dtype == np.int64 and old in array:
                array = np.where(array == old, new, array)
            elif array.dtype == np.int64:
                continue
            shape = [new if size == old else size for size in array.shape]
            put(np.resize(array, shape))
        for node in self.graph.node:
            for attribute in node.attribute:
                if attribute.i == old and attribute.name != "axis":
                    attribute.i = new
                if attribute.name not in ("perm", "axes"):
                    attribute.ints[:] = [new if i == old else i
                                         for i in attribute.ints]

    def broadcast(self):
        """Sets an axis of an input to 1, or drops its first axes."""
        shapes = [v.type.tensor_type.shape for v in self.graph.input]
        shapes = [shape for shape in shapes if shape.dim]
        if not shapes:
            return
        dims = self.choose(shapes).dim
        if self.chance(0.5):
            dims[self.random.integers(len(dims))].dim_value = 1
        else:
            del dims[:self.random.integers(1, len(dims) + 1)]

    def forget(self):
        """Makes an axis of an input symbolic; its size may be 1."""
        dims = [d for v in self.graph.input
                for d in v.type.tensor_type.shape.dim if d.dim_value]
        if dims:
            dim = self.choose(dims)
            name = f"N{len(self.sizes)}"
            self.sizes[name] = 1 if self.chance(0.3) else dim.dim_value
            dim.dim_param = name

    def forget_shape(self):
        """Removes the shape of an input."""
        if self.graph.input:
            value = self.choose(self.graph.input)
            self.shapes[value.name] = self.dims_of(value)
            value.type.tensor_type.ClearField("shape")

    def empty(self):
        """Sets a size to 0."""
        self.resize(0)

    def count_otherwise(self):
        """Counts an axis from the other end."""
        types = self.types()
        found = [(n, a) for n in self.graph.node for a in n.attribute
                 if a.name == "axis" and n.input]
        if found:
            node, attribute = self.choose(found)
            kind = types.get(node.input[0])
            if kind is not None and kind.HasField("shape"):
                rank = len(kind.shape.dim)
                attribute.i += -rank if attribute.i >= 0 else rank

    def leave_out(self):
        """Omits an optional input or output."""
        node = self.choose(self.graph.node)
        names = self.choose((node.input, node.output))
        if len(names) > 1:
            names[self.random.integers(1, len(names))] = ""

    def retype(self):
        """Changes the type of all floats."""
        new = self.choose(FLOATS)
        dtype = helper.tensor_dtype_to_np_dtype(new)
        for value in self.graph.input:
            if value.type.tensor_type.elem_type in FLOATS:
                value.type.tensor_type.elem_type = new
        for array, put in list(self.constants()):
            if array.dtype.kind == "f":
                put(array.astype(dtype))
        for node in self.graph.node:
            for attribute in node.attribute:
                if attribute.name == "to" and attribute.i in FLOATS:
                    attribute.i = new

    def reset_opset(self):
        for entry in self.model.opset_import:
            if not entry.domain:
                entry.version = self.choose(range(11, 25))

    def change_constant(self):
        constants = list(self.constants())
        if not constants:
            return
        array, put = self.choose(constants)
        if array.dtype.kind == "b":
            return put(~array)
        if array.dtype.kind in "iu":
            return put(array + self.choose((-1, 1)))
        if self.chance(0.3):  # of equal rank, with more elements or none
            grown = [*array.shape] or [1]
            grown[self.random.integers(len(grown))] *= self.choose((2, 3))
            return put(np.resize(array, grown))
        if self.chance(0.3):
            return put(array.reshape((1,) * self.choose((1, 2)) + array.shape))
        factor = self.choose((0, -1, 0.5, 2, 1.5))
        if array.ndim == 0 and self.chance(0.2):
            factor = -np.inf  # a fill of a mask; infinite weights need no support
        with np.errstate(invalid="ignore"):
            return put((array * factor).astype(array.dtype))

    def feed_constant(self):
        """Makes a constant an input, except the sizes of a map: random sizes
        match no map, and the result of an op is then undefined."""
        found = [t for t in self.graph.initializer if t.name != "spatial"]
        if found:
            tensor = self.choose(found)
            self.graph.input.append(helper.make_tensor_value_info(
                tensor.name, tensor.data_type, tensor.dims))
            self.graph.initializer.remove(tensor)

    def change_attribute(self):
        found = [a for n in self.graph.node for a in n.attribute
                 if a.type in (a.INT, a.FLOAT, a.INTS) and not a.ref_attr_name]
        if not found:
            return
        attribute = self.choose(found)
        if attribute.type == attribute.INT:
            attribute.i += self.choose((-1, 1, 1 - 2 * attribute.i))
        elif attribute.type == attribute.FLOAT:
            attribute.f *= self.choose((-1, 0, 0.5, 3))
        elif len(attribute.ints) > 1:
            attribute.ints[:] = [int(i) for i in
                                 self.random.permutation(attribute.ints)]

    def drop_attribute(self):
        found = [n for n in self.graph.node
                 if n.attribute and n.op_type != "Constant"]
        if found:
            node = self.choose(found)
            node.attribute.remove(self.choose(node.attribute))

    def add_attribute(self):
        """Sets an attribute of a node that had its default."""
        node = self.choose(self.graph.node)
        said = {a.name for a in node.attribute}
        try:
            opset = max(e.version for e in self.model.opset_import
                        if e.domain == node.domain)
            schema = onnx.defs.get_schema(node.op_type, opset, node.domain)
        except (ValueError, onnx.defs.SchemaError):
            return
        kinds = onnx.defs.OpSchema.AttrType
        news = {kinds.INT: (0, 1, 2, -1), kinds.FLOAT: (0.0, 0.5, 2.0),
                kinds.INTS: ([0], [1], [1, 0])}
        found = [(name, news[formal.type])
                 for name, formal in sorted(schema.attributes.items())
                 if name not in said | {"saturate"} and formal.type in news]
        if found:
            name, values = self.choose(found)
            node.attribute.append(helper.make_attribute(
                name, values[self.random.integers(len(values))]))

    def change_op(self):
        node = self.choose(self.graph.node)
        for family in KIN:
            if node.op_type in family and not node.domain:
                node.op_type = self.choose(family)

    def swap(self):
        node = self.choose(self.graph.node)
        if len(node.input) > 1:
            i, j = self.random.choice(len(node.input), 2, replace=False)
            node.input[i], node.input[j] = node.input[j], node.input[i]

    def drop_input(self):
        node = self.choose(self.graph.node)
        if len(node.input) > 1:
            node.input.pop()

    def rewire(self):
        """Makes an input read another value, of the same type if one is known."""
        edges = self.edges()
        if not edges:
            return
        node, i = self.choose(edges)
        types = self.types()
        kind = types.get(node.input[i])
        position = list(self.graph.node).index(node)
        before = [v.name for v in self.graph.input] + [
            name for earlier in list(self.graph.node)[:position]
            for name in earlier.output if name]
        alike = [v for v in before if kind is not None and types.get(v) == kind]
        if alike and self.chance(0.8):
            node.input[i] = self.choose(alike)
        elif before:
            node.input[i] = self.choose(before)

    def insert(self):
        """Inserts an op, most often one without effect."""
        edges = self.edges()
        if not edges:
            return
        node, i = self.choose(edges)
        position = list(self.graph.node).index(node)
        value, out, middle = node.input[i], self.name(), self.name()
        kind = self.types().get(value)
        rank = len(kind.shape.dim) if kind and kind.HasField("shape") else 0
        new = [helper.make_node(self.choose(("Identity", "Neg", "Dropout")),
                                [value], [out])]
        if rank > 1 and self.chance(0.5):
            perm = self.random.permutation(rank)
            new = [helper.make_node("Transpose", [value], [middle], perm=perm),
                   helper.make_node("Transpose", [middle], [out],
                                    perm=np.argsort(perm))]
        elif rank and self.chance(0.3):
            new = [helper.make_node("Shape", [value], [middle]),
                   helper.make_node("Reshape", [value, middle], [out])]
        elif kind and self.chance(0.3):
            new = [helper.make_node("Cast", [value], [out], to=kind.elem_type)]
        for k, made in enumerate(new):
            made.name = self.name()
            self.graph.node.insert(position + k, made)
        node = self.graph.node[position + len(new)]
        node.input[i] = out

    def read_inside(self):
        """Adds another reader to a value, or makes it an output."""
        inner = [name for node in self.graph.node for name in node.output
                 if name and name not in {o.name for o in self.graph.output}]
        if not inner:
            return
        name = self.choose(inner)
        if self.chance(0.5):
            self.graph.node.append(helper.make_node(
                "Identity", [name], [self.name()], self.name()))
            name = self.graph.node[-1].output[0]
        self.graph.output.append(helper.make_empty_tensor_value_info(name))

    MUTATIONS = (resize, resize, resize, broadcast, forget, forget,
                 forget_shape, empty, count_otherwise, leave_out, retype, reset_opset,
                 change_constant, change_constant, feed_constant,
                 change_attribute, change_attribute, drop_attribute,
                 add_attribute, add_attribute, change_op, change_op, swap, drop_input, rewire, rewire, insert, insert,
                 read_inside)

    # The result.

    def size_of(self, name):
        return self.sizes.setdefault(name, int(self.random.integers(1, 5)))

    def dims_of(self, value):
        """Sizes and names of sizes."""
        return self.shapes.get(value.name) or [
            d.dim_param or d.dim_value
            for d in value.type.tensor_type.shape.dim]

    def array(self, value, sizes):
        """An array for an input."""
        shape = [sizes.get(dim, dim) for dim in self.dims_of(value)]
        dtype = helper.tensor_dtype_to_np_dtype(
            value.type.tensor_type.elem_type)
        if dtype == np.bool_:
            array = self.random.random(shape) < 0.7
            return self.hidden(array, True) if self.extreme == "hidden" else array
        if np.issubdtype(dtype, np.integer):
            return self.random.integers(0, 3, shape).astype(dtype)
        array = np.asarray(self.random.standard_normal(shape)).astype(dtype)
        is_mask = MASK.match(value.name) is not None
        if self.extreme == "hidden":
            return self.hidden(array, is_mask)
        if is_mask and self.chance(0.5):
            array[self.random.random(shape) < 0.3] = -np.inf
            if self.chance(0.2):
                array[self.random.random(shape) < 0.1] = np.inf
        return getattr(self, self.extreme)(array) if self.extreme else array

    # Extreme numbers.

    def hidden(self, array, is_mask):
        """Hides whole rows of a mask."""
        if is_mask and array.ndim > 1:
            fills = [False]
            if array.dtype != np.bool_:
                fills = [-np.inf, float(ml_dtypes.finfo(array.dtype).min), -1e4]
            rows = self.random.random(array.shape[:-1]) < 0.4
            array[rows] = self.choose(fills)
        return array

    @staticmethod
    def large(array):
        return array * array.dtype.type(100 if array.itemsize == 2 else 3e4)

    @staticmethod
    def tiny(array):
        return array * ml_dtypes.finfo(array.dtype).smallest_subnormal * 8

    def some(self, array, numbers):
        array = np.array(array)
        for number in numbers:
            array[self.random.random(array.shape) < 0.04] = number
        return array

    def limits(self, array):
        """The largest float16 numbers, and larger ones."""
        return self.some(array, (65504, -65504, 6e-8) if array.itemsize == 2
                         else (65504, -65504, 1e5, 6e-8, 1e-40))

    def endless(self, array):
        return self.some(array, (np.inf, -np.inf, np.nan))

    def quantizes_axes(self, values):
        """Whether each scale is one for all or one for each index of its axis,
        which the reference does not check."""
        for node in self.graph.node:
            if node.op_type == "QuantizeLinear":
                x, scale = (np.asarray(values[name]) for name in node.input[:2])
                axis = {a.name: a.i for a in node.attribute}.get("axis", 1)
                if scale.size > 1 and scale.size != x.shape[axis]:
                    return False
        return True

    def sizes_told_by_inputs(self, feeds):
        """{name: shape} of values whose shapes follow from those of inputs."""
        fixed = onnx.ModelProto()
        fixed.CopyFrom(self.model)
        for value in fixed.graph.input:
            if value.name in feeds:
                shape = value.type.tensor_type.shape
                shape.Clear()
                for size in feeds[value.name].shape:
                    shape.dim.add().dim_value = size
        inferred = runtimes.infer_shapes(fixed, data_prop=True)
        return {v.name: tuple(d.dim_value for d in v.type.tensor_type.shape.dim)
                for v in inferred.graph.value_info}

    def declare(self, values, feeds):
        """Declares inner values as exporters do: sizes as numbers, as names, or
        not at all. The numbers are those of one run, and stale in others. Sizes
        that depend on data get no numbers, since a declaration is believed there."""
        known = self.sizes_told_by_inputs(feeds)
        inner = {name for node in self.graph.node for name in node.output
                 if name} - {o.name for o in self.graph.output}
        for name in sorted(inner):
            array = np.asarray(values[name])
            shape = [self.choose((size, f"D{size}", None))
                     for size in array.shape]
            if known.get(name) != array.shape:
                shape = [size if isinstance(size, str) else None
                         for size in shape]
            if array.size and self.chance(0.5):
                self.graph.value_info.append(helper.make_tensor_value_info(
                    name, helper.np_dtype_to_tensor_dtype(array.dtype), shape))

    def contradict(self):
        """Declares a wrong size for an inner value."""
        dims = [d for v in self.graph.value_info
                for d in v.type.tensor_type.shape.dim if d.dim_value]
        if dims:
            self.choose(dims).dim_value += 1

    def all_feeds(self):
        """The inputs of all runs: as drawn, and with each symbolic size as 0 and
        as 1."""
        given = {t.name for t in self.graph.initializer}
        names = [dim for v in self.graph.input for dim in self.dims_of(v)
                 if isinstance(dim, str)]
        drawn = {name: self.size_of(name) for name in names}
        others = [{**drawn, name: size} for name in drawn for size in (0, 1)
                  if drawn[name] != size]
        return [{v.name: self.array(v, sizes) for v in self.graph.input
                 if v.name not in given} for sizes in (drawn, *others)]

    def is_random(self, feeds, outputs):
        """Whether results differ from run to run: some op draws numbers, or a
        Dropout drops."""
        ops = {node.op_type for node in self.graph.node}
        if ops & RANDOM:
            return True
        if "Dropout" not in ops:
            return False
        for _ in range(5):
            again = dialect.evaluate(self.model, feeds)
            if not all(np.array_equal(again[n], outputs[n], equal_nan=True)
                       for n in outputs if again[n].dtype.kind == "f"):
                return True
        return False

    def mutate(self):
        for _ in range(self.random.integers(0, 5)):
            self.choose(self.MUTATIONS)(self)
        if self.chance(0.4):
            self.extreme = self.choose(EXTREMES)

    def build(self, feeds, others):
        """A Made, or None. Raises exceptions of the checker and the reference."""
        names = [v.name for v in self.graph.output]
        self.graph.ClearField("output")
        self.graph.ClearField("value_info")
        self.graph.output.extend(map(helper.make_empty_tensor_value_info, names))
        (values,) = dialect.evaluate_ranks(self.model, [feeds])
        outputs = {name: values[name] for name in names}
        if not self.quantizes_axes(values):
            return None
        made = [name for node in self.graph.node for name in node.output if name]
        if all(array.size for array in feeds.values()) and not all(
                np.size(values[name]) for name in made):
            return None  # for example of a window longer than its axis
        if self.is_random(feeds, outputs):
            return None
        self.graph.ClearField("output")
        for name in names:
            array = np.asarray(outputs[name])
            known = self.chance(0.8) and not self.sizes and not self.shapes
            shape = array.shape if known else [None] * array.ndim
            self.graph.output.append(helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), shape))
        is_declared = self.chance(0.3)
        if is_declared:
            self.declare(values, feeds)
        onnx.checker.check_model(self.model)
        self.check_splits()
        runtimes.infer_shapes(self.model, check_type=True, strict_mode=True)
        if is_declared and self.chance(0.2):
            self.contradict()
        return Made(self.model, [feeds, *others], self.extreme)


@dataclasses.dataclass
class Made:
    model: onnx.ModelProto
    all_feeds: list  # {input: array} of each run; the first as the mutant was drawn
    extreme: str | None  # one of EXTREMES


def mutant(model, seed):
    """See Mutant.build; None if the mutant is no valid model."""
    drawn = Mutant(model, seed)
    with np.errstate(all="ignore"):
        try:
            drawn.mutate()
        except shape_inference.InferenceError:
            return None
        feeds, *others = drawn.all_feeds()
        try:
            return drawn.build(feeds, others)
        except Exception:  # pylint: disable=broad-except
            return None  # any error of checker and reference
