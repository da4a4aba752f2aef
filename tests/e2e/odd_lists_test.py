"""Integers and lists that no standard asks for, such as one axis as a scalar, which
ONNX Runtime takes, end no run with an error of a rule. One constant or attribute of
an example of a rule is changed at a time."""

import numpy as np
import onnx
from onnx import numpy_helper

from support import mutate, program, tier

INT64 = np.iinfo(np.int64)
CHANGES = {
    "scalar": lambda a: a.reshape(()) if a.size == 1 else None,
    "list": lambda a: a.reshape(1) if a.ndim == 0 else None,
    "wide": lambda a: a.reshape(1, -1),
    "empty": lambda a: a.reshape(-1)[:0],
    "short": lambda a: a[:-1] if a.ndim == 1 and a.size > 1 else None,
    "long": lambda a: np.append(a, a[-1:]) if a.ndim == 1 and a.size else None,
    "largest": lambda a: np.full_like(a, INT64.max),
    "smallest": lambda a: np.full_like(a, INT64.min),
}


class Tensor:
    def __init__(self, proto):
        self.proto = proto

    def get(self):
        return numpy_helper.to_array(self.proto)

    def set(self, array):
        self.proto.CopyFrom(numpy_helper.from_array(array, self.proto.name))


class Attribute:
    def __init__(self, proto):
        self.proto = proto

    def get(self):
        is_list = self.proto.type == onnx.AttributeProto.INTS
        return np.array(self.proto.ints if is_list else self.proto.i, "i8")

    def set(self, array):
        if self.proto.type == onnx.AttributeProto.INTS:
            self.proto.ints[:] = array.reshape(-1).tolist()
        else:
            self.proto.i = int(array.reshape(-1)[0]) if array.size else 0


def integers(model):
    """What int64 constants and attributes nodes have."""
    found = [Tensor(t) for t in model.graph.initializer]
    for node in model.graph.node:
        for a in node.attribute:
            if node.op_type == "Constant" and a.name == "value":
                found.append(Tensor(a.t))
            elif a.type in (onnx.AttributeProto.INT, onnx.AttributeProto.INTS):
                found.append(Attribute(a))
    return [each for each in found if isinstance(each, Attribute)
            or each.proto.data_type == onnx.TensorProto.INT64]


def changed(model):
    for i, each in enumerate(integers(model)):
        array = each.get()
        for name, change in CHANGES.items():
            other = change(array)
            if other is None:
                continue
            made = onnx.ModelProto()
            made.CopyFrom(model)
            integers(made)[i].set(other)
            del made.graph.value_info[:]
            yield f"{i}-{name}", made


class OddLists(program.ProgramTest):
    def test_rules_do_not_fail(self):
        folder = self.folder / "in"
        folder.mkdir()
        files = sorted((program.ROOT / "rules").rglob("*.lua"))
        made = 0
        for file in tier.every(12, files):
            for i, model in enumerate(mutate.examples(file)):
                for name, odd in changed(model):
                    path = folder / f"{file.stem}-{i}-{name}.onnx"
                    path.write_bytes(odd.SerializeToString())
                    made += 1
        self.assertGreater(made, 100)
        for target in ("auto", "standard", "onnx", "ort"):
            done = program.run("run", "-q", "--target", target,
                               "--set", "sequence_parallel.enable=true",
                               *folder.iterdir(), "-o", self.folder / "out/",
                               timeout=600)
            self.assertIn(done.code, (0, 3), done.err)
            self.assertNotIn("/rules/", done.err)
