"""Models in which one part is repeated n times, to find time or memory that grows
faster than the file.

Written as bytes, since the onnx package takes longer than the measured program.
Each of MODELS takes n and returns the bytes of a model, which is valid unless its
name is in REFUSED. The main graph has the two Neg of support.make.CANCEL, so that
a rule matches.
"""

import struct

from support.bad_models import field, varint

FLOAT, INT64 = 1, 7
KINDS = {"f": 1, "i": 2, "s": 3, "t": 4, "g": 5, "floats": 6, "ints": 7,
         "strings": 8, "tensors": 9, "graphs": 10}
MODELS, REFUSED = {}, set()


def text(number, string):
    return field(number, string.encode())


def each(n, make):
    return b"".join(map(make, range(n)))


def entry(key, value):
    return text(1, key) + text(2, value)


def opset(domain, version=17):
    return text(1, domain) + field(2, version)


def node(op, inputs=(), outputs=(), more=b"", name="", domain=""):
    return (b"".join(text(1, x) for x in inputs) +
            b"".join(text(2, x) for x in outputs) +
            (text(3, name) if name else b"") + text(4, op) + more +
            (text(7, domain) if domain else b""))


def attribute(name, kind, payload):
    """`payload` is the encoded value field."""
    return field(5, text(1, name) + payload + field(20, KINDS[kind]))


def shape_of(dims):
    """None is an unknown size, a text a symbolic one."""
    return b"".join(field(1, b"" if d is None else field(1, d)
                          if isinstance(d, int) else text(2, d)) for d in dims)


def tensor_type(dims, elem=FLOAT):
    return field(1, field(1, elem) + field(2, shape_of(dims)))


def value(name, dims=(2, 3), elem=FLOAT):
    return text(1, name) + field(2, tensor_type(dims, elem))


def tensor(name, dims=(1,), data=b"\0\0\0\0", elem=FLOAT):
    return (b"".join(field(1, d) for d in dims) + field(2, elem) +
            text(8, name) + field(9, data))


def ints(name, numbers):
    return tensor(name, (len(numbers),),
                  struct.pack(f"<{len(numbers)}q", *numbers), INT64)


def initializers(*tensors):
    return b"".join(field(5, each_one) for each_one in tensors)


# x -> Neg -> Neg -> y, before all other parts.
NEGATIONS = field(1, node("Neg", ["x"], ["n"])) + \
    field(1, node("Neg", ["n"], ["m"])) + field(1, node("Exp", ["m"], ["y"]))


def graph(more=b"", dims=(2, 3)):
    return (NEGATIONS + more + text(2, "g") + field(11, value("x", dims)) +
            field(12, value("y", dims)))


def model(body=None, more=b"", domains=("",)):
    return (field(1, 10) + b"".join(field(8, opset(d)) for d in domains) +
            field(7, graph() if body is None else body) + more)


def function(name, nodes, more=b"", imports=field(9, opset(""))):
    return (text(1, name) + text(4, "a") + text(5, "b") +
            b"".join(field(7, each_node) for each_node in nodes) + imports +
            text(10, "f") + more)


def call(name, source="a", result="b"):
    return node(name, [source], [result], domain="f")


RELU = node("Relu", ["a"], ["b"])
BOTH = field(9, opset("")) + field(9, opset("f"))


def case(make):
    MODELS[make.__name__] = make
    return make


def refused(make):
    REFUSED.add(make.__name__)
    return case(make)


# --- imports and functions -------------------------------------------------


@case
def imports(n):
    return model(more=each(n, lambda i: field(8, opset(f"d{i}"))))


@case
def imports_that_are_used(n):
    nodes = each(n, lambda i: field(1, node("A", ["x"], [f"v{i}"],
                                            domain=f"d{i}")))
    return model(graph(nodes), each(n, lambda i: field(8, opset(f"d{i}"))))


@case
def imports_of_a_function(n):
    own = function("one", [RELU],
                   each(n, lambda i: field(9, opset(f"d{i}"))))
    return model(more=field(25, own), domains=("", "f"))


@case
def functions(n):
    return model(more=each(n, lambda i: field(25, function(f"f{i}", [RELU]))),
                 domains=("", "f"))


