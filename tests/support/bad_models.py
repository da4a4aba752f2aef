"""Invalid models, each with one error, generated.

A case is a name and a function that writes m.onnx (and its data files) into a
folder. BAD must be refused, ODD must not be: ONNX Runtime accepts them.
"""

import os
import struct

import numpy as np
import onnx
from onnx import helper, numpy_helper

from support import make

FLOAT = onnx.TensorProto.FLOAT
BAD, INCOMPLETE, ODD = {}, {}, {}


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def field(number, payload):
    """A length-delimited field, or a varint where the payload is an int."""
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def case(table, name):
    def add(function):
        assert name not in table
        table[name] = function
        return function
    return add


def constant(table, name, data):
    table[name] = lambda folder: (folder / "m.onnx").write_bytes(data)


def tweak(table, name, text=make.NEGATIONS):
    """The case is a valid model after the decorated function."""
    def add(function):
        def write(folder):
            model = make.model(text)
            function(model)
            (folder / "m.onnx").write_bytes(model.SerializeToString())
        return case(table, name)(write)
    return add


def text(table, name, body, header=make.HEADER):
    constant(table, name, make.onnx_bytes(body, header))


GOOD = make.onnx_bytes(make.NEGATIONS)

# --- Not a model at all -------------------------------------------------------

BAD["missing"] = lambda folder: None
BAD["a pipe"] = lambda folder: os.mkfifo(folder / "m.onnx")
BAD["a device"] = lambda folder: os.symlink("/dev/zero", folder / "m.onnx")
BAD["a link to itself"] = lambda folder: os.symlink("m.onnx",
                                                    folder / "m.onnx")
