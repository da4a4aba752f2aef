"""Random graphs around the rules about linear layers and quantization, each
from a Draft."""

import ml_dtypes
import numpy as np
from onnx import TensorProto

FLOAT8 = np.dtype(ml_dtypes.float8_e4m3fn)
KINDS = ["MatMul", "Gemm", "Linear", "QLinearMatMul", "MatMulNBits",
         "static_quant_linear", "static_quant_linear_int4", "fp8_linear",
         "mxfp4_linear"]
GROUP = 4
UNARY = ["Relu", "Tanh", "Sigmoid"]


class Siblings:  # pylint: disable=too-many-instance-attributes
    """Layers of one kind on one activation; sometimes one differs from the
    others."""

    def __init__(self, draft, kind):
        self.draft, self.kind = draft, kind
        self.rows = (2 if kind in ("mxfp4_linear", "MatMulNBits") else
                     draft.between(1, 2)) * GROUP
        if kind not in ("MatMul", "Gemm", "Linear"):
            draft.dtype = np.dtype(np.float32)
        lead = [draft.between(1, 3) for _ in range(
            1 if kind == "Gemm" else draft.between(1, 2))]
        self.lead = [self.rows] if draft.chance(0.1) else lead
        if kind in ("MatMul", "Linear") and draft.chance(0.1):
            self.lead = []
        self.attributes = self.pick_attributes()
        self.forms = {"bias": draft.chance(0.5), "scale": draft.between(0, 3),
                      "offset": draft.chance(0.3), "x_offset":
                      draft.chance(0.3), "same": draft.chance(0.7)}
        self.one = {name: np.float32(draft.choose(0.5, 0.25, 2))
                    for name in ("w", "x", "y")}
        self.zeros = {name: draft.integers(-2, 2) for name in "wxy"}
        self.x, self.x_scale = self.activation()
        self.x_zero = draft.constant(self.zeros["x"])
        self.y = (draft.constant(self.one["y"]),
                  draft.constant(self.zeros["y"]))
        self.last = None

    def pick_attributes(self):
        draft = self.draft
        if self.kind == "Gemm":
            more = {"transB": draft.choose(0, 1)}
            if draft.chance(0.2):
                more.update(alpha=0.5, beta=2.0)
            return more
        if self.kind == "MatMulNBits":
            return {"bits": draft.choose(4, 4, 8)}
        if self.kind == "mxfp4_linear":
            return {"group_size": GROUP}
        return {}

    def codes(self, *shape):
        """A quantized tensor of the type of the kind."""
        draft = self.draft
        if self.kind == "fp8_linear":
            return draft.array(*shape, dtype=np.float32).astype(FLOAT8)
        if self.kind == "mxfp4_linear":
            return draft.integers(0, 15, *shape, dtype=np.uint8)
        if self.kind in ("MatMul", "Gemm", "Linear"):
            return draft.array(*shape)
        return draft.integers(-8, 7, *shape)

    def activation(self):
        draft, shape = self.draft, [*self.lead, self.rows]
        if self.kind == "MatMulNBits":
            return draft.given(draft.array(*shape)), ""
        x = draft.given(self.codes(*shape))
        if self.kind in KINDS[:3] and draft.chance(0.5):
            x = draft.node("Relu", x)
        return x, draft.weight(self.new_x_scale(self.one["x"]))

    def new_x_scale(self, scale):
        if self.kind != "mxfp4_linear":
            return np.float32(scale)
        return np.exp2(self.draft.integers(
            -1, 1, *self.lead, self.rows // GROUP)).astype(np.float32)

    def scale(self, form, columns, same):
        """[], [1], [N] or [G,N]."""
        if self.kind == "fp8_linear":
            form = min(form, 2)
        if self.kind == "mxfp4_linear":
            form = 3
        shape = [(), (1,), (columns,), (self.rows // GROUP, columns)][form]
        if form < 2 and same:
            return np.full(shape, self.one["w"])
        numbers = self.draft.random.uniform(0.5, 1.5, shape)
        return numbers.astype(np.float32)

    def add(self):
        """Adds a layer."""
        draft, forms = self.draft, dict(self.forms)
        columns, attributes = draft.between(1, 4), dict(self.attributes)
        deviates = draft.chance(0.12)
        if deviates:
            name = draft.choose(*forms)
            forms[name] = (draft.between(0, 3) if name == "scale"
                           else not forms[name])
        if draft.chance(0.06):
            attributes = self.pick_attributes()
        bias = ""
        if forms["bias"]:
            shape = [columns]
            if self.kind == "Gemm" and draft.chance(0.1):
                shape = draft.choose([], [1], [1, columns], self.lead + [1])
            bias = draft.weight(draft.array(*shape))
        kept = self.x_scale, self.y
        if self.x_scale and draft.chance(0.04):
            scale = self.new_x_scale(draft.choose(0.5, 0.75, 3))
            self.x_scale = draft.constant(scale)
        if draft.chance(0.04):
            self.y = draft.constant(np.float32(3)), self.y[1]
        self.last = self.layer(columns, forms, attributes, bias)
        self.x_scale, self.y = kept
        if draft.chance(0.5):
            self.draft.node("Cast", self.last, to=TensorProto.FLOAT)

    def layer(self, columns, forms, attributes, bias):
        draft, kind = self.draft, self.kind
        if kind in ("MatMul", "Gemm", "Linear"):
            return self.plain(columns, attributes, bias)
        if kind == "MatMulNBits":
            return self.packed(columns, forms, attributes, bias)
        w = draft.weight(self.codes(self.rows, columns))
        scale = self.scale(forms["scale"], columns, forms["same"])
        if kind == "QLinearMatMul":
            scale = scale if scale.ndim < 2 else scale[0]
            zero = draft.constant(np.full(scale.shape, self.zeros["w"]))
            return draft.node(kind, self.x, self.x_scale, self.x_zero, w,
                              draft.weight(scale), zero, *self.y)
        inputs = [self.x, w, self.x_scale, draft.weight(scale), bias]
        if kind.startswith("static"):
            offset = ""
            if forms["offset"]:
                offset = draft.weight(np.full(
                    scale.shape, self.zeros["w"], np.int32))
            x_zero = self.x_zero if forms["x_offset"] else ""
            inputs = [self.x, w, inputs[3], offset, self.x_scale, x_zero, bias]
            if draft.chance(0.1):
                attributes["out_dtype"] = TensorProto.FLOAT16
        return draft.node(f"tensor_cast::{kind}", *inputs, **attributes)

    def plain(self, columns, attributes, bias):
        draft, kind, rows = self.draft, self.kind, self.rows
        across = kind == "Linear" or attributes.get("transB")
        w = draft.weight(draft.array(*((columns, rows) if across
                                       else (rows, columns))))
        if (self.lead == [rows] and self.last and not across
                and draft.chance(0.3)):
            w, bias = self.last, ""  # it needs the previous layer
        if kind == "MatMul":
            if self.lead == [rows] and draft.chance(0.1):
                return draft.node(kind, self.x, self.x)
            y = draft.node(kind, self.x, w)
            return draft.node("Add", y, bias) if bias else y
        op = "ruleengine::Linear" if kind == "Linear" else kind
        return draft.node(op, self.x, w, bias, **attributes)

    def packed(self, columns, forms, attributes, bias):
        draft, bits, block = self.draft, attributes["bits"], 16
        shape = [columns, 1, block * bits // 8]
        w = draft.weight(draft.integers(0, 255, *shape, dtype=np.uint8))
        scales = draft.weight(draft.random.uniform(
            0.1, 0.2, (columns, 1)).astype(np.float32))
        zeros = ""
        if forms["offset"]:
            zeros = draft.weight(draft.integers(
                0, 15, columns, 1, dtype=np.uint8))
        return draft.node("com.microsoft::MatMulNBits", self.x, w, scales,
                          zeros, "", bias, K=self.rows, N=columns,
                          block_size=block, **attributes)


def sibling_layers(draft):
    """merge_linear."""
    kind = draft.choose(*KINDS)
    for _ in range(draft.between(1, 2)):
        kind = draft.choose(kind, *KINDS) if draft.chance(0.5) else kind
        siblings = Siblings(draft, kind)
        for _ in range(draft.between(1, 4)):
            siblings.add()
    return draft.finish()


def activated_layers(draft):
    """example_linear_tanh_to_linear_relu: replaces the activation after a layer,
    in all its forms; others stay."""
    rows = draft.between(1, 4)
    lead = [draft.between(1, 3) for _ in range(draft.between(1, 2))]
    x = draft.given(draft.array(*lead, rows))
    for _ in range(draft.between(1, 4)):
        columns, form = draft.between(1, 4), draft.between(0, 4)
        across, is_layer = draft.array(columns, rows), True
        along = draft.constant(np.ascontiguousarray(across.T))
        across = draft.constant(across)
        bias = draft.constant(draft.array(columns))
        bias = draft.choose(bias, "")
        if form == 0:
            y = draft.node("ruleengine::Linear", x, across, bias)
        elif form <= 2 and len(lead) == 1:
            more = {"alpha": 0.5} if draft.chance(0.2) else {}
            is_layer = not more
            y = (draft.node("Gemm", x, across, bias, transB=1, **more)
                 if form == 1 else draft.node("Gemm", x, along, bias, **more))
        else:
            y = draft.node("MatMul", x, along)
            if bias:
                y = draft.node("Add", *draft.choose((y, bias), (bias, y)))
        if draft.chance(0.2):
            y, is_layer = draft.node("Neg", y), False
        op = draft.choose("Tanh", "Tanh", "Sigmoid")
        x, rows = draft.node(op, y), columns
        if op == "Tanh" and is_layer:
            draft.expected[x] = "Relu"
    return draft.finish()


class Views:
    """Chains of views over one value, and quantizers at their ends."""

    def __init__(self, draft):
        self.draft = draft
        sizes = [draft.between(1, 3) for _ in range(draft.between(1, 2))]
        self.sizes = [*sizes, draft.choose(4, 8)]
        self.x = draft.given(draft.array(*self.sizes))
        if draft.chance(0.8):
            self.x = draft.node(draft.choose(*UNARY), self.x)
        self.values = [(self.x, self.sizes)]
        self.scales = [draft.weight(np.asarray(
            draft.choose(0.02, 0.05), draft.dtype)) for _ in range(2)]
        self.zeros = [[draft.constant(np.asarray(zero, kind))
                       for zero in (0, 2, 2)] for kind in (np.int32, np.int8)]
        self.channels = {
            size: draft.weight(draft.random.uniform(
                0.01, 0.05, size).astype(draft.dtype))
            for size in sorted({*self.sizes, int(np.prod(self.sizes))})}

    def view(self, x, sizes):
        """A view of x, or an op that only looks like one."""
        draft, total = self.draft, int(np.prod(sizes))
        kind = draft.between(0, 5)
        if kind == 0:
            axis = draft.between(0, len(sizes))
            at = draft.constant(np.array([axis]))
            return (draft.node("Unsqueeze", x, at),
                    [*sizes[:axis], 1, *sizes[axis:]])
        if kind == 1 and 1 in sizes and len(sizes) > 1:
            at = sizes.index(1)
            return (draft.node("Squeeze", x, draft.constant(np.array([at]))),
                    [*sizes[:at], *sizes[at + 1:]])
        if kind == 2:
            axis = draft.between(0, len(sizes))
            return (draft.node("Flatten", x, axis=axis),
                    [int(np.prod(sizes[:axis])), int(np.prod(sizes[axis:]))])
        if kind == 3 and draft.chance(0.2) and len(sizes) > 1:
            return (draft.node("Transpose", x), sizes[::-1])
        last = draft.choose(sizes[-1], sizes[-1], 4, total)
        into = draft.choose([total // last, last], [1, total // last, last],
                            [total // last, 1, last], sizes)
        said = list(into)
        if draft.chance(0.4):
            said[draft.between(0, len(said) - 1)] = -1
        return draft.node("Reshape", x, draft.constant(np.array(said))), into

    def quantizer(self, x, sizes, kind):
        """The first output; the others are unused or outputs of the graph."""
        draft = self.draft
        if kind.endswith("mxfp4") and sizes[-1] % 4:
            kind = "tensor_cast::dynamic_quantize_symmetric"
        if kind in ("QuantizeLinear", "tensor_cast::quantize"):
            return self.static(x, sizes, kind)
        if kind == "DynamicQuantizeLinear":
            return draft.node(kind, x, outputs=3)[0]
        if kind.endswith("mxfp4"):
            return draft.node(kind, x, outputs=2,
                              group_size=draft.choose(2, 4))[0]
        along = [{}, {"dims": [-1]}, {"dims": [len(sizes) - 1]}, {"dims": []},
                 {"dims": [0]}, {"dims": [-min(2, len(sizes))]}]
        return draft.node(kind, x, outputs=3 if "asymmetric" in kind else 2,
                          **along[draft.choose(0, 1, 1, 2, 3, 3, 4, 5)])[0]

    def static(self, x, sizes, kind):
        """A quantizer with a given scale, for all or along an axis."""
        draft, more, standard = self.draft, {}, kind == "QuantizeLinear"
        inputs = [x, draft.choose(*self.scales[:1] * 3, self.scales[1])]
        axis = draft.choose(-1, -1, draft.between(0, len(sizes) - 1))
        axis = axis if standard else -1
        if standard and sizes[-1] % 2 == 0 and draft.chance(0.1):
            inputs[1] = draft.weight(draft.random.uniform(
                0.01, 0.05, [*sizes[:-1], sizes[-1] // 2]).astype(draft.dtype))
            return draft.node(kind, *inputs, axis=-1, block_size=2,
                              output_dtype=TensorProto.INT8)
        along = sizes[axis] in self.channels and draft.chance(0.5)
        if along:
            inputs[1] = self.channels[sizes[axis]]
        if along and standard:
            more = {"axis": axis, "output_dtype": TensorProto.INT8}
        elif standard or draft.chance(0.4):
            inputs.append(draft.choose(*self.zeros[standard]))
        return draft.node(kind, *inputs, **more)


def quantized_views(draft):
    """lift_combine_quant: chains of views with common first views, each with a
    quantizer at its end."""
    kind = draft.choose(
        "tensor_cast::quantize", "tensor_cast::dynamic_quantize_symmetric",
        "tensor_cast::dynamic_quantize_asymmetric", "QuantizeLinear",
        "tensor_cast::dynamic_quantize_mxfp4", "DynamicQuantizeLinear")
    if kind == "DynamicQuantizeLinear":
        draft.dtype = np.dtype(np.float32)
    views = Views(draft)
    for _ in range(draft.between(1, 4)):
        start = draft.choose(0, draft.between(0, len(views.values) - 1))
        x, sizes = views.values[start]
        for _ in range(draft.choose(0, 0, 0, 1, 1, 2, 3)):
            x, sizes = views.view(x, sizes)
            views.values.append((x, sizes))
        y = views.quantizer(x, sizes, kind)
        draft.node("Cast", y, to=TensorProto.FLOAT)
        if draft.chance(0.2):
            draft.node("Neg", x)
    return draft.finish()