@case
def functions_that_are_called(n):
    calls = each(n, lambda i: field(1, call(f"f{i}", "x", f"v{i}")))
    return model(graph(calls),
                 each(n, lambda i: field(25, function(f"f{i}", [RELU]))),
                 domains=("", "f"))


@case
def functions_of_ops_of_their_own(n):
    def one(i):
        return field(25, function(
            f"f{i}", [node(f"Op{i}", ["a"], ["b"], domain="e")],
            imports=field(9, opset("e"))))
    return model(more=each(n, one), domains=("", "f", "e"))


@case
def functions_with_negations(n):
    """Each is rewritten."""
    body = [node("Neg", ["a"], ["c"]), node("Neg", ["c"], ["d"]),
            node("Exp", ["d"], ["b"])]
    return model(more=each(n, lambda i: field(25, function(f"f{i}", body))),
                 domains=("", "f"))


@case
def overloads(n):
    return model(more=each(n, lambda i: field(25, function(
        "one", [RELU], text(13, str(i))))), domains=("", "f"))


@case
def chain_of_functions(n):
    def one(i):
        return field(25, function(
            f"f{i}", [call(f"f{i + 1}") if i + 1 < n else RELU], imports=BOTH))
    return model(graph(field(1, call("f0", "x", "v"))), each(n, one),
                 domains=("", "f"))


@case
def functions_that_call_many(n):
    """Each calls the later ones, endlessly without the limit on nodes."""
    def one(i):
        others = [call(f"f{j}", "a", f"c{j}")
                  for j in range(i + 1, min(n, i + 8)) if i % 9 == 0]
        return field(25, function(f"f{i}", others + [RELU], imports=BOTH))
    calls = each(n, lambda i: field(1, call(f"f{i}", "x", f"v{i}")))
    return model(graph(calls), each(n, one), domains=("", "f"))


@case
def calls_of_one_function(n):
    calls = each(n, lambda i: field(1, call("one", "x", f"v{i}")))
    return model(graph(calls), field(25, function("one", [RELU] * 1)),
                 domains=("", "f"))


@case
def calls_of_a_larger_function(n):
    """The body comes back in no place, since nothing needed it there."""
    body = [node("Abs", ["a"], ["c"]), node("Exp", ["c"], ["d"]), node("Relu", ["d"], ["b"])]
    calls = each(n, lambda i: field(1, call("one", "x", f"v{i}")))
    return model(graph(calls), field(25, function("one", body)), domains=("", "f"))


@refused
def functions_without_end(n):
    """Twice each: 2^n nodes."""
    def one(i):
        body = ([call(f"f{i + 1}", "a", "c"), call(f"f{i + 1}", "c", "b")]
                if i + 1 < n else [RELU])
        return field(25, function(f"f{i}", body, imports=BOTH))
    return model(more=each(n, one), domains=("", "f"))


@refused
def functions_in_a_circle(n):
    def one(i):
        return field(25, function(f"f{i}", [call(f"f{(i + 1) % n}")],
                                  imports=BOTH))
    return model(more=each(n, one), domains=("", "f"))


@case
def formals_of_a_function(n):
    return model(more=field(25, function(
        "one", [RELU], each(n, lambda i: text(4, f"p{i}") +
                            text(6, f"q{i}")))), domains=("", "f"))


# --- parts outside of the graph -----------------------------------------------


@case
def metadata(n):
    return model(more=each(n, lambda i: field(14, entry(f"k{i}", "v"))))


@case
def metadata_of_the_graph(n):
    return model(graph(each(n, lambda i: field(16, entry(f"k{i}", "v")))))


@case
def metadata_of_a_node(n):
    return model(graph(field(1, node("Relu", ["x"], ["v"], each(
        n, lambda i: field(9, entry(f"k{i}", "v")))))))


@case
def annotations(n):
    return model(graph(each(n, lambda i: field(14, text(1, "x") + field(
        2, entry("SCALE_TENSOR", f"s{i}"))))))


@case
def training(n):
    return model(more=each(n, lambda i: field(20, field(2, graph()))))