constant(BAD, "empty", b"")
constant(BAD, "words", b"this is not a model, it is a sentence\n" * 9)
constant(BAD, "a picture", b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
constant(BAD, "gzip", b"\x1f\x8b\x08" + bytes(range(255, 0, -1)))
constant(BAD, "zeros", bytes(4096))
constant(BAD, "ones", b"\xff" * 4096)
constant(BAD, "noise", np.random.default_rng(0).bytes(4096))

# --- Encoding -----------------------------------------------------------------

constant(BAD, "a varint of eleven bytes", b"\x08" + b"\x80" * 10 + b"\x01")
constant(BAD, "a varint without end", GOOD + b"\x08\x80\x80")
constant(BAD, "a length past the end", GOOD + b"\x3a\x7f")
constant(BAD, "a length of 2^63", GOOD + b"\x3a" + varint(1 << 63))
constant(BAD, "a length of 2^64-1", GOOD + b"\x3a" + varint((1 << 64) - 1))
constant(BAD, "field number 0", GOOD + b"\x00\x01")
constant(BAD, "wire type 7", GOOD + b"\x3f\x01")
constant(BAD, "the graph is a number", field(1, 8) + b"\x38\x01" +
         field(8, field(2, 17)))
constant(BAD, "an end without its group", GOOD + varint(1000 << 3 | 4))
constant(BAD, "a group without its end", GOOD + varint(1000 << 3 | 3))
constant(BAD, "groups in groups", GOOD + varint(1000 << 3 | 3) * 100000 +
         varint(1000 << 3 | 4) * 100000)

# --- Model --------------------------------------------------------------------

constant(BAD, "no graph", field(1, 8) + field(8, field(2, 17)))


@tweak(BAD, "no opset")
def _(model):
    del model.opset_import[:]


for number in (0, -1, 999, (1 << 63) - 1):
    def _set(model, version=number):
        model.opset_import[0].version = version
    tweak(BAD, f"opset {number}")(_set)


@tweak(ODD, "two opsets of one domain")
def _(model):
    model.opset_import.add(domain="", version=13)


@tweak(BAD, "an IR version of the future")
def _(model):
    model.ir_version = 1000


@tweak(ODD, "a negative IR version")
def _(model):
    model.ir_version = -1


@tweak(BAD, "a domain that is not imported")
def _(model):
    model.graph.node[1].domain = "elsewhere"


# --- Names and order ----------------------------------------------------------

text(BAD, "a node that reads itself",
     "g (float[2] x) => (float[2] y) { a = Add(a, x) y = Neg(a) }")
text(BAD, "two nodes that read each other",
     "g (float[2] x) => (float[2] y) { a = Add(b, x) b = Neg(a) y = Neg(b) }")
text(BAD, "an undefined input",
     "g (float[2] x) => (float[2] y) { y = Add(x, nobody) }")
text(BAD, "an undefined output",
     "g (float[2] x) => (float[2] y) { a = Neg(x) }")
text(BAD, "two nodes make one value",
     "g (float[2] x) => (float[2] y) { y = Neg(x) y = Exp(x) }")
text(BAD, "a node makes an input",
     "g (float[2] x, float[2] z) => (float[2] y) { z = Neg(x) y = Exp(z) }")
text(BAD, "one node makes one value twice",
     "g (float[4] x) => (float[2] y) { y, y = Split<axis = 0>(x) }")
text(BAD, "a cycle through a branch", """
     g (bool c, float[2] x) => (float[2] y) {
       a = If(c) <then_branch = t () => (float[2] p) { p = Neg(b) },
                  else_branch = e () => (float[2] q) { q = Exp(x) }>
       b = Neg(a) y = Exp(b) }""")
text(BAD, "a branch that reads nobody", """
     g (bool c, float[2] x) => (float[2] y) {
       y = If(c) <then_branch = t () => (float[2] p) { p = Neg(nobody) },
                  else_branch = e () => (float[2] q) { q = Exp(x) }> }""")
@tweak(BAD, "a cycle of many")
def _(model):
    del model.graph.node[:]
    model.graph.node.extend(
        helper.make_node("Neg", [f"v{(i + 1) % 20000}"], [f"v{i}"])
        for i in range(20000))
    model.graph.node.append(helper.make_node("Add", ["x", "v0"], ["y"]))


@tweak(BAD, "two inputs of one name")
def _(model):
    model.graph.input.append(model.graph.input[0])


@tweak(ODD, "two outputs of one name")
def _(model):
    model.graph.output.append(model.graph.output[0])


@tweak(BAD, "a node makes an initializer")
def _(model):
    model.graph.initializer.append(
        numpy_helper.from_array(np.zeros((2, 3), np.float32), "a"))


@tweak(ODD, "two initializers of one name")
def _(model):
    model.graph.initializer.extend(
        [numpy_helper.from_array(np.zeros(2, np.float32), "w")] * 2)


@tweak(ODD, "an initializer without a name")
def _(model):
    model.graph.initializer.append(
        numpy_helper.from_array(np.zeros(2, np.float32), ""))


@tweak(BAD, "a node without an op")
def _(model):
    model.graph.node[1].op_type = ""


@tweak(BAD, "one attribute twice")
def _(model):
    model.graph.node[1].attribute.extend([helper.make_attribute("a", 1)] * 2)


@tweak(BAD, "an attribute of an unknown type")
def _(model):
    data = model.graph.node[1].attribute.add(name="a", i=1)
    # Protobuf for Python refuses unknown values of an enum.
    data.MergeFromString(field(20, 9999))


# --- Tensors ------------------------------------------------------------------

WITH_WEIGHT = "g (float[4] x) => (float[4] y) { y = Add(x, w) }"


def tensor_case(name, table=BAD, **fields):
    """A weight with these fields, in addition to name, float and 4 elements."""
    def change(model):
        extra = fields.pop("extra", b"")
        tensor = onnx.TensorProto(
            **{"name": "w", "data_type": FLOAT, "dims": [4], **fields})
        tensor.MergeFromString(extra)
        model.graph.initializer.append(tensor)
    tweak(table, name, WITH_WEIGHT)(change)


tensor_case("raw bytes too few", raw_data=bytes(15))
tensor_case("raw bytes too many", raw_data=bytes(17))
tensor_case("no bytes at all")
tensor_case("numbers too few", float_data=[1, 2, 3])
tensor_case("numbers too many", float_data=[1, 2, 3, 4, 5])
tensor_case("numbers of another type", int64_data=[1, 2, 3, 4])
tensor_case("raw bytes and numbers", ODD, raw_data=bytes(16),
            float_data=[1, 2, 3, 4])
tensor_case("elements past counting", dims=[1 << 62, 1 << 62], raw_data=b"")
tensor_case("elements past 64 bits", dims=[1 << 32, 1 << 32, 4],
            raw_data=bytes(16))
tensor_case("a negative dimension", dims=[-4], raw_data=bytes(16))
tensor_case("no element type", data_type=0, raw_data=bytes(16))
tensor_case("an unknown element type", data_type=0, raw_data=bytes(16),
            extra=field(2, 9999))
tensor_case("strings as raw bytes", data_type=onnx.TensorProto.STRING,
            raw_data=bytes(16))
tensor_case("half bytes too few", data_type=onnx.TensorProto.INT4, dims=[5],
            raw_data=bytes(2))
tensor_case("a rank past sense", dims=[1] * 100000, raw_data=bytes(5))


def sparse(name, values, indices, dims, shape=None, table=BAD):
    @tweak(table, name, "g (float[4] x) => (float[4] y) { y = Add(x, w) }")
    def _(model):
        index = np.array(indices, np.int64)
        model.graph.sparse_initializer.append(onnx.SparseTensorProto(
            values=numpy_helper.from_array(np.float32(values), "w"),
            indices=numpy_helper.from_array(
                index.reshape(shape) if shape else index, "i"),
            dims=dims))


sparse("sparse: an index out of range", [1, 2], [1, 4], [4])
sparse("sparse: a negative index", [1, 2], [-1, 2], [4])
sparse("sparse: indices out of order", [1, 2], [2, 1], [4], table=ODD)
sparse("sparse: more values than indices", [1, 2, 3], [0, 1], [4])
sparse("sparse: indices of rank 3", [1, 2], [0, 1], [4], (1, 2, 1))

# --- External data ------------------------------------------------------------


def external_case(name, table=BAD, setup=None, **entries):
    """A weight of 16 bytes in w.bin of 16 bytes, except for `entries`."""
    @case(table, name)
    def _(folder):
        model = make.model(WITH_WEIGHT)
        tensor = onnx.TensorProto(name="w", data_type=FLOAT, dims=[4],
                                  data_location=onnx.TensorProto.EXTERNAL)
        values = {"location": "w.bin", "offset": "0", "length": "16",
                  **entries}
        for key, value in values.items():
            if value is not None:
                tensor.external_data.add(key=key, value=value)
        model.graph.initializer.append(tensor)
        (folder / "m.onnx").write_bytes(model.SerializeToString())
        if setup:
            setup(folder)
        else:
            (folder / "w.bin").write_bytes(bytes(16))


external_case("external: missing", table=INCOMPLETE, location="nobody.bin")
external_case("external: no location", location=None)
external_case("external: an empty location", location="")
external_case("external: the folder itself", location=".")
external_case("external: the folder above", location="../w.bin")
external_case("external: above by a detour", location="a/../../w.bin")
external_case("external: absolute", location="/etc/passwd", length="16")
external_case("external: a device", location="/dev/zero")
external_case("external: a zero byte in the name", location="w.bin\0x")
external_case("external: a name of 10 kB", location="w" * 10000)
external_case("external: a link out",
              setup=lambda f: os.symlink("/etc/passwd", f / "w.bin"))
external_case("external: a folder behind a link", location="d/passwd",
              setup=lambda f: os.symlink("/etc", f / "d"))
external_case("external: a pipe", setup=lambda f: os.mkfifo(f / "w.bin"))
external_case("external: a folder", setup=lambda f: (f / "w.bin").mkdir())
external_case("external: too short",
              setup=lambda f: (f / "w.bin").write_bytes(bytes(15)))
external_case("external: past the end", offset="1")
external_case("external: a negative offset", offset="-1")
external_case("external: an offset in words", offset="one")
external_case("external: an offset as 1e3", offset="1e3")
external_case("external: an offset with a space", offset=" 0")
external_case("external: an offset past 64 bits", offset="18446744073709551616")
external_case("external: a sum past 64 bits", offset="18446744073709551608")
external_case("external: a length of another type", length="12")
external_case("external: a length too long", length="20",
              setup=lambda f: (f / "w.bin").write_bytes(bytes(32)))

# --- Functions and nesting ----------------------------------------------------

WITH_FUNCTIONS = '<ir_version: 8, opset_import: ["": 17, "f": 1]>\n'
F = '<domain: "f", opset_import: ["": 17, "f": 1]> '


def functions(table, name, body, *bodies):
    text(table, name, f"g (float[2] x) => (float[2] y) {{ {body} }}\n" +
         "\n".join(F + b for b in bodies), WITH_FUNCTIONS)


functions(BAD, "a function that calls itself", "y = f.a(x)",
          "a (p) => (q) { q = f.a(p) }")
functions(BAD, "two functions that call each other", "y = f.a(x)",
          "a (p) => (q) { q = f.b(p) }", "b (p) => (q) { q = f.a(p) }")
functions(BAD, "three functions in a ring, not called", "y = Neg(x)",
          "a (p) => (q) { q = f.b(p) }", "b (p) => (q) { q = f.c(p) }",
          "c (p) => (q) { q = f.a(p) }")
functions(BAD, "one function twice", "y = f.a(x)",
          "a (p) => (q) { q = Neg(p) }", "a (p) => (q) { q = Exp(p) }")
functions(BAD, "a function that reads nobody", "y = f.a(x)",
          "a (p) => (q) { q = Add(p, nobody) }")
functions(BAD, "a function that makes nothing", "y = f.a(x)",
          "a (p) => (q) { r = Neg(p) }")


def nested_graph(depth):
    """If in If in If: raw, since Python's own parser refuses the depth."""
    value_info = field(1, b"q")
    graph = field(1, field(1, b"x") + field(2, b"q") + field(4, b"Neg"))
    graph += field(2, b"t") + field(12, value_info)
    for _ in range(depth):
        attribute = field(5, field(1, b"then_branch") + field(6, graph) +
                          field(20, 5))
        node = field(1, b"c") + field(2, b"q") + field(4, b"If") + attribute
        graph = field(1, node) + field(2, b"t") + field(12, value_info)
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))


