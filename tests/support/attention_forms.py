"""Every way to write softmax(q k^T) v that the attention pack knows, as models.

A form picks one choice of each of CHOICES. pairwise() gives few forms among
which every two choices occur together.
"""

import itertools

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

B, H, S, T, D = 2, 4, 5, 7, 8
CHOICES = {
    "scale": ["none", "mul", "mul_left", "div", "q_only", "q_div",
              "split_mul", "split_div", "computed"],
    "order": ["scale_first", "mask_first"],
    "mask": ["none", "add", "add_left", "two_adds", "causal", "where_keep",
             "where_hide", "where_inf"],
    "keys": ["swapped", "two_steps", "one_step", "batched"],
    "dropout": ["none", "inference"],
    "heads": ["equal", "grouped"],
    "batch": ["fixed", "symbolic"],
    "opset": [13, 17, 21],
}


class Writer:
    """A graph that grows by one node for each call."""

    def __init__(self, form):
        self.form = form
        self.nodes, self.weights, self.inputs = [], [], []

    def op(self, kind, *inputs, **attributes):
        out = f"{kind}_{len(self.nodes)}".lower()
        self.nodes.append(helper.make_node(kind, list(inputs), [out],
                                           name=f"n{len(self.nodes)}",
                                           **attributes))
        return out

    def constant(self, value, kind=np.float32):
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(
            np.asarray(value, kind), name))
        return name

    def input(self, name, *shape, kind=TensorProto.FLOAT):
        if self.form["batch"] == "symbolic":
            shape = ("batch",) + shape[1:]
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def scaled(self, x, divide=False, root=False):
        factor = D ** (-0.25 if root else -0.5)
        if divide:
            return self.op("Div", x, self.constant(1 / factor))
        return self.op("Mul", x, self.constant(factor))

    def repeated(self, x, length):
        """H heads from half as many."""
        if self.form["heads"] == "equal":
            return x
        axes = self.constant([2], np.int64)
        x = self.op("Unsqueeze", x, axes)
        x = self.op("Expand", x,
                    self.constant([1, 1, 2, 1, 1], np.int64))
        return self.op("Reshape", x,
                       self.constant([0, H, length, D], np.int64))

    def keys(self):
        groups = H if self.form["heads"] == "equal" else H // 2
        how = self.form["keys"]
        if how == "swapped" or groups != H:
            k = self.repeated(self.input("k", B, groups, T, D), T)
            return self.op("Transpose", k, perm=[0, 1, 3, 2])
        if how == "batched":
            k = self.input("k", B, H, T, D)
            k = self.op("Reshape", k, self.constant([-1, T, D], np.int64))
            k = self.op("Transpose", k, perm=[0, 2, 1])
            return self.op("Reshape", k,
                           self.constant([-1, H, D, T], np.int64))
        k = self.input("k", B, T, H, D)
        if how == "one_step":
            return self.op("Transpose", k, perm=[0, 2, 3, 1])
        k = self.op("Transpose", k, perm=[0, 2, 1, 3])
        return self.op("Transpose", k, perm=[0, 1, 3, 2])

    def product(self):
        q, keys = self.input("q", B, H, S, D), self.keys()
        scale = self.form["scale"]
        if scale in ("q_only", "q_div"):
            q = self.scaled(q, divide=scale == "q_div")
        if scale in ("split_mul", "split_div"):
            q, keys = (self.scaled(x, scale == "split_div", root=True)
                       for x in (q, keys))
        return self.op("MatMul", q, keys)

    def scale(self, x):
        how = self.form["scale"]
        if how == "mul_left":
            return self.op("Mul", self.constant(D ** -0.5), x)
        if how == "computed":
            size = self.op("Cast", self.constant(D, np.int64),
                           to=TensorProto.FLOAT)
            return self.op("Div", x, self.op("Sqrt", size))
        if how in ("mul", "div"):
            return self.scaled(x, divide=how == "div")
        return x

    def mask(self, x):
        how = self.form["mask"]
        if how == "causal":
            allowed = np.tril(np.ones((S, T), bool))
            return self.op("Add", x, self.constant(
                np.where(allowed, 0, np.finfo(np.float32).min)))
        if how.startswith("where"):
            shown = self.input("shown", B, 1, 1, T, kind=TensorProto.BOOL)
            fill = self.constant(-np.inf if how == "where_inf"
                                 else np.finfo(np.float32).min)
            if how == "where_hide":
                return self.op("Where", self.op("Not", shown), fill, x)
            return self.op("Where", shown, x, fill)
        if how != "none":
            mask = self.input("mask", B, 1, S, T)
            x = self.op("Add", *((mask, x) if how == "add_left"
                                 else (x, mask)))
        if how == "two_adds":
            x = self.op("Add", x, self.input("bias", 1, H, S, T))
        return x

    def model(self):
        steps = [self.scale, self.mask]
        if self.form["order"] == "mask_first":
            steps.reverse()
        x = self.product()
        for step in steps:
            x = step(x)
        x = self.op("Softmax", x, axis=-1)
        if self.form["dropout"] == "inference":
            x = self.op("Dropout", x, self.constant(0.25))
        groups = H if self.form["heads"] == "equal" else H // 2
        v = self.repeated(self.input("v", B, groups, T, D), T)
        self.nodes.append(helper.make_node("MatMul", [x, v], ["y"], "last"))
        batch = "batch" if self.form["batch"] == "symbolic" else B
        output = helper.make_tensor_value_info("y", TensorProto.FLOAT,
                                               [batch, H, S, D])
        graph = helper.make_graph(self.nodes, "form", self.inputs, [output],
                                  self.weights)
        return helper.make_model(
            graph, ir_version=8,
            opset_imports=[helper.make_opsetid("", self.form["opset"])])


def feeds(model, seed=0):
    random = np.random.default_rng(seed)
    arrays = {}
    for value in model.graph.input:
        kind = value.type.tensor_type
        shape = [B if d.dim_param else d.dim_value for d in kind.shape.dim]
        if kind.elem_type == TensorProto.BOOL:
            arrays[value.name] = random.random(shape) > 0.3
            arrays[value.name][..., 0] = True  # each query sees a key
        else:
            arrays[value.name] = random.standard_normal(shape, np.float32)
    return arrays


def pairwise(choices=None):
    """A few forms with every pair of choices, always the same."""
    choices = choices or CHOICES
    names = list(choices)
    left = {((a, x), (b, y)) for a, b in itertools.combinations(names, 2)
            for x in choices[a] for y in choices[b]}
    forms = []
    while left:
        form = dict(min(left, key=str))
        for name in names:
            if name not in form:
                form[name] = max(choices[name], key=lambda value: sum(
                    pair in left for pair in pairs(
                        {**form, name: value}, names)))
        forms.append({name: form[name] for name in names})
        left -= set(pairs(form, names))
    return forms


def product(*names):
    """Every combination of these choices, with the first of all others."""
    first = {name: choices[0] for name, choices in CHOICES.items()}
    return [{**first, **dict(zip(names, values))} for values in
            itertools.product(*(CHOICES[name] for name in names))]


def pairs(form, names):
    given = [name for name in names if name in form]
    return [((a, form[a]), (b, form[b]))
            for a, b in itertools.combinations(given, 2)]


def build(form):
    model = Writer(form).model()
    onnx.checker.check_model(model)
    return model
