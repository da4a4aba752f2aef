"""Models as bytes of ONNX, without a library: nodes are given as text, such as
`y = Transpose<perm = [1,0]>(x)`, and weights are in external files."""

import pathlib
import re
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))

from make_model import integer, ints, message, number  # noqa: E402

TYPES = {"float": 1, "int64": 7, "float16": 10, "bfloat16": 16}
NODE = re.compile(r"(\w+) = (\w+)(?:<(.*)>)?\((.*)\)")
ATTRIBUTE = re.compile(r"(\w+) = (\[[^]]*\]|-?\d+)")


def node(text):
    output, op, attributes, inputs = NODE.fullmatch(text).groups()
    parts = [message(1, name) for name in inputs.split(", ")]
    parts += [message(2, output), message(4, op)]
    for name, value in ATTRIBUTE.findall(attributes or ""):
        parts.append(integer(name, int(value)) if value[0] != "[" else
                     ints(name, [int(v) for v in value[1:-1].split(",")]))
    return message(1, *parts)


def tensor(name, dtype, dims, *content):
    return message(5, *[number(1, dim) for dim in dims],
                   number(2, TYPES[dtype]), message(8, name), *content)


def external(file, offset, length):
    where = {"location": file, "offset": str(offset), "length": str(length)}
    return [message(13, message(1, key), message(2, value))
            for key, value in where.items()] + [number(14, 1)]


def integers(name, dims, values):
    return tensor(name, "int64", dims,
                  message(9, struct.pack(f"<{len(values)}q", *values)))


def value(field, name, dtype, dims):
    shape = message(2, *[message(1, number(1, dim)) for dim in dims])
    return message(field, message(1, name), message(
        2, message(1, number(1, TYPES[dtype]), shape)))


def write_model(path, inputs, outputs, weights, nodes):
    """`inputs` and `outputs`: (name, type, dims); `weights`: tensors."""
    graph = message(7, *map(node, nodes), message(2, "g"), *weights,
                    *[value(11, *each) for each in inputs],
                    *[value(12, *each) for each in outputs])
    path.write_bytes(number(1, 11) + message(8, message(1, ""), number(2, 23)) +
                     graph)
    return path