def nested_type(depth):
    kind = field(1, field(1, 1))
    for _ in range(depth):
        kind = field(4, field(1, kind))
    value = field(1, b"x") + field(2, kind)
    graph = (field(1, field(1, b"x") + field(2, b"y") + field(4, b"Neg")) +
             field(2, b"t") + field(11, value) + field(12, field(1, b"y")))
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))


constant(BAD, "graphs in graphs", nested_graph(3000))
constant(BAD, "types in types", nested_type(3000))

# --- Odd but valid ------------------------------------------------------------

constant(ODD, "a plain model", GOOD)
text(ODD, "nodes out of order",
     "g (float[2] x) => (float[2] y) { y = Neg(a) a = Exp(x) }")
text(ODD, "an op nobody knows", "g (float[2] x) => (float[2] y) "
     "{ y = some.where.Op(x) }",
     '<ir_version: 8, opset_import: ["": 17, "some.where": 3]>\n')
text(ODD, "a branch with a name from outside", """
     g (bool c, float[2] x) => (float[2] y) {
       a = Neg(x)
       y = If(c) <then_branch = t () => (float[2] a) { a = Neg(x) },
                  else_branch = e () => (float[2] q) { q = Exp(a) }> }""")
text(ODD, "an input is an output",
     "g (float[2] x) => (float[2] x) { a = Neg(x) }")