@case
def unknown_fields(n):
    return model(graph(each(n, lambda i: text(99, "u"))),
                 each(n, lambda i: text(98, "u")))


@case
def unknown_fields_of_a_node(n):
    return model(graph(field(1, node("Relu", ["x"], ["v"], each(
        n, lambda i: text(99, "u") + field(9, entry("k", "v")))))))


# --- messages in pieces -------------------------------------------------------


@case
def graph_in_pieces(n):
    return model(more=each(n, lambda i: field(7, field(1, node(
        "Relu", ["x"], [f"v{i}"])))))


@case
def type_in_pieces(n):
    piece = field(2, field(1, field(2, field(1, field(1, 1)))))
    body = (NEGATIONS + text(2, "g") + field(11, value("x")) +
            field(12, value("y")) + field(13, text(1, "n") + field(
                2, tensor_type(())) + piece * n))
    return model(body)


@case
def attribute_in_pieces(n):
    first = field(5, field(1, n + 1) + field(2, FLOAT))
    return model(graph(field(1, node("Constant", [], ["v"], attribute(
        "value", "t", first + field(5, field(4, b"\0\0\0\0")) * (n + 1))))))


# --- bodies -------------------------------------------------------------------


def body_of(nodes, inputs, outputs):
    return (b"".join(field(1, each_node) for each_node in nodes) + text(2, "b") +
            b"".join(field(11, each_one) for each_one in inputs) +
            b"".join(field(12, each_one) for each_one in outputs))


def graph_attribute(name, encoded):
    return attribute(name, "g", field(6, encoded))


@case
def known_branches(n):
    def one(i):
        branches = b"".join(
            graph_attribute(f"{kind}_branch", body_of(
                [node(op, ["x"], [f"{kind}{i}"])], [], [value(f"{kind}{i}")]))
            for kind, op in (("then", "Abs"), ("else", "Exp")))
        return field(1, node("If", ["yes"], [f"v{i}"], branches))
    return model(graph(initializers(tensor("yes", (), b"\1", 9)) + each(n, one)))


@case
def carried_values(n):
    """Of a Loop; each needs the next one."""
    inner = body_of([node("Identity", ["c"], ["d"])] +
                 [node("Add", [f"v{i}", f"v{(i + 1) % n}"], [f"w{i}"]) for i in range(n)],
                 [value("i", (), INT64), value("c", (), 9)] + [value(f"v{i}") for i in range(n)],
                 [value("d", (), 9)] + [value(f"w{i}") for i in range(n)])
    loop = node("Loop", ["two", ""] + ["x"] * n, [f"l{i}" for i in range(n)],
                graph_attribute("body", inner))
    last = node("Neg", ["l0"], ["u"])
    return model(graph(initializers(tensor("two", (), struct.pack("<q", 2), INT64)) +
                       field(1, loop) + field(1, last)))


# --- nodes --------------------------------------------------------------------


@case
def chain(n):
    return model(graph(each(n, lambda i: field(1, node(
        "Relu", [f"v{i}" if i else "x"], [f"v{i + 1}"])))))


@case
def chain_backwards(n):
    return model(graph(each(n, lambda i: field(1, node(
        "Relu", [f"v{n - i - 1}" if i + 1 < n else "x"], [f"v{n - i}"])))))


@case
def readers(n):
    return model(graph(each(n, lambda i: field(1, node(
        "Relu", ["x"], [f"v{i}"])))))


@case
def inputs_of_a_node(n):
    return model(graph(field(1, node("Sum", ["x"] * n, ["v"]))))


@case
def outputs_of_a_node(n):
    return model(graph(field(1, node("Many", ["x"],
                                     [f"v{i}" for i in range(n)],
                                     domain="d"))), domains=("", "d"))


@case
def attributes(n):
    return model(graph(field(1, node("Many", ["x"], ["v"], each(
        n, lambda i: attribute(f"a{i}", "i", field(3, i))), domain="d"))),
        domains=("", "d"))


@case
def integers(n):
    return model(graph(field(1, node("Many", ["x"], ["v"], attribute(
        "a", "ints", field(8, each(n, varint))), domain="d"))),
        domains=("", "d"))


