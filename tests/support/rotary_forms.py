"""Every way to write a rotary embedding that the targets' rules know, as models:
as llama (halves, each angle twice), gpt-oss (halves, each angle once), GPT-J
and Cohere (neighbours), ChatGLM (pairs on an axis of their own), Keras (halves
on an axis of their own) and GPT-NeoX (a part of each head) do, with angles that are computed or come from tables."""

import numpy as np
import onnx
from onnx import TensorProto, helper

from support import attention_forms

B, H, S, D, REST = 2, 3, 5, 8, 2
CHOICES = {
    "pairs": ["halves", "halves_split", "halves_gather", "halves_stack",
              "neighbours", "neighbours_gather", "pairs_gather", "pairs_slice",
              "pairs_split"],
    "angles": ["one", "batch", "table", "gathered", "sections"],
    "written": ["whole", "whole_late", "parts"],
    "heads": ["before", "behind"],
    "axis": ["late", "early"],
    "repeated": ["tile", "expand", "stack"],
    "scaled": ["no", "yes"],
    "kind": ["float", "half", "mixed"],
    "part": ["all", "first"],
    "batch": ["fixed", "symbolic"],
    "opset": [17, 21, 23],
}
FAR = np.iinfo(np.int64).max


class Writer(attention_forms.Writer):
    def __init__(self, form):
        super().__init__(form)
        self.neighbours = not form["pairs"].startswith("halves")
        self.behind = form["heads"] == "behind"
        self.half = form["kind"] == "half"
        self.batch = "batch" if form["batch"] == "symbolic" else B
        self.mixed = form["kind"] == "mixed" and form["written"] != "parts"

    def integers(self, *values):
        return self.constant(values, np.int64)

    def slice(self, x, start, end, step=1, axis=3):
        return self.op("Slice", x, *(self.integers(n) for n in
                                     (start, end, axis, step)))

    def split(self, x, size):
        names = ["first", "second"]
        self.nodes.append(helper.make_node(
            "Split", [x, self.integers(size, size)], names, axis=-1))
        return names

    def parts(self, x):
        """The two elements of each pair."""
        how = self.form["pairs"]
        if how in ("halves_gather", "neighbours_gather"):
            places = np.arange(D).reshape(2, -1)
            if self.neighbours:
                places = places.reshape(-1, 2).T
            return [self.op("Gather", x, self.integers(*part), axis=-1)
                    for part in places]
        if how == "halves":
            return self.slice(x, 0, D // 2), self.slice(x, D // 2, FAR)
        if how == "neighbours":
            return self.slice(x, 0, FAR, 2), self.slice(x, 1, FAR, 2)
        if how in ("halves_split", "halves_stack"):
            return self.split(x, D // 2)
        shape = (S, H) if self.behind else (H, S)
        cut = self.op("Reshape", x, self.integers(0, *shape, D // 2, 2))
        if how == "pairs_gather":
            return tuple(self.op("Gather", cut, self.constant(i, np.int64),
                                 axis=-1) for i in range(2))
        columns = (self.split(cut, 1) if how == "pairs_split" else
                   [self.slice(cut, i, i + 1, axis=4) for i in range(2)])
        return [self.op("Squeeze", x, self.integers(-1)) for x in columns]

    def joined(self, a, b):
        stacks = self.form["pairs"] == "halves_stack"
        if not self.neighbours and not stacks:
            return self.op("Concat", a, b, axis=-1)
        axis = -2 if stacks else -1
        pair = [self.op("Unsqueeze", x, self.integers(axis)) for x in (a, b)]
        shape = (S, H) if self.behind else (H, S)
        return self.op("Reshape", self.op("Concat", *pair, axis=axis),
                       self.integers(0, *shape, D))

    def early(self):
        """Whether repeated angles get the axis of heads after that."""
        return (self.neighbours and self.form["axis"] == "early"
                and self.form["written"] != "parts"
                and self.form["angles"] in ("one", "batch", "sections"))

    def twice(self, angles, leads):
        if not self.neighbours and self.form["axis"] == "early" and leads == 2:
            turned = self.op("Transpose", angles, perm=[0, 2, 1])
            return self.op("Transpose", self.op("Concat", turned, turned, axis=1),
                           perm=[0, 2, 1])
        if not self.neighbours:
            return self.op("Concat", angles, angles, axis=-1)
        axes = [-1]
        if self.early():
            axes, leads = [2 if self.behind else 1, -1], leads + 1
        lone, twin = (self.op("Unsqueeze", angles, self.integers(*axes))
                      for _ in range(2))
        if self.form["repeated"] == "stack":
            wide = self.op("Concat", lone, twin, axis=-1)
        else:
            wide = self.op(self.form["repeated"].title(), lone,
                           self.integers(*[1] * (leads + 1), 2))
        return self.op("Reshape", wide,
                       self.integers(*[0] * leads, D))

    def sections(self):
        """Whether the angles are mixed from those of three axes."""
        return (self.form["angles"] == "sections" and not self.neighbours
                and self.form["written"] != "parts")

    def mixed_sections(self, wave):
        widths = [1, 1, D // 2 - 2] * 2
        names = [f"{wave}_{i}" for i in range(len(widths))]
        self.nodes.append(helper.make_node(
            "Split", [wave, self.integers(*widths)], names, axis=-1))
        return self.op("Concat", *(
            self.op("Gather", name, self.constant(i % 3, np.int64), axis=0)
            for i, name in enumerate(names)), axis=-1)

    def wave(self, kind, angles):
        """Cosine or sine, to multiply with x or with its parts."""
        written, how = self.form["written"], self.form["angles"]
        if how in ("table", "gathered"):
            rows = S if how == "table" else 2 * S
            table = np.random.default_rng(len(kind)).random((rows, D // 2))
            if written != "parts":
                table = (np.repeat(table, 2, -1) if self.neighbours
                         else np.concatenate([table, table], -1))
            x = self.constant(table)
            if how == "gathered":
                x = self.op("Gather", x, angles, axis=0)
        elif self.sections():
            x = self.mixed_sections(self.op(kind, self.twice(angles, 3)))
        elif written == "whole":
            x = self.op(kind, self.twice(angles, 2))
        else:
            x = self.op(kind, angles)
            x = x if written == "parts" else self.twice(x, 2)
        if self.form["scaled"] == "yes":
            x = self.op("Mul", x, self.constant(1.25))
        if self.half:
            x = self.op("Cast", x, to=TensorProto.FLOAT16)
        # Next to the axis of heads.
        if self.early() or (how == "table" and not self.behind):
            return x
        return self.op("Unsqueeze", x, self.integers(
            (1 if self.behind else 0) if how == "table"
            else (2 if self.behind else 1)))

    def angles(self):
        how = self.form["angles"]
        if how == "table":
            return None
        if how == "gathered":
            return self.input("places", B, S, kind=TensorProto.INT64)
        if self.sections():
            self.inputs.append(helper.make_tensor_value_info(
                "angles", TensorProto.FLOAT, (3, self.batch, S, D // 2)))
            return "angles"
        if how in ("batch", "sections"):
            return self.input("angles", B, S, D // 2)
        self.inputs.append(helper.make_tensor_value_info(
            "angles", TensorProto.FLOAT, (1, S, D // 2)))
        return "angles"

    def turned(self, x):
        angles = self.angles()
        cos, sin = (self.wave(kind, angles) for kind in ("Cos", "Sin"))
        a, b = self.parts(x)
        if self.form["written"] != "parts":
            quarter = self.joined(self.op("Neg", b), a)
            if self.mixed:  # float16 values with angles in float
                x, quarter = (self.op("Cast", v, to=TensorProto.FLOAT)
                              for v in (x, quarter))
            return self.op("Add", self.op("Mul", x, cos),
                           self.op("Mul", quarter, sin))
        return self.joined(
            self.op("Sub", self.op("Mul", a, cos), self.op("Mul", b, sin)),
            self.op("Add", self.op("Mul", b, cos), self.op("Mul", a, sin)))

    def model(self):
        kind = (TensorProto.FLOAT16 if self.half or self.mixed
                else TensorProto.FLOAT)
        width = D + REST if self.form["part"] == "first" else D
        shape = (B, S, H, width) if self.behind else (B, H, S, width)
        x = self.input("x", *shape, kind=kind)
        y = self.turned(x if width == D else self.slice(x, 0, D))
        if self.mixed:
            y = self.op("Cast", y, to=kind)
        if width > D:
            y = self.op("Concat", y, self.slice(x, D, FAR), axis=-1)
        graph = helper.make_graph(
            self.nodes, "form", self.inputs,
            [helper.make_tensor_value_info(y, kind, (self.batch, *shape[1:]))],
            self.weights)
        return helper.make_model(
            graph, ir_version=8, opset_imports=[
                helper.make_opsetid("", self.form["opset"])])


def feeds(model):
    random = np.random.default_rng(1)
    arrays = {}
    for value in model.graph.input:
        kind = value.type.tensor_type
        shape = [B if d.dim_param else d.dim_value for d in kind.shape.dim]
        if kind.elem_type == TensorProto.INT64:
            arrays[value.name] = random.integers(-S, S, shape)
        else:
            arrays[value.name] = random.standard_normal(shape).astype(
                helper.tensor_dtype_to_np_dtype(kind.elem_type))
    return arrays


def build(form):
    model = Writer(form).model()
    onnx.checker.check_model(model)
    return model


FORMS = attention_forms.pairwise(CHOICES) + [
    {**{name: choices[0] for name, choices in CHOICES.items()},
     "pairs": p, "angles": a, "written": w, "heads": h, "axis": x}
    for p in CHOICES["pairs"] for a in CHOICES["angles"]
    for w in CHOICES["written"] for h in CHOICES["heads"]
    for x in CHOICES["axis"]]