tensor_case("no elements", ODD, dims=[0, 4], raw_data=b"")
tensor_case("an odd count of half bytes", ODD, dims=[5], raw_data=bytes(3),
            data_type=onnx.TensorProto.INT4)
external_case("external: as it should be", ODD)
external_case("external: unaligned", ODD, offset="3",
              setup=lambda f: (f / "w.bin").write_bytes(bytes(19)))
external_case("external: only a location", ODD, offset=None, length=None)
functions(ODD, "functions over functions", "y = f.a(x)",
          "a (p) => (q) { q = f.b(p) }", "b (p) => (q) { q = Neg(p) }")
# Inlined, 2^60 calls.
functions(BAD, "functions that double", "y = f.l0(x)",
          *[f"l{i} (p) => (q) {{ a = f.l{i + 1}(p) q = f.l{i + 1}(a) }}"
            for i in range(60)], "l60 (p) => (q) { q = Neg(p) }")
constant(ODD, "fields of the future",
         GOOD + field(1000, b"abc") + varint(1001 << 3 | 5) +
         struct.pack("<f", 1) + varint(1002 << 3 | 3) +
         varint(1002 << 3 | 4))
constant(ODD, "an IR version given twice", GOOD + field(1, 8))


@tweak(ODD, "an output without a shape")
def _(model):
    kind = model.graph.output[0].type.tensor_type
    kind.ClearField("shape")


def truncations(step=1):
    """{name: bytes}: a model of many kinds of fields, cut at every byte."""
    model = make.model("""g (float[2,N] x, bool c) => (float[2,N] y)
        <float[3] w = {1, 2, 3}, int64 s = {7}> {
          a = If(c) <then_branch = t () => (float[2,N] p) { p = Neg(x) },
                     else_branch = e () => (float[2,N] q) { q = Exp(x) }>
          b = Neg(a) d = Neg(b)
          y = Softmax<axis = -1>(d) }""")
    model.metadata_props.add(key="k", value="v")
    data = model.SerializeToString()
    return {f"cut{i:04}": data[:i] for i in range(0, len(data), step)}, data


def bit_flips(step=1):
    _, data = truncations()
    flips = {}
    for bit in range(0, len(data) * 8, step):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        flips[f"flip{bit:05}"] = bytes(flipped)
    return flips