@case
def strings(n):
    return model(graph(field(1, node("Many", ["x"], ["v"], attribute(
        "a", "strings", each(n, lambda i: text(9, "s"))), domain="d"))),
        domains=("", "d"))


@case
def tensors(n):
    one = field(10, tensor("t"))
    return model(graph(field(1, node("Many", ["x"], ["v"], attribute(
        "a", "tensors", one * n), domain="d"))), domains=("", "d"))


def branch(nodes, result):
    return nodes + text(2, "b") + field(12, value(result))


@case
def branches(n):
    """Consecutive Ifs, with bodies that read outer values."""
    def one(i):
        then = branch(field(1, node("Relu", ["x"], [f"t{i}"])), f"t{i}")
        other = branch(field(1, node("Exp", ["n"], [f"e{i}"])), f"e{i}")
        return field(1, node("If", ["c"], [f"v{i}"],
                             attribute("then_branch", "g", field(6, then)) +
                             attribute("else_branch", "g", field(6, other))))
    flag = tensor("c", (), b"\1", 9)
    return model(graph(each(n, one) + field(5, flag)))


@case
def branches_in_branches(n):
    """Nested nearly to the depth limit, with n nodes in total."""
    depth = 90

    def nodes(level):
        return each(n // depth, lambda i: field(1, node(
            "Relu", ["x"], [f"r{level}_{i}"])))
    least = branch(field(1, node("Relu", ["x"], ["o"])), "o")
    inner = least
    for level in range(depth):
        one = field(1, node("If", ["c"], [f"o{level}"],
                            attribute("then_branch", "g", field(6, inner)) +
                            attribute("else_branch", "g", field(6, least))))
        inner = branch(nodes(level) + one, f"o{level}")
    return model(graph(nodes(depth) + one +
                       field(5, tensor("c", (), b"\1", 9))))


# --- values -------------------------------------------------------------------


@case
def value_infos(n):
    return model(graph(each(n, lambda i: field(1, node(
        "Relu", ["x"], [f"v{i}"]))) + each(n, lambda i: field(
            13, value(f"v{i}", (None, f"d{i}"))))))


@case
def value_infos_of_nothing(n):
    return model(graph(each(n, lambda i: field(13, value(f"v{i}", (None,) *
                                                         8)))))


@case
def dims_of_a_type(n):
    return model(graph(field(13, value("n", (1,) * n))))


@case
def unknown_dims(n):
    return model(graph(field(13, value("n", (None,) * n))))


@case
def dims_of_a_tensor(n):
    dims = field(1, b"\1" * n)
    return model(graph(field(5, dims + field(2, FLOAT) + text(8, "w") +
                             field(9, b"\0\0\0\0"))))


@case
def constants(n):
    return model(graph(each(n, lambda i: field(5, tensor(f"w{i}")))))


@case
def constants_that_are_inputs(n):
    return model(graph(each(n, lambda i: field(5, tensor(f"w{i}")) + field(
        11, value(f"w{i}", (1,))))))


@case
def sparse_constants(n):
    def one(i):
        return field(15, field(1, tensor(f"w{i}")) + field(
            2, ints("", [0])) + field(3, 4))
    return model(graph(each(n, one)))


@case
def indices_of_a_sparse_constant(n):
    return model(graph(field(15, field(1, tensor(
        "w", (n,), b"\0\0\0\0" * n)) + field(2, ints("", range(n))) +
        field(3, n))))


@case
def texts_of_a_constant(n):
    return model(graph(field(5, field(1, n) + field(2, 8) + text(8, "w") +
                             text(6, "s") * n)))


@case
def external_constants(n):
    def one(i):
        return field(5, field(1, 1) + field(2, FLOAT) + text(8, f"w{i}") +
                     field(13, entry("location", "w.bin")) +
                     field(13, entry("offset", str(4 * (i % 1000)))) +
                     field(14, 1))
    return model(graph(each(n, one)))


@refused
def names_twice(n):
    names = each(n, lambda i: field(1, node("Relu", ["x"], [f"v{i}"])))
    return model(graph(names + field(1, node("Relu", ["x"], ["v0"]))))
