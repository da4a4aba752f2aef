#!/usr/bin/env python3
"""Writes a synthetic transformer of any size: make_model.py OUT.onnx ...

Pre-norm layers of 33 nodes, with attention and GELU in the form of exporters.
The bytes are written in pieces: a million nodes, or weights larger than memory
and than protobuf's 2 GB, take no more memory than the list of nodes.
"""

import argparse
import array
import os
import struct

BLOCK = array.array("f", (((i * 2654435761) % 4001 - 2000) / 65536
                          for i in range(1 << 18))).tobytes()


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def head(field, length):
    return varint(field << 3 | 2) + varint(length)


def message(field, *parts):
    body = b"".join(p.encode() if isinstance(p, str) else p for p in parts)
    return head(field, len(body)) + body


def ints(name, values):
    return message(5, message(1, name), number(20, 7),
                   *[number(8, value) for value in values])


def integer(name, value):
    return message(5, message(1, name), number(20, 2),
                   number(3, value & (1 << 64) - 1))


class Weight:
    """A float tensor whose bytes are computed when they are written."""

    def __init__(self, name, dims):
        self.name, self.dims = name, dims
        self.size = 4
        for dim in dims:
            self.size *= dim
        self.offset = None  # in the external file

    def fields(self):
        return b"".join([*[number(1, d) for d in self.dims], number(2, 1),
                         message(8, self.name)])

    def external(self, location):
        entries = [("location", location), ("offset", str(self.offset)),
                   ("length", str(self.size))]
        return self.fields() + b"".join(
            message(13, message(1, k), message(2, v)) for k, v in entries
        ) + number(14, 1)

    def write(self, file):
        left = self.size
        while left:
            left -= file.write(BLOCK[:min(left, len(BLOCK))])


class Transformer:
    """The nodes as bytes and the weights as lazy tensors."""

    def __init__(self, layers, hidden, heads):
        self.hidden, self.heads = hidden, heads
        self.nodes, self.constants, self.weights = [], [], []
        self.count = 0
        depth = hidden // heads
        for name, value in (("sqrt2", 2 ** 0.5), ("one", 1.0), ("half", 0.5),
                            ("scale", depth ** 0.5)):
            self.constants.append(message(5, number(2, 1), message(8, name),
                                          message(9, struct.pack("<f", value))))
        for name, value in (("split", (0, 0, heads, depth)),
                            ("merge", (0, 0, hidden))):
            self.constants.append(message(
                5, number(1, len(value)), number(2, 7), message(8, name),
                message(9, struct.pack(f"<{len(value)}q", *value))))
        value = "x"
        for layer in range(layers):
            value = self.feed_forward(layer, self.attention(layer, value))
        self.output = value

    def weight(self, name, *dims):
        self.weights.append(Weight(name, dims))
        return name

    def op(self, kind, *inputs, attributes=b""):
        output = f"v{self.count}"
        self.nodes.append(message(
            1, *[message(1, name) for name in inputs], message(2, output),
            message(3, f"{kind}_{self.count}"), message(4, kind), attributes))
        self.count += 1
        return output

    def norm(self, name, x):
        return self.op("LayerNormalization", x,
                       self.weight(f"{name}.scale", self.hidden),
                       self.weight(f"{name}.shift", self.hidden),
                       attributes=integer("axis", -1))

    def linear(self, name, x, inner, outer):
        product = self.op("MatMul", x, self.weight(f"{name}.w", inner, outer))
        return self.op("Add", product, self.weight(f"{name}.b", outer))

    def attention(self, layer, x):
        name, d = f"layer{layer}.attention", self.hidden
        y = self.norm(f"{name}.norm", x)
        q, k, v = (self.op("Reshape", self.linear(f"{name}.{part}", y, d, d),
                           "split") for part in "qkv")
        q, k, v = (self.op("Transpose", part, attributes=ints("perm", perm))
                   for part, perm in ((q, (0, 2, 1, 3)), (k, (0, 2, 3, 1)),
                                      (v, (0, 2, 1, 3))))
        scores = self.op("Div", self.op("MatMul", q, k), "scale")
        p = self.op("Softmax", scores, attributes=integer("axis", -1))
        y = self.op("Transpose", self.op("MatMul", p, v),
                    attributes=ints("perm", (0, 2, 1, 3)))
        y = self.op("Reshape", y, "merge")
        return self.op("Add", x, self.linear(f"{name}.out", y, d, d))

    def feed_forward(self, layer, x):
        name, d = f"layer{layer}.mlp", self.hidden
        y = self.linear(f"{name}.up", self.norm(f"{name}.norm", x), d, 4 * d)
        erf = self.op("Erf", self.op("Div", y, "sqrt2"))
        y = self.op("Mul", y, self.op("Add", erf, "one"))
        y = self.op("Mul", y, "half")
        return self.op("Add", x, self.linear(f"{name}.down", y, 4 * d, d))

    def value_info(self, field, name):
        dims = message(1, message(2, "B")) + message(1, message(2, "S"))
        dims += message(1, number(1, self.hidden))
        kind = message(1, number(1, 1), message(2, dims))
        return message(field, message(1, name), message(2, kind))


def write_model(path, model, external=False):
    """Writes the file, and PATH.data if `external`; one weight at a time."""
    location = os.path.basename(path) + ".data"
    if external:
        offset = 0
        for weight in model.weights:
            weight.offset, offset = offset, offset + weight.size
    small = [*model.nodes, message(2, "synthetic"), *model.constants,
             model.value_info(11, "x"), model.value_info(12, model.output)]
    tensors = []
    for weight in model.weights:
        body = (weight.external(location) if external
                else weight.fields() + head(9, weight.size))
        length = len(body) + (0 if external else weight.size)
        tensors.append(head(5, length) + body)
    size = sum(map(len, small)) + sum(map(len, tensors))
    if not external:
        size += sum(weight.size for weight in model.weights)
    with open(path, "wb") as file:
        file.write(number(1, 9) + head(7, size))
        file.writelines(small)
        for weight, tensor in zip(model.weights, tensors):
            file.write(tensor)
            if not external:
                weight.write(file)
        file.write(message(8, number(2, 18)))
    if external:
        with open(path + ".data", "wb") as file:
            for weight in model.weights:
                weight.write(file)


def make(path, layers, hidden=8, heads=2, external=False):
    model = Transformer(layers, hidden, heads)
    write_model(str(path), model, external)
    return model.count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--external", action="store_true")
    options = parser.parse_args()
    nodes = make(options.out, options.layers, options.hidden, options.heads,
                 options.external)
    print(f"{nodes} nodes, {os.path.getsize(options.out) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
